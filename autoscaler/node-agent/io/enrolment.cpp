#include "autoscaler/node-agent/io/enrolment.h"

#include "common/files/file_io.h"
#include "common/messages/node_stream.h"
#include "common/proto/node_stream_codec.h"

#include <algorithm>
#include <filesystem>
#include <sys/stat.h>
#include <utility>

namespace sluice::node_agent {
namespace {

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

}  // namespace

TimePoint renewal_of(const certificates::Span& span) {
  return span.from + (span.until - span.from) / 3 * 2;
}

Enrolment::Enrolment(boost::asio::io_context& io, const Clock& clock, const log::Logger& log,
                     Options options, std::function<void()> ready)
    : io_{io},
      clock_{clock},
      log_{log},
      options_{std::move(options)},
      ready_{std::move(ready)},
      timer_{io} {}

void Enrolment::stop() {
  stopped_ = true;
  timer_.cancel();
  if (client_) client_->stop();
}

void Enrolment::look() {
  if (const auto why = follow_authorities()) return failed(*why);
  if (span_ && clock_.now() < renewal_of(*span_)) return rest(options_.look);
  ask();
}

// The CAs that we trust, into the directory; why that cannot be, if it cannot.
std::optional<std::string> Enrolment::follow_authorities() {
  const auto read = files::read_file(options_.ca_file);
  if (!read) return "SLUICE_CA_FILE: " + read.error().text();
  if (!*read) return "SLUICE_CA_FILE: " + options_.ca_file + " is not there yet";
  if (**read == authorities_) return std::nullopt;
  if (const auto wrong = replace_private(options_.tls_dir + "/ca.crt", **read)) {
    return "SLUICE_TLS_DIR: " + wrong->text();
  }
  authorities_ = **read;
  return std::nullopt;
}

void Enrolment::ask() {
  const auto token = files::read_file(options_.token_file);
  if (!token) return failed("SLUICE_TOKEN_FILE: " + token.error().text());
  if (!*token) return failed("SLUICE_TOKEN_FILE: " + options_.token_file + " is not there");
  if (key_.key.empty()) {
    auto made = certificates::make_key();
    if (!made) return failed(made.error().text());
    key_ = std::move(*made);
  }
  rpc::ClientOptions call{.target = options_.addresses[at_], .method = proto::kNodeEnrollMethod};
  call.ca_file = options_.ca_file;
  call.seed = options_.seed;
  call.opening =
      proto::encode(proto::EnrollRequest{.token = trimmed(**token), .public_key = key_.public_key});
  auto client =
      rpc::Client::make(io_, std::move(call),
                        {.on_connected = {},
                         .on_message = [this](const std::string& bytes) { answered(bytes); },
                         .on_writable = {},
                         .on_closed =
                             [this](const rpc::Client::Closed& closed) {
                               client_->stop();
                               const std::string where = options_.addresses[at_];
                               at_ = (at_ + 1) % options_.addresses.size();
                               failed(where + ": " + closed.ending.show());
                             }});
  if (!client) return failed(client.error().text());
  client_ = std::move(*client);
  client_->start();
}

void Enrolment::answered(const std::string& bytes) {
  client_->stop();
  const auto reply = proto::decode_enroll_reply(bytes);
  if (!reply) return failed("the autoscaler's answer cannot be read");
  if (const auto wrong = keep(reply->certificate)) return failed(wrong->text());
  log_.write(log::Severity::info, "this node has a certificate",
             {{"from", options_.addresses[at_]}});
  failures_ = 0;
  last_trouble_.clear();
  if (const auto ready = std::exchange(ready_, nullptr)) ready();
  rest(options_.look);
}

std::optional<Problem> Enrolment::keep(const std::string& certificate) {
  const auto span = certificates::span_of(certificate);
  if (!span) return Problem{"the autoscaler's answer is no certificate", "see its log"};
  if (auto wrong = replace_private(options_.tls_dir + "/tls.key", key_.key)) return wrong;
  if (auto wrong = replace_private(options_.tls_dir + "/tls.crt", certificate)) return wrong;
  span_ = span;
  return std::nullopt;
}

void Enrolment::failed(const std::string& why) {
  if (stopped_) return;
  if (why != last_trouble_) {
    log_.write(log::Severity::warning, "no certificate from the autoscaler", {{"why", why}});
  }
  last_trouble_ = why;
  rest(rpc::retry_pause(++failures_, 0.5));
}

void Enrolment::rest(Duration pause) {
  timer_.expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(pause));
  timer_.async_wait([this](const boost::system::error_code& ec) {
    if (!ec && !stopped_) look();
  });
}

}  // namespace sluice::node_agent
