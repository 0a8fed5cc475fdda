#include "activator/io/pod_tls.h"

#include "common/files/file_io.h"

#include <span>

namespace sluice::activator {
namespace {

constexpr const char* kServerName = "data-plane.knative.dev";

std::string user_name(std::string_view space) {
  std::string name = "kn-user-";
  for (const char c : space) name += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return name;
}

}  // namespace

PodTls::PodTls(const std::string& directory, std::uint16_t port, const log::Logger& log)
    : log_{log}, path_{directory + "/ca.crt"}, port_{port} {}

Result<std::optional<std::string>, Problem> PodTls::read() const {
  auto text = files::read_file(path_);
  if (!text) return text.error();
  if (!*text) return Problem{path_ + " does not exist", "give the pods' CA certificates as PEM"};
  return std::move(*text);
}

Result<int, Problem> PodTls::open() {
  auto bundle = read();
  if (!bundle) return bundle.error();
  bundle_ = std::move(**bundle);
  const auto problems = trust_.replace(std::span<const std::string>{&bundle_, 1});
  if (!problems.empty()) return Problem{path_ + ": " + problems.front().what, problems.front().fix};
  return 0;
}

net::UpstreamTls PodTls::door(std::string_view space, net::Address& address) {
  if (address.is_unix()) return {};
  address.port = port_;
  auto found = spaces_.find(space);
  if (found == spaces_.end()) {
    const std::string also = user_name(space);
    found = spaces_
                .emplace(space,
                         std::unique_ptr<Space>{new Space{{trust_, kServerName, also, "http/1.1"},
                                                          {trust_, kServerName, also, "h2"}}})
                .first;
  }
  return {&found->second->h1, &found->second->h2};
}

void PodTls::look() {
  auto bundle = read();
  if (bundle && **bundle == bundle_) {
    told_ = false;
    return;
  }
  // The trusted certificates are replaced only by readable ones.
  net::TlsTrust trial;
  const auto problems = bundle ? trial.replace(std::span<const std::string>{&**bundle, 1})
                               : std::vector<Problem>{bundle.error()};
  if (!problems.empty()) {
    if (!told_) {
      log_.write(log::Severity::error,
                 "cannot reload the pods' CA certificates; the present ones stay in use",
                 {{"file", path_}, {"problem", problems.front().text()}});
    }
    told_ = true;
    return;
  }
  bundle_ = std::move(**bundle);
  (void)trust_.replace(std::span<const std::string>{&bundle_, 1});
  log_.write(log::Severity::info, "new CA certificates of the pods in use", {{"file", path_}});
}

}  // namespace sluice::activator
