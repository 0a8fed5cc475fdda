#include "common/base/check.h"
#include "common/rpc/call_state.h"

#include <utility>

namespace sluice::rpc {

Call::Call(std::shared_ptr<CallState> state, std::string method, Peer peer)
    : state_(std::move(state)), method_(std::move(method)), peer_(std::move(peer)) {}

Call::~Call() {
  state_->close({Code::cancelled, "the call was abandoned"});
}

void Call::start(Events events) {
  CHECK(!started_);
  started_ = true;
  state_->listen(std::move(events));
  state_->read();
}

bool Call::writable() const {
  return state_->writable();
}

void Call::write(std::string bytes) {
  state_->write(std::move(bytes));
}

void Call::close(const Ending& ending) {
  state_->close(ending);
}

}  // namespace sluice::rpc
