#include "memory-pressure/io/thaw.h"

#include <array>
#include <utility>

namespace sluice::node_agent {

Thaw::Thaw(Parts parts) : parts_{std::move(parts)}, timer_{parts_.loop.timer()} {}

void Thaw::start(std::vector<JournalRecord> frozen, std::function<void()> done) {
  frozen_ = std::move(frozen);
  at_ = 0;
  done_ = std::move(done);
  next();
}

void Thaw::next() {
  while (at_ < frozen_.size()) {
    let_go(frozen_[at_++]);
    if (at_ < frozen_.size() && parts_.is_tight()) return timer_->after(kApart, [this] { next(); });
  }
  if (const auto done = std::exchange(done_, nullptr)) done();
}

void Thaw::let_go(const JournalRecord& frozen) {
  const Outcome outcome = parts_.freezer.set(frozen.cgroup, false);
  const bool over = outcome == Outcome::ok || outcome == Outcome::not_found;
  parts_.log.write(over ? log::Severity::info : log::Severity::error, "thaw",
                   {{"id", frozen.id},
                    {"group", frozen.cgroup},
                    {"outcome", outcome == Outcome::ok ? "ok"
                                : over                 ? "gone"
                                                       : "refused by the kernel"}});
  if (!over) return;
  std::array record{frozen};
  record[0].kind = RecordKind::thawed;
  record[0].at = parts_.loop.now();
  if (const auto problem = parts_.journal.append(record)) {
    parts_.log.write(log::Severity::error, problem->text());
  }
}

}  // namespace sluice::node_agent
