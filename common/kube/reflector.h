#pragma once

#include "common/kube/client.h"
#include "common/kube/object_name.h"
#include "common/log/log.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>

namespace sluice::kube {

/// Which objects are followed.
struct Collection {
  std::string path{};    ///< "/api/v1/pods", "/apis/apps/v1/namespaces/shop/deployments"
  std::string labels{};  ///< label selector; empty: all
  std::string fields{};  ///< field selector; empty: all
};

/// Who follows them. Called on the loop, one object at a time.
class ObjectSink {
 public:
  virtual ~ObjectSink() = default;

  /// The object exists and reads so now. `json` is used during the call only.
  virtual void put(const ObjectName& name, std::string_view json) = 0;

  virtual void gone(const ObjectName& name) = 0;

  /// All objects have been reported; what had gone meanwhile too.
  virtual void synced() = 0;
};

/// Follows one collection until destroyed: a streaming list where the server has it, else a list in
/// chunks, then a watch with bookmarks. A watch that ends continues from the last version; one that
/// is too old (410) is followed by one new list. Failures are tried again, 100 ms * 2^n with
/// jitter, at most 30 s; meanwhile all reported objects stay. Holds names and versions, no
/// object.
class Reflector {
 public:
  struct State {
    bool synced = false;     ///< all objects were reported once
    bool connected = false;  ///< a watch is open now
    std::string problem;     ///< why not; empty: none. With 403 it names the verb and the resource
    bool forbidden = false;  ///< the problem is a 403
    bool absent = false;     ///< the problem is a 404: the kind is not installed
    std::uint64_t lists = 0;
    std::uint64_t events = 0;
  };

  /// All references outlive the reflector.
  Reflector(boost::asio::io_context& io, const Clock& clock, std::mt19937_64& random,
            const log::Logger& log, Client& client, Collection collection, ObjectSink& sink);
  ~Reflector();
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  void start();

  [[nodiscard]] const State& state() const;

 private:
  struct Inner;
  std::unique_ptr<Inner> inner_;
};

}  // namespace sluice::kube
