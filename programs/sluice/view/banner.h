#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::view {

/// A service as the banner of `up` shows it.
struct BannerService {
  std::string url;
  std::int32_t min = 0;
  std::int32_t max = 0;  ///< 0 = no bound
  double target = 10;
  std::string metric = "concurrent";  ///< or "requests/s"
  double utilization = 0.7;           ///< share of the target that is aimed at
  bool h2c = false;                   ///< it speaks HTTP/2 only
};

struct BannerFacts {
  std::string version;  ///< "1.0.0"
  std::string engine;
  std::vector<BannerService> services = {};
  std::vector<std::string> notes = {};  ///< such as a front door that moved to another port
  std::string certificate = {};         ///< of the front door with TLS: its file
  std::string api_url = {};             ///< of the front door; empty: nothing needs the token
  std::string token_file = {};          ///< the file of its header line
  bool allows_edit = false;             ///< the token changes things; otherwise it only reads
  std::string page_url = {};            ///< of the dashboard
  std::string edit_page = {};           ///< the file that opens it with the token; may be empty
  std::int64_t ready_ms = 0;
  std::int64_t replicas = 0;  ///< running now
};

/// As the engine describes a service to an `up`: url, min, max, target, utilization, metric,
/// h2c.
[[nodiscard]] BannerService banner_service(const nlohmann::json& service);

/// Where a browser finds the dashboard: the link, or the file that opens it with the token if
/// `edit_page` is one.
[[nodiscard]] std::string page_text(const std::string& page_url, const std::string& edit_page);

/// What `up` prints first (one-machine.md 1), ended by a newline.
[[nodiscard]] std::string banner_text(const BannerFacts& facts);

}  // namespace sluice::view
