#include "problems/shipped.hpp"

namespace ouroboros::problems::shipped {

Problem cross_entropy() {
  Problem problem = over({"rows", "classes"});
  problem.description = "out = log(sum(exp(logits))) - logits[target] for each row";
  Input targets = tensor("targets", {"rows"});
  targets.dtype = DType::int64;
  targets.values = Values::index;
  targets.index_axis = "classes";
  problem.inputs = {tensor("logits", {"rows", "classes"}), targets};
  problem.timed = {{{"rows", 1024}, {"classes", 1024}}, {{"rows", 256}, {"classes", 4096}}};
  problem.timed_gpu = {{{"rows", 8192}, {"classes", 4096}}, {{"rows", 1024}, {"classes", 4096}}};
  problem.reference = [](const Tensors& in) -> Tensors {
    const at::Tensor log_probabilities = widened(in[0]).log_softmax(-1);
    return {log_probabilities.gather(-1, in[1].unsqueeze(-1))
                .squeeze(-1)
                .neg()
                .to(in[0].scalar_type())};
  };
  return problem;
}

}  // namespace ouroboros::problems::shipped
