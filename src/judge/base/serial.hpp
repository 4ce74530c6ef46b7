#pragma once

namespace ouroboros::judge {

/// Keeps LibTorch's operators on the calling thread while it lives.
///
/// Cases are small: waking a pool of threads for each operator costs more than the operator. The
/// setting is the calling thread's own, so that nobody else notices.
class Serial {
 public:
  Serial() noexcept;
  ~Serial();
  Serial(const Serial&) = delete;
  Serial& operator=(const Serial&) = delete;

 private:
  int before_ = 0;
};

/// To be called before LibTorch's operators may take threads of their own on this one: where those
/// cannot be started, their runtime ends the whole process. Throws `Error{out_of_memory}` instead.
void require_threads();

}  // namespace ouroboros::judge
