#include "load/io/engine_choice.h"

#include "load/io/machine.h"
#include <utility>

namespace sluice::loadgen {

Result<EngineChoice, Problem> choose_engine(const EngineSource& source,
                                            const EngineFinder& find_engine) {
  EngineChoice choice{source};
  if (!source.is_required()) return choice;
  EngineApi api{.at = {}, .path = source.api.path, .host = source.api.authority};
  if (source.kind == EngineSource::Kind::named) {
    auto socket = find_engine ? find_engine(source.name)
                              : Problem{"no engine is called " + source.name, "give its URL"};
    if (!socket) return socket.error();
    api = {.at = {.host = {}, .port = 0, .path = *std::move(socket)},
           .path = std::string{kBareApi},
           .host = "localhost"};
  } else {
    const auto address = resolve(source.api);
    if (!address) return address.error();
    api.at = {.host = *address, .port = source.api.port, .path = {}};
    api.space = source.space;
    api.service = source.service;
  }
  choice.api = std::move(api);
  return choice;
}

}  // namespace sluice::loadgen
