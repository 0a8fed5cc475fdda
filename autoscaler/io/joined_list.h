#pragma once

#include "autoscaler/core/view/fleet_rows.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Answers that several replicas give together, made of what each of them has.
namespace sluice::autoscaler {

/// How much of the list of each replica has been read, by its name: `next` of a joined list.
using ListPlaces = std::map<std::string, std::uint64_t>;

/// Reads `NAME~NUMBER_NAME~NUMBER`; nothing: it is not that. Empty is the beginning.
[[nodiscard]] std::optional<ListPlaces> parse_places(std::string_view text);

/// What parse_places() reads.
[[nodiscard]] std::string text_of(const ListPlaces& places);

/// A page of services out of those of several replicas, each of which is in the order of the whole.
class JoinedList {
 public:
  /// `order`: of the rows; `from`: where each list has been read from.
  JoinedList(RowQuery order, std::size_t limit, ListPlaces from);

  /// The page of a replica, as it was answered. One that is no list counts as empty.
  void add(const std::string& replica, std::string body);

  /// Takes some more rows, in about half a millisecond; false when there are none to take.
  [[nodiscard]] bool step();

  /// The answer, once step() is through. `missing`: who did not answer.
  [[nodiscard]] std::string text(const std::vector<std::string>& missing) const;

 private:
  struct Part {
    std::string replica;
    std::string body;
    std::vector<std::string_view> items{};  // of the body
    std::size_t taken = 0;
    bool more = false;  // the replica has others behind these
    std::optional<FleetRow> head{};
  };

  [[nodiscard]] Part* first_part();

  RowQuery order_;
  std::size_t limit_;
  ListPlaces from_;
  std::vector<Part> parts_;
  std::string items_;
  std::size_t count_ = 0;
};

/// Adds the figures of another replica to those of `sum`: both are answers to `overview`.
void add_overview(nlohmann::json& sum, const nlohmann::json& other);

/// Puts the names of those who did not answer into `answer`; none: nothing.
void set_missing(nlohmann::json& answer, const std::vector<std::string>& missing);

}  // namespace sluice::autoscaler
