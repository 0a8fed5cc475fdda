#include "queue-proxy/core/request_record.h"

namespace sluice::queue_proxy {

std::string_view name_of(Cause cause) {
  switch (cause) {
    case Cause::none:
      return "";
    case Cause::container_aborted:
      return "aborted";
    case Cause::client_gone:
      return "client-gone";
    case Cause::queue_full:
      return "queue-full";
    case Cause::queue_wait:
      return "queue-wait";
    case Cause::timeout_max:
      return "timeout-max";
    case Cause::timeout_response_start:
      return "timeout-response-start";
    case Cause::timeout_idle:
      return "timeout-idle";
    case Cause::timeout_header:
      return "timeout-header";
    case Cause::timeout_body:
      return "timeout-body";
    case Cause::draining:
      return "draining";
    case Cause::not_ready:
      return "not-ready";
    case Cause::bad_request:
      return "bad-request";
    case Cause::too_large:
      return "too-large";
    case Cause::upstream_connect:
      return "upstream-connect";
    case Cause::upstream_reset:
      return "upstream-reset";
    case Cause::upstream_invalid:
      return "upstream-invalid";
    case Cause::other:
      return "other";
  }
  return "other";
}

std::string_view source_of(Cause cause) {
  if (cause == Cause::none || cause == Cause::container_aborted) return "container";
  return cause == Cause::client_gone ? "client" : "queue-proxy";
}

int recorded_status(int told, Cause cause) {
  switch (cause) {
    case Cause::client_gone:
      return 499;
    case Cause::container_aborted:
      return 500;
    case Cause::timeout_max:
    case Cause::timeout_response_start:
    case Cause::timeout_idle:
      return 504;
    case Cause::timeout_header:
    case Cause::timeout_body:
      return 408;
    case Cause::none:
    case Cause::queue_full:
    case Cause::queue_wait:
    case Cause::draining:
    case Cause::not_ready:
    case Cause::bad_request:
    case Cause::too_large:
    case Cause::upstream_connect:
    case Cause::upstream_reset:
    case Cause::upstream_invalid:
    case Cause::other:
      break;
  }
  return told;
}

}  // namespace sluice::queue_proxy
