#pragma once

#include "autoscaler/io/activator_line.h"
#include "common/rpc/call.h"

#include <memory>
#include <string>

namespace sluice::autoscaler {

/// A stream over gRPC (protocols.md 3).
class ActivatorCall final : public ActivatorLine {
 public:
  explicit ActivatorCall(std::unique_ptr<rpc::Call> call) : call_{std::move(call)} {}

  void start(Events events) override;

  [[nodiscard]] bool writable() const override { return call_->writable(); }

  void write(const proto::AutoscalerMessage& message) override;

  void close(const rpc::Ending& ending) override { call_->close(ending); }

  [[nodiscard]] std::string peer() const override { return call_->peer(); }

 private:
  std::unique_ptr<rpc::Call> call_;
};

}  // namespace sluice::autoscaler
