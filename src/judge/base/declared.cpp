#include "judge/base/declared.hpp"

#include "judge/base/tensors.hpp"

namespace ouroboros {
namespace {

thread_local const std::vector<DType>* declared = nullptr;

}  // namespace

const std::vector<DType>* declared_dtypes() noexcept { return declared; }

namespace judge {

Declared::Declared(const Problem& problem, DType dtype) : outer_(declared) {
  for (const auto& input : problem.inputs) dtypes_.push_back(dtype_of(input, dtype));
  declared = &dtypes_;
}

Declared::~Declared() { declared = outer_; }

}  // namespace judge
}  // namespace ouroboros
