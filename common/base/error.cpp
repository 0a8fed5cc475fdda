#include "common/base/error.h"

namespace sluice {

std::string_view describe(Error error) {
  switch (error) {
    case Error::queue_full:
      return "queue full";
    case Error::queue_wait:
      return "waited too long in the queue";
    case Error::deadline_exceeded:
      return "deadline exceeded";
    case Error::cannot_scale:
      return "cannot scale";
    case Error::start_failed:
      return "start failed";
    case Error::draining:
      return "draining";
    case Error::not_ready:
      return "not ready";
    case Error::no_route:
      return "no route";
    case Error::bad_request:
      return "bad request";
    case Error::too_large:
      return "too large";
    case Error::upstream_connect:
      return "cannot connect to the upstream";
    case Error::upstream_reset:
      return "the upstream closed the connection";
    case Error::upstream_invalid:
      return "the upstream sent an invalid response";
    case Error::client_gone:
      return "client gone";
    case Error::io_failed:
      return "input or output failed";
    case Error::invalid_config:
      return "invalid configuration";
  }
  return "unknown error";
}

}  // namespace sluice
