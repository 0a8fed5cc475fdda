#pragma once

#include "common/base/ids.h"
#include "common/net/fetch.h"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace sluice::autoscaler {

/// Asks through the public Service of a revision whether its requests reach an activator
/// (autoscaler.md 8.3): the proof without which its last pod stays. By the Service's IP, which its
/// name would lead to. Belongs to one thread.
class PublicProbe {
 public:
  struct Where {
    std::string service;  ///< name of the public Service
    std::string space;
    std::string domain;      ///< of the cluster
    std::string cluster_ip;  ///< of the Service; empty: it has none yet
    bool h2c = false;
  };

  explicit PublicProbe(boost::asio::io_context& io) : io_{io} {}

  /// `done` gets the result later, unless the revision is forgotten first; false where there is no
  /// IP. One probe for each at a time: a newer one replaces the one before, whose `done` is not
  /// called.
  void ask(const RevisionId& id, const Where& where, std::function<void(bool ok)> done);

  void forget(const RevisionId& id) { open_.erase(id); }

 private:
  boost::asio::io_context& io_;
  std::map<RevisionId, std::unique_ptr<net::Fetch>> open_;
};

[[nodiscard]] net::FetchRequest public_probe_request(const PublicProbe::Where& where);

}  // namespace sluice::autoscaler
