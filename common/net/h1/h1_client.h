#pragma once

#include "common/net/byte_buffer.h"
#include "common/net/h1/h1_codec.h"
#include "common/net/lookup.h"
#include "common/net/stream.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::net {

/// One connection to an HTTP/1 server, which carries one exchange after the other. Time limits are
/// its owner's, which closes it. Belongs to one thread; shared with its outstanding operations
/// only.
class H1Client {
 public:
  /// How an exchange ended.
  struct Ending {
    enum class Kind : std::uint8_t {
      whole,        ///< the answer is complete
      unreachable,  ///< no connection
      untrusted,    ///< no TLS session, or no trust in it
      silent,       ///< the connection was lost before any byte of an answer
      cut,          ///< or in the middle of it
      garbled,      ///< what came is no HTTP
    };

    Kind kind = Kind::whole;
    std::string why{};       ///< for people; empty when whole
    bool untouched = false;  ///< nothing of the request left this machine
  };

  struct Events {
    std::function<void(http::ResponseHead&)> head{};  ///< of the answer itself; may be moved from
    std::function<void(std::string_view piece)> body{};
    std::function<void(const Ending&)> ended{};  ///< once, as the last call
  };

  /// `tls`: null for plain HTTP. Held, since operations may outlast the maker of the client.
  /// `lookup`: null for a server whose address needs none.
  explicit H1Client(boost::asio::io_context& io, std::shared_ptr<TlsSessions> tls = nullptr,
                    Lookup lookup = nullptr);
  ~H1Client() = default;
  H1Client(const H1Client&) = delete;
  H1Client& operator=(const H1Client&) = delete;

  /// Starts an exchange; events come later. Connects to `address` if this is the first.
  static void ask(const std::shared_ptr<H1Client>& self, const Address& address,
                  std::string request, Events events);

  /// No event comes any more, nothing is read or written.
  void close();

  /// Waits without an exchange; `lost` is called when the server closes, or speaks unasked.
  static void rest(const std::shared_ptr<H1Client>& self, std::function<void()> lost);

  /// Whether another exchange can follow the one that has ended.
  [[nodiscard]] bool reusable() const { return reusable_ && stream_.is_open(); }

  /// Whether an exchange has ended well on it.
  [[nodiscard]] bool used() const { return used_; }

 private:
  using Self = std::shared_ptr<H1Client>;
  using Kind = Ending::Kind;

  static void find(const Self& self, const Address& address);
  static void connect(const Self& self, std::size_t place);
  static void connected(const Self& self);
  static void shake_hands(const Self& self);
  static void send(const Self& self);
  static void receive(const Self& self);
  bool take(bool ended);
  bool take_head(bool ended);
  bool take_body(bool ended);
  void finish(Ending ending);

  boost::asio::io_context& io_;       // the program's; outlives every client
  std::shared_ptr<TlsSessions> tls_;  // before the sessions that are made of it
  Lookup lookup_;
  bool broken_ = false;            // the connection, while an answer was read
  std::shared_ptr<void> looking_;  // while the host is looked up
  Stream stream_;
  std::unique_ptr<TlsSession> session_;  // while hands are shaken
  std::vector<Endpoint> places_;
  std::string request_;
  std::size_t sent_ = 0;
  http::ResponseParser parser_;
  http::ResponseHead head_;
  ByteBuffer in_;
  std::string piece_;
  std::string send_failure_;        // why the request could not be sent whole
  std::shared_ptr<Events> events_;  // null: no event is reported
  std::function<void()> lost_;
  std::uint64_t rests_ = 0;
  bool head_done_ = false;
  bool keeps_alive_ = false;  // the server means to, by the head of its answer
  bool heard_ = false;
  bool reusable_ = false;
  bool used_ = false;
};

}  // namespace sluice::net
