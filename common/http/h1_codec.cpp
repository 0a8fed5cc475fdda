#include "common/http/h1_codec.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>

#include <algorithm>

namespace sluice::http {
namespace {

namespace beast_http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

std::string_view view(string_view text) { return {text.data(), text.size()}; }

// One message of Beast's parser. Beast's object cannot be reset, so a connection makes a new one in
// place for each message; it holds no memory of its own as long as each `put` gets one buffer.
template <bool IsRequest, class Head>
class Message : public beast_http::basic_parser<IsRequest> {
 public:
  Message(Head& head, std::size_t head_bytes_max) : head_{head} {
    this->header_limit(static_cast<std::uint32_t>(head_bytes_max));
    this->body_limit(boost::none);
    this->eager(false);
  }

  void decode_to(std::string* decoded) { decoded_ = decoded; }

 private:
  void on_request_impl(beast_http::verb /*method*/, string_view method, string_view target,
                       int version, error_code& /*ec*/) override {
    if constexpr (IsRequest) {
      head_.method.assign(method.data(), method.size());
      head_.target.assign(target.data(), target.size());
      head_.version_minor = version - 10;
    }
  }

  void on_response_impl(int code, string_view reason, int version, error_code& /*ec*/) override {
    if constexpr (!IsRequest) {
      head_.status = code;
      head_.reason.assign(reason.data(), reason.size());
      head_.version_minor = version - 10;
    }
  }

  void on_field_impl(beast_http::field /*name*/, string_view name, string_view value,
                     error_code& /*ec*/) override {
    if (!this->is_header_done()) head_.fields.add(view(name), view(value));
  }

  void on_header_impl(error_code& /*ec*/) override {}

  void on_body_init_impl(const boost::optional<std::uint64_t>& /*length*/,
                         error_code& /*ec*/) override {}

  std::size_t on_body_impl(string_view body, error_code& /*ec*/) override {
    if (decoded_ != nullptr) decoded_->append(body.data(), body.size());
    return body.size();
  }

  void on_chunk_header_impl(std::uint64_t /*size*/, string_view /*extensions*/,
                            error_code& /*ec*/) override {}

  std::size_t on_chunk_body_impl(std::uint64_t /*remain*/, string_view body,
                                 error_code& /*ec*/) override {
    if (decoded_ != nullptr) decoded_->append(body.data(), body.size());
    return body.size();
  }

  void on_finish_impl(error_code& /*ec*/) override {}

  Head& head_;
  std::string* decoded_ = nullptr;
};

template <class Parser>
Fed feed_head_to(Parser& parser, std::string_view bytes) {
  error_code ec;
  const std::size_t used = parser.put(boost::asio::const_buffer{bytes.data(), bytes.size()}, ec);
  if (ec == beast_http::error::header_limit) return {Fed::State::too_large, used};
  if (ec && ec != beast_http::error::need_more) return {Fed::State::bad, used};
  return {parser.is_header_done() ? Fed::State::done : Fed::State::need_more, used};
}

template <class Parser>
Fed feed_body_to(Parser& parser, std::string_view bytes) {
  std::size_t used = 0;
  parser.eager(true);
  while (!parser.is_done() && used < bytes.size()) {
    error_code ec;
    const std::size_t now =
        parser.put(boost::asio::const_buffer{bytes.data() + used, bytes.size() - used}, ec);
    used += now;
    if (ec == beast_http::error::need_more || (!ec && now == 0)) break;
    if (ec) return {Fed::State::bad, used};
  }
  return {parser.is_done() ? Fed::State::done : Fed::State::need_more, used};
}

// Beast refuses a message with both Content-Length and chunked; what it lets through is a coding it
// does not know, which would make the body end in different places for different readers.
bool coding_is_sound(const FieldList& fields) {
  bool seen = false;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Field field = fields.at(i);
    if (field.known != Known::transfer_encoding) continue;
    if (seen || !equals_ignoring_case(field.value, "chunked")) return false;
    seen = true;
  }
  return true;
}

std::size_t count_of(const FieldList& fields, Known known) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < fields.size(); ++i) found += fields.at(i).known == known ? 1U : 0U;
  return found;
}

template <class Parser, class Head>
void take_framing(const Parser& parser, Head& head) {
  head.keep_alive = parser.keep_alive();
  if (parser.chunked()) {
    head.framing = Framing::chunked;
  } else if (const auto length = parser.content_length()) {
    head.framing = Framing::length;
    head.content_length = *length;
  } else {
    head.framing = Framing::none;
  }
}

}  // namespace

struct RequestParser::Core {
  std::size_t head_bytes_max;
  std::optional<Message<true, RequestHead>> message;
};

RequestParser::RequestParser(std::size_t head_bytes_max)
    : core_{std::make_unique<Core>(Core{head_bytes_max, {}})} {}

RequestParser::~RequestParser() = default;

void RequestParser::reset() { core_->message.reset(); }

Fed RequestParser::feed_head(std::string_view bytes, RequestHead& head) {
  if (!core_->message) {
    head.clear();
    core_->message.emplace(head, core_->head_bytes_max);
  }
  const Fed fed = feed_head_to(*core_->message, bytes);
  if (fed.state != Fed::State::done) return fed;
  take_framing(*core_->message, head);
  const std::size_t hosts = count_of(head.fields, Known::host);
  const bool host_ok = hosts == 1 || (hosts == 0 && head.version_minor == 0);
  if (!coding_is_sound(head.fields) || !host_ok || head.version_minor > 1 ||
      (head.fields.has(Known::transfer_encoding) && head.version_minor == 0)) {
    return {Fed::State::bad, fed.used};
  }
  return fed;
}

Fed RequestParser::feed_body(std::string_view bytes, std::string* decoded) {
  core_->message->decode_to(decoded);
  return feed_body_to(*core_->message, bytes);
}

bool RequestParser::done() const { return core_->message && core_->message->is_done(); }

struct ResponseParser::Core {
  std::size_t head_bytes_max;
  bool to_head = false;
  std::optional<Message<false, ResponseHead>> message;
};

ResponseParser::ResponseParser(std::size_t head_bytes_max)
    : core_{std::make_unique<Core>(Core{head_bytes_max, false, {}})} {}

ResponseParser::~ResponseParser() = default;

void ResponseParser::reset(bool to_head) {
  core_->message.reset();
  core_->to_head = to_head;
}

Fed ResponseParser::feed_head(std::string_view bytes, ResponseHead& head) {
  if (!core_->message) {
    head.clear();
    core_->message.emplace(head, core_->head_bytes_max);
    core_->message->skip(core_->to_head);
  }
  const Fed fed = feed_head_to(*core_->message, bytes);
  if (fed.state != Fed::State::done) return fed;
  take_framing(*core_->message, head);
  const bool bodiless = head.status < 200 || head.status == 204 || head.status == 304;
  if (!coding_is_sound(head.fields)) return {Fed::State::bad, fed.used};
  if (head.framing == Framing::none && !bodiless && !core_->to_head) {
    head.framing = Framing::until_close;
  }
  return fed;
}

Fed ResponseParser::feed_body(std::string_view bytes, std::string* decoded) {
  core_->message->decode_to(decoded);
  return feed_body_to(*core_->message, bytes);
}

bool ResponseParser::finish_at_close() {
  if (!core_->message || !core_->message->is_header_done()) return false;
  error_code ec;
  core_->message->put_eof(ec);
  return !ec;
}

bool ResponseParser::done() const { return core_->message && core_->message->is_done(); }

}  // namespace sluice::http
