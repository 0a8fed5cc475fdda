#pragma once

#include "common/api/change_access.h"
#include "common/api/door_fields.h"
#include "common/http/message.h"
#include "common/net/address.h"

#include "programs/sluice/engine/api_names.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::local {

using api::door_fields;
using api::door_lines;
using api::DoorField;
using api::equal_secretly;

/// The peers that the front door answers below `/_sluice/`.
struct DoorRules {
  bool allow_edit = false;         ///< `sluice up --allow-edit`
  bool any_peer = false;           ///< `dashboard: {peers: any}`
  std::vector<std::string> hosts;  ///< `dashboard: {hosts: [...]}`, without ports
  std::string token;               ///< of this start; not empty

  /// Whether others than programs of this machine are admitted, which requires the token from all,
  /// but for the files of the page: a browser sends it only once it has them.
  [[nodiscard]] bool opened() const { return any_peer || !hosts.empty(); }
};

/// A request below `/_sluice/`, as far as it matters for access.
struct DoorRequest : api::ChangeFields {
  bool loopback = false;         ///< the client's address is one of this machine's loopback
  bool own_user = false;         ///< according to the kernel, the engine's user holds its end
  bool page_file = false;        ///< for the page without its figures, the same in every engine
  std::string_view path = {};    ///< what a 404 names
  std::string_view method = {};  ///< GET and HEAD read, every other one changes
};

/// The address of the front door, of `--http` or the settings.
[[nodiscard]] Result<net::Address, Problem> parse_door(std::string_view text);

/// Takes Sluice-Edit, Origin and Sec-Fetch-Site from the fields of a request.
void take_door_fields(const http::FieldList& fields, DoorRequest& request);

/// With which proof the request is passed on to the API, or why it is not. Never Proof::socket.
/// What a proof opens is up to the routes (autoscaler/io/api_routes.h).
[[nodiscard]] ApiResult<Proof> judge_door(const DoorRules& rules, const DoorRequest& request);

/// Whether an authority names this machine by its loopback: `localhost`, 127.0.0.0/8, [::1] or the
/// same mapped into IPv6; in any letter case, with or without port and final dot.
[[nodiscard]] bool names_loopback(std::string_view authority);

/// Whether it names the engine's own host, likewise.
[[nodiscard]] bool names_engine(std::string_view authority);

/// Whether a host, without port, is one of this machine by address or as `localhost`: the only
/// service has it too.
[[nodiscard]] bool names_machine(std::string_view host);

/// Whether an authority is the engine's alone unless a service claims it: its own host, or a name
/// of DoorRules::hosts.
[[nodiscard]] bool is_own_host(const DoorRules& rules, std::string_view authority);

/// A token of 128 random bits as 32 hex digits; empty when the kernel gives none.
[[nodiscard]] std::string make_token();

}  // namespace sluice::local
