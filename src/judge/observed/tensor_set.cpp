#include "judge/observed/tensor_set.hpp"

#include <ATen/core/Tensor.h>

#include <algorithm>

namespace ouroboros::judge {

void TensorSet::note(const c10::IValue& value) {
  if (value.isTensorList()) {
    for (const auto& tensor : value.toTensorVector()) note(tensor);
  } else if (value.isTensor() && value.toTensor().has_storage()) {
    const auto& storage = value.toTensor().storage();
    known_.emplace(storage.unsafeGetStorageImpl(), storage.getWeakStorageImpl());
  }
}

void TensorSet::forget(const at::Tensor& tensor) {
  if (has(tensor)) known_.erase(tensor.storage().unsafeGetStorageImpl());
}

bool TensorSet::has(const at::Tensor& tensor) const {
  return tensor.defined() && tensor.has_storage() &&
         known_.contains(tensor.storage().unsafeGetStorageImpl());
}

bool TensorSet::any(std::span<const c10::IValue> values) const {
  return std::any_of(values.begin(), values.end(), [this](const c10::IValue& value) {
    if (value.isTensor()) return has(value.toTensor());
    if (!value.isTensorList()) return false;
    const auto list = value.toTensorVector();
    return std::any_of(list.begin(), list.end(), [this](const auto& one) { return has(one); });
  });
}

}  // namespace ouroboros::judge
