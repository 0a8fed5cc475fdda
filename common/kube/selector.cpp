#include "common/kube/objects.h"

#include <algorithm>

namespace sluice::kube {
namespace {

bool holds(const Selector::Expression& expression, const StringMap& labels) {
  const auto found = labels.find(expression.key);
  const bool there = found != labels.end();
  const auto listed = [&] {
    return there && std::find(expression.values.begin(), expression.values.end(), found->second) !=
                        expression.values.end();
  };
  switch (expression.op) {
    case Selector::Operator::in:
      return listed();
    case Selector::Operator::not_in:
      return !listed();  // as the API has it: a label that is absent is in no set
    case Selector::Operator::exists:
      return there;
    case Selector::Operator::does_not_exist:
      return !there;
  }
  return false;
}

}  // namespace

bool Selector::matches(const StringMap& of) const {
  if (labels.empty() && expressions.empty()) return false;
  const bool labelled = std::all_of(labels.begin(), labels.end(), [&](const auto& wanted) {
    const auto found = of.find(wanted.first);
    return found != of.end() && found->second == wanted.second;
  });
  return labelled && std::all_of(expressions.begin(), expressions.end(),
                                 [&](const Expression& each) { return holds(each, of); });
}

}  // namespace sluice::kube
