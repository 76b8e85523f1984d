"""What is refused, and how it is told: arguments of Engine, numbers, files that are not there, and
engines that have ended.

  errors_test.py --package build/release/python
"""
import builtins
import errno
import os
import pathlib
import pickle
import signal
import tempfile
import time
import unittest

import numpy as np
import support

import cgraph
from cgraph import errors

NUMBERS = """import std.tensor
actor A() {
  state kept: f32 = 0.0
  method f(x: f32, y: f64, xs: [f32; 2]) -> f32 { return x + xs[0] }
  method halves(x: f16, y: bf16) -> (f16, bf16) { return (x + x, y + y) }
}
place a = A() on cpu[0]
graph g(x: f32, y: f64, xs: [f32; 2]) -> f32 { return a.f(x, y, xs) }
graph halves(x: f16, y: bf16) -> (f16, bf16) { return a.halves(x, y) }
"""
LOADING = """import std.tensor
actor A() {
  state w: f32[2] = load("w.safetensors", "w")
  method f() -> f32[2] { return w }
}
place a = A() on cpu[0]
graph g() -> f32[2] { return a.f() }
"""
NATIVE = """import std.tensor
actor A() { method f(x: f32[2]) -> f32[2] = extern "python:stage:f" }
place a = A() on cpu[0]
graph g(x: f32[2]) -> f32[2] { return a.f(x) }
"""


class Options(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plan = cgraph.compile(support.PROGRAM)

    def test_refused(self):
        thousand = "expected a number from 1 to 1024"
        processes = 'expected "device", for one process for each device, or a number from 1 to 256'
        seconds = "expected seconds above 0, as 1.5; None is for ever"
        refused = 0
        for name, expected, values in (
                ("workers", thousand, (0, -1, 1025, 1.5, "x", True, 10**30)),
                ("inflight", thousand, (0, -2, 5000, 2.0, "2")),
                ("processes", processes, (0, -1, 257, 2.0, "devices", False)),
                ("timeout", seconds, (0, 0.0, -1, -0.5, 2e9, float("inf"), np.nan, "2", True)),
                ("proved", "expected True or False", ("no", 1, None)),
                ("require_gpus", "expected True or False", ("yes", 0)),
                ("profile", "expected True or False", ("profile.json", 1)),
                ("weights", "expected the folder of the files that `load` names", (3, ["w"])),
                ("device_map", "expected where devices run, as {\"gpu[0]\": \"cpu:1\"}",
                 (3, 0, ["gpu[0]=cpu:1"], {0: "cpu:1"}, {"gpu[0]": 1}))):
            for value in values:
                with self.assertRaises(cgraph.InputError) as raised:
                    cgraph.Engine(self.plan, **{name: value})
                self.assertEqual(str(raised.exception), f"`{name}` {value!r}: {expected}")
                refused += 1
        self.assertGreater(refused, 40)

    def test_taken(self):
        x = np.ones(8, np.float32)
        for options in ({"workers": np.int64(2)}, {"timeout": np.float32(60)}, {"timeout": None},
                        {"timeout": 1e9}, {"inflight": 1}, {"device_map": {}}, {"weights": "."},
                        {"workers": None, "inflight": None, "processes": None}):
            with cgraph.Engine(self.plan, **options) as engine:
                self.assertEqual(engine.twice(x).tolist(), [2.0] * 8, options)

    def test_shortest_timeout(self):
        """Less than the runtime counts is not for ever."""
        with self.assertRaises(cgraph.TimeoutError):  # the initial states may be late already
            with cgraph.Engine(self.plan, timeout=1e-12) as engine:
                engine.late(np.ones(4, np.float32), 500)

    def test_excluded(self):
        with self.assertRaisesRegex(cgraph.InputError, "^`proved=False` excludes `require_gpus`: "):
            cgraph.Engine(self.plan, proved=False, require_gpus=True)


class Numbers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.engine = cgraph.Engine(cgraph.compile(NUMBERS))
        cls.addClassCleanup(cls.engine.close)

    def refused(self, said, x=0.0, y=0.0, xs=(0.0, 0.0)):
        with self.assertRaises(cgraph.InputError) as raised:
            self.engine.g(x, y, xs)
        self.assertEqual(str(raised.exception), said)

    def test_beyond(self):
        holds = ("holds -3.40282347e+38 to 3.40282347e+38, and inf where that is meant: "
                 '`float("inf")`')
        self.refused(f"`x` is 1e+300; f32[] {holds}", x=1e300)
        self.refused(f"`x` is -1e+300; f32[] {holds}", x=-1e300)
        self.refused(f"`x` is 3.4028236e+38; f32[] {holds}", x=3.4028236e38)
        self.refused(f"`x` is 1e+39; f32[] {holds}", x=10**39)
        self.refused(f"`xs[1]` is 1e+300; f32[] {holds}", xs=[1.0, 1e300])
        self.refused("`y` is an int beyond all floats; f64[] holds -1.7976931348623157e+308 "
                     'to 1.7976931348623157e+308, and inf where that is meant: `float("inf")`',
                     y=10**400)
        with self.assertRaisesRegex(cgraph.InputError, r"`kept` is 1e\+300; f32\[\] holds "):
            self.engine.state["a"]["kept"] = 1e300

    def test_halves(self):
        """Rounded to the nearest; what would become inf is refused."""
        for value in (0.1, 1, -2.5, 1e-7, 65504 / 2, float("inf"), -3):
            x, y = self.engine.halves(value, value)
            self.assertEqual(x.numpy(), np.float16(2) * np.float16(value))
            self.assertAlmostEqual(y.tolist(), 2 * value, delta=abs(value) / 100)
        for x, y, said in ((65520.0, 0.0, "`x` is 65520; f16[] holds -65504 to 65504, and inf"),
                           (10**400, 0.0, "`x` is an int beyond all floats; f16[] holds -65504 "),
                           (0.0, 3.4e38, "`y` is 3.4e+38; bf16[] holds -3.38953139e+38 to ")):
            with self.assertRaises(cgraph.InputError) as raised:
                self.engine.halves(x, y)
            self.assertIn(said, str(raised.exception))

    def test_within(self):
        inf, most = float("inf"), float(np.finfo(np.float32).max)
        for x in (inf, -inf, most, -most, 3.4028235e38, 1e-300, 0, -5, 2**100):
            self.assertEqual(self.engine.g(x, 1e300, (0.0, inf)), float(np.float32(x)))
        self.assertTrue(np.isnan(self.engine.g(float("nan"), 0.0, (0.0, 0.0)).item()))


class AbsentFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        pathlib.Path("layers.cgraph").write_text(support.PROGRAM, encoding="utf-8")
        self.checked = 0

    def absent(self, kind, filename, said, function, *args, **kwargs):
        with self.assertRaises(builtins.FileNotFoundError) as raised:
            function(*args, **kwargs)
        error = raised.exception
        self.assertIsInstance(error, kind)
        self.assertIsInstance(error, cgraph.FileNotFoundError)
        self.assertEqual((error.errno, error.filename), (errno.ENOENT, filename))
        self.assertIn(said, str(error))
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(again), str(again), again.filename),
                         (type(error), str(error), filename))
        return error

    def test_sources(self):
        absent = "cannot read absent.cgraph: No such file or directory"
        refused = cgraph.CompileError
        error = self.absent(refused, "absent.cgraph", absent, cgraph.compile, "absent.cgraph")
        self.assertEqual(error.diagnostics[0].code, "E0101")
        self.absent(refused, "absent.cgraph", absent, cgraph.compile, pathlib.Path("absent.cgraph"))
        self.absent(refused, "no.cgraph", "no.cgraph", cgraph.compile, "layers.cgraph",
                    topology="no.cgraph")
        self.absent(refused, "no.json", "no.json", cgraph.compile, "layers.cgraph",
                    profile="no.json")
        self.absent(refused, "graph of mine", "there is no such file; a text without a line break "
                    "or a brace is taken for a path", cgraph.compile, "graph of mine")

    def test_near(self):
        os.mkdir("sub")
        pathlib.Path("sub", "py.cgraph").write_text(support.PROGRAM, encoding="utf-8")
        for name in ("layers.cgrph", "layer.cgraph", "layers", "Layers.cgraph"):
            self.absent(cgraph.CompileError, name, f"cannot read {name}: No such file or directory "
                        "(did you mean `layers.cgraph`?)", cgraph.compile, name)
        self.absent(cgraph.CompileError, "sub/py.cgrph", "(did you mean `sub/py.cgraph`?)",
                    cgraph.compile, "sub/py.cgrph")
        cgraph.compile("layers.cgraph").save("layers.cgplan")
        self.absent(cgraph.PlanError, "layrs.cgplan", "(did you mean `layers.cgplan`?)",
                    cgraph.load, "layrs.cgplan")

    def test_plans(self):
        self.absent(cgraph.PlanError, "no.cgplan", "cannot read no.cgplan: No such", cgraph.load,
                    "no.cgplan")
        self.absent(cgraph.PlanError, "no.cgplan", "no.cgplan", cgraph.Engine, "no.cgplan")
        plan = cgraph.compile(LOADING)
        self.absent(cgraph.PlanError, "./w.safetensors", "w.safetensors", cgraph.Engine, plan)
        for processes in (None, "device"):
            os.makedirs("weights", exist_ok=True)
            self.absent(cgraph.PlanError, "weights/w.safetensors", "weights/w.safetensors",
                        cgraph.Engine, plan, weights="weights", processes=processes)
        self.absent(cgraph.PlanError, "no", "`weights='no'`: there is no such folder",
                    cgraph.Engine, plan, weights="no")
        self.absent(cgraph.PlanError, "stage.py", "`libraries=['stage.py']`: there is no such file",
                    cgraph.Engine, cgraph.compile(NATIVE), libraries="stage.py")

    def test_states_and_results(self):
        plan = cgraph.compile(support.PROGRAM)
        with cgraph.Engine(plan) as engine:
            self.absent(cgraph.Error, "no.safetensors", "cannot read no.safetensors",
                        engine.load_state, "no.safetensors")
            self.absent(cgraph.Error, "no", "there is no folder no", engine.save_state,
                        "no/a.safetensors")
        self.absent(cgraph.Error, "no", "there is no folder no", plan.save, "no/a.cgplan")
        self.absent(cgraph.Error, "no", "there is no folder no", plan.draw, graph="add",
                    format="dot", output="no/a.dot")
        self.absent(cgraph.Error, "no.json", "no.json", plan.simulate, profile="no.json")

    def test_damaged_plans(self):
        cgraph.compile(support.PROGRAM).save("damaged.cgplan")
        whole = pathlib.Path("damaged.cgplan").read_bytes()
        for data in (whole[:100], b"no plan"):
            pathlib.Path("damaged.cgplan").write_bytes(data)
            for read in (cgraph.load, cgraph.Engine):
                with self.assertRaisesRegex(cgraph.PlanError, "^damaged.cgplan: (not a|the) plan "):
                    read("damaged.cgplan")

    def test_others_stay(self):
        """What is there and wrong is no file that is absent."""
        for function, given in ((cgraph.load, "."), (cgraph.compile, "."),
                                (cgraph.load, "layers.cgraph")):
            with self.assertRaises(cgraph.Error) as raised:
                function(given)
            self.assertNotIsInstance(raised.exception, OSError)
        with self.assertRaisesRegex(cgraph.PlanError, "it is a file; pass the folder"):
            cgraph.Engine(cgraph.compile(LOADING), weights="layers.cgraph")
        error = cgraph.PlanError("there is no GPU")
        self.assertIs(errors.of_absent_file(error, ["", "no.npy"]), error)


class Ended(unittest.TestCase):
    def test_lost(self):
        x = np.ones((2, 3), np.float32)
        with cgraph.Engine(cgraph.compile(support.PROGRAM), processes="device") as engine:
            engine.mlp(x)
            self.assertIsNone(engine.stats()["ended"])
            self.assertEqual(engine.wait_report(), "no lane has work left")
            victim = engine.stats()["processes"][1]["process"]
            os.kill(victim, signal.SIGKILL)
            deadline = time.monotonic() + 20  # nobody calls it meanwhile
            while engine.stats()["ended"] is None and time.monotonic() < deadline:
                time.sleep(0.05)
            for _ in range(2):
                said = rf"rank 1 \(process {victim}: gpu\[1\]\) was killed by signal 9"
                self.assertRegex(engine.wait_report(), f"^the engine has ended: {said}")
                self.assertRegex(engine.stats()["ended"], f"^{said}")
                self.assertEqual(engine.stats()["executions"], 1)
                with self.assertRaisesRegex(cgraph.LostError, said):
                    engine.mlp(x)
            engine.close()
            self.assertRegex(engine.wait_report(), f"^the engine has ended: {said}")

    def test_time_out(self):
        with cgraph.Engine(cgraph.compile(support.PROGRAM), timeout=0.3) as engine:
            with self.assertRaises(cgraph.TimeoutError):
                engine.late(np.ones(4, np.float32), 800)
            for text in (engine.wait_report(), engine.stats()["ended"]):
                self.assertRegex(text, r"nothing has moved for 0\.3 s\n[\s\S]*worker\.late")

    def test_states_survive_a_time_out(self):
        """What runs is waited for; then they are what the interrupted executions have left."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "states.safetensors")
            with cgraph.Engine(cgraph.compile(support.PROGRAM), timeout=0.3) as engine:
                self.assertEqual(engine.add(41), 41)
                with self.assertRaisesRegex(cgraph.TimeoutError, "`save_state` still writes its "):
                    engine.late(np.ones(4, np.float32), 800)
                engine.save_state(path)
                self.assertEqual(engine.state["counter"]["total"].item(), 41)
                for setting in (lambda: engine.load_state(path), lambda: engine.add(1),
                                lambda: engine.state["counter"].update(total=3)):
                    with self.assertRaises(cgraph.TimeoutError):
                        setting()
            with cgraph.Engine(engine.plan) as engine:
                self.assertEqual(engine.load_state(path), [])
                self.assertEqual(engine.add(1), 42)

    def test_closed(self):
        engine = cgraph.Engine(cgraph.compile(support.PROGRAM))
        engine.close()
        self.assertEqual(engine.wait_report(), "the engine was torn down")
        self.assertEqual(engine.stats()["ended"], "the engine was torn down")


class SeveralFailures(unittest.TestCase):
    def test_the_first_in_program_order(self):
        """It is told although the second comes much earlier, and whenever it is asked for."""
        plan = cgraph.compile("""import std.tensor
import std.debug
actor A() {
  method f(x: i64, ms: i64) -> i64 {
    sleep(ms)
    check(x < 0, "no")
    return x
  }
}
place a = A() on cpu[0]
place b = A() on cpu[1]
graph g(x: i64) -> (i64, i64) inflight 2 { return (a.f(x, 200), b.f(x, 0)) }
""")
        for options in ({"workers": 2}, {"processes": "device"}):
            with self.subTest(options), cgraph.Engine(plan, **options) as engine:
                with self.assertRaisesRegex(cgraph.ExecutionError, r"^a\.f .* failed: no"):
                    engine.g(1)
                future = engine.g.submit(1)
                time.sleep(0.05)
                self.assertFalse(future.done())
                for _ in range(2):
                    self.assertRegex(str(future.exception()), r"^a\.f .* failed: no")


if __name__ == "__main__":
    support.main()
