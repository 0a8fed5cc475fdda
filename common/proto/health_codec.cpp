#include "common/proto/health_codec.h"

#include <proto/health.pb.h>

namespace sluice::proto {
namespace {

// One byte that says whether the message is compressed, four of its length, high byte first.
constexpr std::size_t kFrameHead = 5;

}  // namespace

std::string encode_health_check(const std::string& service) {
  grpc::health::v1::HealthCheckRequest message;
  message.set_service(service);
  const std::string bytes = message.SerializeAsString();
  const auto size = static_cast<std::uint32_t>(bytes.size());
  std::string frame;
  frame += '\0';
  for (const unsigned shift : {24U, 16U, 8U, 0U}) frame += static_cast<char>(size >> shift & 0xffU);
  return frame + bytes;
}

Result<Health> decode_health(std::string_view body) {
  if (body.size() < kFrameHead || body.front() != '\0') return Error::bad_request;
  std::size_t size = 0;
  for (const char byte : body.substr(1, kFrameHead - 1)) {
    size = size << 8U | static_cast<unsigned char>(byte);
  }
  body.remove_prefix(kFrameHead);
  grpc::health::v1::HealthCheckResponse message;
  if (body.size() != size || !message.ParseFromArray(body.data(), static_cast<int>(size))) {
    return Error::bad_request;
  }
  switch (message.status()) {
    case grpc::health::v1::HealthCheckResponse::SERVING:
      return Health::serving;
    case grpc::health::v1::HealthCheckResponse::NOT_SERVING:
      return Health::not_serving;
    case grpc::health::v1::HealthCheckResponse::SERVICE_UNKNOWN:
      return Health::service_unknown;
    default:  // an open enum: peers may send numbers of a later version
      return Health::unknown;
  }
}

std::string_view name_of(Health health) {
  switch (health) {
    case Health::unknown:
      return "UNKNOWN";
    case Health::serving:
      return "SERVING";
    case Health::not_serving:
      return "NOT_SERVING";
    case Health::service_unknown:
      return "SERVICE_UNKNOWN";
  }
  return "UNKNOWN";
}

}  // namespace sluice::proto
