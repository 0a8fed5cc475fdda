// Beast takes heads apart; before it sees one, HeadCheck has refused every byte that Beast, or a
// reader behind us, could take for something else. Bodies are counted here: Beast's chunks are
// laxer than ours may be, and counting a length needs no library.

#include "common/net/h1/h1_codec.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>

#include <algorithm>

namespace sluice::http {
namespace {

namespace beast_http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

constexpr int kEmptyLinesMax = 4;  // before a request; old clients send one

std::string_view view(string_view text) {
  return {text.data(), text.size()};
}

// Beast has looked every name up already; those it does not know may still be ours.
Known known_of(beast_http::field name, std::string_view text) {
  using beast_http::field;
  switch (name) {
    case field::accept:
      return Known::accept;
    case field::connection:
      return Known::connection;
    case field::content_length:
      return Known::content_length;
    case field::content_type:
      return Known::content_type;
    case field::date:
      return Known::date;
    case field::expect:
      return Known::expect;
    case field::forwarded:
      return Known::forwarded;
    case field::host:
      return Known::host;
    case field::keep_alive:
      return Known::keep_alive;
    case field::proxy_authenticate:
      return Known::proxy_authenticate;
    case field::proxy_authorization:
      return Known::proxy_authorization;
    case field::proxy_connection:
      return Known::proxy_connection;
    case field::retry_after:
      return Known::retry_after;
    case field::te:
      return Known::te;
    case field::trailer:
      return Known::trailer;
    case field::transfer_encoding:
      return Known::transfer_encoding;
    case field::upgrade:
      return Known::upgrade;
    case field::user_agent:
      return Known::user_agent;
    case field::accept_encoding:
    case field::accept_language:
    case field::cache_control:
    case field::content_encoding:
    case field::cookie:
    case field::etag:
    case field::last_modified:
    case field::server:
    case field::vary:
      return Known::other;
    default:
      return classify(text);
  }
}

// One head of Beast's parser. It holds no memory of its own, since it gets the head as one buffer.
template <bool IsRequest, class Head>
class HeadParser : public beast_http::basic_parser<IsRequest> {
 public:
  HeadParser(Head& head, std::size_t head_bytes_max) : head_{head} {
    this->header_limit(static_cast<std::uint32_t>(head_bytes_max));
    this->body_limit(boost::none);
    this->eager(false);
  }

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

  void on_field_impl(beast_http::field known, string_view name, string_view value,
                     error_code& /*ec*/) override {
    head_.fields.add(view(name), view(value), known_of(known, view(name)));
  }

  void on_header_impl(error_code& /*ec*/) override {}

  void on_body_init_impl(const boost::optional<std::uint64_t>& /*length*/,
                         error_code& /*ec*/) override {}

  std::size_t on_body_impl(string_view body, error_code& /*ec*/) override { return body.size(); }

  void on_chunk_header_impl(std::uint64_t /*size*/, string_view /*extensions*/,
                            error_code& /*ec*/) override {}

  std::size_t on_chunk_body_impl(std::uint64_t /*remain*/, string_view body,
                                 error_code& /*ec*/) override {
    return body.size();
  }

  void on_finish_impl(error_code& /*ec*/) override {}

  Head& head_;
};

// `whole`: a head that passed its check, up to its empty line. Not empty: what is wrong with it.
template <class Parser>
std::string_view take_apart(Parser& parser, std::string_view whole) {
  error_code ec;
  parser.put(boost::asio::const_buffer{whole.data(), whole.size()}, ec);
  if (!ec) return parser.is_header_done() ? std::string_view{} : "reason=head";
  if (ec == beast_http::error::bad_content_length) return "reason=content-length";
  if (ec == beast_http::error::multiple_content_length) return "reason=several-lengths";
  if (ec == beast_http::error::bad_transfer_encoding) return "reason=length-and-coding";
  return ec == beast_http::error::bad_value ? "reason=connection" : "reason=head";
}

Fed bad(std::string_view why) {
  return {Fed::State::bad, 0, why};
}

}  // namespace

void BodyReader::begin(Framing framing, std::uint64_t length) {
  framing_ = framing;
  left_ = length;
  content_bytes_ = 0;
  begun_ = true;
  done_ = framing == Framing::none || (framing == Framing::length && length == 0);
  if (framing == Framing::chunked) chunks_.reset();
}

void BodyReader::reset() {
  framing_ = Framing::none;
  content_bytes_ = 0;
  begun_ = done_ = false;
}

Fed BodyReader::feed(std::string_view bytes, std::string* decoded) {
  if (done_) return {Fed::State::done, 0, {}};
  if (framing_ == Framing::chunked) {
    const Fed fed = chunks_.feed(bytes, decoded);
    done_ = chunks_.done();
    return fed;
  }
  std::size_t used = bytes.size();
  if (framing_ == Framing::length) {
    used = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
    left_ -= used;
    done_ = left_ == 0;
  }
  if (decoded != nullptr) decoded->append(bytes.substr(0, used));
  content_bytes_ += used;
  return {done_ ? Fed::State::done : Fed::State::need_more, used, {}};
}

Fed BodyReader::relay(std::string_view bytes) {
  if (done_ || framing_ != Framing::chunked) return feed(bytes, nullptr);
  const Fed fed = chunks_.relay(bytes);
  done_ = chunks_.done();
  return fed;
}

bool BodyReader::finish_at_close() {
  if (begun_ && framing_ == Framing::until_close) done_ = true;
  return done_;
}

RequestParser::RequestParser(std::size_t head_bytes_max, std::size_t fields_max)
    : limits_{head_bytes_max, fields_max}, check_{HeadCheck::Kind::request, limits_} {}

void RequestParser::reset() {
  check_.reset();
  body_.reset();
  empty_lines_ = 0;
}

Fed RequestParser::feed_head(std::string_view bytes, RequestHead& head) {
  std::size_t skipped = 0;
  while (!check_.begun() && bytes.starts_with("\r\n")) {
    if (++empty_lines_ > kEmptyLinesMax) return bad("reason=empty-lines");
    bytes.remove_prefix(2);
    skipped += 2;
  }
  const Fed checked = check_.look(bytes);
  if (checked.state != Fed::State::done) return {checked.state, skipped, checked.why};
  head.clear();
  head.fields.reserve(checked.used);
  HeadParser<true, RequestHead> parser{head, limits_.bytes_max};
  const std::string_view wrong = take_apart(parser, bytes.substr(0, checked.used));
  if (!wrong.empty()) return bad(wrong);
  const BodyFraming framing = framing_of(head.fields, head.version_minor);
  if (!framing.problem.empty()) return bad(framing.problem);
  if (const std::string_view problem = host_problem(head); !problem.empty()) return bad(problem);
  if (const std::string_view problem = to_origin_form(head); !problem.empty()) return bad(problem);
  head.keep_alive = parser.keep_alive();
  head.framing = framing.framing;
  head.content_length = framing.length;
  body_.begin(framing.framing, framing.length);
  return {Fed::State::done, skipped + checked.used, {}};
}

ResponseParser::ResponseParser(std::size_t head_bytes_max, std::size_t fields_max)
    : limits_{head_bytes_max, fields_max}, check_{HeadCheck::Kind::response, limits_} {}

void ResponseParser::reset(bool to_head) {
  check_.reset();
  body_.reset();
  to_head_ = to_head;
}

Fed ResponseParser::feed_head(std::string_view bytes, ResponseHead& head) {
  const Fed checked = check_.look(bytes);
  if (checked.state != Fed::State::done) return checked;
  head.clear();
  HeadParser<false, ResponseHead> parser{head, limits_.bytes_max};
  parser.skip(to_head_);
  const std::string_view wrong = take_apart(parser, bytes.substr(0, checked.used));
  if (!wrong.empty()) return bad(wrong);
  const BodyFraming framing = framing_of(head.fields, head.version_minor);
  if (!framing.problem.empty()) return bad(framing.problem);
  head.keep_alive = parser.keep_alive();
  head.framing = framing.framing;
  head.content_length = framing.length;
  const bool bodiless = to_head_ || head.status < 200 || head.status == 204 || head.status == 304;
  if (head.framing == Framing::none && !bodiless) head.framing = Framing::until_close;
  body_.begin(bodiless ? Framing::none : head.framing, head.content_length);
  return checked;
}

}  // namespace sluice::http
