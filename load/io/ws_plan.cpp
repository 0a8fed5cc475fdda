#include "load/io/ws_plan.h"

#include "common/base/check.h"

#include "load/io/load_run.h"
#include <array>
#include <openssl/evp.h>
#include <random>
#include <string_view>

namespace sluice::loadgen {

namespace {

constexpr unsigned char kText = 0x1;
constexpr unsigned char kFinal = 0x80;
constexpr unsigned char kMasked = 0x80;
constexpr std::size_t kKeyBytes = 16;
constexpr std::size_t kShortMax = 125;

std::string base64(const unsigned char* bytes, std::size_t size) {
  std::string out(4 * ((size + 2) / 3) + 1, '\0');
  const int written =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), bytes, static_cast<int>(size));
  out.resize(static_cast<std::size_t>(written));
  return out;
}

// RFC 6455, 4.2.2.
std::string accept_of(const std::string& key) {
  const std::string text = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  CHECK(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) == 1);
  return base64(digest.data(), size);
}

std::string frame_of(unsigned char opcode, std::string_view payload, std::uint32_t mask) {
  std::string out;
  const auto put = [&out](std::uint64_t value, unsigned bytes) {
    while (bytes-- > 0) out += static_cast<char>((value >> (8 * bytes)) & 0xffU);
  };
  put(kFinal | opcode, 1);
  if (payload.size() <= kShortMax) {
    put(kMasked | payload.size(), 1);
  } else if (payload.size() <= 0xffff) {
    put(kMasked | 126U, 1);
    put(payload.size(), 2);
  } else {
    put(kMasked | 127U, 1);
    put(payload.size(), 8);
  }
  put(mask, 4);
  for (std::size_t i = 0; i < payload.size(); ++i) {
    const auto byte = static_cast<unsigned char>(payload[i]);
    out += static_cast<char>(byte ^ ((mask >> (8 * (3 - i % 4))) & 0xffU));
  }
  return out;
}

}  // namespace

WsPlan::WsPlan(const TargetPlan& plan, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  std::array<unsigned char, kKeyBytes> nonce{};
  for (unsigned char& byte : nonce) byte = static_cast<unsigned char>(random() & 0xffU);
  const std::string key = base64(nonce.data(), nonce.size());
  accept = accept_of(key);
  frame =
      frame_of(kText, plan.body.empty() ? "ping" : plan.body, static_cast<std::uint32_t>(random()));
  TargetPlan bare = plan;
  bare.method = "GET";
  bare.body.clear();
  head = "GET " + plan.target.path + request_head(bare, SentAs::get, false) +
         "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
         "Sec-WebSocket-Key: " +
         key + "\r\n\r\n";
}

std::string ws_control_frame(unsigned char opcode, std::string_view payload) {
  return frame_of(opcode, payload.substr(0, kShortMax), 0x5a17c0deU);
}

}  // namespace sluice::loadgen
