#include "platform/kubernetes/activator/io/scaler_doors.h"

#include "activator/core/revision_name.h"

#include <algorithm>
#include <utility>

namespace sluice::activator {

namespace {

// An idle client of a closed door may have sent its next request just now; it is answered.
constexpr Duration kIdleGrace = std::chrono::seconds{5};

}  // namespace

// A gateway that knows the revision already, and leaves everything else to the one behind it.
struct ScalerDoors::Door final : public net::Gateway, private Router {
  Door(ScalerDoors& doors, RevisionId of)
      : revision{std::move(of)},
        front{doors.front_},
        find{doors.find_},
        server{doors.io_, doors.clock_, *this, doors.spec_.limits} {
    server.on_quiet([&doors] {
      if (doors.quiet_) doors.quiet_();
    });
  }

  [[nodiscard]] Routed route(net::Exchange& /*exchange*/) override {
    if (const auto handle = find(revision)) return *handle;
    return http::response_for(Error::no_route, not_found_text(revision.name));
  }

  [[nodiscard]] std::unique_ptr<net::ExchangeState> make_state() override {
    return front.make_state();
  }

  void begin(net::Exchange& exchange) override { front.begin_by(exchange, *this); }

  void grew(net::Exchange& exchange) override { front.grew(exchange); }

  bool upstream_failed(net::Exchange& exchange, const net::ConnectFailure& failure) override {
    return front.upstream_failed(exchange, failure);
  }

  net::ResponseVerdict response(net::Exchange& exchange, const http::ResponseHead& head,
                                std::string& extra) override {
    return front.response(exchange, head, extra);
  }

  void end(net::Exchange& exchange, const net::Outcome& outcome) override {
    front.end(exchange, outcome);
  }

  void refused(net::Exchange& exchange, const net::Outcome& outcome) override {
    front.refused(exchange, outcome);
  }

  void explain(net::Exchange& exchange, http::OwnResponse& response) override {
    front.explain(exchange, response);
  }

  [[nodiscard]] std::string_view timeout_text() const override { return front.timeout_text(); }

  [[nodiscard]] std::string_view place() const override { return front.place(); }

  RevisionId revision;
  FrontGateway& front;
  const Find& find;
  TimePoint idle_until = kNever;  // of one that was closed
  TimePoint leave_by = kNever;    // likewise
  net::ProxyServer server;
};

ScalerDoors::ScalerDoors(boost::asio::io_context& io, const Clock& clock, FrontGateway& front,
                         Find find, const log::Logger& log, DoorsSpec spec)
    : io_{io},
      clock_{clock},
      front_{front},
      find_{std::move(find)},
      log_{log},
      spec_{std::move(spec)} {}

ScalerDoors::~ScalerDoors() = default;

void ScalerDoors::want(const RevisionId& revision, std::uint16_t port) {
  table_.want(revision, port == 0 ? std::nullopt : std::optional{port});
}

void ScalerDoors::settle() {
  if (stopped_) return;
  const DoorTable::Plan plan = table_.plan();
  for (const DoorTable::Step& step : plan.close) close(step);
  for (const DoorTable::Step& step : plan.open) open(step);
}

void ScalerDoors::open(const DoorTable::Step& step) {
  auto door = std::make_unique<Door>(*this, step.revision);
  const auto bound =
      door->server.listen(net::Address{.host = spec_.host, .port = step.port, .path = {}});
  if (!bound) {
    table_.failed(step.port);
    const std::string why = bound.error().text();
    std::string& logged = refused_[step.port];
    if (logged == why) return;
    logged = why;
    log_.write(log::Severity::warning, "cannot listen on the port of a RequestScaler",
               {{"revision", step.revision.space + "/" + step.revision.name}, {"why", why}});
    return;
  }
  refused_.erase(step.port);
  table_.opened(step.port);
  doors_.insert_or_assign(step.port, std::move(door));
}

// Connected clients continue with this revision, or get an error that it is gone: the port may
// belong to another scaler a moment later.
void ScalerDoors::close(const DoorTable::Step& step) {
  const auto found = doors_.find(step.port);
  CHECK(found != doors_.end());
  Door& door = *found->second;
  door.server.stop_accepting();
  door.server.close_after_responses();
  door.server.close_tunnels();
  door.idle_until = clock_.now() + kIdleGrace;
  door.leave_by = clock_.now() + spec_.farewell;
  leaving_.push_back(std::move(found->second));
  doors_.erase(found);
}

void ScalerDoors::sweep() {
  const TimePoint now = clock_.now();
  for (const auto& door : leaving_) {
    if (now >= door->leave_by) {
      door->server.close_all();
    } else if (now >= door->idle_until) {
      door->server.close_idle();
    }
  }
  std::erase_if(leaving_, [](const std::unique_ptr<Door>& door) {
    return door->server.connections() == 0 && door->server.in_flight() == 0;
  });
  settle();
}

template <class Visit>
void ScalerDoors::each(Visit visit) const {
  for (const auto& [port, door] : doors_) visit(*door);
  for (const auto& door : leaving_) visit(*door);
}

void ScalerDoors::close_after_responses() {
  each([](Door& door) { door.server.close_after_responses(); });
}

void ScalerDoors::close_idle() {
  each([](Door& door) { door.server.close_idle(); });
}

void ScalerDoors::close_tunnels() {
  each([](Door& door) { door.server.close_tunnels(); });
}

void ScalerDoors::stop_accepting() {
  stopped_ = true;
  each([](Door& door) { door.server.stop_accepting(); });
}

std::size_t ScalerDoors::connections() const {
  std::size_t sum = 0;
  each([&sum](const Door& door) { sum += door.server.connections(); });
  return sum;
}

std::size_t ScalerDoors::in_flight() const {
  std::size_t sum = 0;
  each([&sum](const Door& door) { sum += door.server.in_flight(); });
  return sum;
}

}  // namespace sluice::activator
