#include "platform/process/output_reader.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "platform/process/escape_sequences.h"
#include "platform/process/service_log.h"
#include <array>
#include <cerrno>
#include <string>
#include <unistd.h>

namespace sluice::local {
namespace asio = boost::asio;

namespace {

constexpr std::size_t kTurnBytes = std::size_t{64} << 10;
constexpr std::size_t kDrainBytesMax = std::size_t{1} << 20;

}  // namespace

struct OutputReader::State {
  State(asio::io_context& io, int fd, OnLine callback)
      : pipe(io, fd), on_line(std::move(callback)) {}

  asio::posix::stream_descriptor pipe;
  OnLine on_line;  // empty once the reader is gone
  std::string line;
  std::string plain;  // of the piece that is taken
  EscapeSequences escapes;
  std::array<char, kTurnBytes> chunk{};

  // Read in the turn that hands the lines on: bytes of a read whose turn is still to come would be
  // missing in drain().
  static void read(const std::shared_ptr<State>& state) {
    state->pipe.async_wait(asio::posix::stream_descriptor::wait_read,
                           [state](const boost::system::error_code& failed) {
                             if (!failed && state->on_line) read_now(state);
                           });
  }

  static void read_now(const std::shared_ptr<State>& state) {
    const auto count =
        ::read(state->pipe.native_handle(), state->chunk.data(), state->chunk.size());
    if (count > 0) state->take({state->chunk.data(), static_cast<std::size_t>(count)});
    const bool later = count < 0 && (errno == EAGAIN || errno == EINTR);
    if (count <= 0 && !later) return state->end();
    read(state);
  }

  // Sequences go before lines are cut, so that none is cut in two.
  void take(std::string_view bytes) {
    plain.clear();
    escapes.append_without(plain, bytes);
    take_plain(plain);
  }

  void take_plain(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto newline = bytes.find('\n');
      const bool ends = newline != std::string_view::npos;
      std::string_view part = bytes.substr(0, newline);
      const auto room = kLogLineBytesMax - line.size();
      if (part.size() > room) {
        part = part.substr(0, room);
        line += part;
        bytes.remove_prefix(room);
        emit();
        continue;
      }
      line += part;
      bytes.remove_prefix(part.size() + (ends ? 1 : 0));
      if (ends) emit();
    }
  }

  void emit() {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    std::string whole;
    whole.swap(line);
    if (on_line) on_line(whole);
  }

  void end() {
    plain.clear();
    escapes.end(plain);
    take_plain(plain);
    if (!line.empty()) emit();
  }
};

OutputReader::OutputReader(asio::io_context& io, UniqueFd pipe, OnLine on_line)
    : state_(std::make_shared<State>(io, pipe.release(), std::move(on_line))) {
  State::read(state_);
}

OutputReader::~OutputReader() {
  state_->on_line = nullptr;
  boost::system::error_code ignored;
  state_->pipe.close(ignored);
}

void OutputReader::drain() {
  if (!state_->pipe.is_open()) return;
  std::array<char, 16384> bytes{};
  std::size_t total = 0;
  while (total < kDrainBytesMax) {
    const auto count = ::read(state_->pipe.native_handle(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    total += static_cast<std::size_t>(count);
    state_->take({bytes.data(), static_cast<std::size_t>(count)});
  }
  state_->end();
}

}  // namespace sluice::local
