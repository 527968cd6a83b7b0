// Decides at parse time where each name of a template lives. Jinja's scoping is static: a name that a block sets
// anywhere belongs to that block from its beginning, a name that it only reads belongs to the nearest block outwards that
// knows it, else to the caller's variables. Loops, macros, with, set and filter blocks open a scope; if does not.
#pragma once

#include "text/template/ast.h"

namespace takt::text::jinja {

// Fills in every slot and scope of the tree, and finds what only a whole view can: break outside a loop, a filter or test
// that does not exist, an assignment to `loop`. Throws TemplateFailure with a line.
void resolve_names(TemplateTree& tree);

}  // namespace takt::text::jinja
