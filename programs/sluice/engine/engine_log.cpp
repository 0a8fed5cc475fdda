#include "programs/sluice/engine/engine_log.h"

#include <fmt/format.h>

#include <chrono>
#include <unistd.h>
#include <utility>

namespace sluice::local {
namespace {

// How often the size is looked at beside what print() writes: of lines of the log.
constexpr auto kWatch = std::chrono::seconds{1};

}  // namespace

EngineLog::EngineLog(boost::asio::io_context& loop, std::filesystem::path file,
                     std::function<void(const std::string&)> warn, FileLimits limits)
    : file_(std::move(file), limits), warn_(std::move(warn)), timer_(loop) {
  watch();
}

void EngineLog::print(TimePoint now, std::string_view lines) {
  const int error = file_.append(lines);
  adopt();
  if (error == 0) {
    notice_.worked(now);
  } else if (notice_.failed(now) && warn_) {
    warn_(fmt::format("cannot write {}: {}; the engine's log is not kept until it works again",
                      file_.file().string(), error_text(error)));
  }
}

void EngineLog::adopt() {
  if (file_.fd() < 0 || std::exchange(adopted_, file_.openings()) == file_.openings()) return;
  for (const int standard : {STDOUT_FILENO, STDERR_FILENO}) ::dup2(file_.fd(), standard);
}

void EngineLog::watch() {
  (void)file_.tend();  // print() reports what fails
  adopt();
  timer_.expires_after(kWatch);
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) watch();
  });
}

}  // namespace sluice::local
