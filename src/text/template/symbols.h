// The names of one scope while they are being resolved.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "text/template/ast.h"

namespace takt::text::jinja {

// A function's variables: the template itself, a macro, a recursive loop.
struct FunctionSlots {
  uint32_t depth = 0;  // functions around it
  uint32_t slot_count = 0;
};

class Symbols {
 public:
  Symbols(const Symbols* parent, FunctionSlots& function)
      : parent_(parent), function_(&function), slots_(std::make_shared<std::map<std::string, uint32_t>>()) {}

  void load(const std::string& name);
  void store(const std::string& name);
  void declare_parameter(const std::string& name);
  // Joins what the branches of an if have found; each is a copy of this from before the if.
  void merge_branches(const std::vector<Symbols>& branches);

  // Where `name` is, as seen from code of this scope. Precondition: known here or outwards.
  SlotRef resolve(const std::string& name) const;
  // The slot of a name of this very scope. Precondition: declared here.
  uint32_t own_slot(const std::string& name) const { return slots_->at(name); }
  bool knows(const std::string& name) const { return find(name).has_value(); }
  Scope scope() const;
  size_t size() const { return known_.size(); }
  FunctionSlots& function() const { return *function_; }

 private:
  struct Place {
    uint32_t function_depth, slot;
  };
  std::optional<Place> find(const std::string& name) const;
  SlotRef reference(const Place& place) const { return {function_->depth - place.function_depth, place.slot}; }
  void define(const std::string& name, LoadStep::Kind kind, SlotRef source = {});

  const Symbols* parent_;
  FunctionSlots* function_;
  std::shared_ptr<std::map<std::string, uint32_t>> slots_;  // shared by copies: one name has one slot in all branches
  std::map<std::string, LoadStep> known_;
  std::set<std::string> stored_;
};

}  // namespace takt::text::jinja
