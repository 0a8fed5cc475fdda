#include "tests/fuzz/h1_message.h"

// Goal: no bytes make the response parser read beyond them, run without end, or disagree with
// itself. Method: feed them whole, and again byte by byte; both ways must read the same message.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kHeadBytesMax = 4096;
  const std::string_view bytes = sluice::fuzz::text_of(data, size);
  sluice::http::ResponseHead head;
  for (const bool to_head : {false, true}) {
    sluice::http::ResponseParser whole{kHeadBytesMax};
    sluice::http::ResponseParser cut{kHeadBytesMax};
    whole.reset(to_head);
    cut.reset(to_head);
    CHECK(sluice::fuzz::read_message(whole, head, bytes, size + 1) ==
          sluice::fuzz::read_message(cut, head, bytes, 1));
  }
  return 0;
}
