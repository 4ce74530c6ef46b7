#pragma once

#include <vector>

#include "judge/judge.hpp"
#include "ouroboros/declared_dtypes.hpp"

namespace ouroboros::judge {

/// Makes `declared_dtypes` those of a case, on this thread, for as long as it lives.
class Declared {
 public:
  Declared(const Problem& problem, DType dtype);
  ~Declared();
  Declared(const Declared&) = delete;
  Declared& operator=(const Declared&) = delete;

 private:
  std::vector<DType> dtypes_;
  const std::vector<DType>* outer_;
};

}  // namespace ouroboros::judge
