// Whose the other end of a connection within this machine is: real sockets on loopback, and the
// kernel's text table as it prints it.

#include "common/net/peer_socket.h"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <bit>
#include <netinet/in.h>
#include <string>
#include <unistd.h>
#include <utility>

namespace sluice::net {
namespace {

using Search = PeerSocket::Search;

class Descriptor {
 public:
  explicit Descriptor(int number) : number_{number} {}

  Descriptor(Descriptor&& other) noexcept : number_{std::exchange(other.number_, -1)} {}

  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;

  ~Descriptor() { close(); }

  [[nodiscard]] int get() const { return number_; }

  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

sockaddr_storage end_at(const char* ip, std::uint16_t port) {
  sockaddr_storage end{};
  auto& v4 = reinterpret_cast<sockaddr_in&>(end);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(end);
  if (::inet_pton(AF_INET, ip, &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
  } else {
    EXPECT_EQ(::inet_pton(AF_INET6, ip, &v6.sin6_addr), 1) << ip;
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
  }
  return end;
}

Descriptor listening(const char* ip, std::uint16_t& port) {
  sockaddr_storage at = end_at(ip, 0);
  Descriptor made{::socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  EXPECT_EQ(::bind(made.get(), reinterpret_cast<sockaddr*>(&at), sizeof(sockaddr_in6)), 0);
  EXPECT_EQ(::listen(made.get(), 4), 0);
  socklen_t size = sizeof at;
  EXPECT_EQ(::getsockname(made.get(), reinterpret_cast<sockaddr*>(&at), &size), 0);
  port = ntohs(reinterpret_cast<sockaddr_in&>(at).sin_port);
  return made;
}

Descriptor connected(const char* ip, std::uint16_t port) {
  sockaddr_storage to = end_at(ip, port);
  Descriptor made{::socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  EXPECT_EQ(::connect(made.get(), reinterpret_cast<sockaddr*>(&to), sizeof(sockaddr_in6)), 0);
  return made;
}

struct Ways {
  const char* listen;
  const char* connect;
};

// Loopback connections, as a server accepts them.
TEST(PeerUser, IsTheUserOfTheOtherEnd) {
  for (const Ways way : {Ways{"127.0.0.1", "127.0.0.1"}, Ways{"127.0.0.1", "::ffff:127.0.0.1"},
                         Ways{"0.0.0.0", "127.0.0.5"}, Ways{"::1", "::1"}, Ways{"::", "::1"},
                         Ways{"::", "127.0.0.1"}, Ways{"::", "::ffff:127.0.0.1"}}) {
    std::uint16_t port = 0;
    const Descriptor listener = listening(way.listen, port);
    Descriptor client = connected(way.connect, port);
    const Descriptor server{::accept(listener.get(), nullptr, nullptr)};
    EXPECT_EQ(peer_user(server.get()), ::geteuid()) << way.listen << " " << way.connect;
    EXPECT_EQ(peer_user(client.get()), ::geteuid()) << way.listen << " " << way.connect;
    ::shutdown(client.get(), SHUT_WR);
    EXPECT_EQ(peer_user(server.get()), ::geteuid()) << "after its last byte";
    client.close();
    EXPECT_EQ(peer_user(server.get()), std::nullopt) << "once it is closed";
  }
}

TEST(PeerUser, OfAUnixSocketIsFoundToo) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const Descriptor left{ends[0]};
  const Descriptor right{ends[1]};
  EXPECT_EQ(peer_user(left.get()), ::geteuid());
}

TEST(PeerUser, OfAnUnconnectedSocketIsAbsent) {
  const Descriptor lonely{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  EXPECT_EQ(peer_user(lonely.get()), std::nullopt);
  EXPECT_EQ(peer_user(-1), std::nullopt);
}

// The kernel names a listening socket at the peer's place when the connection is gone.
TEST(PeerSocket, AListenerAtThePeersPlaceIsNotThePeer) {
  std::uint16_t port = 0;
  const Descriptor listener = listening("127.0.0.1", port);
  ConnectionEnds ends;
  ends.remote = end_at("127.0.0.1", port);
  ends.local = end_at("127.0.0.1", 9);
  EXPECT_EQ(find_peer(ends).search, Search::missing);
}

constexpr std::string_view kTable =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n"
    "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 "
    "17 1 0000000000000000 100 0 0 10 0\n"
    "   1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 "
    "18 1 0000000000000000 20 4 30 10 -1\n"
    "   2: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 "
    "19 1 0000000000000000 20 4 30 10 -1\n"
    "   3: 0100007F:C351 0100007F:1F90 06 00000000:00000000 03:00000000 00000000     0        0 0 "
    "3 0000000000000000\n";

constexpr std::string_view kTable6 =
    "  sl  local_address                         remote_address                        st\n"
    "   0: 00000000000000000000000001000000:C350 00000000000000000000000001000000:1F90 01 "
    "00000000:00000000 00:00000000 00000000  1002        0 29 1 0000000000000000 20 4 30 10 -1\n"
    "   1: 0000000000000000FFFF00000100007F:C350 0000000000000000FFFF00000100007F:1F90 01 "
    "00000000:00000000 00:00000000 00000000  1003        0 30 1 0000000000000000 20 4 30 10 -1\n";

std::string looked_up(std::string_view table, bool v6, const char* peer, std::uint16_t port,
                      const char* ours) {
  ConnectionEnds ends;
  ends.remote = end_at(peer, port);
  ends.local = end_at(ours, 8080);
  const PeerSocket found = find_peer_in(table, ends, v6);
  if (found.search != Search::found) return "missing";
  return std::to_string(found.user) + " inode " + std::to_string(found.inode) + " state " +
         std::to_string(found.state);
}

TEST(PeerSocket, IsFoundInTheKernelsTextTable) {
  if constexpr (std::endian::native != std::endian::little) return;
  EXPECT_EQ(looked_up(kTable, false, "127.0.0.1", 50000, "127.0.0.1"), "1001 inode 19 state 1");
  EXPECT_EQ(looked_up(kTable, false, "::ffff:127.0.0.1", 50000, "::ffff:127.0.0.1"),
            "1001 inode 19 state 1");
  EXPECT_EQ(looked_up(kTable, false, "127.0.0.1", 50001, "127.0.0.1"), "0 inode 0 state 6");
  EXPECT_EQ(looked_up(kTable, false, "127.0.0.1", 50002, "127.0.0.1"), "missing");
  EXPECT_EQ(looked_up(kTable, false, "127.0.0.2", 50000, "127.0.0.1"), "missing");
  EXPECT_EQ(looked_up(kTable6, true, "::1", 50000, "::1"), "1002 inode 29 state 1");
  EXPECT_EQ(looked_up(kTable6, true, "127.0.0.1", 50000, "127.0.0.1"), "1003 inode 30 state 1");
  EXPECT_EQ(looked_up(kTable6, false, "::1", 50000, "::1"), "missing");
  EXPECT_EQ(looked_up("", true, "::1", 50000, "::1"), "missing");
  EXPECT_EQ(looked_up("   0: x y\n\n", true, "::1", 50000, "::1"), "missing");
}

}  // namespace
}  // namespace sluice::net
