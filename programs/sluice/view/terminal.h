#pragma once

#include "programs/sluice/view/live_view.h"
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::view {

/// The controlling terminal in the state the live view needs: no echo, keys at once, a screen of
/// its own, no cursor. Everything is put back by the destructor. Ctrl-C still makes SIGINT.
class Terminal {
 public:
  /// Nothing when standard input or output is no terminal, TERM is dumb, or the process runs in the
  /// background.
  [[nodiscard]] static std::unique_ptr<Terminal> open();

  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  [[nodiscard]] ScreenSize size() const;

  /// A descriptor of its own to poll for keys, not blocking; owned by the terminal.
  [[nodiscard]] int key_fd() const { return fd_; }

  /// The keys that came; empty when none did.
  [[nodiscard]] std::string read_keys() const;

  /// Writes what the terminal takes now and drops the rest: a stopped terminal blocks nothing.
  void write(std::string_view bytes) const;

 private:
  struct Saved;
  Terminal(int fd, std::unique_ptr<Saved> saved);

  int fd_;
  std::unique_ptr<Saved> saved_;
};

}  // namespace sluice::view
