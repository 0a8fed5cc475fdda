#include "common/certificates/keeper.h"

#include <algorithm>
#include <utility>

namespace sluice::certificates {
namespace {

using kube::Answer;
using kube::Verb;

constexpr Duration kAfterConflict = std::chrono::milliseconds{200};

const char* name_of(Step step) {
  switch (step) {
    case Step::none:
      return "none";
    case Step::make_all:
      return "new CA and certificate";
    case Step::renew_leaf:
      return "new certificate";
    case Step::renew_ca:
      return "new CA beside the old one";
    case Step::drop_old_ca:
      return "old CA removed";
  }
  return "";
}

bool is_foreign(const Set& set) {
  return set.ca_key.empty() && !set.leaf.empty() && !set.leaf_key.empty();
}

}  // namespace

Keeper::Keeper(boost::asio::io_context& io, const Clock& clock, const log::Logger& log,
               kube::Client& client, KeeperSpec spec, Events events)
    : clock_{clock},
      log_{log},
      client_{client},
      spec_{std::move(spec)},
      events_{std::move(events)},
      timer_{io},
      retry_{spec_.retry} {}

std::string Keeper::path() const {
  return "/api/v1/namespaces/" + spec_.place.space + "/secrets";
}

void Keeper::begin() {
  call_ = client_.send(
      {.verb = Verb::get, .path = path() + "/" + spec_.place.name, .body = {}, .object = {}},
      [this](Answer answer) { have_secret(std::move(answer)); });
}

void Keeper::have_secret(Answer answer) {
  if (answer) {
    auto secret = read_secret(*answer);
    if (secret) return settle(std::move(*secret), true);
    return fail("reading the certificates: the answer is not a Secret");
  }
  if (answer.error().status == 404) return settle({}, false);
  fail("reading the certificates (needs get on secrets " + spec_.place.name +
       "): " + answer.error().text());
}

// One step a round: the next round reads what has come of it.
void Keeper::settle(Secret secret, bool exists) {
  if (exists && is_foreign(secret.set)) {
    if (!std::exchange(foreign_told_, true)) {
      log_.write(log::Severity::info,
                 "certificates are used but not renewed: the Secret has no ca.key",
                 {{"secret", spec_.place.name}});
    }
    if (!span_of(secret.set.leaf)) {
      return fail("the Secret " + spec_.place.name +
                  " has no certificate in tls.crt that can be read; put one there as PEM");
    }
    take_up(secret.set, true);
    return carry();
  }
  const TimePoint now = clock_.now();
  const State state = state_of(secret.set, spec_.leaf);
  const Step due = next_step(state, now, spec_.leaf_spreads);
  const bool carried = carried_ && *carried_ == secret.set.bundle();
  const Step step = carried ? due : step_before_bundle(due, state, now);
  // While a step is being taken, what is there serves on.
  if (exists && step != Step::make_all) take_up(secret.set, false);
  if (step == Step::none) return carry();
  auto next = take_step(secret.set, step, spec_.leaf, now);
  if (!next) return fail(next.error().text());
  write({.set = std::move(*next), .resource_version = exists ? secret.resource_version : ""}, step);
}

void Keeper::write(Secret next, Step step) {
  const bool creates = next.resource_version.empty();
  kube::Request request{.verb = creates ? Verb::create : Verb::replace,
                        .path = path() + (creates ? "" : "/" + spec_.place.name),
                        .body = secret_document(spec_.place, next),
                        .object = {}};
  call_ = client_.send(
      std::move(request), [this, step, set = std::move(next.set)](const Answer& answer) {
        if (!answer) {
          // Another replica was faster: what it wrote is read next.
          if (answer.error().status == 409) return rest(kAfterConflict);
          return fail("writing the certificates (needs create and update on secrets): " +
                      answer.error().text());
        }
        log_.write(log::Severity::info, "certificates", {{"step", name_of(step)}});
        take_up(set, false);
        carry();
      });
}

void Keeper::take_up(const Set& set, bool foreign) {
  if (set == set_) return;
  const auto leaf = foreign ? span_of(set.leaf) : state_of(set, spec_.leaf).leaf;
  set_ = set;
  if (!leaf) return;
  good_until_ = leaf->until;
  events_.took(set_);
}

void Keeper::carry() {
  carried_.reset();
  const auto carried = [this, alive = alive_.watch(),
                        bundle = set_.bundle()](const std::optional<std::string>& why) {
    if (alive.over()) return;
    if (why) return fail(*why);
    carried_ = bundle;
    if (!problem_.empty()) log_.write(log::Severity::info, "certificates are up to date again");
    problem_.clear();
    retry_ = spec_.retry;
    rest(spec_.pause);
  };
  if (!events_.carry) return carried(std::nullopt);
  events_.carry(set_, carried);
}

void Keeper::fail(const std::string& problem) {
  if (problem != problem_) {
    log_.write(log::Severity::warning, "certificates: " + problem);
  }
  problem_ = problem;
  rest(retry_);
  retry_ = std::min(retry_ * 2, spec_.pause);
}

void Keeper::rest(Duration pause) {
  timer_.expires_after(pause);
  timer_.async_wait([this](const boost::system::error_code& ec) {
    if (!ec) begin();
  });
}

}  // namespace sluice::certificates
