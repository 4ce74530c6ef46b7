#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ouroboros::judge {

/// What is known of a few tensors that were made last, by their place in memory and shape. What is
/// known may hold other tensors, which live on for no longer than the one that it is known of.
template <typename Known>
class RecentTensors {
 public:
  void note(const at::Tensor& tensor, Known known) {
    std::erase_if(kept_, [](const Kept& one) { return one.memory.expired(); });
    if (kept_.size() == most) kept_.erase(kept_.begin());
    kept_.push_back({tensor.storage().getWeakStorageImpl(), tensor.storage_offset(),
                     tensor.sizes().vec(), tensor.strides().vec(), tensor.is_contiguous(),
                     std::move(known)});
  }

  /// Null where nothing is known.
  [[nodiscard]] const Known* find(const c10::IValue& value) const {
    return find_if(value,
                   [](const Kept& one, const at::Tensor& tensor) { return one.views_as(tensor); });
  }

  /// The same of a tensor in another shape.
  [[nodiscard]] const Known* find_reshaped(const c10::IValue& value) const {
    return find_if(value, [](const Kept& one, const at::Tensor& tensor) {
      return one.views_as(tensor) || one.reshapes_to(tensor);
    });
  }

  /// Something is about to write to the tensor.
  void forget(const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.has_storage()) return;
    std::erase_if(kept_, [&](const Kept& one) { return one.is_of(tensor); });
  }

  /// What is known holds something that is about to change.
  void forget_if(std::predicate<const Known&> auto holds) {
    std::erase_if(kept_, [&](const Kept& one) { return holds(one.known); });
  }

 private:
  /// What a line of a reference makes before it uses the first of them: z h + (1 - z) tanh(r g).
  static constexpr std::size_t most = 4;

  struct Kept {
    c10::weak_intrusive_ptr<c10::StorageImpl> memory;
    std::int64_t offset;
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;
    bool contiguous;
    Known known;

    [[nodiscard]] bool is_of(const at::Tensor& tensor) const {
      return memory.lock().get() == tensor.storage().unsafeGetStorageImpl();
    }

    [[nodiscard]] bool views_as(const at::Tensor& tensor) const {
      return is_of(tensor) && tensor.storage_offset() == offset && tensor.sizes() == shape &&
             tensor.strides() == strides;
    }

    [[nodiscard]] bool reshapes_to(const at::Tensor& tensor) const {
      return contiguous && is_of(tensor) && tensor.storage_offset() == offset &&
             tensor.is_contiguous() && tensor.numel() == c10::multiply_integers(shape);
    }
  };

  template <typename Holds>
  [[nodiscard]] const Known* find_if(const c10::IValue& value, Holds holds) const {
    if (!value.isTensor() || !value.toTensor().defined() || !value.toTensor().has_storage()) {
      return nullptr;
    }
    const auto& tensor = value.toTensor();
    const auto found =
        std::ranges::find_if(kept_, [&](const Kept& one) { return holds(one, tensor); });
    return found == kept_.end() ? nullptr : &found->known;
  }

  std::vector<Kept> kept_;
};

}  // namespace ouroboros::judge
