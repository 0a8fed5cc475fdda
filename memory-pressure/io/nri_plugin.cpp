#include "memory-pressure/io/nri_plugin.h"

#include "common/base/lifetime.h"
#include "common/rpc/client.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <optional>
#include <utility>

namespace sluice::node_agent {
namespace {

namespace asio = boost::asio;
using Unix = asio::local::stream_protocol;

constexpr std::size_t kReadBytes = std::size_t{16} * 1024;
// Answers have some bytes each: a runtime that lets so many lie reads none.
constexpr std::size_t kUnreadBytesMax = std::size_t{64} * 1024;
constexpr std::uint32_t kFirstStream = 1;
// One and a half minutes in all: a runtime that is started again is back within them.
constexpr std::uint32_t kQuickAttempts = 30;
constexpr std::uint32_t kDropsMax = 3;
constexpr double kMeanPause = 0.5;

}  // namespace

struct NriPlugin::Line {
  explicit Line(asio::io_context& io) : socket{io} {}

  Unix::socket socket;
  nri::TrunkReader reader;
  std::array<char, kReadBytes> block{};
  std::string sending;
  std::string waiting;  // for what is sent
  nri::Host runtime;
  std::optional<TimePoint> serving_since;
  Lifetime alive;
};

NriPlugin::NriPlugin(asio::io_context& io, Loop& loop, const log::Logger& log, Options options,
                     Received on_start)
    : io_{io},
      loop_{loop},
      log_{log},
      options_{std::move(options)},
      on_start_{std::move(on_start)},
      timer_{loop.timer()},
      failures_{kQuickAttempts} {}

NriPlugin::~NriPlugin() = default;

void NriPlugin::start() {
  if (!options_.socket.empty()) connect();
}

bool NriPlugin::is_connected() const {
  return line_ && line_->serving_since;
}

void NriPlugin::connect() {
  line_ = std::make_unique<Line>(io_);
  timer_->after(kRegistrationLimit, [this] { fail("it does not answer in time"); });
  line_->socket.async_connect(
      Unix::endpoint{options_.socket},
      [this, alive = line_->alive.watch()](const boost::system::error_code& failed) {
        if (alive.over()) return;
        if (failed) return fail(failed.message());
        connected();
      });
}

void NriPlugin::connected() {
  send({.connection = nri::kRuntimeService,
        .stream = kFirstStream,
        .kind = nri::MessageKind::request,
        .bytes = nri::register_call()});
  write();
  read();
}

void NriPlugin::read() {
  line_->socket.async_read_some(asio::buffer(line_->block),
                                [this, alive = line_->alive.watch()](
                                    const boost::system::error_code& failed, std::size_t size) {
                                  if (alive.over()) return;
                                  if (failed == asio::error::eof)
                                    return fail("it has closed the connection");
                                  if (failed) return fail(failed.message());
                                  received(size);
                                });
}

// The runtime holds a start until we have answered, and with it all that come after: whatever a
// start means to us comes behind the answer.
void NriPlugin::received(std::size_t size) {
  const auto messages = line_->reader.feed({line_->block.data(), size});
  if (!messages) return fail("it sends more than a message may have");
  std::vector<nri::Start> starts;
  for (const nri::Message& message : *messages) {
    if (const std::string problem = take(message, starts); !problem.empty()) return fail(problem);
  }
  if (line_->waiting.size() > kUnreadBytesMax) return fail("it does not read what it is answered");
  write();
  read();
  for (const nri::Start& start : starts) on_start_(start);
}

// Why the connection is given up; empty: it is not.
std::string NriPlugin::take(const nri::Message& message, std::vector<nri::Start>& starts) {
  const bool is_call = message.kind == nri::MessageKind::request;
  if (message.connection == nri::kPluginService && is_call) return called(message, starts);
  if (message.connection != nri::kRuntimeService || is_call) return {};
  const auto answer = nri::read_answer(message.bytes);
  if (!answer) return "it sends what is no answer";
  return answer->code == 0 ? std::string{} : "it refuses the plugin: " + answer->text;
}

std::string NriPlugin::called(const nri::Message& message, std::vector<nri::Start>& starts) {
  const auto call = nri::read_call(message.bytes);
  if (!call) return "it sends what is no call";
  send({.connection = nri::kPluginService,
        .stream = message.stream,
        .kind = nri::MessageKind::response,
        .bytes = answer_to(*call)});
  if (call->service != nri::kPlugin) return {};
  if (auto start = nri::read_start(*call)) starts.push_back(std::move(*start));
  return {};
}

// Any other answer to a start would make it fail.
std::string NriPlugin::answer_to(const nri::Call& call) {
  if (call.service != nri::kPlugin) return nri::unimplemented_answer(call.service);
  if (call.method == "Configure") {
    line_->runtime = nri::read_configure(call.payload);
    timer_->cancel();
    return nri::configure_answer();
  }
  if (call.method != "Synchronize") return nri::empty_answer();
  if (!line_->serving_since && !nri::has_more(call.payload)) {
    line_->serving_since = loop_.now();
    log_once("connected to the runtime's NRI",
             {"runtime", line_->runtime.name + " " + line_->runtime.version});
  }
  return nri::synchronize_answer(call.payload);
}

void NriPlugin::send(const nri::Message& message) {
  line_->waiting += nri::to_trunk(message);
}

// What fits into the socket, as an answer does, is there when this returns.
void NriPlugin::write() {
  if (!line_->sending.empty() || line_->waiting.empty()) return;
  line_->sending = std::exchange(line_->waiting, {});
  asio::async_write(line_->socket, asio::buffer(line_->sending),
                    [this, alive = line_->alive.watch()](const boost::system::error_code& failed,
                                                         std::size_t /*size*/) {
                      if (alive.over()) return;
                      if (failed) return fail(failed.message());
                      line_->sending.clear();
                      write();
                    });
}

void NriPlugin::fail(const std::string& why) {
  const Duration pause = pause_after_failure();
  log_once(is_connected() ? "lost the runtime's NRI" : "no NRI: births are seen by other means",
           {"why", why});
  line_.reset();
  timer_->after(pause, [this] { connect(); });
}

// Who loses us again and again may have held its starts for us each time.
Duration NriPlugin::pause_after_failure() {
  if (is_connected()) {
    failures_ = 0;
    drops_ = loop_.now() - *line_->serving_since < kPause ? drops_ + 1 : 0;
  }
  if (drops_ > kDropsMax || ++failures_ > kQuickAttempts) return kPause;
  return rpc::retry_pause(failures_, kMeanPause);
}

// Once in a row.
void NriPlugin::log_once(const std::string& what, const log::Logger::Field& more) {
  if (std::exchange(logged_, what) == what) return;
  log_.write(log::Severity::info, what, {{"socket", options_.socket}, more});
}

}  // namespace sluice::node_agent
