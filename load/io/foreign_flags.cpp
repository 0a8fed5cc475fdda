#include "load/io/foreign_flags.h"

#include <array>
#include <string_view>
#include <utility>

namespace sluice::loadgen {

namespace {

// What other generators call something else, or what ours would take for something else.
struct Foreign {
  const char* flag;
  const char* there;  // what it means
  const char* fix;
};

// Words of one dash and several letters, which would be read as a flag with its value.
constexpr std::array<Foreign, 12> kForeignWords{
    {{"--latency", "in wrk more figures", "remove it: every report has them"},
     {"-qps", "in fortio the rate of all connections", "give --rate"},
     {"-host", "in hey the Host header", "give -H 'Host: NAME'"},
     {"-h2", "in hey HTTP/2", "give --protocol h2"},
     {"-cpus", "in hey the number of cores", "give --threads"},
     {"-more", "in hey more figures", "remove it: the report has them, --json all of them"},
     {"-disable-keepalive", "in hey a connection for each request", "give --reuse never"},
     {"-disable-compression", "in hey no Accept-Encoding", "remove it: none is sent"},
     {"-disable-redirects", "in hey not to follow them", "remove it: none is followed"},
     {"-keepalive", "in fortio kept connections", "remove it: they are kept"},
     {"-payload", "in fortio the body", "give --body"},
     {"-nocatchup", "in fortio to leave out what is late", "remove it: nothing is left out"}}};

// Single letters. A value may stand in the same word.
constexpr std::array<Foreign, 8> kForeignLetters{
    {{"-q", "in hey the rate of each connection", "give the rate of all of them with --rate"},
     {"-t", "in hey the timeout in seconds, in wrk the threads, in fortio the duration",
      "give --timeout or --duration, like --timeout 20s"},
     {"-D", "in hey the file of the body", "give --body @FILE"},
     {"-T", "in hey the type of the body", "give -H 'Content-Type: TYPE'"},
     {"-A", "in hey the Accept header", "give -H 'Accept: TYPE'"},
     {"-U", "in hey the User-Agent header", "give -H 'User-Agent: NAME'"},
     {"-a", "in hey a user and a password", "give -H 'Authorization: …'"},
     {"-s", "in wrk a script", "give -m, -H and --body"}}};

// A letter may have a number in its own word: `-t4`.
bool is_letter_flag(std::string_view argument, std::string_view flag) {
  return argument.starts_with(flag) &&
         argument.find_first_not_of("0123456789=", flag.size()) == std::string_view::npos;
}

}  // namespace

std::optional<Problem> foreign_flag(const std::vector<std::string>& arguments) {
  const auto refused = [](const Foreign& foreign) {
    return Problem{std::string{foreign.flag} + ": " + foreign.there, foreign.fix};
  };
  bool is_value = false;
  for (const std::string& argument : arguments) {
    // What follows these may be any text.
    if (std::exchange(is_value, argument == "-b" || argument == "--body" || argument == "-H" ||
                                    argument == "--header")) {
      is_value = false;
      continue;
    }
    const std::string word = argument.substr(0, argument.find('='));
    for (const Foreign& foreign : kForeignWords) {
      if (word == foreign.flag) return refused(foreign);
    }
    for (const Foreign& foreign : kForeignLetters) {
      if (is_letter_flag(argument, foreign.flag)) return refused(foreign);
    }
  }
  return std::nullopt;
}

}  // namespace sluice::loadgen
