#include "problems/shipped.hpp"

namespace ouroboros::problems::shipped {

Problem softmax() {
  Problem problem = over({"rows", "cols"});
  problem.description = "out = exp(x - max(x)) / sum(exp(x - max(x))) over each row";
  problem.inputs = {tensor("x", {"rows", "cols"})};
  problem.timed = {{{"rows", 1024}, {"cols", 1024}}, {{"rows", 256}, {"cols", 4096}}};
  problem.timed_gpu = {{{"rows", 8192}, {"cols", 4096}}, {{"rows", 1024}, {"cols", 4096}}};
  problem.reference = [](const Tensors& in) -> Tensors {
    return {widened(in[0]).softmax(-1).to(in[0].scalar_type())};
  };
  return problem;
}

Problem log_softmax() {
  Problem problem = over({"rows", "cols"});
  problem.description = "out = x - max(x) - log(sum(exp(x - max(x)))) over each row";
  problem.inputs = {tensor("x", {"rows", "cols"})};
  problem.timed = {{{"rows", 1024}, {"cols", 1024}}, {{"rows", 256}, {"cols", 4096}}};
  problem.timed_gpu = {{{"rows", 8192}, {"cols", 4096}}, {{"rows", 1024}, {"cols", 4096}}};
  problem.reference = [](const Tensors& in) -> Tensors {
    return {widened(in[0]).log_softmax(-1).to(in[0].scalar_type())};
  };
  return problem;
}

}  // namespace ouroboros::problems::shipped
