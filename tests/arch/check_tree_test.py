"""The tree check must be able to fail: each rule is given a small tree that breaks it, and one that does not."""
import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import check_tree  # noqa: E402
from cpp_functions import functions_of  # noqa: E402
from layers import Layers, LayersError  # noqa: E402

LAYERS = """
base:
scheduler: base
engine: base
worlds: base
worlds/sim: base scheduler worlds
apps: *
apart: scheduler/prefill scheduler/decode
barred: scheduler chrono   # a pure function has no clock
without: apps/sim_main.cc engine
unlinked: takt-sim engine
"""
GOOD = {
    "src/base/error.h": "#pragma once\nnamespace takt::base {}\n",
    "src/scheduler/scheduler.h": '#pragma once\n#include <map>\n#include "base/error.h"\nnamespace takt::scheduler {}\n',
    "src/worlds/sim/world.cc": '#include "scheduler/scheduler.h"\nnamespace takt::worlds {}\n',
    "apps/options.h": "#pragma once\n",
    "apps/sim_main.cc": '#include "options.h"\n#include "worlds/loop.h"\n',
    "src/worlds/loop.h": "#pragma once\n",
}


class Tree(unittest.TestCase):
    def check(self, files, *arguments):
        """Writes GOOD with some files replaced and returns what the check prints, and its status."""
        with tempfile.TemporaryDirectory() as folder:
            for path, text in {"src/LAYERS": LAYERS, **GOOD, **files}.items():
                (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
                (Path(folder) / path).write_text(text)
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                status = check_tree.main(["--root", folder, *[a.replace("ROOT", folder) for a in arguments]])
            self.ratchet = Path(folder, check_tree.RATCHET_FILE)
            self.ratchet_text = self.ratchet.read_text() if self.ratchet.exists() else ""
            return out.getvalue(), status

    def assert_fault(self, files, beginning, *words):
        printed, status = self.check(files)
        faults = printed.splitlines()[:-1]
        self.assertEqual(status, 1, printed)
        self.assertEqual(len(faults), 1, printed)
        self.assertTrue(faults[0].startswith(beginning), printed)
        for word in words:
            self.assertIn(word, faults[0])

    def test_a_good_tree_passes(self):
        printed, status = self.check({})
        self.assertEqual(status, 0, printed)


class LayerRules(Tree):
    def test_wrong_layer(self):
        self.assert_fault({"src/base/x.cc": '\n#include "scheduler/scheduler.h"\n'}, "src/base/x.cc:2: layers:",
                          "base may not include scheduler")

    def test_the_longest_folder_counts(self):
        self.assert_fault({"src/worlds/x.cc": '#include "scheduler/scheduler.h"\n'}, "src/worlds/x.cc:1:", "worlds may not")

    def test_an_outer_folder_does_not_open_its_inner_ones(self):
        self.assert_fault({"src/worlds/sim/a.h": "#pragma once\n", "src/worlds/x.cc": '#include "worlds/sim/a.h"\n'},
                          "src/worlds/x.cc:1:", "worlds may not include worlds/sim")

    def test_apart_in_both_directions(self):
        headers = {"src/scheduler/prefill/p.h": "#pragma once\n", "src/scheduler/decode/d.h": "#pragma once\n"}
        self.assert_fault({**headers, "src/scheduler/prefill/p.cc": '#include "scheduler/decode/d.h"\n'},
                          "src/scheduler/prefill/p.cc:1:", "never include each other")
        self.assert_fault({**headers, "src/scheduler/decode/d.cc": '#include "scheduler/prefill/p.h"\n'},
                          "src/scheduler/decode/d.cc:1:", "never include each other")
        self.assertEqual(self.check(headers)[1], 0)

    def test_our_headers_in_angle_brackets_relative_or_missing(self):
        self.assert_fault({"src/base/x.cc": "#include <base/error.h>\n"}, "src/base/x.cc:1:", "is ours")
        self.assert_fault({"src/base/x.cc": '#include "error.h"\n'}, "src/base/x.cc:1:", "no file under src/")
        self.assert_fault({"src/base/x.cc": '#include "../base/error.h"\n'}, "src/base/x.cc:1:", "no file under src/")

    def test_nobody_includes_apps(self):
        self.assert_fault({"src/base/x.cc": '#include "apps/options.h"\n'}, "src/base/x.cc:1:", "nobody includes apps")

    def test_a_folder_that_is_not_listed(self):
        self.assert_fault({"src/cache/x.cc": "int x;\n"}, "src/cache/x.cc:1:", "no folder that src/LAYERS lists")

    def test_a_comment_is_no_include(self):
        self.assertEqual(self.check({"src/base/x.cc": '// #include "scheduler/s.h"\n/*\n#include "a.h"\n*/\n'})[1], 0)

    def test_barred_header_through_another(self):
        files = {"src/base/clock.h": "#pragma once\n#include <chrono>\n"}
        self.assertEqual(self.check(files)[1], 0)
        self.assert_fault({**files, "src/scheduler/x.cc": '#include "base/clock.h"\n'}, "src/scheduler/x.cc:1:",
                          "base/clock.h -> chrono")
        self.assertEqual(self.check({**files, "src/scheduler/x_test.cc": "#include <chrono>\n"})[1], 0)

    def test_without_a_folder_through_another(self):
        files = {"src/engine/engine.h": "#pragma once\n", "apps/run.h": '#pragma once\n#include "engine/engine.h"\n'}
        self.assertEqual(self.check(files)[1], 0)
        self.assert_fault({"src/engine/engine.h": "#pragma once\n", "apps/sim_main.cc": '\n#include "engine/engine.h"\n'},
                          "apps/sim_main.cc:2:", "may not reach <engine/engine.h>")

    def test_linked_libraries(self):
        other = "build src/libtakt_engine.a: CXX_STATIC_LIBRARY_LINKER__takt_engine_Release x.o\n"
        line = other + "build apps/{}: CXX_EXECUTABLE_LINKER__takt_Release a.o | b.a\n  FLAGS = -O2\n  LINK_LIBRARIES = {}\n"
        for program, libraries, faults in (("takt-sim", "src/libtakt_base.a  /usr/lib/libx.so", 0),
                                           ("takt-sim", "src/libtakt_base.a  src/engine/libtakt_engine.a", 1),
                                           ("takt", "src/engine/libtakt_engine.a", 1)):
            printed, status = self.check({"build.ninja": line.format(program, libraries)}, "--linked", "ROOT/build.ninja")
            self.assertEqual(status, faults, printed)
        self.assertIn("takt-sim is not among the programs", printed)

    def test_a_wrong_layers_file(self):
        for text in ("base", "base:\nbase:\n", "base: other\n", "apart: a\n", "barred: a\n"):
            with self.assertRaises(LayersError, msg=text):
                Layers(text)


class NameRules(Tree):
    def test_words_that_say_nothing(self):
        self.assert_fault({"src/base/string_utils.cc": "int x;\n"}, "src/base/string_utils.cc:1: names:")
        self.assert_fault({"src/base/common/x.cc": "int x;\n"}, "src/base/common/x.cc:1: names:", "common")

    def test_form_of_names(self):
        self.assert_fault({"src/base/ThreadPool.cc": "int x;\n"}, "src/base/ThreadPool.cc:1: names:", "snake_case")

    def test_contents(self):
        self.assert_fault({"src/base/x.h": "int x;\n"}, "src/base/x.h:1: names:", "#pragma once")
        self.assert_fault({"src/base/x.cc": "namespace takt::engine {}\n"}, "src/base/x.cc:1: names:", "takt::base")


def function(name, lines):
    return f"int {name}() {{\n" + "  f();\n" * (lines - 2) + "}\n"


class LengthRules(Tree):
    ratchet_path = check_tree.RATCHET_FILE

    def test_limits(self):
        self.assertEqual(self.check({"src/base/x.cc": function("f", 70)})[1], 0)
        self.assert_fault({"src/base/x.cc": "\n" + function("f", 71)}, "src/base/x.cc:2: lengths:", "f has 71 lines")
        self.assertEqual(self.check({"src/base/x.cc": "\n" * 800})[1], 0)
        self.assert_fault({"src/base/x.cc": "\n" * 801}, "src/base/x.cc:1: lengths:", "file has 801 lines")

    def test_the_ratchet_only_shrinks(self):
        ratchet = {self.ratchet_path: "# why\n80 src/base/x.cc f\n"}
        self.assertEqual(self.check({**ratchet, "src/base/x.cc": function("f", 80)})[1], 0)
        self.assert_fault({**ratchet, "src/base/x.cc": function("f", 81)}, "src/base/x.cc:1:", "grew from 80 to 81")
        self.assert_fault({**ratchet, "src/base/x.cc": function("f", 79)}, "src/base/x.cc:1:", "shrank from 80 to 79")
        self.assert_fault({**ratchet, "src/base/x.cc": function("f", 9)}, self.ratchet_path, "within the limit now")

    def test_tighten_lowers_and_never_raises(self):
        ratchet = "# why\n80 src/base/x.cc f\n80 src/base/x.cc g\n80 src/base/x.cc gone\n"
        source = function("f", 75) + function("g", 90) + function("new", 95)
        printed, status = self.check({self.ratchet_path: ratchet, "src/base/x.cc": source}, "--tighten")
        self.assertEqual(self.ratchet_text, "# why\n75 src/base/x.cc f\n80 src/base/x.cc g\n")
        self.assertEqual(status, 1, printed)


class FunctionFinder(unittest.TestCase):
    def lengths(self, text):
        return {function.name: (function.line, function.line_count) for function in functions_of(text)}

    def test_members_templates_and_operators(self):
        text = """namespace a {
struct alignas(64) S : B {
  S() : x_{1}, y_(2) {}
 public:
  template <class T>
  T get(T value = {}) const {
    return value;
  }
  bool operator==(const S&) const { return true; }
  int x_ = 1, y_{2};
};
template <>
int T<int>::f(std::array<int, 2> a,
              int b) noexcept {
  struct Local { int g() { return 1; } };
  auto lambda = [&] { return 1; };
  return lambda();
}
}  // namespace a
"""
        self.assertEqual(self.lengths(text), {"S": (3, 1), "get": (5, 4), "operator==": (9, 1), "T<int>::f": (12, 7)})

    def test_tables_enums_and_types_are_no_functions(self):
        text = """enum class E : int { a, b };
constexpr int kTable[2][2] = {{1, 2}, {3, 4}};
const std::map<int, int> kMap{{f(1), 2}};
struct P { int x = 0; };
extern "C" {
int c_function(void) {
  return 1;
}
}
"""
        self.assertEqual(self.lengths(text), {"c_function": (6, 3)})

    def test_braces_in_comments_literals_and_directives(self):
        text = """#define OPEN(x) { x
void f() {  // }
  auto a = "}"; char b = '}'; /* } */
  auto c = R"x(} )" })x";
  int d = 1'000'000;
}
void g() {}
"""
        self.assertEqual(self.lengths(text), {"f": (2, 5), "g": (7, 1)})

    def test_gtest_cases(self):
        self.assertEqual(self.lengths("TEST_F(A, B) {\n  f();\n}\n"), {"TEST_F(A, B)": (1, 3)})


if __name__ == "__main__":
    unittest.main()
