#include "common/rpc/ending.h"

namespace sluice::rpc {

std::string_view name_of(Code code) {
  switch (code) {
    case Code::ok:
      return "OK";
    case Code::cancelled:
      return "CANCELLED";
    case Code::unknown:
      return "UNKNOWN";
    case Code::invalid_argument:
      return "INVALID_ARGUMENT";
    case Code::deadline_exceeded:
      return "DEADLINE_EXCEEDED";
    case Code::not_found:
      return "NOT_FOUND";
    case Code::already_exists:
      return "ALREADY_EXISTS";
    case Code::permission_denied:
      return "PERMISSION_DENIED";
    case Code::resource_exhausted:
      return "RESOURCE_EXHAUSTED";
    case Code::failed_precondition:
      return "FAILED_PRECONDITION";
    case Code::aborted:
      return "ABORTED";
    case Code::out_of_range:
      return "OUT_OF_RANGE";
    case Code::unimplemented:
      return "UNIMPLEMENTED";
    case Code::internal:
      return "INTERNAL";
    case Code::unavailable:
      return "UNAVAILABLE";
    case Code::data_loss:
      return "DATA_LOSS";
    case Code::unauthenticated:
      return "UNAUTHENTICATED";
  }
  return "UNKNOWN";
}

std::string Ending::show() const {
  const std::string name{name_of(code)};
  return text.empty() ? name : name + ": " + text;
}

}  // namespace sluice::rpc
