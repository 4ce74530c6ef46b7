#pragma once

#include <ATen/core/Tensor.h>
#include <pybind11/pybind11.h>

#include <optional>

/// Tensors across the language border. Alone in a file because torch's Python headers are heavy.
namespace ouroboros::bindings {

/// The Python object of a tensor. Needs the GIL.
[[nodiscard]] pybind11::object to_python(const at::Tensor& tensor);

/// The tensor in a Python object, or nothing when it is no tensor. Needs the GIL.
[[nodiscard]] std::optional<at::Tensor> from_python(pybind11::handle object);

}  // namespace ouroboros::bindings
