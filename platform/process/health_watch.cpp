#include "platform/process/health_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>

namespace sluice::local {
namespace asio = boost::asio;

namespace {

/// A start must not take longer for want of a question.
constexpr std::chrono::milliseconds kStartupPeriod{100};
/// A process for each question costs more than a connection.
constexpr std::chrono::milliseconds kStartupCommandPeriod{500};
/// A start that is not ready fails at its own limit, and at no number of answers.
constexpr std::int32_t kFailuresMax = std::numeric_limits<std::int32_t>::max();

Duration startup_period(const ReadinessProbe& question) {
  return question.kind == ProbeKind::exec ? kStartupCommandPeriod : kStartupPeriod;
}

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

HealthWatch::HealthWatch(asio::io_context& io, Loop& loop, Reaper& reaper, Spawner& spawner,
                         Beside beside, Failed told)
    : io_{io},
      loop_{loop},
      timer_{loop.timer()},
      limit_{loop.timer()},
      told_{std::move(told)},
      beside_{std::move(beside)},
      command_{io, loop, reaper, spawner} {}

HealthWatch::~HealthWatch() {
  end();
}

void HealthWatch::until_yes(const HealthProbe& probe, std::uint16_t port, TimePoint begun,
                            std::function<void()> passed, Failed failed) {
  const std::chrono::seconds allowed{probe.initial_delay_seconds +
                                     probe.failure_threshold * probe.question.period_seconds};
  passed_ = std::move(passed);
  failed_ = std::move(failed);
  begin(probe, port, begun, {1, begun + allowed}, startup_period(probe.question));
}

void HealthWatch::until_ready(const ReadinessProbe& probe, std::uint16_t port, TimePoint begun,
                              std::function<void()> passed) {
  passed_ = std::move(passed);
  failed_ = nullptr;
  const Duration period = std::chrono::seconds{probe.period_seconds};
  begin({.question = probe}, port, begun, {kFailuresMax, begun},
        period > Duration{0} ? period : startup_period(probe));
}

void HealthWatch::meanwhile(const ReadinessProbe& probe, bool h2c, std::uint16_t port) {
  if (probe.kind == ProbeKind::exec || (probe.kind == ProbeKind::http && h2c)) return;
  passed_ = nullptr;
  failed_ = nullptr;
  begin({.question = probe, .initial_delay_seconds = 1}, port, loop_.now(), {kFailuresMax, {}},
        std::chrono::seconds{1});
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
  passes_ = 0;
  port_ = port;
  period_ = period;
  rule_ = rule;
  const TimePoint first = begun + std::chrono::seconds{probe.initial_delay_seconds};
  timer_->after(std::max(first - loop_.now(), Duration{0}), [this] { ask(); });
}

void HealthWatch::ask() {
  timer_->after(period_, [this] { ask(); });
  if (is_asking()) return;  // the last question is still open: its limit ends it
  switch (probe_.question.kind) {
    case ProbeKind::http:
      return ask_http();
    case ProbeKind::tcp:
      return ask_tcp();
    case ProbeKind::grpc:
      return ask_grpc();
    case ProbeKind::exec:
      return ask_command();
  }
}

bool HealthWatch::is_asking() const {
  return fetch_ || socket_ || attempt_ || command_.running();
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

void HealthWatch::ask_grpc() {
  health_ = {};
  health_.kind = queue_proxy::ProbeSpec::Kind::grpc;
  health_.port = port_;
  health_.service = probe_.question.service;
  attempt_ = std::make_unique<queue_proxy::ProbeAttempt>(
      io_, loop_, health_, net::Address{}, [this](const queue_proxy::AttemptReport& report) {
        answered(report.outcome == queue_proxy::Attempt::passed, report.text);
      });
  attempt_->start(std::chrono::seconds{probe_.question.timeout_seconds});
}

void HealthWatch::ask_command() {
  const std::chrono::seconds timeout{probe_.question.timeout_seconds};
  command_.start(beside_(probe_.question.command), timeout, [this](const CommandEnd& end) {
    if (!end.was_started) return;  // no answer of the program: it is asked again
    const std::string& program = probe_.question.command.front();
    answered(end.succeeded(), program + " " + end.text());
  });
}

void HealthWatch::answered(bool yes, const std::string& why) {
  passes_ = yes ? passes_ + 1 : 0;
  told_(yes ? std::string{} : why);
  if (yes && passed_ && passes_ >= probe_.question.success_threshold) {
    const auto passed = std::exchange(passed_, nullptr);
    end();
    return passed();
  }
  const bool has_failed = rule_.failed_with(yes, loop_.now());
  if (!has_failed) {
    fetch_.reset();
    attempt_.reset();
    return;
  }
  const auto failed = std::exchange(failed_, nullptr);
  const std::int32_t times = rule_.in_a_row();
  const bool counted = times > 1 && !passed_;  // a first yes is waited for by the clock
  end();
  failed(counted ? fmt::format("{}, {} times in a row", why, times) : why);
}

void HealthWatch::end() {
  timer_->cancel();
  limit_->cancel();
  fetch_.reset();
  socket_.reset();
  attempt_.reset();
  command_.end();
}

}  // namespace sluice::local
