#pragma once

#include "load/io/compare_options.h"
#include "load/io/protocol_flags.h"
#include "load/io/replay_flags.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sluice::loadgen {

/// The command line of `sluice load` as text, before any check.
struct Flags {
  std::string url;
  std::string file;
  bool check = false;
  std::optional<double> rate;
  std::optional<std::size_t> connections;
  std::optional<std::size_t> max_connections;
  std::string reuse;
  std::optional<std::uint64_t> count;
  std::string duration;
  std::string shape;
  ReplayFlags replay;
  std::vector<std::string> headers;
  std::string method;
  std::string body;
  std::string timeout;
  std::string arrivals;
  std::optional<std::uint64_t> seed;
  std::string warmup;
  std::string engine;
  std::string json;
  std::string html;
  std::string csv;
  std::string junit;
  std::string markdown;
  std::vector<std::string> hdr;
  std::string name;
  std::vector<std::string> fail_if;
  std::string output = "text";
  bool ids = false;
  ProtocolFlags protocol;
  BaselineFlags baseline;
};

/// Adds the flags to `app`, which puts what it reads into `flags`; that one outlives its parsing.
void declare(CLI::App& app, Flags& flags);

/// Refuses values that would be read as if they were not given, or as another number.
void check_values(CLI::App& app);

}  // namespace sluice::loadgen
