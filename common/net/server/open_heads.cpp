#include "common/net/server/open_heads.h"

#include "common/base/check.h"

namespace sluice::net {

OpenHeads::~OpenHeads() {
  while (oldest_ != nullptr) remove(*oldest_);
}

void OpenHeads::open(Connection& connection, TimePoint since) {
  Connection::OpenHead& head = connection.open_head_;
  if (head.open) return;
  head = {.older = newest_, .newer = nullptr, .since = since, .bytes = 0, .open = true};
  (newest_ == nullptr ? oldest_ : newest_->open_head_.newer) = &connection;
  newest_ = &connection;
}

bool OpenHeads::grow(Connection& connection, std::size_t bytes) {
  Connection::OpenHead& head = connection.open_head_;
  CHECK(head.open);
  if (bytes > bytes_max_) return false;
  while (bytes_ - head.bytes + bytes > bytes_max_) {
    Connection* const first = oldest_ != &connection ? oldest_ : head.newer;
    if (first == nullptr) return false;
    first->give_way();
    close(*first);
  }
  bytes_ += bytes;
  bytes_ -= head.bytes;
  head.bytes = bytes;
  return true;
}

http::OwnResponse open_heads_full() {
  return http::response_for(Error::queue_full, "too many unfinished requests\n",
                            "reason=open-heads; setting=SLUICE_HEADER_MEMORY");
}

void OpenHeads::remove(Connection& connection) {
  Connection::OpenHead& head = connection.open_head_;
  (head.older == nullptr ? oldest_ : head.older->open_head_.newer) = head.newer;
  (head.newer == nullptr ? newest_ : head.newer->open_head_.older) = head.older;
  bytes_ -= head.bytes;
  head = {};
}

}  // namespace sluice::net
