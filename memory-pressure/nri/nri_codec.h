#pragma once

#include "common/base/result.h"

#include "memory-pressure/cri/cri.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// The messages of a trunk: those of a plugin of NRI that watches starts of containers, and changes
// and delays nothing. Pure.
namespace sluice::nri {

/// A call, either way.
struct Call {
  std::string service;
  std::string method;
  std::string payload;
};

/// How a call of ours ended; `code` as gRPC numbers them, 0: well.
struct Answer {
  std::int32_t code = 0;
  std::string text;
};

/// The start of a container, as the runtime reports it.
struct Start {
  std::string id;
  std::int32_t pid = 0;  ///< its process; 0: not known
  bool begun = false;    ///< its program has; else it begins once this is answered
  cri::Sandbox pod;
};

/// The runtime and its version.
struct Host {
  std::string name;
  std::string version;
};

// What is sent.

/// RegisterPlugin: the first message, in kRuntimeService.
[[nodiscard]] std::string register_call();

/// To Configure: starts of containers only, before and after.
[[nodiscard]] std::string configure_answer();

/// To Synchronize with this payload: nothing is to be changed, and if the runtime has more to list,
/// it may.
[[nodiscard]] std::string synchronize_answer(std::string_view payload);

/// To everything else that a runtime calls its plugin for: well, and no wish.
[[nodiscard]] std::string empty_answer();

/// To a call of another service.
[[nodiscard]] std::string unimplemented_answer(const std::string& service);

// What is received. bad_request: no such message.

/// The service of a plugin.
inline constexpr std::string_view kPlugin = "nri.pkg.api.v1alpha1.Plugin";

[[nodiscard]] Result<Call> read_call(std::string_view bytes);
[[nodiscard]] Result<Answer> read_answer(std::string_view bytes);

/// Of Configure; empty where it names none.
[[nodiscard]] Host read_configure(std::string_view payload);

/// Of Synchronize: there is more to list.
[[nodiscard]] bool has_more(std::string_view payload);

/// The start that a call reports, in the form of older runtimes (StateChange) or of newer ones.
/// Absent: it reports none, or names no container.
[[nodiscard]] std::optional<Start> read_start(const Call& call);

}  // namespace sluice::nri
