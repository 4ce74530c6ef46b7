#include "judge/values/mixtures.hpp"

#include "judge/values/streams.hpp"

namespace ouroboros::judge {

bool is_mixture(const CaseSpec& spec) noexcept {
  return spec.family == "patchwork" || spec.family == "scattered";
}

Layout patched(const CaseSpec& spec, const at::Tensor& tensor) noexcept {
  constexpr std::size_t stretch = 64;
  const auto layout = layout_of(tensor);
  if (!is_mixture(spec) || tensor.dim() != 1 || layout.cols < 2 * stretch) return layout;
  return {layout.cols / stretch, stretch};
}

std::size_t patch_of(const CaseSpec& spec, std::size_t input, std::size_t row) noexcept {
  return (row + stream(spec, input, choices)) % patches.size();
}

std::string_view family_of_row(const CaseSpec& spec, std::size_t input, std::size_t row) noexcept {
  if (spec.family != "patchwork") return spec.family;
  return patches[patch_of(spec, input, row)];
}

}  // namespace ouroboros::judge
