// A gRPC server and client that test a sidecar between them.
//   grpc_peer server              prints its port; ends when its input does
//   grpc_peer client TARGET CASE  exit status 0 when CASE went as it must; else says what did not
#include "tests/peers/echo.grpc.pb.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <functional>
#include <grpcpp/grpcpp.h>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using grpc::ClientContext;
using grpc::ServerContext;
using grpc::Status;
using grpc::StatusCode;
using sluice::peers::Ask;
using sluice::peers::Echo;
using sluice::peers::Tally;
using sluice::peers::Text;

constexpr std::chrono::milliseconds kPatience = 20s;
constexpr std::uint32_t kMessages = 1000;

class EchoServer final : public Echo::Service {
  Status Say(ServerContext* context, const Text* said, Text* answer) override {
    for (const auto& [name, value] : context->client_metadata()) {
      if (name.starts_with("x-")) {
        context->AddInitialMetadata("initial-" + std::string{name.data(), name.size()},
                                    {value.data(), value.size()});
        context->AddTrailingMetadata("trailing-" + std::string{name.data(), name.size()},
                                     {value.data(), value.size()});
      }
    }
    answer->set_text(said->text());
    return Status::OK;
  }

  Status Fail(ServerContext* context, const Ask* ask, Text* /*answer*/) override {
    context->AddTrailingMetadata("x-why", "asked for");
    return {static_cast<StatusCode>(ask->count()), "as asked: \xc3\xa9"};
  }

  Status Wait(ServerContext* context, const Ask* /*ask*/, Text* /*answer*/) override {
    await_cancel(*context);
    return Status::CANCELLED;
  }

  Status Stall(ServerContext* context, const Ask* /*ask*/,
               grpc::ServerWriter<Text>* writer) override {
    Text text;
    text.set_text("first");
    writer->Write(text);
    await_cancel(*context);
    return Status::CANCELLED;
  }

  Status Count(ServerContext* /*context*/, const Ask* ask,
               grpc::ServerWriter<Text>* writer) override {
    Text text;
    text.set_text(std::string(ask->bytes(), 'x'));
    for (std::uint32_t i = 0; i < ask->count(); ++i) {
      if (!writer->Write(text)) return Status::CANCELLED;
    }
    return Status::OK;
  }

  Status Collect(ServerContext* /*context*/, grpc::ServerReader<Text>* reader,
                 Ask* answer) override {
    Text text;
    std::uint32_t count = 0;
    std::uint32_t bytes = 0;
    while (reader->Read(&text)) {
      ++count;
      bytes += static_cast<std::uint32_t>(text.text().size());
    }
    answer->set_count(count);
    answer->set_bytes(bytes);
    return Status::OK;
  }

  Status Converse(ServerContext* /*context*/,
                  grpc::ServerReaderWriter<Text, Text>* stream) override {
    Text text;
    while (stream->Read(&text)) {
      if (!stream->Write(text)) return Status::CANCELLED;
    }
    return Status::OK;
  }

  Status Report(ServerContext* /*context*/, const Ask* /*ask*/, Tally* tally) override {
    const std::scoped_lock lock{mutex_};
    tally->set_waiting(waiting_);
    tally->set_cancelled(cancelled_);
    return Status::OK;
  }

  void await_cancel(const ServerContext& context) {
    std::unique_lock lock{mutex_};
    ++waiting_;
    // There is no notification: gRPC's synchronous server can only be polled for cancellation.
    for (auto waited = 0ms; waited < kPatience && !context.IsCancelled(); waited += 2ms) {
      never_.wait_for(lock, 2ms);
    }
    --waiting_;
    if (context.IsCancelled()) ++cancelled_;
  }

  std::mutex mutex_;
  std::condition_variable never_;
  std::uint32_t waiting_ = 0;
  std::uint32_t cancelled_ = 0;
};

/// What a case found wrong; empty when it went as it must.
using Verdict = std::string;

Verdict expect(const Status& status, StatusCode code) {
  if (status.error_code() == code) return {};
  return "status " + std::to_string(status.error_code()) + " '" + status.error_message() +
         "', expected " + std::to_string(code);
}

Verdict say(Echo::Stub& stub, std::size_t bytes) {
  ClientContext context;
  Text said;
  Text answer;
  said.set_text(std::string(bytes, 'y'));
  Verdict verdict = expect(stub.Say(&context, said, &answer), StatusCode::OK);
  if (verdict.empty() && answer.text() != said.text()) return "the answer is not what was said";
  return verdict;
}

Verdict unary(Echo::Stub& stub) {
  return say(stub, 5);
}

Verdict large(Echo::Stub& stub) {
  return say(stub, 3U << 20U);
}

Verdict metadata(Echo::Stub& stub) {
  ClientContext context;
  context.AddMetadata("x-word", "value");
  context.AddMetadata("x-blob-bin", std::string("\0\1\xff", 3));
  Text answer;
  Verdict verdict = expect(stub.Say(&context, Text{}, &answer), StatusCode::OK);
  if (!verdict.empty()) return verdict;
  const auto& initial = context.GetServerInitialMetadata();
  const auto& trailing = context.GetServerTrailingMetadata();
  const auto word = initial.find("initial-x-word");
  const auto blob = trailing.find("trailing-x-blob-bin");
  if (word == initial.end() || word->second != "value") return "initial metadata was lost";
  if (blob == trailing.end() || blob->second != std::string("\0\1\xff", 3)) {
    return "trailing metadata was lost";
  }
  return {};
}

Verdict failure(Echo::Stub& stub) {
  ClientContext context;
  Ask ask;
  ask.set_count(StatusCode::FAILED_PRECONDITION);
  Text answer;
  const Status status = stub.Fail(&context, ask, &answer);
  Verdict verdict = expect(status, StatusCode::FAILED_PRECONDITION);
  if (!verdict.empty()) return verdict;
  if (status.error_message() != "as asked: \xc3\xa9") return "the message was lost";
  if (context.GetServerTrailingMetadata().count("x-why") != 1) return "its metadata was lost";
  return {};
}

Verdict server_stream(Echo::Stub& stub) {
  ClientContext context;
  Ask ask;
  ask.set_count(kMessages);
  ask.set_bytes(5000);
  const auto reader = stub.Count(&context, ask);
  Text text;
  std::uint32_t count = 0;
  while (reader->Read(&text)) count += text.text().size() == ask.bytes() ? 1U : 0U;
  Verdict verdict = expect(reader->Finish(), StatusCode::OK);
  if (verdict.empty() && count != kMessages) return std::to_string(count) + " messages came";
  return verdict;
}

Verdict client_stream(Echo::Stub& stub) {
  ClientContext context;
  Ask answer;
  const auto writer = stub.Collect(&context, &answer);
  Text text;
  text.set_text(std::string(5000, 'z'));
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    if (!writer->Write(text)) break;
  }
  writer->WritesDone();
  Verdict verdict = expect(writer->Finish(), StatusCode::OK);
  if (verdict.empty() && (answer.count() != kMessages || answer.bytes() != 5000 * kMessages)) {
    return std::to_string(answer.count()) + " messages arrived";
  }
  return verdict;
}

// Each message waits for the echo of the one before: whatever is held back anywhere stops it.
Verdict both_streams(Echo::Stub& stub) {
  ClientContext context;
  const auto stream = stub.Converse(&context);
  Text said;
  Text heard;
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    said.set_text(std::to_string(i));
    if (!stream->Write(said) || !stream->Read(&heard)) break;
    if (heard.text() != said.text()) return "heard " + heard.text() + " for " + said.text();
  }
  stream->WritesDone();
  return expect(stream->Finish(), StatusCode::OK);
}

/// Waits until the server has seen a cancellation and no call waits there.
Verdict cancelled_there(Echo::Stub& stub) {
  Tally tally;
  const gpr_timespec limit =
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_seconds(20, GPR_TIMESPAN));
  while (gpr_time_cmp(gpr_now(GPR_CLOCK_MONOTONIC), limit) < 0) {
    ClientContext context;
    Verdict verdict = expect(stub.Report(&context, Ask{}, &tally), StatusCode::OK);
    if (!verdict.empty()) return verdict;
    if (tally.cancelled() > 0 && tally.waiting() == 0) return {};
  }
  return "the server never saw the cancellation";
}

Verdict deadline(Echo::Stub& stub) {
  ClientContext context;
  context.set_deadline(
      gpr_time_add(gpr_now(GPR_CLOCK_REALTIME), gpr_time_from_millis(300, GPR_TIMESPAN)));
  Text answer;
  Verdict verdict = expect(stub.Wait(&context, Ask{}, &answer), StatusCode::DEADLINE_EXCEEDED);
  return verdict.empty() ? cancelled_there(stub) : verdict;
}

Verdict cancellation(Echo::Stub& stub) {
  ClientContext context;
  const auto reader = stub.Stall(&context, Ask{});
  Text text;
  if (!reader->Read(&text)) return "the first message never came";
  context.TryCancel();
  Verdict verdict = expect(reader->Finish(), StatusCode::CANCELLED);
  return verdict.empty() ? cancelled_there(stub) : verdict;
}

// The sidecar's own timer, after the response has begun: trailers that say DEADLINE_EXCEEDED.
Verdict cut_short(Echo::Stub& stub) {
  ClientContext context;
  const auto reader = stub.Stall(&context, Ask{});
  Text text;
  if (!reader->Read(&text)) return "the first message never came";
  if (reader->Read(&text)) return "a second message came";
  Verdict verdict = expect(reader->Finish(), StatusCode::DEADLINE_EXCEEDED);
  return verdict.empty() ? cancelled_there(stub) : verdict;
}

// Refusals of the sidecar itself: a status, its words and what they were refused for.
Verdict refused(Echo::Stub& stub, StatusCode code, const std::string& message) {
  ClientContext context;
  Text answer;
  const Status status = stub.Say(&context, Text{}, &answer);
  Verdict verdict = expect(status, code);
  if (!verdict.empty()) return verdict;
  if (status.error_message().find(message) == std::string::npos) {
    return "the message is '" + status.error_message() + "'";
  }
  // A response of one block: the client reads all of it as trailers.
  const bool told = context.GetServerTrailingMetadata().count("sluice-error") == 1;
  return told ? Verdict{} : "the cause was lost";
}

Verdict unreachable(Echo::Stub& stub) {
  return refused(stub, StatusCode::UNAVAILABLE, "connection refused");
}

Verdict no_time(Echo::Stub& stub) {
  return refused(stub, StatusCode::DEADLINE_EXCEEDED, "request timeout");
}

Verdict many(Echo::Stub& stub) {
  std::mutex mutex;
  Verdict worst;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 50; ++turn) {
        const Verdict verdict = say(stub, 2000);
        const std::scoped_lock lock{mutex};
        if (!verdict.empty()) worst = verdict;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return worst;
}

int serve(const std::string& at) {
  EchoServer service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:" + at, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) return 1;
  std::printf("%d\n", port);
  std::fflush(stdout);
  if (at != "0") server->Wait();
  while (std::getchar() != EOF) {
  }
  server->Shutdown(std::chrono::system_clock::time_point{});
  return 0;
}

int ask(const std::string& target, const std::string& name) {
  const std::map<std::string, std::function<Verdict(Echo::Stub&)>> cases{
      {"unary", unary},
      {"large", large},
      {"metadata", metadata},
      {"failure", failure},
      {"server_stream", server_stream},
      {"client_stream", client_stream},
      {"both_streams", both_streams},
      {"deadline", deadline},
      {"cancellation", cancellation},
      {"cut_short", cut_short},
      {"unreachable", unreachable},
      {"no_time", no_time},
      {"many", many}};
  const auto found = cases.find(name);
  if (found == cases.end()) {
    std::fprintf(stderr, "no case '%s'\n", name.c_str());
    return 2;
  }
  const auto channel = grpc::CreateChannel(target, grpc::InsecureChannelCredentials());
  const std::unique_ptr<Echo::Stub> stub = Echo::NewStub(channel);
  const Verdict verdict = found->second(*stub);
  if (verdict.empty()) return 0;
  std::fprintf(stderr, "%s: %s\n", name.c_str(), verdict.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "server") == 0) return serve("0");
  if (argc == 3 && std::strcmp(argv[1], "server") == 0) return serve(argv[2]);
  if (argc == 4 && std::strcmp(argv[1], "client") == 0) return ask(argv[2], argv[3]);
  std::fputs("usage: grpc_peer server [PORT] | client TARGET CASE\n", stderr);
  return 2;
}
