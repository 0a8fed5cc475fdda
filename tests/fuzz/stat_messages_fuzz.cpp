// Goal: no frame of stats breaks its reader, and a decoded frame is encoded to the same bytes.
#include "autoscaler/core/activators/activator_hub.h"
#include "autoscaler/core/activators/stat_intake.h"
#include "common/base/check.h"
#include "common/proto/stat_messages_codec.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace {

using namespace std::chrono_literals;

constexpr sluice::TimePoint kNow{1'700'000'000s};

void hear(const std::vector<sluice::proto::StatMessage>& messages) {
  sluice::autoscaler::ActivatorHub hub{{"autoscaler", "1"}, {}, kNow};
  const auto session = hub.open(kNow);
  CHECK(session.has_value());
  (void)hub.received(*session, sluice::proto::Hello{1, "activator", "", "", {}}, kNow);
  const auto heard = hub.received(*session, sluice::proto::StatBatch{1, messages, {}}, kNow);
  CHECK(heard.stats.size() == messages.size() && !heard.refused);
  for (const auto& each : heard.stats) {
    (void)sluice::autoscaler::flaw_of(each.stat);
    const auto at =
        sluice::autoscaler::time_of(each.stamp, sluice::autoscaler::StatDoor::stream, kNow);
    CHECK(at <= kNow && at >= kNow - 2s);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  const auto messages = sluice::proto::decode_stat_messages(bytes);
  if (!messages) return 0;
  const std::string sent = sluice::proto::encode_stat_messages(*messages);
  const auto again = sluice::proto::decode_stat_messages(sent);
  // By bytes, since a figure may be no number, which equals nothing.
  CHECK(again.has_value() && again->size() == messages->size());
  CHECK(sluice::proto::encode_stat_messages(*again) == sent);
  hear(*messages);
  return 0;
}
