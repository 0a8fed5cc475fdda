#pragma once

#include <memory>

namespace sluice {

/// How a pending callback checks whether the object that it was made for still exists. The object
/// has a Lifetime, the callback a Watch of it: asked in the thread of the object, before it is
/// touched.
class Lifetime {
 public:
  class Watch {
   public:
    /// Of nothing: over.
    Watch() = default;

    /// The object has ended, or has called end().
    [[nodiscard]] bool over() const { return token_.expired(); }

   private:
    friend class Lifetime;

    explicit Watch(std::weak_ptr<const char> token) : token_{std::move(token)} {}

    std::weak_ptr<const char> token_;
  };

  Lifetime() = default;
  ~Lifetime() = default;
  Lifetime(const Lifetime&) = delete;
  Lifetime& operator=(const Lifetime&) = delete;

  [[nodiscard]] Watch watch() const { return Watch{token_}; }

  /// Before the destructor's own: what the object ends from here on finds it gone.
  void end() { token_.reset(); }

  [[nodiscard]] bool over() const { return token_ == nullptr; }

 private:
  std::shared_ptr<const char> token_ = std::make_shared<const char>();
};

}  // namespace sluice
