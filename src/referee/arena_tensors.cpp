#include "referee/arena_tensors.hpp"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstring>

#include "judge/base/tensors.hpp"

namespace ouroboros::referee {

ArenaTensors arena_tensors(const Arena& arena, std::size_t call, Placement placement) {
  ArenaTensors tensors;
  const auto& buffers = arena.calls().at(call).buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    auto tensor = at::from_blob(arena.view(call, i, placement).data(), buffers[i].shape,
                                at::TensorOptions(scalar_type(buffers[i].dtype)));
    (buffers[i].role == BufferRole::input ? tensors.inputs : tensors.outputs)
        .push_back(std::move(tensor));
  }
  return tensors;
}

void copy_bytes(const at::Tensor& from, const at::Tensor& to) {
  if (!from.is_cpu() || !to.is_cpu()) {
    to.copy_(from);
  } else if (from.nbytes() != 0) {
    std::memcpy(to.mutable_data_ptr(), from.const_data_ptr(), from.nbytes());
  }
}

Tensors clones(const Tensors& tensors) {
  Tensors copies;
  for (const auto& tensor : tensors) {
    copies.push_back(at::empty_like(tensor));
    copy_bytes(tensor, copies.back());
  }
  return copies;
}

bool same_bits(const Tensors& a, const Tensors& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return judge::same_bits(x, y); });
}

}  // namespace ouroboros::referee
