#include "programs/sluice/view/terminal.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

namespace sluice::view {

struct Terminal::Saved {
  termios modes{};
};

std::unique_ptr<Terminal> Terminal::open() {
  const char* term = std::getenv("TERM");
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0 || term == nullptr ||
      std::strcmp(term, "dumb") == 0) {
    return nullptr;
  }
  // An open file of our own: O_NONBLOCK on the shared one would change the shell's too.
  const int fd = ::open("/dev/tty", O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  auto saved = std::make_unique<Saved>();
  if (fd < 0) {
    return nullptr;
  }
  // In the background the terminal belongs to others: taking it would stop this process.
  if (::tcgetpgrp(fd) != ::getpgrp() || ::tcgetattr(fd, &saved->modes) != 0) {
    ::close(fd);
    return nullptr;
  }
  termios raw = saved->modes;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  ::tcsetattr(fd, TCSANOW, &raw);
  std::unique_ptr<Terminal> terminal(new Terminal(fd, std::move(saved)));
  terminal->write("\x1b[?1049h\x1b[?25l\x1b[2J");
  return terminal;
}

Terminal::Terminal(int fd, std::unique_ptr<Saved> saved) : fd_(fd), saved_(std::move(saved)) {}

Terminal::~Terminal() {
  write("\x1b[?25h\x1b[?1049l");
  ::tcsetattr(fd_, TCSANOW, &saved_->modes);
  ::close(fd_);
}

ScreenSize Terminal::size() const {
  winsize window{};
  if (::ioctl(fd_, TIOCGWINSZ, &window) != 0 || window.ws_col == 0 || window.ws_row == 0) {
    return {};
  }
  return {.columns = window.ws_col, .rows = window.ws_row};
}

std::string Terminal::read_keys() const {
  std::array<char, 64> keys{};
  const ssize_t size = ::read(fd_, keys.data(), keys.size());
  return size > 0 ? std::string(keys.data(), static_cast<std::size_t>(size)) : std::string{};
}

void Terminal::write(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written <= 0) {
      return;
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace sluice::view
