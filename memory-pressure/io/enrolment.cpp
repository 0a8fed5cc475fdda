#include "memory-pressure/io/enrolment.h"

#include "common/certificates/enrolment_text.h"
#include "common/files/file_io.h"
#include "common/rpc/client.h"
#include "common/values/whole_number.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <sys/stat.h>
#include <utility>

namespace sluice::node_agent {
namespace {

constexpr std::chrono::seconds kAnswerWait{20};  // longer than the autoscaler asks its API server
constexpr std::chrono::seconds kRetryAfterMax{60};

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

std::optional<Problem> replace_private(const std::string& path, const std::string& content) {
  const ::mode_t usual = ::umask(S_IRWXG | S_IRWXO);
  auto wrong = files::replace_file(path, content);
  ::umask(usual);
  return wrong;
}

// What the answer says of the next attempt; zero: nothing.
Duration retry_after_of(const http::ResponseHead& head) {
  const std::string_view text = head.fields.get(http::Known::retry_after);
  const std::chrono::seconds wait{whole_number<int>(text, 0).value_or(0)};
  return std::min<Duration>(wait, kRetryAfterMax);
}

}  // namespace

TimePoint renewal_of(const certificates::Span& span) {
  return span.from + (span.until - span.from) / 3 * 2;
}

Enrolment::Enrolment(boost::asio::io_context& io, Loop& loop, const log::Logger& log,
                     Options options, std::function<void()> ready)
    : io_{io},
      loop_{loop},
      log_{log},
      options_{std::move(options)},
      where_{net::host_and_port(options_.address).value_or(net::HostAndPort{})},
      ready_{std::move(ready)},
      dice_{options_.seed},
      timer_{loop.timer()},
      resolver_{io},
      trusted_{std::make_shared<Trusted>(where_.host)} {}

void Enrolment::stop() {
  stopped_ = true;
  timer_->cancel();
  resolver_.cancel();
  fetch_.reset();
}

void Enrolment::look() {
  if (const auto why = follow_authorities()) return failed(*why);
  if (span_ && loop_.now() < renewal_of(*span_)) return rest(options_.look);
  ask();
}

// The CAs that we trust, into the directory; why that cannot be, if it cannot.
std::optional<std::string> Enrolment::follow_authorities() {
  const auto read = files::read_file(options_.ca_file);
  if (!read) return "SLUICE_CA_FILE: " + read.error().text();
  if (!*read) return "SLUICE_CA_FILE: " + options_.ca_file + " does not exist yet";
  if (**read == authorities_) return std::nullopt;
  if (const auto wrong = trusted_->trust.replace(std::array{**read}); !wrong.empty()) {
    return "SLUICE_CA_FILE: " + options_.ca_file + ": " + wrong.front().text();
  }
  if (const auto wrong = replace_private(options_.tls_dir + "/ca.crt", **read)) {
    return "SLUICE_TLS_DIR: " + wrong->text();
  }
  authorities_ = **read;
  // The autoscaler, which has the same CAs, no longer takes ours.
  if (!certificates::is_signed_by_one_of(certificate_, authorities_)) span_.reset();
  return std::nullopt;
}

void Enrolment::ask() {
  const auto token = files::read_file(options_.token_file);
  if (!token) return failed("SLUICE_TOKEN_FILE: " + token.error().text());
  if (!*token) return failed("SLUICE_TOKEN_FILE: " + options_.token_file + " does not exist");
  if (key_.key.empty()) {
    auto made = certificates::make_key();
    if (!made) return failed(made.error().text());
    key_ = std::move(*made);
  }
  resolver_.async_resolve(
      where_.host, where_.port,
      [this, token = trimmed(**token)](const boost::system::error_code& ec,
                                       const Tcp::resolver::results_type& found) {
        if (ec == boost::asio::error::operation_aborted || stopped_) return;
        if (ec) return failed("cannot look up " + where_.host + ": " + ec.message());
        // One after the other: a replica that is about to come does not answer.
        const auto at =
            std::next(found.begin(), static_cast<std::ptrdiff_t>(attempts_++ % found.size()));
        const auto end = at->endpoint();
        call(token, {.host = end.address().to_string(), .port = end.port(), .path = {}});
      });
}

void Enrolment::call(const std::string& token, const net::Address& replica) {
  fetch_.emplace(
      io_,
      net::FetchRequest{.target = replica,
                        .text = certificates::enroll_request(
                            {.token = token, .public_key = key_.public_key}, options_.address),
                        .timeout = kAnswerWait,
                        .body_max = certificates::kEnrollAnswerMax,
                        .tls = {trusted_, &trusted_->client}},
      [this](const net::FetchResult& answer) { answered(answer); });
}

void Enrolment::answered(const net::FetchResult& answer) {
  if (!answer) {
    const bool is_rejected = answer.error().error == Error::upstream_invalid;
    return failed(options_.address + ": " + answer.error().why +
                  (is_rejected
                       ? ": check that its certificate has that name and a CA in SLUICE_CA_FILE"
                       : ""));
  }
  if (answer->head.status != 200) {
    return failed(
        options_.address + ": " + std::to_string(answer->head.status) + " " + trimmed(answer->body),
        retry_after_of(answer->head));
  }
  if (const auto wrong = keep(answer->body)) return failed(wrong->text());
  log_.write(log::Severity::info, "received a node certificate", {{"from", options_.address}});
  failures_ = 0;
  last_trouble_.clear();
  if (const auto ready = std::exchange(ready_, nullptr)) ready();
  rest(options_.look);
}

std::optional<Problem> Enrolment::keep(const std::string& certificate) {
  const auto span = certificates::span_of(certificate);
  if (!span) return Problem{"the autoscaler's answer is not a certificate", "see its log"};
  if (auto wrong = replace_private(options_.tls_dir + "/tls.key", key_.key)) return wrong;
  if (auto wrong = replace_private(options_.tls_dir + "/tls.crt", certificate)) return wrong;
  certificate_ = certificate;
  span_ = span;
  return std::nullopt;
}

// Agents that failed together come back apart: all of them, when an autoscaler begins again.
void Enrolment::failed(const std::string& why, Duration at_least) {
  if (stopped_) return;
  if (why != last_trouble_) {
    log_.write(log::Severity::warning, "cannot get a certificate from the autoscaler",
               {{"why", why}});
  }
  last_trouble_ = why;
  const double chance = std::uniform_real_distribution<double>{}(dice_);
  rest(rpc::retry_pause(++failures_, chance) + from_seconds(to_seconds(at_least) * (1 + chance)));
}

void Enrolment::rest(Duration pause) {
  if (!stopped_) timer_->after(pause, [this] { look(); });
}

}  // namespace sluice::node_agent
