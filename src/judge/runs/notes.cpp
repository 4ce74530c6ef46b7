#include "judge/runs/notes.hpp"

#include <algorithm>
#include <string_view>

#include "judge/observed/mark_notes.hpp"
#include "judge/orders/arguments.hpp"
#include "judge/orders/walk.hpp"
#include "judge/runs/logistic.hpp"

namespace ouroboros::judge {
namespace {

/// Whether nothing but the shape counts of what an operator is given.
bool takes_shape_alone(std::string_view name) {
  return name.ends_with("_like") || name.starts_with("new_");
}

/// Of views as much as what they look at.
void note_elements(const c10::IValue& result, std::vector<std::int64_t>& elements) {
  const auto note = [&elements](const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    const auto held = static_cast<std::int64_t>(tensor.storage().nbytes() / tensor.itemsize());
    elements.push_back(std::min(tensor.numel(), held));
  };
  if (result.isTensor()) return note(result.toTensor());
  if (!result.isTensorList()) return;
  for (const at::Tensor& one : result.toTensorVector()) note(one);
}

}  // namespace

std::optional<Deviations::Known> deviation_of(const Pass& pass, const Operation& operation) {
  const auto* loops = pass.inside.loops;
  if (loops == nullptr || loops->order != orders - 1) return std::nullopt;
  return pass.deviations.meet(operation.name, operation.schema, operation.stack);
}

Notes::Notes(Pass& pass, const Operation& operation)
    : pass_(pass), operation_(operation), deviation_(deviation_of(pass, operation)) {
  const auto& inside = pass.inside;
  const auto name = operation.name;
  const auto given = operation.arguments();
  if (inside.logistic != nullptr) inside.logistic->meet(name, given);
  if (inside.loops != nullptr) {
    quantised_ = pass.addends.of_result(name, operation.op, operation.stack);
  }
  const bool shape_alone = takes_shape_alone(name);
  follows_ = inside.of_differences != 0.0 && !shape_alone && pass.derived.any(given);
  computes_ = (inside.given != nullptr || inside.marks != nullptr) && !shape_alone &&
              (pass.computed.any(given) || !makes_constants(name, operation.schema));
  if (follows_) {
    whole_ = pass.whole_numbers.come_of(name, given, pass.derived);
    if (whole_) terms_ = pass.scaled_differences.terms_of(name, given);
    blended_ = Blends::meet(name, given);
    blended_parts_ = pass.blends.parts_of(name, given);
  }
  if (follows_ || inside.factors) multiplied_ = DotProducts::meet(name, given);
  if (inside.marks != nullptr) {
    rescaled_ = inside.marks->rescaled.meet(name, operation.schema, operation.stack);
    scores_ = inside.marks->scores.meet(name, given);
    of_integers_ = inside.marks->exact.meet(name, given);
  }
}

void Notes::forget_written() const {
  const auto& inside = pass_.inside;
  const bool remembers =
      follows_ || inside.factors || inside.loops != nullptr || inside.marks != nullptr;
  const auto& arguments = operation_.schema.arguments();
  const auto given = operation_.arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!is_written(arguments[i]) || !given[i].isTensor()) continue;
    if (computes_) pass_.computed.note(given[i]);
    if (!remembers) continue;
    const auto& tensor = given[i].toTensor();
    if (inside.marks != nullptr) inside.marks->rescaled.forget(tensor);
    pass_.addends.forget(tensor);
    pass_.deviations.forget(tensor);
    pass_.whole_numbers.forget(tensor);
    pass_.scaled_differences.forget(tensor);
    pass_.blends.forget(tensor);
    pass_.dot_products.forget(tensor);
  }
}

void Notes::keep() const {
  for (const auto& result : operation_.results()) keep_of(result);
}

void Notes::keep_of(const c10::IValue& result) const {
  const auto& inside = pass_.inside;
  if (follows_) pass_.derived.note(result);
  if (computes_) pass_.computed.note(result);
  if (whole_) pass_.whole_numbers.note(result);
  if (terms_) pass_.scaled_differences.note(result.toTensor(), *terms_);
  if (blended_) pass_.blends.note(*blended_, result.toTensor());
  if (blended_parts_) pass_.blends.note(*blended_parts_, result.toTensor());
  if (multiplied_) pass_.dot_products.note(*multiplied_, result.toTensor());
  if (quantised_) pass_.addends.note(result, *quantised_);
  if (deviation_) pass_.deviations.note(result, *deviation_);
  if (inside.marks != nullptr) {
    inside.marks->scores.note(result, scores_);
    if (of_integers_) inside.marks->exact.note(result);
    if (rescaled_) inside.marks->rescaled.note(result, *rescaled_);
  }
  if (inside.logistic != nullptr) inside.logistic->note(result);
  if (inside.results != nullptr) note_elements(result, *inside.results);
}

}  // namespace ouroboros::judge
