#include "common/net/tls/serving_tls.h"

namespace sluice::net {
namespace {

constexpr int kLooksAtStart = 10;  // for files that are swapped at that moment

}  // namespace

ServingTls::ServingTls(TlsFiles files, TlsSettings settings, const log::Logger& log)
    : log_{log}, settings_{std::move(settings)}, watch_{std::move(files)} {}

Result<TlsContext*, Problem> ServingTls::load() {
  const auto present = watch_.present();
  if (!present) return present.error();
  if (!*present) return static_cast<TlsContext*>(nullptr);
  auto pair = watch_.look();
  for (int again = 0; again < kLooksAtStart && pair && !*pair; ++again) pair = watch_.look();
  if (!pair) return pair.error();
  if (!*pair) {
    return Problem{watch_.certificate_path() + " and its key keep changing",
                   "restart the program when both files are in place"};
  }
  auto context = TlsContext::make(settings_, **pair);
  if (!context) {
    return Problem{watch_.certificate_path() + ": " + context.error().what, context.error().fix};
  }
  context_ = std::move(*context);
  for (const std::string& curve : settings_.missing) {
    log_.write(log::Severity::warning, "a TLS curve is not supported by this build and is ignored",
               {{"curve", curve}});
  }
  return context_.get();
}

Result<std::optional<Address>, Problem> ServingTls::open(ProxyServer& server,
                                                         const Address& address) {
  const auto sessions = load();
  if (!sessions) return sessions.error();
  if (*sessions == nullptr) return std::optional<Address>{};
  const auto bound = server.listen(address, *sessions);
  if (!bound) return bound.error();
  return std::optional<Address>{*bound};
}

void ServingTls::look() {
  if (!context_) return;
  const auto news = watch_.look();
  if (!news) {
    log_.write(log::Severity::error,
               "cannot reload the TLS certificate; the present one stays in use",
               {{"problem", news.error().text()}});
    return;
  }
  if (!*news) return;
  const auto replaced = context_->replace(**news);
  if (replaced) {
    log_.write(log::Severity::info, "new TLS certificate in use",
               {{"file", watch_.certificate_path()}});
  } else {
    log_.write(log::Severity::error,
               "cannot use the new TLS certificate; the present one stays in use",
               {{"file", watch_.certificate_path()}, {"problem", replaced.error().text()}});
  }
}

}  // namespace sluice::net
