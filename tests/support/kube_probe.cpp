// Watches one collection of a real API server and prints its events, for tests that cut, restart
// and measure: `kube_probe list PATH [LABELS]`. Lines out: `put NAME`, `gone NAME`, `synced N`, and
// on the line `rss` on standard input `rss KIB objects N lists N events N`, on `state` how the
// reflector stands. Objects are kept as the values that programs keep. Ends with its standard
// input.
#include "common/kube/informer.h"
#include "common/kube/objects.h"
#include "common/settings/env_reader.h"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>

#include <cstdio>
#include <fstream>
#include <istream>
#include <malloc.h>
#include <random>
#include <unistd.h>

namespace sluice::kube {
namespace {

long resident_kib() {
  std::ifstream status{"/proc/self/status"};
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmRSS:")) return std::stol(line.substr(6));
  }
  return 0;
}

// Any object, of which nothing is kept.
std::optional<std::string> decode_size(std::string_view json) {
  return std::to_string(json.size());
}

template <class T>
class Probe {
 public:
  Probe(boost::asio::io_context& io, Client& client, Collection collection,
        typename Informer<T>::Decode decode)
      : client_{client},
        input_{io, ::dup(STDIN_FILENO)},
        informer_{{io, clock_, random_, log_, client},
                  std::move(collection),
                  std::move(decode),
                  {.changed = [](const ObjectName& name,
                                 const T&) { std::printf("put %s\n", name.text().c_str()); },
                   .gone = [](const ObjectName& name,
                              const T&) { std::printf("gone %s\n", name.text().c_str()); },
                   .synced = [this] { std::printf("synced %zu\n", informer_.all().size()); }}} {}

  void run(boost::asio::io_context& io) {
    informer_.start();
    listen(io);
    io.run();
  }

 private:
  void listen(boost::asio::io_context& io) {
    boost::asio::async_read_until(input_, text_, '\n',
                                  [this, &io](const boost::system::error_code& ec, std::size_t) {
                                    if (ec) {
                                      io.stop();
                                      return;
                                    }
                                    std::istream in{&text_};
                                    std::string line;
                                    std::getline(in, line);
                                    answer(line);
                                    listen(io);
                                  });
  }

  void answer(const std::string& line) {
    const Reflector::State& state = informer_.state();
    if (line == "rss") {
      ::malloc_trim(0);
      std::printf("rss %ld objects %zu lists %llu events %llu\n", resident_kib(),
                  informer_.all().size(), static_cast<unsigned long long>(state.lists),
                  static_cast<unsigned long long>(state.events));
    } else if (line == "state") {
      std::printf("state synced %d connected %d forbidden %d absent %d requests %llu problem %s\n",
                  state.synced, state.connected, state.forbidden, state.absent,
                  static_cast<unsigned long long>(client_.counts().requests),
                  state.problem.c_str());
    }
  }

  Clock clock_;
  log::Logger log_{"kube-probe"};
  std::mt19937_64 random_{std::random_device{}()};
  Client& client_;  // of main, which outlives this
  boost::asio::posix::stream_descriptor input_;
  boost::asio::streambuf text_{64 * 1024};
  Informer<T> informer_;
};

int run(const Collection& collection) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  boost::asio::io_context io{1};
  const Clock clock;
  const log::Logger log{"kube-probe"};
  auto access = find_access(settings::process_environment());
  if (!access) {
    std::fprintf(stderr, "%s\n", access.error().text().c_str());
    return 78;
  }
  auto client = Client::make(io, clock, log, std::move(*access));
  if (!client) {
    std::fprintf(stderr, "%s\n", client.error().text().c_str());
    return 78;
  }
  if (collection.path.ends_with("/pods")) {
    Probe<Pod>{io, **client, collection, decode_pod}.run(io);
  } else {
    Probe<std::string>{io, **client, collection, decode_size}.run(io);
  }
  return 0;
}

}  // namespace
}  // namespace sluice::kube

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4 || std::string_view{argv[1]} != "list") {
    std::fprintf(stderr, "usage: kube_probe list PATH [LABELS]\n");
    return 2;
  }
  return sluice::kube::run({.path = argv[2], .labels = argc > 3 ? argv[3] : ""});
}
