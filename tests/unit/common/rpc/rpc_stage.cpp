#include "tests/unit/common/rpc/rpc_stage.h"

#include "common/base/check.h"

#include <boost/asio/steady_timer.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

namespace sluice::rpc::testing {

bool run_until(boost::asio::io_context& io, const std::function<bool()>& done) {
  boost::asio::steady_timer limit{io, std::chrono::seconds{30}};
  bool late = false;
  limit.async_wait([&late](auto error) { late = !error; });
  io.restart();
  while (!late && !done()) io.run_one();
  limit.cancel();
  io.poll();
  return done();
}

ServerStage::ServerStage(boost::asio::io_context& io, ServerOptions options) {
  server_ = std::make_unique<Server>(io, [this](std::unique_ptr<Call> call) {
    calls.push_back(std::make_unique<TakenCall>());
    TakenCall& taken = *calls.back();
    taken.call = std::move(call);
    taken.call->start({
        .on_message = [&taken](std::string bytes) { taken.messages.push_back(std::move(bytes)); },
        .on_writable = [&taken] { ++taken.writables; },
        .on_closed = [&taken](const Ending& ending) { taken.ending = ending; },
    });
  });
  if (options.address.empty()) options.address = "127.0.0.1:0";
  if (options.methods.empty()) options.methods = {kMethod};
  const auto bound = server_->open(options);
  CHECK(bound.has_value());
  address_ = *bound;
}

ClientStage::ClientStage(boost::asio::io_context& io, ClientOptions options) {
  if (options.method.empty()) options.method = kMethod;
  auto client =
      Client::make(io, std::move(options),
                   {
                       .on_connected =
                           [this] {
                             ++connected;
                             if (on_connected) on_connected();
                           },
                       .on_message =
                           [this](std::string bytes) {
                             messages.push_back(std::move(bytes));
                             if (on_message) on_message(messages.back());
                           },
                       .on_writable = [this] { ++writables; },
                       .on_closed = [this](const Client::Closed& each) { closed.push_back(each); },
                   });
  CHECK(client.has_value());
  client_ = std::move(*client);
  client_->start();
}

TestFolder::TestFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "sluice-rpc-XXXXXX").string();
  CHECK(::mkdtemp(name.data()) != nullptr);
  path_ = name;
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void TestFolder::write(const std::string& name, const std::string& text) const {
  const std::string path = path_ + "/" + name;
  std::ofstream{path + ".new"} << text;
  std::filesystem::rename(path + ".new", path);
}

}  // namespace sluice::rpc::testing
