#include "common/rpc/handshake_log.h"

#include "common/time/clock.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <grpc/support/log.h>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::rpc {
namespace {

constexpr std::string_view kFailed = "Handshake failed with fatal error";

struct Listeners {
  std::mutex mutex;
  std::vector<std::shared_ptr<HandshakeLog::Heard>> all;
  LinePace pace;
  Clock clock;
};

// gRPC's threads may still log when the program ends.
Listeners& listeners() {
  static auto* const kMade = new Listeners;
  return *kMade;
}

// `... SSL_ERROR_SSL: error:0A000086:SSL routines::certificate verify failed.`: its last part.
std::string reason_of(std::string_view message) {
  const std::size_t mark = message.rfind("::");
  if (mark != std::string_view::npos) message.remove_prefix(mark + 2);
  while (message.ends_with('.')) message.remove_suffix(1);
  return std::string{message};
}

void log(gpr_log_func_args* args) {
  const std::string_view message{args->message};
  Listeners& known = listeners();
  const std::lock_guard lock{known.mutex};
  if (!message.starts_with(kFailed)) {
    const auto left_out = known.pace.take(known.clock.now());
    if (!left_out) return;
    if (*left_out > 0) std::fprintf(stderr, "grpc: %" PRIu64 " lines dropped\n", *left_out);
    std::fprintf(stderr, "grpc: %s (%s:%d)\n", args->message, args->file, args->line);
    return;
  }
  for (const auto& heard : known.all) (*heard)(reason_of(message));
}

}  // namespace

std::optional<std::uint64_t> LinePace::take(TimePoint now) {
  // A clock that steps back begins another span.
  if (!began_ || now < *began_ || now - *began_ >= kSpan) {
    began_ = now;
    written_ = 0;
  }
  if (written_ >= kLines) {
    ++left_out_;
    return std::nullopt;
  }
  ++written_;
  return std::exchange(left_out_, 0);
}

HandshakeLog::HandshakeLog(Heard heard) : heard_(std::make_shared<Heard>(std::move(heard))) {
  Listeners& known = listeners();
  const std::lock_guard lock{known.mutex};
  known.all.push_back(heard_);
  gpr_set_log_function(log);
}

HandshakeLog::~HandshakeLog() {
  Listeners& known = listeners();
  const std::lock_guard lock{known.mutex};
  std::erase(known.all, heard_);
  if (known.all.empty()) gpr_set_log_function(nullptr);
}

}  // namespace sluice::rpc
