#include "autoscaler/io/hand_over.h"

#include "common/proto/hand_over_codec.h"
#include "common/rpc/client.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <utility>

namespace sluice::autoscaler {
namespace {

std::string target_of(const Holder& holder, std::uint16_t port) {
  const bool six = holder.address.find(':') != std::string::npos;
  const std::string host = six ? "[" + holder.address + "]" : holder.address;
  return host + ":" + std::to_string(port);
}

// Whoever answers so will not think better of it.
bool is_final(rpc::Code code) {
  return code == rpc::Code::failed_precondition || code == rpc::Code::invalid_argument ||
         code == rpc::Code::unimplemented;
}

}  // namespace

struct HandOver::Inside {
  // What is told to one bucket's next holder.
  struct Errand {
    Holder to;
    std::vector<std::string> messages;
    std::size_t next = 0;   // message to be answered for
    bool awaiting = false;  // it was sent
    bool over = false;
    std::unique_ptr<rpc::Client> client;
  };

  Inside(boost::asio::io_context& context, const log::Logger& logger, HandOverSpec with)
      : io{context}, log{logger}, spec{std::move(with)}, timer{context} {}

  void consider(const std::string& bucket);
  void start(const std::string& bucket, Errand& errand);
  void pump(Errand& errand);
  void answered(Errand& errand, const std::string& bytes);
  void finish(Errand& errand);
  void check();
  void end();

  boost::asio::io_context& io;
  const log::Logger& log;
  HandOverSpec spec;
  boost::asio::steady_timer timer;
  std::map<std::string, Holder> holders;
  std::map<std::string, std::vector<std::string>> waiting;  // by bucket: its holder is not known
  std::map<std::string, Errand> errands;                    // by bucket
  HandOverResult result;
  Done done;
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);
};

void HandOver::Inside::consider(const std::string& bucket) {
  const auto holder = holders.find(bucket);
  auto messages = waiting.find(bucket);
  if (holder == holders.end() || messages == waiting.end() || holder->second == spec.self) return;
  Errand& errand = errands[bucket];
  errand.to = holder->second;
  errand.messages = std::move(messages->second);
  waiting.erase(messages);
  start(bucket, errand);
}

void HandOver::Inside::start(const std::string& bucket, Errand& errand) {
  rpc::ClientOptions options{.target = target_of(errand.to, spec.port),
                             .method = proto::kHandOverMethod,
                             .tls_dir = spec.tls_dir,
                             .tls_name = spec.tls_name};
  options.seed = std::hash<std::string>{}(bucket + spec.self.pod);
  auto client = rpc::Client::make(
      io, std::move(options),
      {.on_connected = [this, &errand] { pump(errand); },
       .on_message = [this, &errand](const std::string& bytes) { answered(errand, bytes); },
       .on_writable = [this, &errand] { pump(errand); },
       .on_closed =
           [this, &errand](const rpc::Client::Closed& closed) {
             errand.awaiting = false;  // whether it was taken is not known: it is told again
             if (!is_final(closed.ending.code)) return;
             log.write(log::Severity::warning, "the next owner takes nothing over",
                       {{"replica", errand.to.pod}, {"why", closed.ending.show()}});
             finish(errand);
           }});
  if (!client) {
    log.write(log::Severity::error, "nothing can be handed over", {{"why", client.error().text()}});
    finish(errand);
    return;
  }
  errand.client = std::move(*client);
  errand.client->start();
}

void HandOver::Inside::pump(Errand& errand) {
  if (errand.over || errand.awaiting || !errand.client->writable()) return;
  errand.awaiting = true;
  errand.client->write(errand.messages[errand.next]);
}

void HandOver::Inside::answered(Errand& errand, const std::string& bytes) {
  if (errand.over || !errand.awaiting) return;
  const auto reply = proto::decode_take_reply(bytes);
  if (!reply) {
    finish(errand);
    return;
  }
  result.taken += reply->taken;
  result.left += reply->left;
  errand.awaiting = false;
  if (++errand.next == errand.messages.size()) {
    finish(errand);
  } else {
    pump(errand);
  }
}

void HandOver::Inside::finish(Errand& errand) {
  if (std::exchange(errand.over, true)) return;
  if (errand.client) errand.client->stop();
  // Not from within the client's own event.
  boost::asio::post(io, [this, alive = std::weak_ptr{alive}] {
    if (!alive.expired()) check();
  });
}

void HandOver::Inside::check() {
  for (const auto& [bucket, errand] : errands) {
    if (!errand.over) return;
  }
  if (waiting.empty()) end();
}

void HandOver::Inside::end() {
  if (!done) return;
  timer.cancel();
  errands.clear();
  const Done told = std::exchange(done, {});
  const HandOverResult how = result;  // `told` may end us
  told(how);
}

HandOver::HandOver(boost::asio::io_context& io, const log::Logger& log, HandOverSpec spec)
    : inside_{std::make_unique<Inside>(io, log, std::move(spec))} {}

HandOver::~HandOver() = default;

void HandOver::begin(std::map<std::string, std::vector<std::string>> messages,
                     std::size_t revisions, Duration limit, Done done) {
  Inside& in = *inside_;
  in.result.revisions = revisions;
  in.done = std::move(done);
  in.waiting = std::move(messages);
  std::erase_if(in.waiting, [](const auto& each) { return each.second.empty(); });
  in.timer.expires_after(in.waiting.empty() ? Duration{0} : limit);
  in.timer.async_wait([&in, alive = std::weak_ptr{in.alive}](const boost::system::error_code& ec) {
    if (!ec && !alive.expired()) in.end();
  });
  const std::map<std::string, Holder> holders = in.holders;
  for (const auto& [bucket, holder] : holders) in.consider(bucket);
}

void HandOver::holder_is(const std::string& bucket, const std::optional<Holder>& holder) {
  if (!holder) {
    inside_->holders.erase(bucket);
    return;
  }
  inside_->holders[bucket] = *holder;
  inside_->consider(bucket);
}

}  // namespace sluice::autoscaler
