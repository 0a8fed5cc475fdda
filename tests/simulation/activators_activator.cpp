#include "tests/simulation/activators_activator.h"

#include "activator/io/autoscaler_stream.h"
#include "tests/simulation/activators_seams.h"

#include <algorithm>
#include <utility>

namespace sluice::simulation {

namespace {

using activator::RevisionHandle;
using activator::RevisionStat;
using std::chrono::milliseconds;

constexpr Between kDrainQuiet{milliseconds{500}, std::chrono::seconds{4}};
constexpr Between kBackOff{milliseconds{50}, milliseconds{1'500}};

net::Address address_of(const std::string& text) {
  return *net::parse_address(text);
}

// How many may wait: fewer while less is granted than desired (activator.md 14.3).
std::int32_t depth_for(const ActivatorsWorld& world, const proto::RevisionState& state) {
  if (state.granted >= state.desired) return world.queue_depth;
  const std::int32_t per_pod = world.container_concurrency > 0 ? world.container_concurrency : 100;
  return std::min(world.queue_depth, std::max(100, 10 * std::max(state.granted, 0) * per_pod));
}

}  // namespace

// The activator's end of a stream.
class SimActivator::Line final : public activator::AutoscalerLine {
 public:
  explicit Line(SimActivator& program) : program_(program) {}

  void start() override { program_.dial(); }

  [[nodiscard]] bool writable() const override {
    return program_.wire_ != nullptr && program_.wire_->room_up();
  }

  void write(const proto::ActivatorMessage& message) override { program_.wire_->write_up(message); }

  void reconnect(const rpc::Ending& /*why*/) override {
    Wire& refused = *program_.wire_;
    refused.close_by_activator();
    program_.scene_.timeline.after(Duration{0},
                                   [&program = program_, &refused] { program.lost(refused); });
  }

  [[nodiscard]] const std::string& target() const override { return target_; }

 private:
  SimActivator& program_;
  std::string target_ = "autoscaler";
};

class SimActivator::Dialler final : public activator::AutoscalerDialler {
 public:
  explicit Dialler(SimActivator& program) : program_(program) {}

  [[nodiscard]] Result<std::unique_ptr<activator::AutoscalerLine>, Problem> dial(
      const std::string& /*target*/, activator::AutoscalerLine::Events events) override {
    program_.events_ = std::move(events);
    return std::unique_ptr<activator::AutoscalerLine>{std::make_unique<Line>(program_)};
  }

 private:
  SimActivator& program_;
};

// Knative's form: what is reported goes out as batches, and nothing comes back.
class SimActivator::SocketPeer final : public activator::AutoscalerPeer {
 public:
  explicit SocketPeer(SimActivator& program) : program_(program) {}

  void start() override { program_.dial(); }

  void poke(const RevisionStat& stat, const proto::Waiting& /*held*/, TimePoint /*now*/) override {
    send({&stat, 1});
  }

  void tick(std::span<const RevisionStat> stats, std::span<const proto::Waiting> /*waiting*/,
            TimePoint /*now*/) override {
    if (!stats.empty()) send(stats);
  }

  [[nodiscard]] const proto::RevisionState* state(const RevisionId& /*revision*/) const override {
    return nullptr;
  }

  [[nodiscard]] bool reachable() const override { return program_.wire_ != nullptr; }

  [[nodiscard]] std::uint64_t errors() const override { return 0; }

 private:
  void send(std::span<const RevisionStat> stats) {
    if (program_.wire_ == nullptr) return;
    std::vector<proto::StatMessage> batch;
    for (const RevisionStat& stat : stats) {
      proto::StatMessage& message = batch.emplace_back();
      message.revision = stat.revision;
      message.stat.pod_name = program_.identity_.name;
      message.stat.average_concurrent_requests = stat.average_concurrent_requests;
      message.stat.request_count = stat.request_count;
    }
    program_.wire_->send(batch);
  }

  SimActivator& program_;
};

SimActivator::Engine::Engine(SimActivator& program)
    : loop{program.scene_.timeline.time()},
      asker{program.scene_, program.platform_},
      front{io, loop, book, program, {.queues = {.waiting_max = program.scene_.world.queue_total}}},
      pods{front, program.scene_.ledger,
           [&program](RevisionHandle revision) { return program.door_of(revision).book; }},
      prober{io, loop, pods, asker, {}, {}},
      book{front,
           prober,
           log,
           {.cluster_domain = "cluster.local",
            .queue_depth = program.scene_.world.queue_depth,
            .queue_wait = program.scene_.world.queue_wait,
            .foresees = !program.scene_.world.websocket}},
      dialler{std::make_unique<Dialler>(program)} {
  book.on_added([&program](const RevisionId& id, RevisionHandle handle) {
    program.doors_[*program.platform_.index_of(id)].handle = handle;
  });
  book.set_own({address_of(program.identity_.address)});
}

SimActivator::SimActivator(Scene& scene, Platform& platform, Identity identity, Dial dial)
    : scene_(scene),
      platform_(platform),
      identity_(std::move(identity)),
      dial_(std::move(dial)),
      started_(scene.timeline.now()),
      doors_(platform.revisions()),
      engine_(std::make_unique<Engine>(*this)) {
  for (Door& door : doors_) {
    door.book = scene.ledger.open_door(scene.world.container_concurrency, scene.world.queue_depth);
  }
  read_activators();
  for (std::size_t index = 0; index < doors_.size(); ++index) read_pods(index);
  engine_->peer = make_peer();
  scene_.timeline.after(Duration{0}, [this] { engine_->peer->start(); });
  const Duration phase = scene_.timeline.draw({Duration{0}, std::chrono::seconds{1}});
  engine_->desk.start(*engine_->peer, now() + phase, {});
}

SimActivator::~SimActivator() = default;

std::unique_ptr<activator::AutoscalerPeer> SimActivator::make_peer() {
  if (scene_.world.websocket) return std::make_unique<SocketPeer>(*this);
  auto stream = activator::AutoscalerStream::make(
      *engine_->dialler, engine_->log,
      {.targets = {"autoscaler"},
       .self = {.activator = identity_.name, .address = identity_.address, .version = "1"}},
      {.on_state = [this](const proto::RevisionState& state) { put_in_force(state); },
       .on_gone = [this](const RevisionId& id) { forget(id); },
       .on_reached = [] {},
       .held = [this] { return engine_->desk.held(); }});
  return std::move(*stream);
}

SimActivator::Door& SimActivator::door_of(RevisionHandle revision) {
  return *std::find_if(doors_.begin(), doors_.end(),
                       [revision](const Door& door) { return door.handle == revision; });
}

void SimActivator::drain() {
  if (std::exchange(draining_, true)) return;
  scene_.timeline.after(scene_.timeline.draw(kDrainQuiet), [this] {
    accepts_ = false;
    leave_if_drained();
  });
}

void SimActivator::leave_if_drained() {
  if (!calls_.empty()) {
    return scene_.timeline.after(milliseconds{50}, [this] { leave_if_drained(); });
  }
  engine_.reset();
  ++scene_.outcome.activators_gone;
  if (wire_ != nullptr) std::exchange(wire_, nullptr)->close_by_activator();
}

void SimActivator::jump(Duration by) {
  ahead_ += by;
  for (const Door& door : doors_) scene_.ledger.set_clock(door.book, ahead_);
  engine_->loop.step(by);
}

// --- files ---

void SimActivator::read_pods(std::size_t revision) {
  if (alive()) engine_->book.on_revision(revision_file(scene_.world, platform_, revision));
}

void SimActivator::read_activators() {
  if (!alive()) return;
  std::vector<std::string> all = platform_.activators();
  std::sort(all.begin(), all.end());
  std::vector<net::Address> addresses;
  for (const std::string& each : all) addresses.push_back(address_of(each));
  engine_->book.on_activators(std::move(addresses));
}

// --- requests ---

void SimActivator::arrive(std::size_t revision) {
  auto call = std::make_unique<SimulatedCall>(
      SimulatedCall::Place{scene_, platform_, engine_->front, *this}, doors_[revision].book,
      Platform::id(revision).name);
  SimulatedCall& arrived = *call;
  calls_.emplace(arrived.number(), std::move(call));
  arrived.begin();
}

void SimActivator::gone(Ledger::Request request) {
  calls_.erase(request);
}

// The more revisions share the last quarter, the less each gets (QueueBudget).
bool SimActivator::queues_full() const {
  return 4 * (engine_->front.queued().waiting() + 1) > 3 * scene_.world.queue_total;
}

void SimActivator::on_poke(RevisionHandle revision, const RevisionStat& stat) {
  engine_->desk.poke(revision, stat);
}

void SimActivator::on_pod_refused(RevisionHandle revision, const PodId& pod,
                                  activator::PodRefusal refusal) {
  engine_->prober.refused(revision, pod, refusal);
}

// --- the wire ---

void SimActivator::dial() {
  if (!alive()) return;
  wire_ = dial_(*this);
  if (wire_ == nullptr) {
    if (events_.on_closed)
      events_.on_closed({rpc::Code::unavailable, "no autoscaler answers"}, false);
    return dial_later();
  }
  if (events_.on_connected) events_.on_connected();
}

void SimActivator::dial_later() {
  scene_.timeline.after(scene_.timeline.draw(kBackOff), [this] { dial(); });
}

void SimActivator::lost(Wire& wire) {
  if (!alive() || wire_ != &wire) return;
  wire_ = nullptr;
  if (events_.on_closed) events_.on_closed({rpc::Code::unavailable, "the wire is over"}, true);
  dial_later();
}

void SimActivator::received(Wire& wire, proto::AutoscalerMessage message) {
  if (alive() && wire_ == &wire) events_.on_message(std::move(message));
}

void SimActivator::writable(Wire& wire) {
  if (alive() && wire_ == &wire && events_.on_writable) events_.on_writable();
}

bool SimActivator::linked() const {
  return wire_ != nullptr && wire_->sound() && engine_->peer->reachable();
}

void SimActivator::forget(const RevisionId& revision) {
  Door& door = doors_[*platform_.index_of(revision)];
  door.avoid.clear();
  scene_.ledger.set_depth(door.book, scene_.world.queue_depth, false);
  engine_->desk.forget(revision);
}

void SimActivator::put_in_force(const proto::RevisionState& state) {
  Door& door = doors_[*platform_.index_of(state.revision)];
  door.avoid = {state.avoid.begin(), state.avoid.end()};
  scene_.watch.in_force(run_name(), state.revision, state.version);
  scene_.ledger.set_depth(door.book, depth_for(scene_.world, state),
                          state.cannot_scale.has_value() && state.granted <= 0);
  engine_->desk.apply(state);
}

}  // namespace sluice::simulation
