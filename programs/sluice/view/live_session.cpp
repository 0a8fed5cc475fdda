#include "programs/sluice/view/live_session.h"

#include <boost/asio/steady_timer.hpp>
#include <nlohmann/json.hpp>

#include "programs/sluice/view/fields.h"
#include <utility>

namespace sluice::view {

namespace {

constexpr auto kFrame = std::chrono::milliseconds{250};

}  // namespace

// Keys are looked at with each frame: a quarter of a second is soon enough, and one timer is all
// that the loop has to know.
struct LiveSession::State {
  State(boost::asio::io_context& loop, std::unique_ptr<Terminal> screen, LiveSource from)
      : timer(loop),
        terminal(std::move(screen)),
        source(std::move(from)),
        view(Quit::ends, source.who, source.address) {}

  void draw(const std::shared_ptr<State>& self) {
    if (!terminal) {
      return;
    }
    if (view.on_keys(terminal->read_keys()) && !std::exchange(quitting, true)) {
      source.quit();
    }
    if (!terminal) {
      return;
    }
    view.set_services(source.services());
    if (view.pane() == Pane::explain && !view.selected().empty()) {
      view.set_explanation(source.explain(view.selected()));
    }
    terminal->write(view.paint(terminal->size()));
    timer.expires_after(kFrame);
    timer.async_wait([self](const boost::system::error_code& cancelled) {
      if (!cancelled) {
        self->draw(self);
      }
    });
  }

  boost::asio::steady_timer timer;
  std::unique_ptr<Terminal> terminal;
  LiveSource source;
  LiveView view;
  EventLines lines;
  bool quitting = false;
};

LiveSession::LiveSession(boost::asio::io_context& loop, std::unique_ptr<Terminal> terminal,
                         LiveSource source)
    : state_(std::make_shared<State>(loop, std::move(terminal), std::move(source))) {
  state_->draw(state_);
}

LiveSession::~LiveSession() {
  stop();
}

void LiveSession::on_event(const nlohmann::json& event) {
  const std::string text = state_->lines.lines(event);
  if (text_field(event, "type") == "log") {
    state_->view.add_log(text_field(event, "service"), text);
  } else {
    state_->view.add_line(text);
  }
  if (text_field(event, "event") == "stopping") state_->view.set_ending();
}

void LiveSession::stop() {
  state_->terminal.reset();
  state_->timer.cancel();
}

}  // namespace sluice::view
