#pragma once

#include "common/base/lifetime.h"
#include "common/kube/client.h"
#include "common/log/log.h"
#include "common/settings/knative_contract.h"
#include "common/time/time_point.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::activator {

/// The label `app.kubernetes.io/version` of an object as JSON; empty: it has none. Nothing: the
/// text is no object of an API server.
[[nodiscard]] std::optional<std::string> release_label(std::string_view document);

/// Finds which contract the installed Knative has (queue-proxy.md 15.19), from the version that its
/// CustomResourceDefinition of revisions is labelled with, and again each minute, since a Knative
/// may be upgraded. Where that may not be read, or names no release, the current contract holds and
/// the log has the setting that names the release. Belongs to one thread.
class KnativeRelease {
 public:
  /// Between two looks at a release that is known, or that we may not read.
  static constexpr Duration kPause = std::chrono::seconds{60};

  /// Called with the first answer, a refusal included, and with each other contract after it.
  using Told = std::function<void(settings::KnativeContract contract)>;

  /// All references outlive this.
  KnativeRelease(boost::asio::io_context& io, kube::Client& client, const log::Logger& log);
  ~KnativeRelease();
  KnativeRelease(const KnativeRelease&) = delete;
  KnativeRelease& operator=(const KnativeRelease&) = delete;

  void start(Told told);

  /// There was an answer.
  [[nodiscard]] bool told() const { return contract_.has_value(); }

  /// Why the last request had no answer; empty: it is still under way.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void ask();
  void take(const kube::Answer& answer);
  void take_release(const std::string& release);
  void ask_later(Duration pause);
  void tell(settings::KnativeContract contract);
  void warn_once(const std::string& why);

  kube::Client& client_;
  const log::Logger& log_;
  Told told_;
  std::optional<settings::KnativeContract> contract_;
  std::string release_;  // that the log has named last
  std::string warned_;   // what it was last warned of
  std::string problem_;
  std::size_t failures_ = 0;  // in a row
  boost::asio::steady_timer timer_;
  kube::Client::Call call_;
  Lifetime alive_;
};

}  // namespace sluice::activator
