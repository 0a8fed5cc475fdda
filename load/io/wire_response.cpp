#include "load/io/wire_response.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/none.hpp>

#include <optional>
#include <utility>

namespace sluice::loadgen {

namespace {

namespace http = boost::beast::http;
using boost::beast::string_view;
using ErrorCode = boost::beast::error_code;

struct Seen {
  bool refused = false;
  unsigned status = 0;
  std::uint64_t body_bytes = 0;
};

// Beast's grammar with nothing kept: of all headers only one is looked at.
class Parser : public http::basic_parser<false> {
 public:
  explicit Parser(Seen& seen) : seen_{seen} {
    eager(true);
    body_limit(boost::none);
    header_limit(WireResponse::kHeaderBytesMax);
  }

 private:
  void on_request_impl(http::verb, string_view, string_view, int, ErrorCode&) override {}

  void on_response_impl(int code, string_view, int, ErrorCode&) override {
    seen_.status = static_cast<unsigned>(code);
  }

  void on_field_impl(http::field, string_view name, string_view, ErrorCode&) override {
    if (boost::beast::iequals(name, "Sluice-Error")) seen_.refused = true;
  }

  void on_header_impl(ErrorCode&) override {}

  void on_body_init_impl(const boost::optional<std::uint64_t>&, ErrorCode&) override {}

  std::size_t on_body_impl(string_view body, ErrorCode&) override { return take(body); }

  void on_chunk_header_impl(std::uint64_t, string_view, ErrorCode&) override {}

  std::size_t on_chunk_body_impl(std::uint64_t, string_view body, ErrorCode&) override {
    return take(body);
  }

  void on_finish_impl(ErrorCode&) override {}

  std::size_t take(string_view body) {
    seen_.body_bytes += body.size();
    return body.size();
  }

  Seen& seen_;  // owned by the WireResponse that owns this parser
};

bool is_interim(unsigned status) {
  return status >= 100 && status < 200;
}

}  // namespace

struct WireResponse::Impl {
  Seen seen;
  bool to_head = false;
  bool started = false;
  std::optional<Parser> parser;

  void restart() {
    seen.refused = false;
    seen.status = 0;
    seen.body_bytes = 0;
    parser.emplace(seen);
    parser->skip(to_head);
  }
};

WireResponse::WireResponse() : impl_{std::make_unique<Impl>()} {
  begin(false);
}

WireResponse::~WireResponse() = default;

void WireResponse::begin(bool to_head) {
  impl_->to_head = to_head;
  impl_->started = false;
  impl_->restart();
}

WireResponse::Fed WireResponse::feed(std::string_view bytes) {
  Fed fed;
  impl_->started = impl_->started || !bytes.empty();
  while (fed.consumed < bytes.size()) {
    ErrorCode error;
    const std::string_view rest = bytes.substr(fed.consumed);
    const std::size_t used =
        impl_->parser->put(boost::asio::const_buffer{rest.data(), rest.size()}, error);
    fed.consumed += used;
    const bool waiting = error == http::error::need_more;
    if (error && !waiting) {
      fed.state = State::invalid;
      return fed;
    }
    if (impl_->parser->is_done()) {
      // 100 and its kin announce the real answer; 101 would hand the connection to another
      // protocol.
      if (is_interim(impl_->seen.status)) {
        if (impl_->seen.status == 101) return {fed.consumed, State::invalid};
        impl_->restart();
        continue;
      }
      fed.state = State::whole;
      return fed;
    }
    if (waiting || used == 0) return fed;
  }
  return fed;
}

WireResponse::State WireResponse::finish() {
  if (!impl_->started || !impl_->parser->is_header_done()) return State::invalid;
  ErrorCode error;
  impl_->parser->put_eof(error);
  return !error && impl_->parser->is_done() ? State::whole : State::invalid;
}

bool WireResponse::started() const {
  return impl_->started;
}

unsigned WireResponse::status() const {
  return impl_->seen.status;
}

bool WireResponse::keep_alive() const {
  return impl_->parser->keep_alive();
}

bool WireResponse::refused() const {
  return impl_->seen.refused;
}

std::uint64_t WireResponse::body_bytes() const {
  return impl_->seen.body_bytes;
}

}  // namespace sluice::loadgen
