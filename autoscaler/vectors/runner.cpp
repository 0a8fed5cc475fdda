#include "autoscaler/vectors/runner.h"

#include "autoscaler/vectors/players.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <utility>
#include <vector>

namespace sluice::vectors {
namespace {

using nlohmann::json;

constexpr std::uintmax_t kFileBytesMax = std::uintmax_t{64} << 20;
constexpr int kVersion = 1;

constexpr std::array<std::pair<std::string_view, Player>, 13> kPlayers{{
    {"active_condition", play_active_condition},
    {"annotations", play_annotations},
    {"autoscaler", play_autoscaler},
    {"config_map", play_config_map},
    {"decider_status", play_decider_status},
    {"final_scale", play_final_scale},
    {"hashing", play_hashing},
    {"max_window", play_max_window},
    {"request_stats", play_request_stats},
    {"resolve", play_resolve},
    {"sampling", play_sampling},
    {"scale_to_zero", play_scale_to_zero},
    {"windows", play_windows},
}};

std::string case_name(const json& item, std::size_t index) {
  if (item.is_object()) {
    const auto at = item.find("name");
    if (at != item.end() && at->is_string()) return at->get<std::string>();
  }
  return std::to_string(index);
}

void play_case(const std::string& file, const json& item, std::size_t index, Player player,
               Tally& tally, std::ostream& out) {
  Expect expect;
  std::string unreadable;
  try {
    player(item, expect);
  } catch (const std::exception& error) {
    unreadable = error.what();
  }
  if (!expect.failed() && unreadable.empty()) {
    ++tally.passed;
    return;
  }
  ++tally.failed;
  out << file << ' ' << case_name(item, index) << ": ";
  if (expect.failed()) {
    const Mismatch& at = *expect.mismatch();
    out << at.field << ", " << at.want << ", " << at.got << '\n';
  } else {
    out << "case, a readable case, " << unreadable << '\n';
  }
}

// What is wrong with a file as a whole; empty when its cases were played.
std::string play_file(const std::filesystem::path& path, Tally& tally, std::ostream& out) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) return "cannot be read: " + error.message();
  if (size > kFileBytesMax) return "is larger than 64 MiB";
  std::ifstream stream{path};
  if (!stream) return "cannot be opened";

  const json file = json::parse(stream, nullptr, /*allow_exceptions=*/false);
  if (file.is_discarded()) return "is not valid JSON";
  if (!file.is_object()) return "is not a JSON object";
  const auto kind = file.find("kind");
  if (kind == file.end() || !kind->is_string()) return "has no \"kind\"";
  const auto version = file.find("version");
  if (version == file.end() || *version != kVersion) return "is not of version 1";
  const auto cases = file.find("cases");
  if (cases == file.end() || !cases->is_array()) return "has no list of \"cases\"";
  const Player player = player_for(kind->get<std::string>());
  if (player == nullptr) return "has the unknown kind \"" + kind->get<std::string>() + "\"";

  const std::string name = path.filename().string();
  for (std::size_t i = 0; i < cases->size(); ++i) {
    play_case(name, (*cases)[i], i, player, tally, out);
  }
  return {};
}

}  // namespace

Player player_for(std::string_view kind) {
  const auto at = std::find_if(kPlayers.begin(), kPlayers.end(),
                               [kind](const auto& known) { return known.first == kind; });
  return at == kPlayers.end() ? nullptr : at->second;
}

Tally play_directory(const std::string& directory, std::ostream& out) {
  Tally tally;
  std::vector<std::filesystem::path> files;
  std::error_code error;
  std::filesystem::directory_iterator entries{directory, error};
  const std::filesystem::directory_iterator end;
  while (!error && entries != end) {
    if (entries->path().extension() == ".json") files.push_back(entries->path());
    entries.increment(error);
  }
  if (error) {
    out << directory << ": cannot be read: " << error.message() << '\n';
    tally.unreadable = true;
    return tally;
  }
  std::sort(files.begin(), files.end());
  for (const auto& path : files) {
    const std::string complaint = play_file(path, tally, out);
    if (complaint.empty()) continue;
    out << path.filename().string() << ": " << complaint << '\n';
    tally.unreadable = true;
  }
  return tally;
}

}  // namespace sluice::vectors
