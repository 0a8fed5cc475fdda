#include "common/net/peer_socket.h"

#include "common/values/whole_number.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string>
#include <unistd.h>

namespace sluice::net {
namespace {

using Search = PeerSocket::Search;

constexpr std::size_t kTableBytesMax = std::size_t{16} << 20;
constexpr std::size_t kFieldsMax = 10;

/// Address and port of one end; IPv4 as IPv6 has it mapped, so that both compare alike.
struct Place {
  std::array<std::uint32_t, 4> address{};  // in network order
  std::uint16_t port = 0;                  // likewise

  friend bool operator==(const Place&, const Place&) = default;

  [[nodiscard]] bool mapped() const {
    return address[0] == 0 && address[1] == 0 && address[2] == htonl(0xFFFF);
  }
};

Place mapped_place(std::uint32_t address, std::uint16_t port) {
  return {{0, 0, htonl(0xFFFF), address}, port};
}

std::optional<Place> place_of(const sockaddr_storage& end) {
  if (end.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(end);
    return mapped_place(v4.sin_addr.s_addr, v4.sin_port);
  }
  if (end.ss_family != AF_INET6) return std::nullopt;
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(end);
  Place place;
  place.port = v6.sin6_port;
  std::memcpy(place.address.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
  return place;
}

Place place_in(const inet_diag_msg& found, const __be32* address, __be16 port) {
  if (found.idiag_family == AF_INET) return mapped_place(address[0], port);
  return {{address[0], address[1], address[2], address[3]}, port};
}

/// What there is to know of a connection as its other end has it: the peer's source is our
/// destination.
struct Seen {
  Place source;
  Place destination;
};

std::optional<Seen> seen_from_there(const ConnectionEnds& ends) {
  const auto source = place_of(ends.remote);
  const auto destination = place_of(ends.local);
  if (!source || !destination) return std::nullopt;
  return Seen{*source, *destination};
}

struct Question {
  nlmsghdr header;
  inet_diag_req_v2 request;
};

Question question_of(const Seen& seen) {
  Question question{};
  const bool v4 = seen.source.mapped() && seen.destination.mapped();
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  question.request.sdiag_family = v4 ? AF_INET : AF_INET6;
  question.request.sdiag_protocol = IPPROTO_TCP;
  question.request.idiag_states = ~0U;
  auto& id = question.request.id;
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  id.idiag_sport = seen.source.port;
  id.idiag_dport = seen.destination.port;
  const std::size_t from = v4 ? 3 : 0;
  const std::size_t bytes = (4 - from) * sizeof(std::uint32_t);
  std::memcpy(id.idiag_src, seen.source.address.data() + from, bytes);
  std::memcpy(id.idiag_dst, seen.destination.address.data() + from, bytes);
  return question;
}

// The kernel answers with a listening socket when there is no such connection: what it names is
// compared with what was asked.
PeerSocket answer_of(const char* reply, std::size_t bytes, const Seen& seen) {
  nlmsghdr header{};
  if (bytes < NLMSG_HDRLEN) return {};
  std::memcpy(&header, reply, sizeof header);
  const char* payload = reply + NLMSG_HDRLEN;
  const std::size_t room = bytes - NLMSG_HDRLEN;
  if (header.nlmsg_type == NLMSG_ERROR && room >= sizeof(nlmsgerr)) {
    nlmsgerr error{};
    std::memcpy(&error, payload, sizeof error);
    return {.search = error.error == -ENOENT ? Search::missing : Search::unknown};
  }
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || room < sizeof(inet_diag_msg)) return {};
  inet_diag_msg found{};
  std::memcpy(&found, payload, sizeof found);
  const bool same = place_in(found, found.id.idiag_src, found.id.idiag_sport) == seen.source &&
                    place_in(found, found.id.idiag_dst, found.id.idiag_dport) == seen.destination;
  if (!same) return {.search = Search::missing};
  return {Search::found, found.idiag_uid, found.idiag_inode, found.idiag_state};
}

std::size_t split_row(std::string_view line, std::array<std::string_view, kFieldsMax>& fields) {
  std::size_t count = 0;
  while (count < fields.size()) {
    const auto begin = line.find_first_not_of(' ');
    if (begin == std::string_view::npos) break;
    line.remove_prefix(begin);
    const auto end = std::min(line.find(' '), line.size());
    fields[count++] = line.substr(0, end);
    line.remove_prefix(end);
  }
  return count;
}

// As the kernel prints it: words of the address in host order, then the port.
std::string table_text(const Place& place, bool v6) {
  std::string text;
  std::array<char, 16> piece{};
  for (std::size_t i = v6 ? 0 : 3; i < 4; ++i) {
    std::snprintf(piece.data(), piece.size(), "%08X", place.address[i]);
    text += piece.data();
  }
  std::snprintf(piece.data(), piece.size(), ":%04X", ntohs(place.port));
  return text + piece.data();
}

std::string read_text(const char* path, std::size_t bytes_max) {
  std::string text;
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  std::array<char, 65536> chunk{};
  while (text.size() < bytes_max) {
    const ssize_t count = ::read(file, chunk.data(), chunk.size());
    if (count <= 0) break;
    text.append(chunk.data(), static_cast<std::size_t>(count));
  }
  ::close(file);
  return text;
}

PeerSocket look_into_tables(const ConnectionEnds& ends) {
  for (const bool v6 : {false, true}) {
    const std::string table = read_text(v6 ? "/proc/net/tcp6" : "/proc/net/tcp", kTableBytesMax);
    const PeerSocket found = find_peer_in(table, ends, v6);
    if (found.search == Search::found) return found;
  }
  return {};
}

// A socket that is connected and held by a process. One that is only about to connect may be
// another's, at the port of a connection that its own process has given up.
bool is_held(const PeerSocket& peer) {
  constexpr std::array<std::uint8_t, 5> kConnected{1, 4, 5, 8, 11};  // ESTABLISHED to CLOSING
  bool connected = false;
  for (const std::uint8_t state : kConnected) connected = connected || peer.state == state;
  return peer.search == Search::found && peer.inode != 0 && connected;
}

// Where a user namespace knows only some users, one uid stands for all others.
bool stands_for_several(std::uint32_t user) {
  std::string text = read_text("/proc/sys/kernel/overflowuid", 64);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const auto overflow = whole_number<std::uint32_t>(text.empty() ? "65534" : text);
  if (!overflow) return true;
  if (user != *overflow) return false;
  std::array<std::string_view, kFieldsMax> fields;
  const std::string map = read_text("/proc/self/uid_map", 4096);
  const std::string_view first = std::string_view{map}.substr(0, map.find('\n'));
  return split_row(first, fields) != 3 || fields[0] != "0" || fields[2] != "4294967295";
}

}  // namespace

std::optional<ConnectionEnds> ends_of(int descriptor) {
  ConnectionEnds ends;
  socklen_t local_size = sizeof ends.local;
  socklen_t remote_size = sizeof ends.remote;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&ends.local), &local_size) != 0 ||
      ::getpeername(descriptor, reinterpret_cast<sockaddr*>(&ends.remote), &remote_size) != 0) {
    return std::nullopt;
  }
  return ends;
}

PeerSocket find_peer(const ConnectionEnds& ends) {
  const auto seen = seen_from_there(ends);
  if (!seen) return {};
  const Question question = question_of(*seen);
  const int netlink = ::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (netlink < 0) return {};
  PeerSocket answer;
  if (::send(netlink, &question, sizeof question, 0) == static_cast<ssize_t>(sizeof question)) {
    alignas(nlmsghdr) std::array<char, 1024> reply{};
    const ssize_t got = ::recv(netlink, reply.data(), reply.size(), MSG_DONTWAIT);
    if (got > 0) answer = answer_of(reply.data(), static_cast<std::size_t>(got), *seen);
  }
  ::close(netlink);
  return answer;
}

PeerSocket find_peer_in(std::string_view table, const ConnectionEnds& ends, bool v6) {
  const auto seen = seen_from_there(ends);
  if (!seen || (!v6 && !seen->source.mapped())) return {.search = Search::missing};
  const std::string source = table_text(seen->source, v6);
  const std::string destination = table_text(seen->destination, v6);
  while (!table.empty()) {
    const std::size_t end = std::min(table.find('\n'), table.size());
    std::array<std::string_view, kFieldsMax> fields;
    const std::size_t count = split_row(table.substr(0, end), fields);
    table.remove_prefix(std::min(end + 1, table.size()));
    if (count < kFieldsMax || fields[1] != source || fields[2] != destination) continue;
    const auto state = hex_number<std::uint8_t>(fields[3]);
    const auto user = whole_number<std::uint32_t>(fields[7]);
    const auto inode = whole_number<decltype(PeerSocket::inode)>(fields[9]);
    if (!state || !user || !inode) return {};
    return {Search::found, *user, *inode, *state};
  }
  return {.search = Search::missing};
}

std::optional<std::uint32_t> peer_user(int descriptor) {
  const auto ends = ends_of(descriptor);
  if (!ends) return std::nullopt;
  std::uint32_t user = 0;
  if (ends->local.ss_family == AF_UNIX) {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
    user = peer.uid;
  } else {
    PeerSocket peer = find_peer(*ends);
    // A kernel without that door answers as if the socket were missing.
    if (peer.search != Search::found) peer = look_into_tables(*ends);
    if (!is_held(peer)) return std::nullopt;
    user = peer.user;
  }
  if (stands_for_several(user)) return std::nullopt;
  return user;
}

}  // namespace sluice::net
