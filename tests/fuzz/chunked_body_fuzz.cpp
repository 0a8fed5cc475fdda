#include "common/http/chunk_reader.h"
#include "tests/fuzz/h1_message.h"

#include <optional>

// Goal: the reader of chunked bodies takes exactly what RFC 9112 calls a chunked body, finds the
// same end and the same content however the bytes are cut, and what it relays reads the same again.
// Method: whole, byte by byte, and against a twin that looks at the whole text at once.
namespace {

using sluice::http::ChunkReader;
using sluice::http::Fed;

struct Body {
  std::string content;
  std::size_t size = 0;  // with framing
};

Body read(std::string_view bytes, std::size_t step, Fed::State& state) {
  ChunkReader reader;
  Body body;
  state = Fed::State::need_more;
  while (body.size < bytes.size() && state == Fed::State::need_more) {
    const std::string_view part = bytes.substr(body.size, step);
    const Fed fed = reader.feed(part, &body.content);
    CHECK(fed.used <= part.size());
    CHECK(fed.state != Fed::State::need_more || fed.used == part.size());
    body.size += fed.used;
    state = fed.state;
  }
  CHECK((state == Fed::State::done) == reader.done());
  CHECK(reader.content_bytes() >= body.content.size());
  return body;
}

// The relayed part of a body, with `step` bytes arriving at a time.
std::string relayed(std::string_view bytes, std::size_t step) {
  ChunkReader reader;
  std::string passed;
  std::size_t at = 0;
  while (!reader.done()) {
    const std::string_view part = bytes.substr(at, step);
    const Fed fed = reader.relay(part);
    CHECK(fed.state != Fed::State::bad && fed.used + fed.dropped <= part.size());
    CHECK(fed.used + fed.dropped > 0 && (fed.used == 0 || fed.dropped == 0));
    passed.append(part.substr(0, fed.used));
    at += fed.used + fed.dropped;
  }
  CHECK(at == bytes.size());
  return passed;
}

std::optional<std::size_t> hexadecimal(std::string_view digits) {
  if (digits.empty() || digits.size() > 16) return std::nullopt;
  std::size_t value = 0;
  for (const char c : digits) {
    const std::size_t at = std::string_view{"0123456789abcdefABCDEF"}.find(c);
    if (at == std::string_view::npos) return std::nullopt;
    value = value * 16 + (at < 16 ? at : at - 6);
  }
  return value;
}

// The twin, lenient about everything but structure: sizes, data, and an empty line at the end.
std::optional<Body> twin(std::string_view bytes) {
  Body body;
  for (;;) {
    const std::size_t end = bytes.find("\r\n", body.size);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = bytes.substr(body.size, end - body.size);
    const auto size = hexadecimal(line.substr(0, line.find_first_of("; \t")));
    if (!size) return std::nullopt;
    body.size = end + 2;
    if (*size == 0) break;
    if (bytes.size() - body.size < *size || bytes.substr(body.size + *size, 2) != "\r\n") {
      return std::nullopt;
    }
    body.content.append(bytes.substr(body.size, *size));
    body.size += *size + 2;
  }
  while (bytes.substr(body.size, 2) != "\r\n") {
    const std::size_t end = bytes.find("\r\n", body.size);
    if (end == std::string_view::npos) return std::nullopt;
    body.size = end + 2;
  }
  body.size += 2;
  return body;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = sluice::fuzz::text_of(data, size);
  Fed::State state{};
  const Body whole = read(bytes, size + 1, state);
  for (const std::size_t step : {1U, 2U, 7U}) {
    Fed::State other{};
    const Body cut = read(bytes, step, other);
    CHECK(state == other);
    CHECK(cut.content == whole.content || state != Fed::State::done);
  }
  if (state != Fed::State::done) return 0;
  const auto expected = twin(bytes);
  CHECK(expected.has_value());
  CHECK(expected->content == whole.content && expected->size == whole.size);
  Fed::State again{};
  CHECK(read(bytes.substr(0, whole.size), size, again).content == whole.content);
  CHECK(again == Fed::State::done);
  // What is relayed is the same body, without extensions: relayed once more, nothing is left out.
  const std::string passed = relayed(bytes.substr(0, whole.size), size);
  CHECK(passed == relayed(bytes.substr(0, whole.size), 1));
  CHECK(passed == relayed(passed, passed.size()));
  CHECK(read(passed, passed.size(), again).content == whole.content);
  CHECK(again == Fed::State::done);
  return 0;
}
