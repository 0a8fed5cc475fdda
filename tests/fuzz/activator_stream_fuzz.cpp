// Goal: no bytes on the stream, whole and in whatever order, break either end; what was read is
// what would be sent. Input: messages, each behind a byte that says which way it goes (bit 0) and
// two bytes of its length.
#include "activator/core/autoscaler_link.h"
#include "autoscaler/core/activators/activator_hub.h"
#include "common/base/check.h"
#include "common/proto/activator_stream_codec.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace {

using namespace std::chrono_literals;
using sluice::activator::AutoscalerLink;
using sluice::autoscaler::ActivatorHub;
namespace proto = sluice::proto;

constexpr std::size_t kHead = 3;

class Ends {
 public:
  Ends() : stream_(*link_.add()), session_(*hub_.open(now_)) {
    (void)hub_.set_state({.revision = {"a", "b"}, .desired = 0, .granted = 0}, now_);
    link_.connected(stream_, {});
  }

  void up(std::string_view bytes) {
    const auto message = proto::decode_activator_message(bytes);
    if (!message || !*message) return;
    const std::string sent = proto::encode(**message);
    const auto again = proto::decode_activator_message(sent);
    CHECK(again.has_value() && again->has_value() && proto::encode(**again) == sent);
    const auto heard = hub_.received(session_, **message, now_);
    if (heard.refused) {
      hub_.closed(session_, now_);
      session_ = *hub_.open(now_);
    }
    pass_time();
  }

  void down(std::string_view bytes) {
    const auto message = proto::decode_autoscaler_message(bytes);
    if (!message || !*message) return;
    const std::string sent = proto::encode(**message);
    const auto again = proto::decode_autoscaler_message(sent);
    CHECK(again.has_value() && again->has_value() && **again == **message);
    const auto heard = link_.received(stream_, **message);
    for (const auto& state : heard.states) {
      // Any decoded message of an activator may be encoded again.
      (void)hub_.set_state(state, now_);
      link_.applied(state.revision, state.version);
    }
    if (heard.refused) {
      link_.lost(stream_);
      link_.connected(stream_, {});
    }
    pass_time();
  }

 private:
  void pass_time() {
    now_ += 50ms;
    const std::vector<sluice::activator::RevisionStat> stats{{{"a", "b"}, 1, 1}};
    link_.tick(stats, {}, now_);
    while (link_.next_message(stream_)) {
    }
    while (hub_.next_message(session_, now_)) {
    }
    if (const auto due = hub_.next_due(now_)) CHECK(*due > now_);
    (void)hub_.applied({"a", "b"}, ~0ULL, now_);
  }

  sluice::TimePoint now_{1'700'000'000s};
  AutoscalerLink link_{{"activator", "", ""}};
  ActivatorHub hub_{{"autoscaler", "1"}, {}, now_};
  AutoscalerLink::Stream stream_;
  ActivatorHub::Session session_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest{reinterpret_cast<const char*>(data), size};
  Ends ends;
  for (int messages = 0; rest.size() >= kHead && messages < 64; ++messages) {
    const bool up = (static_cast<unsigned char>(rest[0]) & 1U) == 0;
    const auto high = static_cast<unsigned char>(rest[1]);
    const std::size_t length = std::size_t{high} << 8U | static_cast<unsigned char>(rest[2]);
    rest.remove_prefix(kHead);
    const std::string_view bytes = rest.substr(0, length);
    rest.remove_prefix(bytes.size());
    if (up) {
      ends.up(bytes);
    } else {
      ends.down(bytes);
    }
  }
  return 0;
}
