// Whether the process that answers on a port is the one we started there. The kernel's tables of
// TCP sockets give the inode of each listening socket; the descriptors of a process name inodes.

#include "platform/process/listeners.h"

#include "common/values/whole_number.h"

#include <fmt/format.h>

#include "platform/process/listen_diag.h"
#include "platform/process/proc_files.h"
#include "platform/process/unique_fd.h"
#include <algorithm>
#include <array>
#include <dirent.h>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <set>
#include <string_view>
#include <unistd.h>

namespace sluice::local {
namespace {

constexpr std::size_t kTableBytesMax = std::size_t{16} << 20;
constexpr std::size_t kGroupMax = 4096;
constexpr std::size_t kPortsMax = 64;
constexpr int kDescriptorsMax = 65'536;

/// 127.0.0.1, 0.0.0.0, [::] or [::ffff:127.0.0.1], in the kernel's notation on this machine: 32-bit
/// words in host order. A connection to 127.0.0.1 can reach only these.
bool answers_loopback(std::string_view address) {
  constexpr std::array<std::string_view, 6> kLittleEndian{"0100007F",
                                                          "00000000",
                                                          "00000000000000000000000000000000",
                                                          "0000000000000000FFFF00000100007F",
                                                          "7F000001",
                                                          "00000000000000000000FFFF7F000001"};
  return std::find(kLittleEndian.begin(), kLittleEndian.end(), address) != kLittleEndian.end();
}

/// An address of 127.0.0.0/8, or [::1], in the same notation.
bool is_loopback(std::string_view address) {
  return (address.size() == 8 && address.ends_with("7F")) ||
         address == "00000000000000000000000001000000" ||
         (address.starts_with("0000000000000000FFFF0000") && address.ends_with("7F"));
}

/// `  0: 0100007F:4E20 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0  0 12345 …`
std::optional<ListenSocket> parse_row(std::string_view line) {
  std::array<std::string_view, 10> fields;
  std::size_t count = 0;
  while (count < fields.size()) {
    const auto begin = line.find_first_not_of(' ');
    if (begin == std::string_view::npos) return std::nullopt;
    line.remove_prefix(begin);
    const auto end = std::min(line.find(' '), line.size());
    fields[count++] = line.substr(0, end);
    line.remove_prefix(end);
  }
  constexpr std::string_view kListenState = "0A";
  if (fields[3] != kListenState) return std::nullopt;
  const auto colon = fields[1].find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = hex_number<std::uint16_t>(fields[1].substr(colon + 1));
  const auto inode = whole_number<std::uint64_t>(fields[9]);
  if (!port || !inode) return std::nullopt;
  const std::string_view address = fields[1].substr(0, colon);
  return ListenSocket{*inode, *port, answers_loopback(address), is_loopback(address)};
}

/// Visits the listening rows of one table. The kernel lists listening sockets before all others, so
/// a chunk without one ends the reading: a busy machine has a hundred thousand connections there.
void for_each_listen_row(const char* path, const std::function<void(const ListenSocket&)>& visit) {
  const UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
  if (!fd) return;
  std::string text;
  std::array<char, 65536> chunk{};
  std::size_t total = 0;
  bool heading = true;
  while (total < kTableBytesMax) {
    const auto count = ::read(fd.get(), chunk.data(), chunk.size());
    if (count <= 0) return;
    total += static_cast<std::size_t>(count);
    text.append(chunk.data(), static_cast<std::size_t>(count));
    bool listening = heading;
    std::size_t begin = 0;
    for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
      if (const auto row = parse_row(std::string_view(text).substr(begin, end - begin))) {
        listening = true;
        visit(*row);
      }
      begin = end + 1;
    }
    text.erase(0, begin);
    heading = false;
    if (!listening) return;
  }
}

void for_each_listener(const std::function<void(const ListenSocket&)>& visit) {
  if (for_each_listen_socket(visit)) return;
  for_each_listen_row("/proc/net/tcp", visit);
  for_each_listen_row("/proc/net/tcp6", visit);
}

using Inodes = std::set<std::uint64_t>;

Inodes listening_inodes(std::uint16_t port) {
  Inodes inodes;
  for_each_listener([&](const ListenSocket& socket) {
    if (socket.port == port && socket.reaches_loopback) inodes.insert(socket.inode);
  });
  return inodes;
}

/// Visits the inodes of the sockets a process has open; stops when `visit` returns false.
void for_each_socket(pid_t pid, const std::function<bool(std::uint64_t)>& visit) {
  const std::string path = "/proc/" + std::to_string(pid) + "/fd";
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), ::closedir);
  if (!directory) return;
  int seen = 0;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (++seen > kDescriptorsMax) return;
    std::array<char, 64> target{};
    const auto length =
        ::readlinkat(::dirfd(directory.get()), entry->d_name, target.data(), target.size());
    constexpr std::string_view kPrefix = "socket:[";
    if (length <= static_cast<ssize_t>(kPrefix.size())) continue;
    std::string_view text(target.data(), static_cast<std::size_t>(length));
    if (text.substr(0, kPrefix.size()) != kPrefix) continue;
    text.remove_prefix(kPrefix.size());
    text.remove_suffix(1);
    const auto inode = whole_number<std::uint64_t>(text);
    if (inode && !visit(*inode)) return;
  }
}

bool holds_one_of(pid_t pid, const Inodes& inodes) {
  bool found = false;
  for_each_socket(pid, [&](std::uint64_t inode) {
    found = inodes.count(inode) != 0;
    return !found;
  });
  return found;
}

}  // namespace

std::optional<Listener> who_listens(std::uint16_t port) {
  const Inodes inodes = listening_inodes(port);
  if (inodes.empty()) return std::nullopt;
  Listener listener;
  for_each_process([&](pid_t pid) {
    if (!holds_one_of(pid, inodes)) return true;
    const auto stat = process_stat(pid);
    if (!stat) return true;
    listener = {pid, stat->group, stat->name};
    return false;
  });
  return listener;
}

Problem held_port(std::uint16_t port, const std::optional<Listener>& by) {
  const std::string holder = by && by->pid > 0 ? fmt::format("{} (pid {})", by->name, by->pid)
                                               : "a process that cannot be seen";
  return {fmt::format("port {} is held by {}", port, holder), "stop it, or use another port"};
}

bool group_listens(pid_t group, std::uint16_t port) {
  const Inodes inodes = listening_inodes(port);
  if (inodes.empty()) return false;
  // Nearly always it is the leader itself, which spares the walk over all processes.
  if (holds_one_of(group, inodes)) return true;
  const auto members = processes_of_group(group);
  return std::any_of(members.begin(), members.end(),
                     [&](pid_t pid) { return holds_one_of(pid, inodes); });
}

Listening listening_of(pid_t leader, std::uint16_t port) {
  Inodes open;
  Listening listening;
  for (const pid_t pid : descendants_of(leader)) {
    if (const auto stat = process_stat(pid)) listening.cpu_ticks += stat->cpu_ticks;
    for_each_socket(pid, [&](std::uint64_t inode) {
      open.insert(inode);
      return open.size() < static_cast<std::size_t>(kDescriptorsMax);
    });
  }
  if (open.empty()) return listening;
  std::set<std::uint16_t> ports;
  for_each_listener([&](const ListenSocket& socket) {
    if (open.count(socket.inode) == 0) return;
    if (ports.size() < kPortsMax) ports.insert(socket.port);
    listening.reachable |= socket.port == port && socket.reaches_loopback;
  });
  listening.ports.assign(ports.begin(), ports.end());
  return listening;
}

Listening listening_in_network_of(pid_t pid, std::uint16_t port) {
  Listening listening;
  for (const pid_t each : descendants_of(pid)) {
    if (const auto stat = process_stat(each)) listening.cpu_ticks += stat->cpu_ticks;
  }
  std::set<std::uint16_t> ports;
  const std::string tables = "/proc/" + std::to_string(pid) + "/net/";
  for (const char* const table : {"tcp", "tcp6"}) {
    for_each_listen_row((tables + table).c_str(), [&](const ListenSocket& socket) {
      if (ports.size() < kPortsMax) ports.insert(socket.port);
      listening.reachable |= socket.port == port && !socket.on_loopback_only;
    });
  }
  listening.ports.assign(ports.begin(), ports.end());
  return listening;
}

std::vector<pid_t> processes_of_group(pid_t group) {
  std::vector<pid_t> members;
  for_each_process([&](pid_t pid) {
    const auto stat = process_stat(pid);
    if (stat && stat->group == group && !stat->zombie) members.push_back(pid);
    return members.size() < kGroupMax;
  });
  std::sort(members.begin(), members.end());
  return members;
}

std::int64_t resident_bytes_of_group(pid_t group) {
  std::int64_t bytes = 0;
  for (const pid_t pid : processes_of_group(group)) bytes += resident_bytes(pid);
  return bytes;
}

}  // namespace sluice::local
