#include <cmath>
#include <limits>
#include <numbers>

#include "ouroboros/timing.hpp"
#include "timing/require.hpp"

namespace ouroboros::timing {
namespace {

/// Gamma(a + 1/2) / Gamma(a).
///
/// Asymptotic series in 1/a (DLMF 5.11.13), reached through Gamma(a + 1) = a Gamma(a). std::lgamma
/// would lose digits for large a by cancellation, and it writes a global variable.
double gamma_ratio(double a) {
  double product = 1.0;
  for (; a < 32.0; a += 1.0) product *= a / (a + 0.5);
  const double u = 1.0 / a;
  const double series =
      1.0 +
      u * (-1.0 / 8 +
           u * (1.0 / 128 + u * (5.0 / 1024 + u * (-21.0 / 32768 + u * (-399.0 / 262144 +
                                                                        u * (869.0 / 4194304))))));
  return product * std::sqrt(a) * series;
}

/// The continued fraction of the incomplete beta function, DLMF 8.17.22, by the modified Lentz
/// method. Converges fast for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double tiny = 1e-300;
  constexpr double precision = std::numeric_limits<double>::epsilon();
  const auto away_from_zero = [](double value) { return std::abs(value) < tiny ? tiny : value; };
  double c = 1.0;
  double d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
  double result = d;
  for (double m = 1.0; m < 1e6; m += 1.0) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1.0 / away_from_zero(1.0 + even * d);
    c = away_from_zero(1.0 + even / c);
    result *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1.0 / away_from_zero(1.0 + odd * d);
    c = away_from_zero(1.0 + odd / c);
    const double factor = d * c;
    result *= factor;
    if (std::abs(factor - 1.0) <= precision) break;
  }
  return result;
}

/// Student's t at `t` > 0: each probability is computed where it is small, so neither loses digits.
struct Probabilities {
  double tail;    ///< P(T > t)
  double centre;  ///< P(0 < T < t)
  double density;
};

Probabilities student_t(double t, double degrees_of_freedom) {
  const double a = 0.5 * degrees_of_freedom;
  const double ratio = gamma_ratio(a);
  const double square = t * t / degrees_of_freedom;
  // P(T > t) = I_x(a, 1/2) / 2 with x = 1 / (1 + t^2 / df); 1 - x is formed without cancellation.
  const double x = 1.0 / (1.0 + square);
  const double complement = square * x;
  // x^a (1 - x)^(1/2) / B(a, 1/2)
  const double front = std::exp(-a * std::log1p(square)) * std::sqrt(complement) * ratio /
                       std::sqrt(std::numbers::pi);
  Probabilities result{};
  if (x < (a + 1.0) / (a + 2.5)) {
    result.tail = 0.5 * front * beta_fraction(a, 0.5, x) / a;
    result.centre = 0.5 - result.tail;
  } else {
    result.centre = front * beta_fraction(0.5, a, complement);
    result.tail = 0.5 - result.centre;
  }
  result.density = std::exp(-(a + 0.5) * std::log1p(square)) * ratio /
                   std::sqrt(std::numbers::pi * degrees_of_freedom);
  return result;
}

}  // namespace

double student_t_quantile(double probability, double degrees_of_freedom) {
  require(probability > 0.0 && probability < 1.0, "the probability must lie between 0 and 1");
  require(degrees_of_freedom > 0.0 && std::isfinite(degrees_of_freedom),
          "the degrees of freedom must be positive and finite");
  if (probability == 0.5) return 0.0;
  // With so much freedom x below comes too close to 1 to carry digits, but the quantile has become
  // linear in 1 / df, so two points of that line give the rest of it.
  constexpr double linear_from = 1e6;
  if (degrees_of_freedom > linear_from) {
    const double here = student_t_quantile(probability, linear_from);
    const double before = student_t_quantile(probability, 0.5 * linear_from);
    return here - (before - here) * (1.0 - linear_from / degrees_of_freedom);
  }
  const double df = degrees_of_freedom;
  const bool upper = probability > 0.5;
  const double tail = upper ? 1.0 - probability : probability;
  const double centre = upper ? probability - 0.5 : 0.5 - probability;
  // Positive where t is too small; taken from whichever probability is the smaller one.
  const auto excess = [&](const Probabilities& at) {
    return tail < centre ? at.tail - tail : centre - at.centre;
  };

  double low = 0.0;
  double high = 1.0;
  while (excess(student_t(high, df)) > 0.0) {
    low = high;
    high *= 2.0;
    require(high < 1e150, "the quantile is too large for these degrees of freedom");
  }
  // Newton's method, with bisection where it would leave the bracket.
  double t = 0.5 * (low + high);
  for (int i = 0; i < 200; ++i) {
    const Probabilities at = student_t(t, df);
    const double difference = excess(at);
    (difference > 0.0 ? low : high) = t;
    double next = t + difference / at.density;
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    const double step = std::abs(next - t);
    t = next;
    if (step <= 4 * std::numeric_limits<double>::epsilon() * t) break;
  }
  return upper ? t : -t;
}

}  // namespace ouroboros::timing
