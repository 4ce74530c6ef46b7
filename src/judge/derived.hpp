#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Storage.h>

#include <span>
#include <unordered_map>

namespace ouroboros::judge {

/// Which tensors follow from a reference's inputs, while it runs. All others are constants, such as
/// `arange` makes: they are what they are in any arithmetic.
class Derived {
 public:
  void note(const c10::IValue& value);

  [[nodiscard]] bool any(std::span<const c10::IValue> values) const;

 private:
  [[nodiscard]] bool has(const at::Tensor& tensor) const;

  /// Held weakly: memory is given back, but no other storage gets the address.
  std::unordered_map<const c10::StorageImpl*, c10::weak_intrusive_ptr<c10::StorageImpl>> known_;
};

}  // namespace ouroboros::judge
