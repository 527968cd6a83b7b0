#include "text/template/symbols.h"

namespace takt::text::jinja {

std::optional<Symbols::Place> Symbols::find(const std::string& name) const {
  for (const Symbols* scope = this; scope != nullptr; scope = scope->parent_) {
    const auto found = scope->known_.find(name);
    if (found != scope->known_.end()) return Place{scope->function_->depth, found->second.slot};
  }
  return std::nullopt;
}

void Symbols::define(const std::string& name, LoadStep::Kind kind, SlotRef source) {
  const auto [slot, is_new] = slots_->try_emplace(name, function_->slot_count);
  if (is_new) ++function_->slot_count;
  known_[name] = {kind, slot->second, name, source};
}

void Symbols::load(const std::string& name) {
  if (!knows(name)) define(name, LoadStep::Kind::from_context);
}

void Symbols::store(const std::string& name) {
  stored_.insert(name);
  if (known_.contains(name)) return;
  const std::optional<Place> outer = parent_ != nullptr ? parent_->find(name) : std::nullopt;
  if (outer) {
    define(name, LoadStep::Kind::alias, reference(*outer));
  } else {
    define(name, LoadStep::Kind::undefined);
  }
}

void Symbols::declare_parameter(const std::string& name) {
  stored_.insert(name);
  define(name, LoadStep::Kind::parameter);
}

void Symbols::merge_branches(const std::vector<Symbols>& branches) {
  std::set<std::string> newly_stored;
  for (const Symbols& branch : branches) {
    for (const std::string& name : branch.stored_) {
      if (!stored_.contains(name)) newly_stored.insert(name);
    }
  }
  for (const Symbols& branch : branches) {
    for (const auto& [name, step] : branch.known_) known_[name] = step;
    stored_.insert(branch.stored_.begin(), branch.stored_.end());
  }
  // Set in some branch only: where that branch is not taken, the name keeps its outer meaning.
  for (const std::string& name : newly_stored) {
    const std::optional<Place> outer = parent_ != nullptr ? parent_->find(name) : std::nullopt;
    LoadStep& step = known_.at(name);
    step.kind = outer ? LoadStep::Kind::alias : LoadStep::Kind::from_context;
    if (outer) step.source = reference(*outer);
  }
}

SlotRef Symbols::resolve(const std::string& name) const {
  const std::optional<Place> place = find(name);
  return place ? reference(*place) : SlotRef{};
}

Scope Symbols::scope() const {
  Scope steps;
  for (const auto& [name, step] : known_) steps.push_back(step);
  return steps;
}

}  // namespace takt::text::jinja
