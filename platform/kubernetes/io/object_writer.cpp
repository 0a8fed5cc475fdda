#include "platform/kubernetes/io/object_writer.h"

#include <utility>

namespace sluice::autoscaler {

bool ObjectWriter::write(const std::string& object, kube::Request request,
                         kube::Client::Done done) {
  forget_settled();
  switch (ledger_.judge(object, request.body, clock_.now())) {
    case WriteLedger::Verdict::send:
      if (!has_room(request)) return false;
      break;
    case WriteLedger::Verdict::on_its_way:
      return false;
    case WriteLedger::Verdict::outdated:
      if (!waits(object)) return false;
      break;
  }
  ledger_.sent(object, request.body);
  request.object = object;
  kube::Client::Call call =
      client_.send(std::move(request), [this, object, done = std::move(done)](kube::Answer answer) {
        ledger_.answered(object, answer.has_value(), clock_.now());
        done(std::move(answer));
      });
  // This one replaced the older one in the queue; the older one's end is not reported.
  calls_.insert_or_assign(object, std::move(call));
  return true;
}

bool ObjectWriter::waits(const std::string& object) const {
  const auto call = calls_.find(object);
  return call != calls_.end() && call->second.waiting();
}

bool ObjectWriter::has_room(const kube::Request& request) const {
  if (request.lane != kube::Lane::normal) return true;
  return client_.waiting(kube::Lane::normal) < (request.first ? 2 * kAhead : kAhead);
}

void ObjectWriter::withdraw(const std::string& object) {
  if (!waits(object)) return;
  calls_.erase(object);
  ledger_.answered(object, false, clock_.now());
}

void ObjectWriter::abandon() {
  calls_.clear();
  ledger_ = {};
}

void ObjectWriter::forget_settled() {
  const TimePoint now = clock_.now();
  if (now - swept_ < WriteLedger::kPatience) return;
  swept_ = now;
  ledger_.forget_settled(now);
  std::erase_if(calls_, [](const auto& each) { return !each.second.active(); });
}

}  // namespace sluice::autoscaler
