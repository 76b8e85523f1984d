"""Plans from Python: compiled, refused, saved, loaded, shown.

  compile_test.py --package build/release/python
"""
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings
from xml.etree import ElementTree

import support

import cgraph
from cgraph import _arguments, _runtime

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits" / "digits.cgraph"

WRONG = """import std.tensor
actor Linear(inputs: int, outputs: int) {
  state w: f32[inputs, outputs] = zeros()
  method apply(x: f32[n, inputs]) -> f32[n, outputs] { return x @ w }
}
place first = Linear(64, 32) on gpu[0]
place second = Linear(64, 10) on gpu[1]
graph mlp(x: f32[8, 64]) -> f32[8, 10] { return second.apply(first.apply(x)) }
"""


class Compile(unittest.TestCase):
    def test_graphs(self):
        plan = cgraph.compile(DIGITS, defines={"B": 16})
        self.assertEqual(list(plan.graphs), ["classify"])
        graph = plan.graphs["classify"]
        self.assertEqual((graph.inflight, graph.bounds), (2, {"n": 16}))
        x, = graph.inputs
        self.assertEqual((x.name, x.dtype, x.shape, x.type),
                         ("x", "f32", ("n", 64), "f32[n <= 16, 64]"))
        self.assertEqual([port.name for port in graph.outputs], ["scores", "label"])
        self.assertIn("classify(x: f32[n <= 16, 64])", repr(graph))

    def test_shown_in_a_line(self):
        plan = cgraph.compile(DIGITS)
        self.assertRegex(repr(plan), r"^<cgraph\.Plan: 1 graph \(classify\), \d+ instructions, "
                                     r"\d+ devices?>$")
        self.assertEqual(str(plan), repr(plan))
        with cgraph.Engine(cgraph.compile(support.PROGRAM)) as engine:
            self.assertRegex(repr(engine), r"^<cgraph\.Engine of <cgraph\.Plan: 8 graphs \(mlp, "
                                           r"add, late, twice, half, \.\.\.\), \d+ instructions, ")

    def test_text(self):
        plan = cgraph.compile(DIGITS)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "digits.cgplan")
            plan.save(path)
            listed = subprocess.run([sys.executable, "-m", "cgraph.cgc", "plan", path], check=True,
                                    stdout=subprocess.PIPE, text=True,
                                    env=dict(os.environ, PYTHONPATH=support.OPTIONS.package))
        self.assertIn("matmul", plan.text())
        self.assertEqual(plan.text().strip(), listed.stdout.strip())

    def test_one_line(self):
        plan = cgraph.compile("graph same(x: f32[2]) -> f32[2] { return x }")
        self.assertEqual(list(plan.graphs), ["same"])

    def test_profile_of_an_engine(self):
        with cgraph.Engine(cgraph.compile(support.PROGRAM), profile=True) as engine:
            engine.add(x=1)
            calls = engine.profile()
        with cgraph.Engine(cgraph.compile(support.PROGRAM)) as engine:
            with self.assertRaisesRegex(cgraph.Error, r"Engine\(plan, profile=True\)"):
                engine.profile()
        self.assertIn("Counter.add", calls)
        slow = dict(calls, **{"Counter.add": 7e6})
        plan = cgraph.compile(support.PROGRAM, graph="add", profile=slow)
        self.assertEqual(plan.simulate()["graphs"][0]["makespan_ps"], 7e9)

        plan = cgraph.compile(support.PROGRAM, graph="add")
        self.assertEqual(plan.simulate(profile=slow)["graphs"][0]["makespan_ps"], 7e9)

    def test_trace_is_no_profile(self):
        """What is said of flags of cgrun's stays, but where Python has the same."""
        said = (r"`cgrun --trace` writes it, of what ran when; a profile has the mean time of each "
                r"call, and `Engine\.profile\(\)` returns one$")
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder, "trace.json")
            trace.write_text('{"traceEvents": []}', encoding="utf-8")
            with self.assertRaisesRegex(cgraph.CompileError, said):
                cgraph.compile(DIGITS, profile=trace)
            with self.assertRaisesRegex(cgraph.Error, said):
                cgraph.compile(DIGITS).simulate(profile=trace)

    def test_chosen_graph(self):
        plan = cgraph.compile(support.PROGRAM, graph="add", schedule="program")
        self.assertEqual(list(plan.graphs), ["add"])

    def test_diagnostics(self):
        with self.assertRaises(cgraph.CompileError) as caught:
            cgraph.compile(WRONG)
        found, = caught.exception.diagnostics
        self.assertEqual((found.code, found.severity), ("E0507", "error"))
        self.assertEqual(found.file, "source.cgraph")
        at = found.range
        self.assertEqual((at.line, at.column, at.end_line, at.end_column), (8, 62, 8, 76))
        self.assertEqual(found.message,
                         "parameter `x` of `second.apply` is f32[n, inputs]; this is f32[8, 32]: "
                         "dimension 1 is 32 and should be 64")
        self.assertEqual([note.range.line for note in found.notes], [4, 7])
        self.assertEqual(str(caught.exception), str(found))

    def test_prints_as_cgc_does(self):
        sources = {
            "wrong.cgraph": WRONG,
            "word.cgraph": "import std.tensor\n"
                           "graph\tg(x: f32[2]) -> f32[3] { return\tx + nope }\n",
            "lines.cgraph": "graph g(x: f32[2]) -> f32[2] {\n  return (x +\n    y)\n}\n",
            "long.cgraph": f"const A = {' + '.join(['1'] * 90)} + zzz + {' + '.join(['1'] * 90)}\n",
            "wide.cgraph": "// ä\nconst B = \"ä\" + zzz  // ö\n",
        }
        cgc = os.path.join(support.OPTIONS.package, "cgraph", "bin", "cgc")
        with tempfile.TemporaryDirectory() as folder:
            for name, text in sources.items():
                path = os.path.join(folder, name)
                pathlib.Path(path).write_text(text, encoding="utf-8")
                done = subprocess.run([cgc, "compile", path, "--color", "never"],
                                      capture_output=True, text=True, check=False)
                with self.assertRaises(cgraph.CompileError) as caught:
                    cgraph.compile(path)
                printed = done.stderr.strip()
                self.assertEqual(printed, str(caught.exception))

    def test_says_of_arguments_what_cgc_says_of_flags(self):
        cgc = os.path.join(support.OPTIONS.package, "cgraph", "bin", "cgc")
        help_line = "\n`cgc compile --help` says what there is"
        long = "x" * 70
        for options, flags, *words in (
                ({"schedule": "nope("}, ["--schedule", "nope("], ("--schedule", "schedule")),
                ({"topology": "nope("}, ["--topology", "nope("], ("--topology", "topology")),
                ({"topology": "nope"}, ["--topology", "nope"],
                 ("--topology:1", "topology:1"),
                 ("--topology FILE.cgraph", '`topology="FILE.cgraph"`')),
                ({"topology": "B"}, ["--topology", "B"], ("--topology", "topology")),
                ({"topology": DIGITS}, ["--topology", DIGITS], ("--topology", "`topology`")),
                ({"defines": {"B": "x+"}}, ["-D", "B=x+"], ("-D B=x+", "`defines={'B': 'x+'}`")),
                ({"defines": {"B": -64}}, ["-D", "B=-64"], ("-D B=-64", "`defines={'B': -64}`")),
                ({"defines": {"C": [1, True]}}, ["-D", "C=[1, true]"],
                 ("-D C=[1, true]", "`defines={'C': [1, True]}`")),
                ({"defines": {"B": long}}, ["-D", f"B={long}"], ("-D B=", "`defines`: B=")),
                ({"inflight": 0}, ["--inflight", "0"], ("--inflight", "`inflight`"),
                 (help_line, "")),
                ({"graph": "nope"}, ["--graph", "nope"]),
                ({"flags": ["--lanes", "x"]}, ["--lanes", "x"]),
                ({"flags": ["--nope"]}, ["--nope"])):
            done = subprocess.run([cgc, "compile", DIGITS, "-o", os.devnull, *flags],
                                  capture_output=True, text=True, check=False)
            with self.subTest(options), self.assertRaises(cgraph.CompileError) as caught:
                cgraph.compile(DIGITS, **options)
            said = done.stderr.strip()
            for flag, argument in words:
                self.assertIn(flag, said)
                said = said.replace(flag, argument)
            self.assertEqual(said, str(caught.exception))

    def test_says_of_arguments_what_hints_say_of_flags(self):
        for text, said in (
                ("import nope\n", '`include=["DIR"]` looks in another folder as well'),
                ('actor A() { method f(x: i64) -> i64 = extern "models.py:f" }\n',
                 '"python:models:f"; `libraries=["models.py"]` of Engine says where the module is'),
                ('actor A() { method f(x: i64) -> i64 = extern "python:models.py:f" }\n',
                 '"python:models:f"; `libraries=["models.py"]` of Engine says where the module is'),
                ('actor A() { method f(x: i64) -> i64 = extern "models:A.f" }\n',
                 'is no function of a shared library; for a method in Python write '
                 '"python:models:A.f"'),
                ('actor A() { method f(x: i64) -> i64 = extern "f" }\n',
                 "; `libraries` of Engine says where the file is")):
            with self.assertRaises(cgraph.CompileError) as caught:
                cgraph.compile(text + "graph g(x: f32[2]) -> f32[2] { return x }\n")
            self.assertIn(said, str(caught.exception))
            every = [caught.exception.diagnostics[0].message]
            every += [note.message for note in caught.exception.diagnostics[0].notes]
            self.assertIn(said, "\n".join(every))

    def test_says_of_arguments_what_the_engine_says_of_flags(self):
        """Where a message can be had on a GPU alone."""
        for said, expected in (
                ("use another GPU (--device-map), or", "use another GPU (`device_map`), or"),
                ("put it on a core with --device-map", "put it on a core with `device_map`"),
                ("--device-map gpu[7]=cpu:0: no", "`device_map` gpu[7]=cpu:0: no"),
                ("run with --workers 2, without --processes",
                 "run with `workers=2`, without `processes`")):
            self.assertEqual(_arguments.of_engine(said), expected)

    def test_absent_file(self):
        with self.assertRaisesRegex(cgraph.CompileError, "cannot read nowhere.cgraph"):
            cgraph.compile("nowhere.cgraph")
        with self.assertRaisesRegex(cgraph.CompileError, "cannot read ./--help"):
            cgraph.compile("--help")

    def test_source_is_no_plan(self):
        with self.assertRaisesRegex(cgraph.PlanError, r"is a source; cgraph.compile\("):
            cgraph.load(DIGITS)

    def test_flags_are_words(self):
        with self.assertRaisesRegex(cgraph.InputError, r"list of words, \['--lanes', 'one'\]"):
            cgraph.compile(DIGITS, flags="--lanes one")

    def test_one_or_several(self):
        plan = cgraph.compile(DIGITS, graph=None, include=None, no_warn=None, flags=None)
        self.assertEqual(list(plan.graphs), ["classify"])
        for name, wrong, expected in (
                ("graph", 3, "the name of a graph, or a list of them"),
                ("graph", ["classify", 3], "the name of a graph, or a list of them"),
                ("include", 1.5, "a folder, or a list of them"),
                ("no_warn", [None], "the code of a warning, or a list of them"),
                ("flags", 3, "a list of words"), ("flags", [3], "a list of words")):
            with self.assertRaises(cgraph.InputError) as caught:
                cgraph.compile(DIGITS, **{name: wrong})
            self.assertEqual(str(caught.exception), f"`{name}` {wrong!r}: expected {expected}")
        with self.assertRaisesRegex(cgraph.InputError, "`source` None: expected the path of a "):
            cgraph.compile(None)
        self.assertEqual(list(cgraph.compile(os.fsencode(DIGITS)).graphs), ["classify"])

    def test_what_is_shown_is_printable(self):
        """Of a source, of a file's name, of a plan of anybody's."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a\x1b[31m\u202e.cgraph")
            with open(path, "w", encoding="utf-8") as file:
                file.write("graph g(x: f32) -> f32 { return x \u202e\x1b[2J }\n")
            with self.assertRaises(cgraph.CompileError) as caught:
                cgraph.compile(path)
            self.assertNotRegex(str(caught.exception), "[\x1b\u202e]")
            self.assertIn("a?[31m?.cgraph:1:", str(caught.exception))
            with self.assertRaises(cgraph.FileNotFoundError) as caught:
                cgraph.load(os.path.join(folder, "\x1b[2J.cgplan"))
            json = os.path.join(folder, "plan.json")
            plan = os.path.join(folder, "named.cgplan")
            named = cgraph.compile("graph unlike(x: f32) -> f32 { return x }")
            named.save(plan)
            cgc = [sys.executable, "-m", "cgraph.cgc", "plan"]
            environment = dict(os.environ, PYTHONPATH=support.OPTIONS.package)
            text = subprocess.run([*cgc, "--json", plan], check=True, stdout=subprocess.PIPE,
                                  text=True, env=environment).stdout
            with open(json, "w", encoding="utf-8") as file:
                file.write(text.replace("unlike", "un\\u001b[2Jlike"))
            subprocess.run([*cgc, "--from-json", json, "-o", plan], check=True, env=environment)
            named = cgraph.load(plan)
            for said in (repr(named), named.text(), *map(repr, named.graphs.values())):
                self.assertNotIn("\x1b", said)
                self.assertIn("un?[2Jlike", said)
            with cgraph.Engine(named) as engine:
                graph, = engine.graphs.values()
                self.assertNotIn("\x1b", repr(graph) + graph.signature)
                with self.assertRaisesRegex(cgraph.InputError, r"^`un\?\[2Jlike` "):
                    graph(3, 4)

    def test_defines_are_a_dict(self):
        for wrong in (["B=3"], "B=3"):
            with self.assertRaises(cgraph.InputError) as caught:
                cgraph.compile(DIGITS, defines=wrong)
            self.assertEqual(str(caught.exception),
                             f"`defines` is a dict, {{'B': 3}}, and was given {wrong!r}")

    def test_unknown_define(self):
        with self.assertRaisesRegex(cgraph.CompileError, "NOPE"):
            cgraph.compile(DIGITS, defines={"NOPE": 1})

    def test_consts(self):
        program = ("import std.tensor\ntype Real = f32\nconst N = 4\nconst RATE = 0.5\n"
                   "const LEAST = 0.00001\nconst NAME = \"a b\"\nconst DIGITS = \"12\"\n"
                   "const SHORT = N < 5\nconst SIZES = [1, 2]\nconst PAIR = (1, 2)\n"
                   "graph g(x: Real[N]) -> Real[N] { return x * cast<Real>(RATE) }\n")
        consts = cgraph.compile(program, defines={"N": -1 + 9, "Real": "f64"}).consts
        self.assertEqual(dict(consts), {"N": 8, "RATE": 0.5, "LEAST": 1e-5, "NAME": "a b",
                                        "DIGITS": "12", "SHORT": False, "Real": "f64"})
        self.assertEqual({type(value) for value in consts.values()}, {int, float, str, bool})
        with self.assertRaises(TypeError):
            consts["N"] = 3
        plan = cgraph.compile(program, defines=dict(consts))
        self.assertEqual(dict(plan.consts), dict(consts))

    def test_modules_are_chosen(self):
        program = ("import floats as weights\n"
                   "graph g(x: f32[2], w: weights.Vector(2)) -> f32[2] {\n"
                   "  return weights.times(x, w)\n}\n")
        module = ("import std.tensor\ntype Real = {0}\ntype Vector(n: int) = Real[n]\n"
                  "fn times(x: f32[n], w: Real[n]) -> f32[n] {{ return x * cast<f32>(w) }}\n")
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "floats.cgraph").write_text(module.format("f32"))
            (folder / "bytes.cgraph").write_text(module.format("i8"))
            for defines, dtype in (({}, "f32"), ({"weights": "bytes"}, "i8"),
                                   ({"weights.Real": "f16"}, "f16"),
                                   ({"weights": "bytes", "weights.Real": "u8"}, "u8")):
                plan = cgraph.compile(program, defines=defines, include=folder)
                self.assertEqual(plan.graphs["g"].inputs[1].dtype, dtype)
                self.assertEqual(dict(plan.consts), defines)
            for defines, what in (
                    ({"weights": "bits"}, "which `defines={'weights': 'bits'}` names"),
                    ({"weights.Real": "f17"}, "`defines={'weights.Real': 'f17'}`: `Real` stands"),
                    ({"weights.Real": "x" * 70}, "`defines`: weights.Real=xxx"),
                    ({"weight": "bytes"}, "(did you mean `weights`?)")):
                with self.assertRaises(cgraph.CompileError) as caught:
                    cgraph.compile(program, defines=defines, include=folder)
                self.assertIn(what, str(caught.exception))

    def test_warning(self):
        text = "graph g(x: f32[4], y: f32[4]) -> f32[4] {\n  return x\n}\n"
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            plan = cgraph.compile(text)
        warning, = caught
        self.assertEqual((warning.category, warning.filename), (cgraph.CompileWarning, __file__))
        self.assertIn("[W0301]\n    1 | graph g(x", str(warning.message))
        found, = plan.diagnostics
        self.assertEqual((found.code, found.severity), ("W0301", "warning"))
        with self.assertRaisesRegex(cgraph.CompileError, "W0301"):
            cgraph.compile(text, flags=["--Werror"])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for codes in ("W0301", ["W0504", "W0301"]):
                self.assertEqual(cgraph.compile(text, no_warn=codes).diagnostics, [])
        with self.assertRaisesRegex(cgraph.CompileError, "`no_warn` W0999: there is no `W0999`"):
            cgraph.compile(text, no_warn="W0999")

    def test_topology(self):
        """One of the library, one of a file that is named from here, and none."""
        machines = set()
        library = ROOT / "stdlib" / "topologies" / "dgx_h100.cgraph"
        for topology in (None, "dgx_a100", os.path.relpath(library)):
            for source in (DIGITS, DIGITS.read_text(encoding="utf-8")):
                plan = cgraph.compile(source, topology=topology, schedule="auto")
                machines.add((topology, plan.simulate()["machine"]))
        self.assertEqual(len(machines), 3)
        self.assertEqual(len({machine for _, machine in machines}), 3)

    def test_include(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "parts.cgraph").write_text("const K = 3\n", encoding="utf-8")
            plan = cgraph.compile("import parts\ngraph g(x: f32[parts.K]) -> f32[parts.K] "
                                  "{ return x }\n", include=folder)
            self.assertEqual(plan.graphs["g"].inputs[0].shape, (3,))


class Plans(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plan = cgraph.compile(DIGITS)

    def test_save_and_load(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "digits.cgplan"
            self.plan.save(path)
            again = cgraph.load(path)
            self.assertEqual(os.listdir(folder), ["digits.cgplan"])
        self.assertEqual(bytes(again), bytes(self.plan))
        self.assertEqual(dict(again.consts), {"B": 64})
        self.assertEqual(bytes(pickle.loads(pickle.dumps(again))), bytes(again))

    def test_save_into_no_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "nofolder", "p.cgplan")
            with self.assertRaises(cgraph.Error) as caught:
                self.plan.save(path)
            self.assertEqual(str(caught.exception),
                             f"cannot write {path}: there is no folder {folder}/nofolder")
            os.mkdir(os.path.join(folder, "nofolder"))
            os.mkdir(path)
            with self.assertRaisesRegex(cgraph.Error, f"^cannot write {path}: it is a folder$"):
                self.plan.save(path)
            self.assertEqual(os.listdir(os.path.dirname(path)), ["p.cgplan"])

    def test_save_under_any_name(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.fsencode(folder) + b"/\xff.cgplan"
            self.plan.save(path)
            self.assertEqual(os.listdir(os.fsencode(folder)), [b"\xff.cgplan"])
            with self.assertRaisesRegex(ValueError, "null byte"):
                self.plan.save(os.path.join(folder, "a\0b"))

    def test_save_through_a_link(self):
        with tempfile.TemporaryDirectory() as folder:
            path, link = os.path.join(folder, "p.cgplan"), os.path.join(folder, "link")
            with open(path, "w") as file:
                file.write("before")
            os.chmod(path, 0o640)
            os.symlink(path, link)
            self.plan.save(link)
            self.assertTrue(os.path.islink(link))
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o640)
            self.assertEqual(repr(cgraph.load(path)), repr(self.plan))
            self.assertEqual(sorted(os.listdir(folder)), ["link", "p.cgplan"])

    def test_no_plan(self):
        for wrong in (WRONG, "graph g(x: f32[2]) -> f32[2] { return x }"):
            for load in (cgraph.load, cgraph.Engine):
                with self.assertRaisesRegex(cgraph.PlanError, r"the text of a program; "
                                            r"cgraph.compile\(text\) makes a plan of it"):
                    load(wrong)
        with self.assertRaisesRegex(cgraph.PlanError, "No such file"):
            cgraph.load("/nowhere/x.cgplan")
        with self.assertRaises(cgraph.PlanError):
            cgraph.load(DIGITS)
        with self.assertRaises(cgraph.PlanError):
            cgraph.Plan(bytes(self.plan)[:1000])

    def test_simulate(self):
        graph, = self.plan.simulate(executions=3)["graphs"]
        self.assertEqual((graph["graph"], graph["executions"]), ("classify", 3))
        self.assertGreaterEqual(graph["makespan_ps"], graph["lower_bound_ps"])

    def test_prove(self):
        proof = self.plan.prove()
        self.assertTrue(proof and proof.proved)
        self.assertEqual(len(proof.certificate), 2)

    def test_graphs(self):
        name = next(iter(self.plan.graphs))
        with self.assertRaisesRegex(KeyError, f"no graph `nope`; its graphs: {name}"):
            self.plan.graphs["nope"]

    def test_draw(self):
        self.assertTrue(self.plan.draw("graph", format="dot").startswith("digraph"))
        with self.assertRaisesRegex(cgraph.Error, "^`what` nothing: there is no `nothing`; it is "
                                    "one of graph, .*memory$"):
            self.plan.draw("nothing")
        with self.assertRaisesRegex(cgraph.Error, "^`color_by` mb: there is no `mb`"):
            self.plan.draw("timeline", color_by="mb")
        with tempfile.TemporaryDirectory() as folder:
            for write in (self.plan.save, lambda path: self.plan.draw(format="dot", output=path)):
                for path, why in (("none/x.dot", f"there is no folder {folder}/none"),
                                  (".", "it is a folder")):
                    path = os.path.join(folder, path)
                    with self.assertRaisesRegex(cgraph.Error, f"^cannot write {path}: {why}$"):
                        write(path)
                self.assertEqual(os.listdir(folder), [])
                write(os.path.join(folder, "x"))
                self.assertEqual(os.listdir(folder), ["x"])
                os.unlink(os.path.join(folder, "x"))
        if shutil.which("dot") is None:
            self.skipTest("SKIPPED: Graphviz's dot is not installed; no drawing was made")
        self.assertIn("<svg", self.plan._repr_svg_())
        ElementTree.fromstring(self.plan._repr_svg_())
        for name in self.plan.graphs:  # one below the other
            drawn = self.plan.draw("graph", graph=name)
            self.assertIn(drawn[drawn.index("<g "):], self.plan._repr_svg_())
        self.assertIn("<svg", self.plan.draw(what="schedule"))
        self.assertTrue(self.plan.draw(what="graph", format="png").startswith(b"\x89PNG"))


class Package(unittest.TestCase):
    def python(self, *words):
        return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False,
                              env={**os.environ, "PYTHONPATH": support.OPTIONS.package})

    def test_commands(self):
        self.assertRegex(self.python("-m", "cgraph.cgc", "--version").stdout, r"^cgc \d")
        self.assertRegex(self.python("-m", "cgraph.cgrun", "--version").stdout, r"^cgrun \d")
        self.assertEqual(self.python("-m", "cgraph.cgc", "check", "nowhere.cgraph").returncode, 3)

    def test_import_is_light(self):
        # Without `site`: what a machine's own sitecustomize imports is not cgraph's.
        done = self.python("-S", "-c", "import sys; import cgraph; "
                           "print([m for m in ('numpy', 'subprocess', 'json', 're', 'asyncio') "
                           "if m in sys.modules])")
        self.assertEqual(done.stdout.strip(), "[]", done.stderr)

    def test_symbols_stay_inside(self):
        """Another module of a process may hold another engine."""
        found = subprocess.run(["nm", "-D", "--defined-only", _runtime.__file__],
                               capture_output=True, text=True, check=True).stdout
        self.assertIn("PyInit__runtime", found)
        self.assertEqual([line for line in found.splitlines() if "6cgraph" in line], [])

    def test_header(self):
        self.assertTrue(os.path.exists(os.path.join(cgraph.include_dir(), "cgraph_extern.h")))


if __name__ == "__main__":
    support.main()
