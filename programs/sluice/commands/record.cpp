#include "common/base/exit_status.h"
#include "common/json/parse.h"
#include "common/json/read.h"
#include "common/values/duration.h"

#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <nlohmann/json.hpp>

#include "platform/process/time_text.h"
#include "programs/sluice/commands/recording_file.h"
#include "programs/sluice/commands/verbs.h"
#include <csignal>
#include <ostream>

namespace sluice::commands {
namespace {

// As long as a recording is kept.
constexpr Duration kMost = std::chrono::minutes{15};
constexpr Duration kLeast = std::chrono::seconds{1};
constexpr Duration kAnswerMax = std::chrono::seconds{60};

Result<Duration, Failure> length_of(const char* flag, const std::string& text) {
  const auto length = local::parse_age(text);
  if (length && *length >= kLeast && *length <= kMost) return *length;
  return Failure{kExitUsage, std::string{flag} + ": " + text +
                                 " is not a time from 1s to 15m, which is how long a recording is "
                                 "kept"};
}

// Until `length` has passed, or a person ends it: what there is by then is written.
Duration wait_for(const Surroundings& with, Duration length) {
  const TimePoint began = with.clock.now();
  boost::asio::io_context loop{1};
  boost::asio::signal_set signals{loop, SIGINT, SIGTERM};
  boost::asio::steady_timer timer{loop};
  timer.expires_after(length);
  timer.async_wait([&](const boost::system::error_code& /*ended*/) { signals.cancel(); });
  signals.async_wait(
      [&](const boost::system::error_code& /*failed*/, int /*number*/) { timer.cancel(); });
  loop.run();
  return with.clock.now() - began;
}

std::size_t decisions_in(std::string_view text) {
  constexpr std::string_view kEval = R"("type":"eval")";
  std::size_t count = 0;
  for (std::size_t at = text.find(kEval); at != text.npos; at = text.find(kEval, at + 1)) ++count;
  return count;
}

}  // namespace

int run_record(const Surroundings& with, const Arguments& args) {
  CLI::App app("Writes what the autoscaler of a service got and decided, for sluice simulate.");
  std::string name;
  std::string lasting;
  std::string last = "15m";
  std::string output;
  app.add_option("SERVICE", name, "SERVICE or ENGINE/SERVICE")->required();
  auto* const ahead =
      app.add_option("--for", lasting, "wait so long, and write that")->type_name("TIME");
  app.add_option("--last", last, "what was in this time, 15m at most (15m)")
      ->type_name("TIME")
      ->excludes(ahead);
  app.add_option("-o,--output", output, "compressed if it ends in .gz; - for standard output")
      ->type_name("FILE")
      ->required();
  if (const auto code = ends_early(with, app, "record", args)) return *code;
  if (output.empty()) return report(with, {kExitUsage, "-o: give the name of a file, or -"});
  const auto length = lasting.empty() ? length_of("--last", last) : length_of("--for", lasting);
  if (!length) return report(with, length.error());
  const auto found = find_service(with, name, Finds::running);
  if (!found) return report(with, found.error());

  const Duration since = lasting.empty() ? *length : wait_for(with, *length);
  const auto body =
      fetch(found->engine,
            {.target = found->path() + "/recording?since=" + url_encoded(show_duration(since)),
             .timeout = kAnswerMax});
  if (!body) return report(with, body.error());
  if (output == "-") {
    with.out << *body;
    return kExitOk;
  }
  if (const auto problem = write_recording(output, *body)) {
    return report(with, {kExitFailure, problem->text()});
  }
  const auto head = reading::parsed(body->substr(0, body->find('\n')));
  with.out << reading::text(head, "revision") << " since " << reading::text(head, "from") << ": "
           << decisions_in(*body) << " decisions in " << output << "\n";
  return kExitOk;
}

}  // namespace sluice::commands
