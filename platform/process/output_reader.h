#pragma once

#include "platform/process/unique_fd.h"
#include <functional>
#include <memory>
#include <string_view>

namespace boost::asio {
class io_context;
}

namespace sluice::local {

/// Reads lines from the pipe of a child, without escape sequences and split at 16 KiB, until its
/// end. At most 64 KiB are taken
/// in one turn of the loop, so that a chatty child does not starve it.
class OutputReader {
 public:
  using OnLine = std::function<void(std::string_view)>;

  /// `pipe` is non-blocking.
  OutputReader(boost::asio::io_context& io, UniqueFd pipe, OnLine on_line);
  OutputReader(const OutputReader&) = delete;
  OutputReader& operator=(const OutputReader&) = delete;
  /// Stops reading; no line comes any more.
  ~OutputReader();

  /// Takes what is in the pipe now, at most 1 MiB, and the last line even if it does not end.
  /// Called once the child has ended.
  void drain();

 private:
  struct State;
  std::shared_ptr<State> state_;  // kept alive by its own pending read, too
};

}  // namespace sluice::local
