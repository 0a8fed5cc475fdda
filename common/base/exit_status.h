#pragma once

// How our programs end, as their manuals list it; 69 and 78 are those of sysexits.h.
namespace sluice {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;         ///< a flag or an argument is wrong
inline constexpr int kExitNotReady = 3;      ///< a service did not become ready
inline constexpr int kExitGateFailed = 4;    ///< a load run broke a limit that it was given
inline constexpr int kExitUnavailable = 69;  ///< nothing answers
inline constexpr int kExitConfig = 78;       ///< a setting or a document is wrong

}  // namespace sluice
