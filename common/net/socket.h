#pragma once

#include "common/net/address.h"
#include "common/time/time_point.h"

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>

#include <string>

namespace sluice::net {

/// TCP and Unix stream sockets alike.
using Socket = boost::asio::generic::stream_protocol::socket;
using Endpoint = boost::asio::generic::stream_protocol::endpoint;

/// The endpoint of an address whose host is a literal IP, or a Unix path.
[[nodiscard]] Endpoint endpoint_of(const Address& address);

/// Numeric address of a TCP peer, without port; empty for a Unix socket.
[[nodiscard]] std::string ip_of(const Endpoint& endpoint);

/// Whether the endpoint is loopback or a Unix socket.
[[nodiscard]] bool is_local(const Endpoint& endpoint);

/// Settings every data-plane socket has: no delay for TCP, non-blocking.
void prepare(Socket& socket);

/// Lets the kernel ask a silent TCP peer, first after `silence` and then as often, whether it is
/// still there: one that has vanished without a word fails the connection after nine questions.
/// Accepted sockets inherit it from the one that listens.
void ask_if_alive(int descriptor, std::chrono::seconds silence);

/// How long the kernel takes a packet to the peer and its answer to be; zero: not known, or no TCP.
[[nodiscard]] Duration round_trip_of(Socket& socket);

/// One attempt to write both parts without waiting. Returns bytes written; `would_block` says that
/// the rest must wait; a negative result means the peer is gone.
[[nodiscard]] long write_now(Socket& socket, std::string_view first, std::string_view second,
                             bool& would_block);

/// One attempt to read without waiting. Returns bytes read; 0: the peer has finished sending;
/// negative: nothing is there, or the peer is gone.
[[nodiscard]] long read_now(Socket& socket, char* to, std::size_t bytes);

/// After the peer has finished sending: whether it is gone altogether, as far as this host can
/// know. A Unix peer and a loopback peer are looked up; a remote one cannot be distinguished from a
/// peer that only finished sending, and counts as present.
enum class Peer : std::uint8_t { there, gone, unknown };
[[nodiscard]] Peer peer_after_eof(Socket& socket);

}  // namespace sluice::net
