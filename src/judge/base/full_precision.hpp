#pragma once

#include <ATen/Context.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace ouroboros::judge {

/// Keeps float32 at its 24 bits on the calling thread while it lives: a reference in TF32 would
/// be allowed its own error, and whoever computes in TF32 with it.
///
/// LibTorch's own guard keeps cuBLAS from TF32, and not cuDNN, whose convolutions take it unless a
/// setting of the whole process forbids it, which is the user's. So they are called with an
/// argument of theirs that does.
class FullPrecision {
 public:
  FullPrecision();

 private:
  at::NoTF32Guard products_;
  c10::impl::IncludeDispatchKeyGuard convolutions_;
};

}  // namespace ouroboros::judge
