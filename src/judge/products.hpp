#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <string_view>

namespace ouroboros::judge {

/// Has a product of matrices, whose arguments end `stack`, computed as somebody else might: the
/// dimension that its factors share is permuted in both, and one factor is off by roundings of
/// float32, as it is where that was scaled first, or where products are rounded before they are
/// added. `order` is from 0, which leaves all as it is, and below `orders`. False, and nothing
/// done, for any other operator.
bool vary_product(std::string_view name, const c10::FunctionSchema& schema,
                  torch::jit::Stack& stack, int order);

}  // namespace ouroboros::judge
