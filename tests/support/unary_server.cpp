#include "tests/support/unary_server.h"

#include "common/base/check.h"
#include "common/rpc/byte_message.h"

#include <deque>
#include <grpc/support/time.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace sluice::testing {
namespace {

constexpr int kGoodbyeMilliseconds = 100;

class Visit;

// Recursive, as gRPC may report what is begun under it at once.
struct Desk {
  std::recursive_mutex mutex;
  UnaryServer::Answer answer;
  std::set<Visit*> listeners;
};

// A unary call is a stream of one message each way.
class Visit final : public grpc::ServerGenericBidiReactor {
 public:
  Visit(Desk& desk, std::string method) : desk_{desk}, method_{std::move(method)} {
    StartRead(&in_);
  }

  [[nodiscard]] const std::string& method() const { return method_; }

  void send(const std::string& bytes) {
    waiting_.push_back(rpc::buffer_of(bytes));
    if (waiting_.size() == 1 && !finished_) StartWrite(&waiting_.front());
  }

  // The first time the request, the second time its end.
  void OnReadDone(bool ok) override {
    const std::lock_guard lock{desk_.mutex};
    if (ok) {
      request_ = rpc::bytes_of(in_).value_or("");
      return StartRead(&in_);
    }
    if (!request_) return finish({});
    const UnaryAnswer answer = desk_.answer(method_, *request_);
    if (answer.never) {
      desk_.listeners.insert(this);
      return;
    }
    const grpc::Status status{static_cast<grpc::StatusCode>(answer.code), answer.text};
    if (!status.ok()) return finish(status);
    out_ = rpc::buffer_of(answer.bytes);
    // The client may give up at this very moment, which is reported on another thread.
    if (!std::exchange(finished_, true)) StartWriteAndFinish(&out_, {}, status);
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock{desk_.mutex};
    waiting_.pop_front();
    if (ok && !waiting_.empty() && !finished_) StartWrite(&waiting_.front());
  }

  void OnCancel() override {
    const std::lock_guard lock{desk_.mutex};
    finish(grpc::Status::CANCELLED);
  }

  void OnDone() override {
    {
      const std::lock_guard lock{desk_.mutex};
      desk_.listeners.erase(this);
    }
    delete this;
  }

 private:
  void finish(const grpc::Status& status) {
    if (!std::exchange(finished_, true)) Finish(status);
  }

  Desk& desk_;  // of the server, which waits for its calls
  std::string method_;
  bool finished_ = false;
  std::optional<std::string> request_;
  grpc::ByteBuffer in_;
  grpc::ByteBuffer out_;
  std::deque<grpc::ByteBuffer> waiting_;
};

class Doorman final : public grpc::CallbackGenericService {
 public:
  explicit Doorman(Desk& desk) : desk_{desk} {}

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    return new Visit{desk_, context->method()};  // it deletes itself when done
  }

 private:
  Desk& desk_;
};

}  // namespace

struct UnaryServer::Inside {
  Desk desk;
  Doorman doorman{desk};
  std::unique_ptr<grpc::Server> server;
};

UnaryServer::UnaryServer(const std::string& address, Answer answer)
    : inside_{std::make_unique<Inside>()}, target_{address} {
  inside_->desk.answer = std::move(answer);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.RegisterCallbackGenericService(&inside_->doorman);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  inside_->server = builder.BuildAndStart();
  CHECK(inside_->server != nullptr);
  const bool is_unix = address.starts_with("unix:");
  if (!is_unix) target_ = address.substr(0, address.rfind(':') + 1) + std::to_string(port);
}

UnaryServer::~UnaryServer() {
  inside_->server->Shutdown(gpr_time_from_millis(kGoodbyeMilliseconds, GPR_TIMESPAN));
  inside_->server->Wait();
}

void UnaryServer::send(const std::string& method, const std::string& bytes) {
  const std::lock_guard lock{inside_->desk.mutex};
  for (Visit* const each : inside_->desk.listeners) {
    if (each->method() == method) each->send(bytes);
  }
}

}  // namespace sluice::testing
