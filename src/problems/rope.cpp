#include <ATen/ops/cat.h>

#include "problems/shipped.hpp"

namespace ouroboros::problems::shipped {

Problem rope() {
  Problem problem = over({"rows", "half"});
  problem.description =
      "with x = (a, b), two halves of a row: out = (a * cos - b * sin, b * cos + a * sin)";
  Input x = tensor("x", {"rows", "half"});
  x.shape[1].scale = 2;
  Input cosine = tensor("cos", {"rows", "half"});
  Input sine = tensor("sin", {"rows", "half"});
  cosine.values = Values::angle;
  sine.values = Values::angle;
  problem.inputs = {x, cosine, sine};
  problem.timed = {{{"rows", 8192}, {"half", 64}}, {{"rows", 4096}, {"half", 128}}};
  problem.timed_gpu = {{{"rows", 32768}, {"half", 64}}, {{"rows", 8192}, {"half", 64}}};
  problem.reference = [](const Tensors& in) -> Tensors {
    const std::vector<at::Tensor> halves = widened(in[0]).chunk(2, -1);
    const at::Tensor cosines = widened(in[1]);
    const at::Tensor sines = widened(in[2]);
    return {
        at::cat({halves[0] * cosines - halves[1] * sines, halves[1] * cosines + halves[0] * sines},
                -1)
            .to(in[0].scalar_type())};
  };
  return problem;
}

}  // namespace ouroboros::problems::shipped
