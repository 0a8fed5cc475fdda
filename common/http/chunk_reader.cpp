#include "common/http/chunk_reader.h"

#include "common/http/message.h"
#include "common/http/octets.h"

#include <algorithm>
#include <utility>

namespace sluice::http {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Fields that say where a message ends, where it goes or how it is treated: behind the body they
// come too late for us and may not for another reader (RFC 9110 section 6.5.1).
bool barred_from_trailers(Known known) {
  switch (known) {
    case Known::other:
    case Known::accept:
    case Known::content_type:
    case Known::date:
    case Known::idempotency_key:
    case Known::retry_after:
    case Known::sluice_edit:
    case Known::sluice_error:
    case Known::user_agent:
    case Known::x_idempotency_key:
      return false;
    default:
      return true;
  }
}

}  // namespace

Fed ChunkReader::relay(std::string_view bytes) {
  const bool inside =
      !bytes.empty() &&
      (state_ == State::extension ? bytes.front() != '\r' : extension_begins(bytes.front()));
  if (!inside) return read(bytes, nullptr, true);
  Fed fed = read(bytes.substr(0, bytes.find('\r')), nullptr, false);
  fed.dropped = std::exchange(fed.used, 0);
  return fed;
}

bool ChunkReader::extension_begins(char c) const {
  return c == ';' && state_ == State::size && digits_ > 0;
}

// `before_extension`: where to stop.
Fed ChunkReader::read(std::string_view bytes, std::string* decoded, bool before_extension) {
  std::size_t at = 0;
  while (at < bytes.size() && state_ != State::done) {
    if (state_ == State::data) {
      const std::size_t piece = static_cast<std::size_t>(
          std::min<std::uint64_t>(left_, static_cast<std::uint64_t>(bytes.size() - at)));
      if (decoded != nullptr) decoded->append(bytes.substr(at, piece));
      at += piece;
      left_ -= piece;
      content_bytes_ += piece;
      if (left_ == 0) state_ = State::data_cr;
      continue;
    }
    if (before_extension && extension_begins(bytes[at])) break;
    const std::string_view wrong = step(bytes[at]);
    if (!wrong.empty()) return {Fed::State::bad, at, wrong};
    ++at;
  }
  return {state_ == State::done ? Fed::State::done : Fed::State::need_more, at, {}};
}

std::string_view ChunkReader::step(char c) {
  switch (state_) {
    case State::size:
      return step_size(c);
    case State::extension:
      if (c == '\r') {
        state_ = State::size_lf;
        return {};
      }
      ++extension_total_;
      if (++extension_ > kExtensionBytesMax ||
          extension_total_ > kExtensionBytesTotal + content_bytes_) {
        return "limit=chunk-extension";
      }
      return kLineOctets.has(c) ? std::string_view{} : "reason=chunk-extension";
    case State::size_lf:
      if (c != '\n') return "reason=chunk-size";
      state_ = left_ > 0 ? State::data : State::line;
      return {};
    case State::data_cr:
      if (c != '\r') return "reason=chunk-end";
      state_ = State::data_lf;
      return {};
    case State::data_lf:
      if (c != '\n') return "reason=chunk-end";
      state_ = State::size;
      digits_ = 0;
      extension_ = 0;
      return {};
    case State::line:
    case State::name:
    case State::value:
    case State::line_lf:
    case State::last_lf:
      return step_trailer(c);
    case State::data:
    case State::done:
      return {};
  }
  return {};
}

std::string_view ChunkReader::step_size(char c) {
  if (const int digit = hex_digit(c); digit >= 0) {
    if (++digits_ > 16) return "reason=chunk-size";
    left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
    return {};
  }
  if (digits_ == 0 || (c != '\r' && c != ';')) return "reason=chunk-size";
  state_ = c == '\r' ? State::size_lf : State::extension;
  return {};
}

std::string_view ChunkReader::step_trailer(char c) {
  if (++trailer_bytes_ > kTrailerBytesMax) return "limit=trailer-bytes";
  switch (state_) {
    case State::line:
      if (c == '\r') {
        state_ = State::last_lf;
        return {};
      }
      if (++trailer_fields_ > kTrailerFieldsMax) return "limit=trailer-fields";
      state_ = State::name;
      name_size_ = 0;
      return c == ':' ? "reason=empty-name" : step_name(c);
    case State::name:
      return step_name(c);
    case State::value:
      if (c == '\r') {
        state_ = State::line_lf;
        return {};
      }
      return kLineOctets.has(c) ? std::string_view{} : "reason=trailer-value";
    case State::line_lf:
      if (c != '\n') return "reason=bare-cr";
      state_ = State::line;
      return {};
    default:
      if (c != '\n') return "reason=bare-cr";
      state_ = State::done;
      return {};
  }
}

std::string_view ChunkReader::step_name(char c) {
  if (c == ':') {
    state_ = State::value;
    const bool short_enough = name_size_ <= name_.size();
    const Known known = short_enough ? classify({name_.data(), name_size_}) : Known::other;
    return barred_from_trailers(known) ? "reason=trailer-field" : std::string_view{};
  }
  if (!kTokenOctets.has(c)) return "reason=trailer-name";
  if (name_size_ < name_.size()) name_[name_size_] = c;
  ++name_size_;
  return {};
}

}  // namespace sluice::http
