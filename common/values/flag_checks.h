#pragma once

#include "common/values/whole_number.h"

#include <cstdint>
#include <string>

// Checks of a flag's value, for CLI::Option::check(): what is wrong with it, or nothing.
namespace sluice {

/// A value without text: a variable of a script that is not set.
[[nodiscard]] inline std::string check_not_empty(const std::string& value) {
  return value.empty() ? "it is empty; give it a value, or remove it" : std::string{};
}

/// What CLI::App would turn into another number: one below 0 or above the largest.
[[nodiscard]] inline std::string check_unsigned(const std::string& value) {
  return whole_number<std::uint64_t>(value)
             ? std::string{}
             : "'" + value + "' is not a whole number from 0 to 18446744073709551615";
}

}  // namespace sluice
