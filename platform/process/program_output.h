#pragma once

#include "platform/process/output_reader.h"
#include "platform/process/unique_fd.h"
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::local {

enum class OutputSource { app_stdout, app_stderr, sidecar };

/// What the programs of one replica print: hands on each line, and keeps the last ones.
class ProgramOutput {
 public:
  using OnLine = std::function<void(OutputSource, std::string_view)>;

  /// `io` outlives this.
  ProgramOutput(boost::asio::io_context& io, OnLine on_line);
  ProgramOutput(const ProgramOutput&) = delete;
  ProgramOutput(ProgramOutput&&) = delete;
  ProgramOutput& operator=(const ProgramOutput&) = delete;
  ProgramOutput& operator=(ProgramOutput&&) = delete;
  ~ProgramOutput() = default;

  void read(UniqueFd pipe, OutputSource source);

  /// Takes what is left in the pipes of the app, or of the sidecar, which has ended.
  void drain(bool of_sidecar);

  /// The app is another program from now on: an init container has ended.
  void next_program();

  /// No line comes any more.
  void close() { pipes_.clear(); }

  /// The app's last error lines, at most five.
  [[nodiscard]] std::vector<std::string> tail() const { return {tail_.begin(), tail_.end()}; }

  /// The sidecar's last line.
  [[nodiscard]] const std::string& sidecar_line() const { return sidecar_line_; }

 private:
  struct Pipe {
    OutputSource source;
    std::unique_ptr<OutputReader> reader;
  };

  void take(OutputSource source, std::string_view line);

  boost::asio::io_context& io_;
  OnLine on_line_;
  std::vector<Pipe> pipes_;       // at most four
  std::deque<std::string> tail_;  // at most kTailLines
  std::string sidecar_line_;
};

}  // namespace sluice::local
