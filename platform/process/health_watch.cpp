#include "platform/process/health_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sluice::local {
namespace asio = boost::asio;

namespace {

/// A start must not take longer for want of a question.
constexpr std::chrono::milliseconds kStartupPeriod{100};

bool has_header(const ReadinessProbe& probe, std::string_view name) {
  return std::any_of(probe.headers.begin(), probe.headers.end(), [&](const auto& header) {
    return std::equal(header.first.begin(), header.first.end(), name.begin(), name.end(),
                      [](char a, char b) {
                        return std::tolower(static_cast<unsigned char>(a)) ==
                               std::tolower(static_cast<unsigned char>(b));
                      });
  });
}

std::string request_text(const ReadinessProbe& probe, std::uint16_t port) {
  std::string text = fmt::format("GET {} HTTP/1.1\r\n", probe.path);
  if (!has_header(probe, "host")) text += fmt::format("Host: 127.0.0.1:{}\r\n", port);
  if (!has_header(probe, "user-agent")) text += "User-Agent: kube-probe/sluice\r\n";
  if (!has_header(probe, "accept")) text += "Accept: */*\r\n";
  for (const auto& [name, value] : probe.headers) text += fmt::format("{}: {}\r\n", name, value);
  return text + "Connection: close\r\n\r\n";
}

}  // namespace

HealthWatch::HealthWatch(asio::io_context& io, Loop& loop)
    : io_{io}, loop_{loop}, timer_{loop.timer()}, limit_{loop.timer()} {}

HealthWatch::~HealthWatch() {
  end();
}

void HealthWatch::until_yes(const HealthProbe& probe, std::uint16_t port, TimePoint begun,
                            std::function<void()> passed, Failed failed) {
  const std::chrono::seconds allowed{probe.initial_delay_seconds +
                                     probe.failure_threshold * probe.question.period_seconds};
  passed_ = std::move(passed);
  failed_ = std::move(failed);
  begin(probe, port, begun, {1, begun + allowed}, kStartupPeriod);
}

void HealthWatch::while_yes(const HealthProbe& probe, std::uint16_t port, TimePoint begun,
                            Failed failed) {
  passed_ = nullptr;
  failed_ = std::move(failed);
  begin(probe, port, begun, {probe.failure_threshold, begun},
        std::chrono::seconds{probe.question.period_seconds});
}

void HealthWatch::begin(const HealthProbe& probe, std::uint16_t port, TimePoint begun,
                        HealthRule rule, Duration period) {
  probe_ = probe;
  port_ = port;
  period_ = period;
  rule_ = rule;
  const TimePoint first = begun + std::chrono::seconds{probe.initial_delay_seconds};
  timer_->after(std::max(first - loop_.now(), Duration{0}), [this] { ask(); });
}

void HealthWatch::ask() {
  timer_->after(period_, [this] { ask(); });
  if (fetch_ || socket_) return;  // the last question is still open: its limit ends it
  if (probe_.question.kind == ProbeKind::http) {
    ask_http();
  } else {
    ask_tcp();
  }
}

void HealthWatch::ask_http() {
  const std::chrono::seconds timeout{probe_.question.timeout_seconds};
  fetch_.emplace(io_,
                 net::FetchRequest{.target = {.host = "127.0.0.1", .port = port_, .path = {}},
                                   .text = request_text(probe_.question, port_),
                                   .timeout = timeout,
                                   .head_only = true},
                 [this](const net::FetchResult& answer) {
                   const std::string what = "GET " + probe_.question.path;
                   if (!answer) return answered(false, what + ": " + answer.error().why);
                   const int status = answer->head.status;
                   answered(status >= 200 && status < 400, fmt::format("{} gave {}", what, status));
                 });
}

void HealthWatch::ask_tcp() {
  socket_ = std::make_shared<asio::ip::tcp::socket>(io_);
  limit_->after(std::chrono::seconds{probe_.question.timeout_seconds}, [this] {
    socket_.reset();
    answered(false, fmt::format("no connection to {} within {} s", port_,
                                probe_.question.timeout_seconds));
  });
  socket_->async_connect(
      {asio::ip::address_v4::loopback(), port_},
      [this, asked = std::weak_ptr(socket_)](const boost::system::error_code& failed) {
        if (asked.expired()) return;  // ended, or out of time
        limit_->cancel();
        socket_.reset();
        answered(!failed, fmt::format("no connection to {}: {}", port_, failed.message()));
      });
}

void HealthWatch::answered(bool yes, const std::string& why) {
  if (yes && passed_) {
    const auto passed = std::exchange(passed_, nullptr);
    end();
    return passed();
  }
  const bool has_failed = rule_.failed_with(yes, loop_.now());
  if (!has_failed) {
    fetch_.reset();
    return;
  }
  const auto failed = std::exchange(failed_, nullptr);
  const std::int32_t times = rule_.in_a_row();
  end();
  failed(times > 1 ? fmt::format("{}, {} times in a row", why, times) : why);
}

void HealthWatch::end() {
  timer_->cancel();
  limit_->cancel();
  fetch_.reset();
  socket_.reset();
}

}  // namespace sluice::local
