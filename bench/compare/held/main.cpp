// What bench/compare/activator.py is too slow for itself: many clients that wait at once, and the
// applications that count what reaches them. Takes orders on its input, one a line, and answers
// each with one line of JSON.
//
//   held clients HOST:PORT HOST     h1 COUNT FIRST · h2 STREAMS FIRST · await · warm MILLISECONDS
//   held apps COUNT                 open · shut · delay MICROSECONDS · report STEP

#include "bench/compare/held/app.h"
#include "bench/compare/held/h1_clients.h"
#include "bench/compare/held/h2_clients.h"
#include "common/net/server/open_files.h"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/streambuf.hpp>

#include <iostream>
#include <sstream>
#include <unistd.h>

namespace sluice::held {
namespace {

namespace asio = boost::asio;

using Order = std::function<void(const std::string& name, std::istream& arguments)>;

void answer(const std::string& line) {
  std::cout << line << std::endl;
}

/// Hands on the lines of the input until it ends.
class Orders {
 public:
  Orders(asio::io_context& io, Order order)
      : io_{io}, input_{io, ::dup(STDIN_FILENO)}, order_{std::move(order)} {
    next();
  }

 private:
  void next() {
    asio::async_read_until(input_, buffer_, '\n',
                           [this](const boost::system::error_code& ec, std::size_t) {
                             if (ec) {
                               io_.stop();
                               return;
                             }
                             std::istream lines{&buffer_};
                             std::string line;
                             std::getline(lines, line);
                             std::istringstream words{line};
                             std::string name;
                             words >> name;
                             order_(name, words);
                             next();
                           });
  }

  asio::io_context& io_;
  asio::posix::stream_descriptor input_;
  asio::streambuf buffer_;
  Order order_;
};

/// Clients of both kinds and what they came to.
struct Clients {
  Clients(const net::Address& server, const std::string& host)
      : h1{io, server, host, tally}, h2{io, server, host, tally} {
    tally.on_quiet([this] { tell(); });
  }

  void tell() {
    if (!awaited) return;
    awaited = false;
    answer(tally.take());
  }

  /// All clients ask on for twice `span`: until each has its turn, then for the account.
  void warm(std::chrono::milliseconds span) {
    h1.loop();
    timer.expires_after(span);
    timer.async_wait([this, span](const boost::system::error_code&) {
      const std::uint64_t before = h1.answers();
      const std::int64_t began = now_ns();
      timer.expires_after(span);
      timer.async_wait([this, before, began](const boost::system::error_code&) {
        h1.stop();
        answer("{\"answers\":" + std::to_string(h1.answers() - before) +
               ",\"ns\":" + std::to_string(now_ns() - began) + "}");
      });
    });
  }

  void obey(const std::string& name, std::istream& arguments) {
    std::size_t count = 0;
    std::uint64_t first = 0;
    arguments >> count >> first;
    const auto sent = [] { answer("{\"sent\":true}"); };
    if (name == "h1") {
      h1.send(count, first, sent);
    } else if (name == "h2") {
      h2.send(count, first, sent);
    } else if (name == "warm") {
      warm(std::chrono::milliseconds{count});
    } else if (name == "await") {
      awaited = true;
      if (tally.outstanding() == 0) tell();
    }
  }

  asio::io_context io{1};
  Tally tally;
  H1Clients h1;
  H2Clients h2;
  asio::steady_timer timer{io};
  bool awaited = false;
};

int run_clients(const net::Address& server, const std::string& host) {
  Clients clients{server, host};
  const Orders orders{clients.io, [&clients](const std::string& name, std::istream& arguments) {
                        clients.obey(name, arguments);
                      }};
  clients.io.run();
  return 0;
}

int run_apps(int count) {
  asio::io_context io{1};
  Apps apps{io};
  std::string ports;
  for (int i = 0; i < count; ++i) {
    const auto address = apps.add();
    if (!address) {
      std::cerr << address.error().what << '\n';
      return 1;
    }
    ports += (ports.empty() ? "" : ",") + std::to_string(address->port);
  }
  answer("{\"ports\":[" + ports + "]}");
  const Orders orders{io, [&](const std::string& name, std::istream& arguments) {
                        std::uint64_t number = 0;
                        arguments >> number;
                        if (name == "report") {
                          answer(apps.report(std::max<std::uint64_t>(number, 1)));
                          return;
                        }
                        if (name == "open") apps.open(true);
                        if (name == "shut") apps.open(false);
                        if (name == "delay") apps.delay(std::chrono::microseconds{number});
                        answer("{}");
                      }};
  io.run();
  return 0;
}

}  // namespace
}  // namespace sluice::held

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  sluice::net::raise_open_files();
  if (words.size() == 3 && words[0] == "clients") {
    const auto server = sluice::net::parse_address(words[1]);
    if (server) return sluice::held::run_clients(*server, words[2]);
  } else if (words.size() == 2 && words[0] == "apps") {
    return sluice::held::run_apps(std::atoi(words[1].c_str()));
  }
  std::cerr << "usage: held clients HOST:PORT HOST | held apps COUNT\n";
  return 2;
}
