#include "referee/distance.hpp"

#include <cmath>
#include <limits>

#include "judge/tensors.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros::referee {

double largest_distance(const at::Tensor& a, const at::Tensor& b) {
  const auto dtype = judge::dtype_of(a.scalar_type());
  if (!dtype || a.scalar_type() != b.scalar_type() || a.numel() != b.numel()) {
    throw Error(ErrorCode::internal, "only tensors of one kind have a distance");
  }
  return judge::with_type(*dtype, [&](auto* type) {
    using Element = std::remove_pointer_t<decltype(type)>;
    const auto* x = static_cast<const Element*>(a.const_data_ptr());
    const auto* y = static_cast<const Element*>(b.const_data_ptr());
    const auto count = a.numel();
    double largest = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto u = static_cast<double>(x[i]);
      const auto v = static_cast<double>(y[i]);
      const double distance = std::abs(u - v);
      if (distance > largest) {
        largest = distance;
      } else if (std::isnan(distance) && (std::isnan(u) != std::isnan(v))) {
        return std::numeric_limits<double>::infinity();
      }
    }
    return largest;
  });
}

}  // namespace ouroboros::referee
