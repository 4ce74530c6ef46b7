#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Storage.h>

#include <span>
#include <unordered_map>

namespace ouroboros::judge {

/// Tensors that have something in common, known by their memory: a tensor's views are in the set
/// with it.
class TensorSet {
 public:
  void note(const c10::IValue& value);

  /// Something is about to write to the tensor.
  void forget(const at::Tensor& tensor);

  [[nodiscard]] bool has(const at::Tensor& tensor) const;
  [[nodiscard]] bool any(std::span<const c10::IValue> values) const;

 private:
  /// Held weakly: memory is given back, but no other storage gets the address.
  std::unordered_map<const c10::StorageImpl*, c10::weak_intrusive_ptr<c10::StorageImpl>> known_;
};

}  // namespace ouroboros::judge
