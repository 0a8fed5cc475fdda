// Goal: no bytes of a runtime's NRI break what reads them, and the same messages are found however
// the bytes are cut. Method: the input is a trunk, fed as a whole, byte by byte and by seven; each
// message is then read as a call, as an answer and as what calls carry.
#include "common/base/check.h"

#include "memory-pressure/nri/nri_codec.h"
#include "memory-pressure/nri/trunk.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using sluice::nri::Message;

// Absent: the trunk breaks the rules somewhere.
std::optional<std::vector<Message>> cut(std::string_view bytes, std::size_t step) {
  sluice::nri::TrunkReader reader;
  std::vector<Message> all;
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, step);
    bytes.remove_prefix(piece.size());
    const auto some = reader.feed(piece);
    if (!some) return std::nullopt;
    all.insert(all.end(), some->begin(), some->end());
  }
  return all;
}

void decode(const std::string& bytes) {
  (void)sluice::nri::read_answer(bytes);
  (void)sluice::nri::read_configure(bytes);
  (void)sluice::nri::synchronize_answer(bytes);
  const auto call = sluice::nri::read_call(bytes);
  if (!call) return;
  const auto start = sluice::nri::read_start(*call);
  CHECK(!start || (!start->id.empty() && start->pid >= 0));
  const std::string answer = sluice::nri::unimplemented_answer(call->service);
  CHECK(answer.size() <= sluice::nri::kOwnMessageBytesMax);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  const auto whole = cut(bytes, size + 1);
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}}) CHECK(cut(bytes, step) == whole);
  if (!whole) return 0;
  for (const Message& message : *whole) decode(message.bytes);
  return 0;
}
