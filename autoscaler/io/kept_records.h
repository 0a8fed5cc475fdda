#pragma once

#include <cstddef>
#include <string>

namespace sluice::autoscaler {

/// What a History kept of one service, found and read one by one so that no call takes long.
class KeptRecords {
 public:
  KeptRecords() = default;
  KeptRecords(const KeptRecords&) = delete;
  KeptRecords& operator=(const KeptRecords&) = delete;
  virtual ~KeptRecords() = default;

  /// Looks for more of them; false: count() is known now.
  [[nodiscard]] virtual bool find() = 0;

  [[nodiscard]] virtual std::size_t count() const = 0;

  /// Appends the JSON of the one at `place`, from 0 on; nothing when it can no longer be read.
  virtual void write(std::string& out, std::size_t place) = 0;
};

}  // namespace sluice::autoscaler
