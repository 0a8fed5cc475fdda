#include "platform/process/listen_diag.h"

#include "platform/process/unique_fd.h"
#include <arpa/inet.h>
#include <array>
#include <cstring>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace sluice::local {
namespace {

constexpr std::uint32_t kListen = 1U << 10U;  // TCP_LISTEN is state 10
constexpr int kMessagesMax = 1024;

bool reaches_loopback(const inet_diag_msg& found) {
  const auto* words = found.id.idiag_src;
  if (found.idiag_family == AF_INET) return words[0] == 0 || words[0] == htonl(INADDR_LOOPBACK);
  const bool leading = words[0] == 0 && words[1] == 0;
  const bool any = leading && words[2] == 0 && words[3] == 0;
  const bool mapped = leading && words[2] == htonl(0xFFFF) && words[3] == htonl(INADDR_LOOPBACK);
  return any || mapped;
}

bool ask(int netlink, std::uint8_t family) {
  struct {
    nlmsghdr header;
    inet_diag_req_v2 request;
  } message{};

  message.header.nlmsg_len = sizeof message;
  message.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  message.request.sdiag_family = family;
  message.request.sdiag_protocol = IPPROTO_TCP;
  message.request.idiag_states = kListen;
  return ::send(netlink, &message, sizeof message, 0) == static_cast<ssize_t>(sizeof message);
}

// Reads one dump to its end; false when it does not come to one.
bool collect(int netlink, const std::function<void(const ListenSocket&)>& visit) {
  alignas(nlmsghdr) std::array<char, 32768> reply{};
  for (int messages = 0; messages < kMessagesMax; ++messages) {
    const ssize_t got = ::recv(netlink, reply.data(), reply.size(), MSG_DONTWAIT);
    if (got <= 0) return false;
    std::size_t offset = 0;
    while (offset + sizeof(nlmsghdr) <= static_cast<std::size_t>(got)) {
      nlmsghdr header{};
      std::memcpy(&header, reply.data() + offset, sizeof header);
      if (header.nlmsg_type == NLMSG_DONE) return true;
      if (header.nlmsg_type == NLMSG_ERROR || header.nlmsg_len < sizeof header) return false;
      inet_diag_msg found{};
      if (header.nlmsg_len < NLMSG_HDRLEN + sizeof found ||
          offset + header.nlmsg_len > static_cast<std::size_t>(got)) {
        return false;
      }
      std::memcpy(&found, reply.data() + offset + NLMSG_HDRLEN, sizeof found);
      visit({.inode = found.idiag_inode,
             .port = ntohs(found.id.idiag_sport),
             .reaches_loopback = reaches_loopback(found)});
      offset += NLMSG_ALIGN(header.nlmsg_len);
    }
  }
  return false;
}

}  // namespace

bool for_each_listen_socket(const std::function<void(const ListenSocket&)>& visit) {
  for (const std::uint8_t family : {std::uint8_t{AF_INET}, std::uint8_t{AF_INET6}}) {
    const UniqueFd netlink(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
    if (!netlink || !ask(netlink.get(), family) || !collect(netlink.get(), visit)) {
      return false;
    }
  }
  return true;
}

}  // namespace sluice::local
