#include <ATen/ops/gelu.h>
#include <ATen/ops/silu.h>

#include "problems/shipped.hpp"

namespace ouroboros::problems::shipped {

Problem swiglu() {
  Problem problem = over({"rows", "cols"});
  problem.description = "out = gate * sigmoid(gate) * up";
  problem.inputs = {tensor("gate", {"rows", "cols"}), tensor("up", {"rows", "cols"})};
  problem.timed = {{{"rows", 1024}, {"cols", 1024}}, {{"rows", 256}, {"cols", 4096}}};
  problem.timed_gpu = {{{"rows", 8192}, {"cols", 4096}}, {{"rows", 1024}, {"cols", 4096}}};
  problem.reference = [](const Tensors& in) -> Tensors {
    return {(at::silu(widened(in[0])) * widened(in[1])).to(in[0].scalar_type())};
  };
  return problem;
}

Problem geglu() {
  Problem problem = over({"rows", "cols"});
  problem.description = "out = gelu(gate) * up, gelu in its tanh form";
  problem.inputs = {tensor("gate", {"rows", "cols"}), tensor("up", {"rows", "cols"})};
  problem.timed = {{{"rows", 1024}, {"cols", 1024}}, {{"rows", 256}, {"cols", 4096}}};
  problem.timed_gpu = {{{"rows", 8192}, {"cols", 4096}}, {{"rows", 1024}, {"cols", 4096}}};
  problem.reference = [](const Tensors& in) -> Tensors {
    return {(at::gelu(widened(in[0]), "tanh") * widened(in[1])).to(in[0].scalar_type())};
  };
  return problem;
}

}  // namespace ouroboros::problems::shipped
