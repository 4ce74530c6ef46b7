#pragma once

#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "arithmetic.hpp"
#include "judge/judge.hpp"

/// Every shipped problem as a plain kernel, with the mistakes that kernels make.
namespace tolerance {
namespace detail {

using ouroboros::Tensors;
using ouroboros::judge::Case;
using Size = std::size_t;

/// A matrix in the compute type; a vector is one row.
template <typename C>
struct Matrix {
  Size rows = 0;
  Size cols = 0;
  std::vector<C> data;
  C& operator()(Size r, Size c) { return data[r * cols + c]; }
  const C& operator()(Size r, Size c) const { return data[r * cols + c]; }
};

template <typename C>
Matrix<C> load(const at::Tensor& tensor) {
  Matrix<C> out;
  out.cols = static_cast<Size>(tensor.size(-1));
  out.rows = tensor.dim() == 1 ? 1 : static_cast<Size>(tensor.size(0));
  const auto real = tensor.to(at::kDouble);
  const auto* values = real.const_data_ptr<double>();
  for (std::int64_t i = 0; i < real.numel(); ++i) out.data.push_back(static_cast<C>(values[i]));
  return out;
}

template <typename C>
at::Tensor stored(const Matrix<C>& matrix, const at::Tensor& like) {
  auto out = at::empty_like(like);
  for (std::int64_t i = 0; i < out.numel(); ++i) {
    const C value = matrix.data[static_cast<Size>(i)];
    if (like.scalar_type() == at::kHalf) {
      out.mutable_data_ptr<at::Half>()[i] = at::Half(static_cast<float>(value));
    } else if (like.scalar_type() == at::kFloat) {
      out.mutable_data_ptr<float>()[i] = static_cast<float>(value);
    } else {
      out.mutable_data_ptr<double>()[i] = static_cast<double>(value);
    }
  }
  return out;
}

template <typename C>
Matrix<C> zeros(Size rows, Size cols) {
  return {rows, cols, std::vector<C>(rows * cols, C(0))};
}

/// The part of a row that a sum covers, with the mistakes that kernels make there.
template <typename C>
std::vector<C> summed(const Arithmetic<C>& m, const std::vector<C>& row) {
  auto part = row;
  if (m.is("dropped_tail") && part.size() > 8) part.resize(part.size() / 8 * 8);
  if (m.is("dropped_last") && part.size() > 1) part.pop_back();
  if (m.is("skipped_first") && part.size() > 1) part.erase(part.begin());
  return part;
}

/// Mistakes of whatever writes the result.
template <typename C>
void spoil(const Arithmetic<C>& m, Matrix<C>& out) {
  if (out.rows == 0 || out.cols == 0) return;
  if (m.is("unwritten_tail")) {
    for (Size r = 0; r < out.rows; ++r) {
      for (Size c = out.cols / 8 * 8; c < out.cols; ++c) out(r, c) = C(0);
    }
  }
  if (m.is("skipped_last_row") && out.rows > 1) {
    for (Size c = 0; c < out.cols; ++c) out(out.rows - 1, c) = C(0);
  }
  if (m.is("last_element")) out(out.rows - 1, out.cols - 1) = C(0);
  if (m.is("shifted")) {
    for (Size r = 0; r < out.rows; ++r) {
      for (Size c = out.cols - 1; c > 0; --c) out(r, c) = out(r, c - 1);
    }
  }
}

template <typename C>
Matrix<C> transposed(const Matrix<C>& in) {
  auto out = zeros<C>(in.cols, in.rows);
  for (Size r = 0; r < in.rows; ++r) {
    for (Size c = 0; c < in.cols; ++c) out(c, r) = in(r, c);
  }
  return out;
}

template <typename C>
std::vector<C> row_of(const Matrix<C>& x, Size r) {
  return {x.data.begin() + static_cast<std::ptrdiff_t>(r * x.cols),
          x.data.begin() + static_cast<std::ptrdiff_t>((r + 1) * x.cols)};
}

/// Maximum and sum of exponentials of a row.
template <typename C>
struct Partition {
  C max = 0;
  C sum = 0;
};

template <typename C>
Partition<C> partition(const Arithmetic<C>& m, const std::vector<C>& row, Partition<C> previous) {
  Partition<C> p;
  p.max = *std::max_element(row.begin(), row.end());
  if (m.is("no_max")) p.max = 0;
  if (m.is("mean_for_max")) p.max = m.sum(row) / static_cast<C>(row.size());
  if (m.is("stale_max") && !std::isnan(previous.max)) p.max = std::max(p.max, previous.max);
  std::vector<C> terms;
  for (const C v : summed(m, row)) terms.push_back(m.exp(m.round(v - p.max)));
  p.sum = m.sum(terms);
  if (m.is("stale_sum")) p.sum += previous.sum;
  if (m.is("eps_in_sum")) p.sum += C(1e-5);
  return p;
}

template <typename C>
Matrix<C> softmax(const Arithmetic<C>& m, const Matrix<C>& given, bool logarithm) {
  if (given.data.empty()) return given;
  const auto x = m.is("wrong_axis") ? transposed(given) : given;
  auto out = zeros<C>(x.rows, x.cols);
  Partition<C> p;
  for (Size r = 0; r < x.rows; ++r) {
    const auto row = row_of(x, r);
    p = partition(m, row, p);
    const C inverse = C(1) / p.sum;
    const C shift = m.is("log2") ? std::log2(p.sum) : std::log(p.sum);
    for (Size c = 0; c < x.cols; ++c) {
      const C centred = m.round(row[c] - p.max);
      if (logarithm) {
        out(r, c) = centred - shift;
      } else {
        const C e = m.exp(centred);
        out(r, c) = m.fast() ? e * inverse : e / p.sum;
        if (m.is("cut_tail") && out(r, c) < m.cut()) out(r, c) = C(0);
      }
    }
  }
  return m.is("wrong_axis") ? transposed(out) : out;
}

/// One over the root mean square of a row.
template <typename C>
C inverse_rms(const Arithmetic<C>& m, const std::vector<C>& row, C epsilon) {
  std::vector<C> squares;
  for (const C v : summed(m, row)) squares.push_back(m.round(v * v));
  const C mean = m.sum(squares) / static_cast<C>(m.is("off_by_one") ? row.size() + 1 : row.size());
  if (m.is("eps_outside")) return C(1) / (std::sqrt(mean) + epsilon);
  if (m.is("no_eps")) return C(1) / std::sqrt(mean);
  if (m.is("other_eps")) epsilon *= C(10);
  return m.rsqrt(mean + epsilon);
}

template <typename C>
Matrix<C> rmsnorm(const Arithmetic<C>& m, const Matrix<C>& x, const Matrix<C>& weight) {
  auto out = zeros<C>(x.rows, x.cols);
  C previous = 1;
  for (Size r = 0; r < x.rows; ++r) {
    const auto row = row_of(x, r);
    const C own = inverse_rms(m, row, static_cast<C>(1e-6));
    const C scale = m.is("stale_row") && r > 0 ? previous : own;
    previous = own;
    for (Size c = 0; c < x.cols; ++c) {
      const C w = m.is("no_weight") ? C(1) : weight(0, c);
      out(r, c) = m.round(row[c] * scale) * (m.is("weight_plus_one") ? C(1) + w : w);
    }
  }
  return out;
}

template <typename C>
Matrix<C> layernorm(const Arithmetic<C>& m, const Matrix<C>& x, const Matrix<C>& weight,
                    const Matrix<C>& bias) {
  auto out = zeros<C>(x.rows, x.cols);
  const C epsilon = static_cast<C>(1e-5);
  C stale_mean = 0;
  for (Size r = 0; r < x.rows; ++r) {
    const auto row = row_of(x, r);
    const auto n = static_cast<C>(row.size());
    C mean = m.sum(summed(m, row)) / n;
    std::vector<C> squares;
    C variance = 0;
    if (m.is("one_pass_variance")) {
      for (const C v : row) squares.push_back(v * v);
      variance = std::max(C(0), m.sum(squares) / n - mean * mean);
    } else {
      for (const C v : summed(m, row)) squares.push_back(m.round((v - mean) * (v - mean)));
      const C divisor = m.is("unbiased_variance") ? std::max(C(1), n - C(1)) : n;
      variance = m.sum(squares) / divisor;
    }
    C scale = m.rsqrt(variance + epsilon);
    if (m.is("eps_outside")) scale = C(1) / (std::sqrt(variance) + epsilon);
    if (m.is("no_eps")) scale = C(1) / std::sqrt(variance);
    if (m.is("other_eps")) scale = C(1) / std::sqrt(variance + C(1e-6));
    if (m.is("no_mean")) mean = 0;
    const C own_mean = mean;
    if (m.is("stale_row") && r > 0) mean = stale_mean;
    stale_mean = own_mean;
    for (Size c = 0; c < x.cols; ++c) {
      const C w = m.is("no_weight") ? C(1) : weight(0, c);
      const C b = m.is("no_bias") ? C(0) : bias(0, c);
      out(r, c) = m.round((row[c] - mean) * scale) * w + b;
    }
  }
  return out;
}

template <typename C>
Matrix<C> added(const Arithmetic<C>& m, const Matrix<C>& a, const Matrix<C>& b) {
  auto out = zeros<C>(a.rows, a.cols);
  for (Size i = 0; i < out.data.size(); ++i) {
    out.data[i] = m.is("no_residual") ? a.data[i] : m.round(a.data[i] + b.data[i]);
  }
  return out;
}

template <typename C>
Matrix<C> rope(const Arithmetic<C>& m, const Matrix<C>& x, const Matrix<C>& cosine,
               const Matrix<C>& sine) {
  auto out = zeros<C>(x.rows, x.cols);
  const Size half = x.cols / 2;
  for (Size r = 0; r < x.rows; ++r) {
    const Size angle_row = m.is("stale_row") && r > 0 ? r - 1 : r;
    for (Size c = 0; c < half; ++c) {
      const Size left = m.is("interleaved") ? 2 * c : c;
      const Size right = m.is("interleaved") ? 2 * c + 1 : c + half;
      C co = cosine(angle_row, c);
      C si = sine(angle_row, c);
      if (m.is("swapped_angles")) std::swap(co, si);
      if (m.is("wrong_sign")) si = -si;
      const C a = x(r, left);
      const C b = x(r, right);
      out(r, left) = m.round(a * co) - m.round(b * si);
      out(r, right) = m.round(b * co) + m.round(a * si);
      if (m.is("unrotated_second")) out(r, right) = b;
    }
  }
  return out;
}

template <typename C>
Matrix<C> cross_entropy(const Arithmetic<C>& m, const Matrix<C>& x, const at::Tensor& targets) {
  auto out = zeros<C>(1, x.rows);
  Partition<C> p;
  for (Size r = 0; r < x.rows; ++r) {
    const auto row = row_of(x, r);
    p = partition(m, row, p);
    auto target = static_cast<Size>(targets.const_data_ptr<std::int64_t>()[r]);
    if (m.is("off_by_one")) target = (target + 1) % x.cols;
    const C shift = m.is("log2") ? std::log2(p.sum) : std::log(p.sum);
    C loss = shift - m.round(row[target] - p.max);
    if (m.is("smoothed")) loss = C(0.99) * loss + C(0.01) * shift;
    out(0, r) = loss;
  }
  return out;
}

template <typename C>
Matrix<C> cumsum(const Arithmetic<C>& m, const Matrix<C>& x) {
  auto out = zeros<C>(x.rows, x.cols);
  C carried = 0;
  for (Size r = 0; r < x.rows; ++r) {
    if (!m.is("stale_sum")) carried = 0;
    if (m.order() == Sum::sequential) {
      for (Size c = 0; c < x.cols; ++c) {
        if (m.is("exclusive")) out(r, c) = carried;
        carried = m.add(carried, m.round(x(r, m.is("reversed") ? x.cols - 1 - c : c)));
        if (!m.is("exclusive")) out(r, c) = carried;
        if (m.is("lost_carry") && (c + 1) % 1024 == 0) carried = 0;
      }
      continue;
    }
    // Blocks that are scanned alone and then moved by the blocks' own scan.
    const Size block = m.order() == Sum::blocked ? 64 : 8;
    for (Size begin = 0; begin < x.cols; begin += block) {
      const Size end = std::min(begin + block, x.cols);
      C local = 0;
      for (Size c = begin; c < end; ++c) {
        local = m.add(local, x(r, c));
        out(r, c) = m.add(carried, local);
      }
      carried = m.add(carried, local);
    }
  }
  return out;
}

template <typename C>
Tensors run_as(const std::string& problem, const Way& way, const Case& one) {
  const Arithmetic<C> m(way);
  const auto in = [&](Size k) { return load<C>(one.inputs[k]); };
  std::vector<Matrix<C>> out;
  if (problem == "softmax" || problem == "log_softmax") {
    out.push_back(softmax(m, in(0), problem == "log_softmax"));
  } else if (problem == "rmsnorm") {
    out.push_back(rmsnorm(m, in(0), in(1)));
  } else if (problem == "layernorm" || problem == "layernorm_silu") {
    out.push_back(layernorm(m, in(0), in(1), in(2)));
    if (problem == "layernorm_silu" && !m.is("no_activation")) {
      for (auto& v : out.back().data) v = m.is("gelu_for_silu") ? m.gelu(v) : m.silu(v);
    }
  } else if (problem == "add_rmsnorm" || problem == "add_rmsnorm_gelu") {
    auto sum = added(m, in(0), in(1));
    auto normed = sum;
    if (m.is("rounded_sum")) {
      for (auto& v : normed.data) v = narrowed(v, Narrow::float16);
    }
    normed = rmsnorm(m, normed, in(2));
    if (problem == "add_rmsnorm_gelu" && !m.is("no_activation")) {
      for (auto& v : normed.data) v = m.gelu(v);
    }
    out.push_back(normed);
    if (problem == "add_rmsnorm") out.push_back(sum);
  } else if (problem == "swiglu" || problem == "geglu") {
    const auto gate = in(0);
    const auto up = in(1);
    out.push_back(zeros<C>(gate.rows, gate.cols));
    for (Size i = 0; i < gate.data.size(); ++i) {
      const bool swap = m.is("swapped_gate");
      const C g = swap ? up.data[i] : gate.data[i];
      const C u = swap ? gate.data[i] : up.data[i];
      const bool gelu = (problem == "geglu") != m.is("gelu_for_silu");
      out.back().data[i] = (m.is("no_activation") ? g : gelu ? m.gelu(g) : m.silu(g)) * u;
    }
  } else if (problem == "rope") {
    out.push_back(rope(m, in(0), in(1), in(2)));
  } else if (problem == "cross_entropy") {
    out.push_back(cross_entropy(m, in(0), one.inputs[1]));
  } else if (problem == "cumsum") {
    out.push_back(cumsum(m, in(0)));
  } else {
    throw std::invalid_argument("no kernel for the problem " + problem);
  }
  Tensors made;
  for (Size k = 0; k < out.size(); ++k) {
    spoil(m, out[k]);
    made.push_back(stored(out[k], one.reference[k]));
  }
  return made;
}

}  // namespace detail

/// Mutants of one problem besides those of precision: names that its kernel knows.
inline std::vector<std::string> mutants_of(const std::string& problem) {
  static const std::map<std::string, std::vector<std::string>> known = {
      {"softmax",
       {"no_max", "mean_for_max", "stale_sum", "eps_in_sum", "wrong_axis", "cut_tail",
        "dropped_tail", "dropped_last", "skipped_first"}},
      {"log_softmax",
       {"no_max", "mean_for_max", "stale_sum", "eps_in_sum", "wrong_axis", "log2", "dropped_tail",
        "dropped_last", "skipped_first"}},
      {"rmsnorm",
       {"eps_outside", "no_eps", "other_eps", "off_by_one", "stale_row", "no_weight",
        "weight_plus_one", "dropped_tail", "dropped_last", "skipped_first"}},
      {"layernorm",
       {"eps_outside", "no_eps", "other_eps", "unbiased_variance", "one_pass_variance", "no_mean",
        "stale_row", "no_weight", "no_bias", "dropped_tail", "dropped_last", "skipped_first"}},
      {"add_rmsnorm",
       {"eps_outside", "no_eps", "other_eps", "off_by_one", "stale_row", "no_weight", "no_residual",
        "rounded_sum", "dropped_tail", "dropped_last", "skipped_first"}},
      {"add_rmsnorm_gelu",
       {"eps_outside", "no_eps", "other_eps", "off_by_one", "stale_row", "no_weight", "no_residual",
        "rounded_sum", "silu_for_gelu", "quick_gelu", "erf_for_tanh_gelu", "relu_for_gelu",
        "gelu_constant", "no_activation", "dropped_tail", "dropped_last", "skipped_first"}},
      {"layernorm_silu",
       {"eps_outside", "no_eps", "other_eps", "unbiased_variance", "one_pass_variance", "no_mean",
        "stale_row", "no_weight", "no_bias", "gelu_for_silu", "no_activation", "dropped_tail",
        "dropped_last", "skipped_first"}},
      {"swiglu", {"swapped_gate", "gelu_for_silu", "no_activation"}},
      {"geglu",
       {"swapped_gate", "silu_for_gelu", "quick_gelu", "erf_for_tanh_gelu", "relu_for_gelu",
        "gelu_constant", "no_activation"}},
      {"rope", {"interleaved", "wrong_sign", "swapped_angles", "unrotated_second", "stale_row"}},
      {"cross_entropy",
       {"no_max", "mean_for_max", "stale_sum", "eps_in_sum", "log2", "off_by_one", "smoothed",
        "dropped_tail", "dropped_last", "skipped_first"}},
      {"cumsum", {"exclusive", "reversed", "lost_carry", "stale_sum"}},
  };
  auto mutants = known.at(problem);
  for (const char* common : {"unwritten_tail", "skipped_last_row", "last_element", "shifted"}) {
    // The loss of a row is one number: it has no tail of its own, and one row in the matrix here.
    if (problem == "cross_entropy" && std::string(common) == "skipped_last_row") continue;
    mutants.emplace_back(common);
  }
  return mutants;
}

/// Whether a problem adds numbers up, so that the order and the precision of sums matter.
inline bool has_sums(const std::string& problem) {
  static const std::set<std::string> without = {"swiglu", "geglu", "rope"};
  return !without.contains(problem);
}

/// Computes a case of a shipped problem the way that `way` says.
inline ouroboros::Tensors run(const std::string& problem, const Way& way,
                              const ouroboros::judge::Case& one) {
  const bool wide = way.wide || (one.spec.dtype == ouroboros::DType::float64 &&
                                 way.intermediate != Narrow::float32);
  return wide ? detail::run_as<double>(problem, way, one)
              : detail::run_as<float>(problem, way, one);
}

}  // namespace tolerance
