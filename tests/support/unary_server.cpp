#include "tests/support/unary_server.h"

#include "common/base/check.h"
#include "common/rpc/byte_message.h"

#include <atomic>
#include <grpc/support/time.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <mutex>

namespace sluice::testing {
namespace {

constexpr int kGoodbyeMilliseconds = 100;

struct Desk {
  std::mutex mutex;
  UnaryServer::Answer answer;
};

// A unary call is a stream of one message each way.
class Visit final : public grpc::ServerGenericBidiReactor {
 public:
  Visit(Desk& desk, std::string method) : desk_{desk}, method_{std::move(method)} {
    StartRead(&in_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return finish({});
    UnaryAnswer answer;
    {
      const std::lock_guard lock{desk_.mutex};
      answer = desk_.answer(method_, rpc::bytes_of(in_).value_or(""));
    }
    if (answer.never) return;
    const grpc::Status status{static_cast<grpc::StatusCode>(answer.code), answer.text};
    if (!status.ok()) return finish(status);
    out_ = rpc::buffer_of(answer.bytes);
    // The client may give up at this very moment, which is reported on another thread.
    if (!finished_.exchange(true)) StartWriteAndFinish(&out_, {}, status);
  }

  void OnCancel() override { finish(grpc::Status::CANCELLED); }

  void OnDone() override { delete this; }

 private:
  void finish(const grpc::Status& status) {
    if (finished_.exchange(true)) return;
    Finish(status);
  }

  Desk& desk_;  // of the server, which waits for its calls
  std::string method_;
  std::atomic<bool> finished_ = false;
  grpc::ByteBuffer in_;
  grpc::ByteBuffer out_;
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

}  // namespace sluice::testing
