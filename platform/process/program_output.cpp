#include "platform/process/program_output.h"

#include <utility>

namespace sluice::local {
namespace {

constexpr std::size_t kTailLines = 5;

}  // namespace

ProgramOutput::ProgramOutput(boost::asio::io_context& io, OnLine on_line)
    : io_{io}, on_line_{std::move(on_line)} {}

void ProgramOutput::read(UniqueFd pipe, OutputSource source) {
  auto reader = std::make_unique<OutputReader>(
      io_, std::move(pipe), [this, source](std::string_view line) { take(source, line); });
  pipes_.push_back({source, std::move(reader)});
}

void ProgramOutput::drain(bool of_sidecar) {
  for (const Pipe& pipe : pipes_) {
    if ((pipe.source == OutputSource::sidecar) == of_sidecar) pipe.reader->drain();
  }
}

void ProgramOutput::next_program() {
  std::erase_if(pipes_, [](const Pipe& pipe) { return pipe.source != OutputSource::sidecar; });
  tail_.clear();
}

void ProgramOutput::take(OutputSource source, std::string_view line) {
  if (source == OutputSource::app_stderr) {
    tail_.emplace_back(line);
    if (tail_.size() > kTailLines) tail_.pop_front();
  } else if (source == OutputSource::sidecar) {
    sidecar_line_ = line;
  }
  on_line_(source, line);
}

}  // namespace sluice::local
