#include "load/io/machine.h"

#include "common/values/rfc3339.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <optional>
#include <random>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <utility>

namespace sluice::loadgen {

namespace asio = boost::asio;

namespace {

// Said outright: a string would also do for a Problem.
Result<std::string, Problem> text(std::string value) {
  return Result<std::string, Problem>{boost::system::in_place_value, std::move(value)};
}

Duration clock_time(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

std::string cpu_model() {
  std::ifstream file{"/proc/cpuinfo"};
  constexpr int kLinesMax = 200;
  std::string line;
  for (int i = 0; i < kLinesMax && std::getline(file, line); ++i) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(": ");
    return colon == std::string::npos ? "" : line.substr(colon + 2);
  }
  return {};
}

}  // namespace

Circumstances circumstances(TimePoint started, const std::vector<std::string>& args) {
  Circumstances out;
  out.started_at = rfc3339(started, Fraction::none);
  out.command = "sluice load";
  for (const std::string& arg : args) out.command += " " + arg.substr(0, 1000);
  utsname name{};
  if (uname(&name) == 0) {
    out.host = name.nodename;
    out.kernel = name.release;
  }
  out.cpu = cpu_model();
  out.cpus = static_cast<unsigned>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 0L));
  return out;
}

Result<std::string, Problem> resolve(const Target& target) {
  if (target.is_localhost()) return text(std::string{"127.0.0.1"});
  boost::system::error_code error;
  const asio::ip::address literal = asio::ip::make_address(target.host, error);
  if (!error) return text(literal.to_string());
  asio::io_context loop{1};
  asio::ip::tcp::resolver resolver{loop};
  std::optional<std::string> found;
  error = asio::error::timed_out;
  resolver.async_resolve(target.host, "", [&](boost::system::error_code result, const auto& names) {
    error = result;
    if (!result && !names.empty()) found = names.begin()->endpoint().address().to_string();
  });
  loop.run_for(std::chrono::seconds{10});
  if (found) return text(*found);
  return Problem{"cannot resolve '" + target.host + "': " + error.message(),
                 "check the name, or use a name below .localhost for this machine"};
}

std::size_t raise_connection_limit() {
  constexpr rlim_t kKeptForOthers = 32;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kConnectionsMax;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t room = limit.rlim_cur > kKeptForOthers ? limit.rlim_cur - kKeptForOthers : 1;
  return static_cast<std::size_t>(std::min<rlim_t>(room, kConnectionsMax));
}

std::size_t terminal_width(int descriptor) {
  constexpr std::size_t kUsual = 80;
  constexpr std::size_t kLeast = 20;
  if (isatty(descriptor) == 0) return 0;
  winsize size{};
  const bool known = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? std::max<std::size_t>(size.ws_col, kLeast) : kUsual;
}

Duration thread_cpu_time() {
  return clock_time(CLOCK_THREAD_CPUTIME_ID);
}

Duration machine_clock() {
  return clock_time(CLOCK_REALTIME);
}

std::string fresh_run_id() {
  std::random_device device;
  std::array<char, 20> out{};
  std::snprintf(out.data(), out.size(), "%08x", device());
  return out.data();
}

}  // namespace sluice::loadgen
