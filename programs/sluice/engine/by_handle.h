#pragma once

#include "activator/io/front_gateway.h"

#include <memory>
#include <utility>
#include <vector>

namespace sluice::local {

/// What the engine keeps of revisions, by the handle that the front door gave them. The door names
/// a revision with each request that ends, so that a look-up costs the same however many there are.
template <class Item>
class ByHandle {
 public:
  /// `item` is kept until it leaves, whatever else lets go of it.
  void enter(activator::RevisionHandle handle, std::shared_ptr<Item> item) {
    const std::size_t index = activator::index_of(handle);
    if (rows_.size() <= index) rows_.resize(index + 1);
    rows_[index] = {handle, std::move(item)};
  }

  /// A handle that never entered, or has left, changes nothing.
  void leave(activator::RevisionHandle handle) {
    if (find(handle) != nullptr) rows_[activator::index_of(handle)] = {};
  }

  /// Null: the revision has left. Another one may have its place meanwhile, under a handle of its
  /// own.
  [[nodiscard]] Item* find(activator::RevisionHandle handle) const {
    const std::size_t index = activator::index_of(handle);
    return index < rows_.size() && rows_[index].handle == handle ? rows_[index].item.get()
                                                                 : nullptr;
  }

 private:
  struct Row {
    activator::RevisionHandle handle{};
    std::shared_ptr<Item> item;
  };

  std::vector<Row> rows_;  // by index_of, which is dense
};

}  // namespace sluice::local
