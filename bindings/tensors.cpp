#include "tensors.hpp"

#include <torch/csrc/autograd/python_variable.h>

namespace ouroboros::bindings {

pybind11::object to_python(const at::Tensor& tensor) {
  return pybind11::reinterpret_steal<pybind11::object>(THPVariable_Wrap(tensor));
}

std::optional<at::Tensor> from_python(pybind11::handle object) {
  if (!THPVariable_Check(object.ptr())) return std::nullopt;
  return THPVariable_Unpack(object.ptr());
}

}  // namespace ouroboros::bindings
