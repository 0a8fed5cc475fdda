#pragma once

#include <boost/asio/io_context.hpp>
#include <nlohmann/json_fwd.hpp>

#include "programs/sluice/view/event_printer.h"
#include "programs/sluice/view/live_view.h"
#include "programs/sluice/view/terminal.h"
#include <functional>
#include <memory>
#include <string>

namespace sluice::view {

/// Where the live view of `up` gets what it shows; all called on the loop.
struct LiveSource {
  std::string who;                                                 ///< such as `engine app`
  std::string address;                                             ///< of the front door
  std::function<nlohmann::json()> services;                        ///< status objects
  std::function<std::string(const std::string& service)> explain;  ///< explain_text of one
  std::function<void()> quit;                                      ///< the key q, and yes
};

/// The live view inside an engine: draws 4 times a second and takes keys on the engine's loop.
class LiveSession {
 public:
  /// `terminal` is not null. The loop outlives the session; stop() or destruction gives the
  /// terminal back, and later print to it as usual.
  LiveSession(boost::asio::io_context& loop, std::unique_ptr<Terminal> terminal, LiveSource source);
  LiveSession(const LiveSession&) = delete;
  LiveSession& operator=(const LiveSession&) = delete;
  ~LiveSession();

  /// Every event of the engine.
  void on_event(const nlohmann::json& event);

  void stop();

 private:
  struct State;

  std::shared_ptr<State> state_;
};

}  // namespace sluice::view
