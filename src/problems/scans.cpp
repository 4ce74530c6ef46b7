#include "problems/shipped.hpp"

namespace ouroboros::problems::shipped {

Problem cumsum() {
  Problem problem = over({"rows", "cols"});
  problem.description = "out[i] = x[0] + ... + x[i] over each row";
  problem.inputs = {tensor("x", {"rows", "cols"})};
  problem.timed = {{{"rows", 1024}, {"cols", 1024}}, {{"rows", 256}, {"cols", 4096}}};
  problem.timed_gpu = {{{"rows", 8192}, {"cols", 4096}}, {{"rows", 1024}, {"cols", 4096}}};
  problem.reference = [](const Tensors& in) -> Tensors {
    return {widened(in[0]).cumsum(-1).to(in[0].scalar_type())};
  };
  return problem;
}

}  // namespace ouroboros::problems::shipped
