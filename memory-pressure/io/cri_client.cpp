#include "memory-pressure/io/cri_client.h"

#include "common/base/errno_text.h"

#include <boost/asio/post.hpp>

#include "memory-pressure/cri/cri_codec.h"
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace sluice::node_agent {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr std::size_t kTextMax = 400;

std::string cut(const std::string& text) {
  return text.size() > kTextMax ? text.substr(0, kTextMax) + "..." : text;
}

// gRPC tells a missing socket, a forbidden one and a dead one by one code; the kernel tells them
// apart. 0: a process listens.
int knock(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return ENAMETOOLONG;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return errno;
  const int failed =
      ::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0
          ? 0
          : errno;
  ::close(descriptor);
  return failed == EAGAIN || failed == EINPROGRESS ? 0 : failed;
}

RuntimeProblem not_reached(const std::string& path, int error) {
  const std::string reason = errno_text(error);
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return {Unreachable::missing,
              {"there is no container runtime at " + path,
               "start it, or name its socket with --runtime-endpoint"}};
    case EACCES:
    case EPERM:
      return {Unreachable::denied,
              {"the socket " + path + " cannot be opened: " + reason,
               "run as root, or in the group that owns the socket"}};
    case ECONNREFUSED:
      return {Unreachable::refused,
              {"no process listens on the socket " + path, "start the container runtime"}};
    default:
      return {Unreachable::failed,
              {"the socket " + path + " cannot be used: " + reason,
               "name another with --runtime-endpoint"}};
  }
}

RuntimeProblem no_version(const std::string& path, const rpc::Ending& ending) {
  switch (ending.code) {
    case rpc::Code::unimplemented:
      return {Unreachable::unsupported,
              {"the runtime at " + path + " does not speak CRI v1: " + cut(ending.text),
               "use containerd 1.6, CRI-O 1.23 or later, with its CRI plugin enabled"}};
    case rpc::Code::deadline_exceeded:
      return {Unreachable::silent,
              {"the runtime at " + path + " does not answer in time", "check whether it hangs"}};
    case rpc::Code::permission_denied:
    case rpc::Code::unauthenticated:
      return {Unreachable::denied,
              {"the runtime at " + path + " refuses access: " + cut(ending.text), "run as root"}};
    default:
      return {
          Unreachable::failed,
          {"the runtime at " + path + " does not answer: " + cut(ending.show()), "see its log"}};
  }
}

template <class T>
Result<T, CallFailure> read_reply(const rpc::UnaryReply& reply,
                                  Result<T> (*decode)(std::string_view)) {
  if (reply.ending.code != rpc::Code::ok) {
    return CallFailure{outcome_of(reply.ending.code), cut(reply.ending.show())};
  }
  auto value = decode(reply.bytes);
  if (!value) {
    return CallFailure{Outcome::failed, "invalid answer: " + std::string{describe(value.error())}};
  }
  return std::move(*value);
}

}  // namespace

Outcome outcome_of(rpc::Code code) {
  switch (code) {
    case rpc::Code::ok:
      return Outcome::ok;
    case rpc::Code::not_found:
      return Outcome::not_found;
    case rpc::Code::deadline_exceeded:
    case rpc::Code::cancelled:
      return Outcome::timed_out;
    case rpc::Code::unavailable:
      return Outcome::unavailable;
    // What the kernel refuses comes as UNKNOWN, with the text of runc (memory-pressure.md 6).
    case rpc::Code::unknown:
    case rpc::Code::invalid_argument:
    case rpc::Code::failed_precondition:
    case rpc::Code::permission_denied:
    case rpc::Code::out_of_range:
    case rpc::Code::unimplemented:
      return Outcome::refused;
    case rpc::Code::already_exists:
    case rpc::Code::resource_exhausted:
    case rpc::Code::aborted:
    case rpc::Code::internal:
    case rpc::Code::data_loss:
    case rpc::Code::unauthenticated:
      return Outcome::failed;
  }
  return Outcome::failed;
}

std::vector<std::string> usual_sockets() {
  return {"/run/containerd/containerd.sock", "/run/crio/crio.sock", "/var/run/crio/crio.sock",
          "/run/cri-dockerd.sock", "/var/run/cri-dockerd.sock"};
}

Result<std::string, Problem> socket_path(const std::string& endpoint) {
  std::string path = endpoint.starts_with(kUnix) ? endpoint.substr(kUnix.size()) : endpoint;
  if (path.starts_with("///")) path.erase(0, 2);
  if (path.size() < 2 || !path.starts_with('/') || path.starts_with("//")) {
    return Problem{"'" + cut(endpoint) + "' is not a runtime socket",
                   "give it as unix:///run/containerd/containerd.sock"};
  }
  return {boost::system::in_place_value, std::move(path)};
}

CriClient::CriClient(boost::asio::io_context& io, Options options)
    : io_{io}, options_{std::move(options)} {}

void CriClient::connect(Found done) {
  boost::asio::post(io_, [this, alive = alive_.watch(), done = std::move(done)] {
    if (!alive.over()) try_socket(0, nullptr, done);
  });
}

// The reported problem is the first that is more than a missing socket.
void CriClient::try_socket(std::size_t index, std::shared_ptr<RuntimeProblem> first,
                           const Found& done) {
  const auto note = [&first](RuntimeProblem problem) {
    if (!first || (first->why == Unreachable::missing && problem.why != Unreachable::missing)) {
      first = std::make_shared<RuntimeProblem>(std::move(problem));
    }
  };
  for (; index < options_.sockets.size(); ++index) {
    const std::string& path = options_.sockets[index];
    if (const int failed = knock(path); failed != 0) {
      note(not_reached(path, failed));
      continue;
    }
    trying_ = std::make_unique<rpc::UnaryClient>(
        io_,
        rpc::UnaryOptions{.target = std::string{kUnix} + path,
                          .metadata = {{"containerd-namespace", std::string{cri::kNamespace}}}});
    trying_->call(std::string{cri::kService} + "Version", cri::version_request(), options_.deadline,
                  [this, index, first, done, path](const rpc::UnaryReply& reply) mutable {
                    const auto version = read_reply(reply, cri::read_version);
                    if (version) {
                      client_ = std::move(trying_);
                      socket_ = path;
                      return done(*version);
                    }
                    if (!first || first->why == Unreachable::missing) {
                      first = std::make_shared<RuntimeProblem>(no_version(path, reply.ending));
                    }
                    try_socket(index + 1, first, done);
                  });
    return;
  }
  done(first ? *first : not_reached("(none)", ENOENT));
}

void CriClient::call(const std::string& method, const std::string& request, Duration deadline,
                     rpc::UnaryClient::Done done) {
  if (client_) {
    const bool whole = method.starts_with('/');  // of another service
    client_->call(whole ? method : std::string{cri::kService} + method, request, deadline,
                  std::move(done));
    return;
  }
  boost::asio::post(io_, [alive = alive_.watch(), done = std::move(done)] {
    if (!alive.over()) done({{rpc::Code::unavailable, "no runtime has been found yet"}, {}});
  });
}

void CriClient::list_sandboxes(const Done<std::vector<cri::Sandbox>>& done) {
  call("ListPodSandbox", cri::list_sandboxes_request(), options_.deadline,
       [done](const rpc::UnaryReply& reply) { done(read_reply(reply, cri::read_sandboxes)); });
}

void CriClient::list_running(const Done<std::vector<cri::Container>>& done) {
  call("ListContainers", cri::list_running_request(), options_.deadline,
       [done](const rpc::UnaryReply& reply) { done(read_reply(reply, cri::read_containers)); });
}

void CriClient::list_stats(const Done<std::vector<cri::ContainerStats>>& done) {
  call("ListContainerStats", cri::list_stats_request(), options_.deadline,
       [done](const rpc::UnaryReply& reply) { done(read_reply(reply, cri::read_stats)); });
}

void CriClient::status(const std::string& id, bool verbose,
                       const Done<cri::ContainerStatus>& done) {
  call("ContainerStatus", cri::status_request(id, verbose), options_.deadline,
       [done](const rpc::UnaryReply& reply) { done(read_reply(reply, cri::read_status)); });
}

void CriClient::is_paused(const std::string& id, const Done<bool>& done) {
  call("/containerd.services.tasks.v1.Tasks/Get", cri::task_request(id), options_.deadline,
       [done](const rpc::UnaryReply& reply) { done(read_reply(reply, cri::read_is_paused)); });
}

void CriClient::update(const std::string& id, const CpuQuota& quota, const Answered& done) {
  const auto request =
      cri::update_request({.id = id, .quota_us = quota.quota_us, .period_us = quota.period_us});
  if (!request) {
    boost::asio::post(io_, [alive = alive_.watch(), done] {
      if (!alive.over()) done(Outcome::refused, "a quota of 0 is never sent");
    });
    return;
  }
  call("UpdateContainerResources", *request, options_.deadline,
       [done](const rpc::UnaryReply& reply) {
         done(outcome_of(reply.ending.code), cut(reply.ending.show()));
       });
}

void CriClient::stop(const std::string& id, Duration grace, const Answered& done) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(grace);
  call("StopContainer", cri::stop_request(id, seconds.count()), options_.deadline + seconds,
       [done](const rpc::UnaryReply& reply) {
         done(outcome_of(reply.ending.code), cut(reply.ending.show()));
       });
}

}  // namespace sluice::node_agent
