"""Methods in Python: what they are given, what they may return, and what may go wrong in them; in
one process, and in a process for each device.

  methods_test.py --package build/release/python
"""
import contextlib
import itertools
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import timeit
import traceback
import unittest
import unittest.mock
import warnings

import numpy as np

import support  # noqa: F401  finds the package

import cgraph

HERE = pathlib.Path(__file__).resolve().parent
MODULE = HERE / "method_stages.py"
PROGRAM = """import std.tensor
actor Stage(factor: float, name: str, sizes: [int; 2]) {
  method scale(x: f32[n <= 4, 3], by: int, offset: f32[3]) -> f32[n, 3] =
      extern "python:method_stages:Stage.scale" cost(flops: 3 * n)
  method about() -> i64[4] = extern "python:method_stages:Stage.about"
  method several(x: f32[2, 3]) -> (sum: f32, back: f32[2, 3], turned: f32[3, 2]) =
      extern "python:method_stages:Stage.several"
  method numbers(x: f32) -> (a: f32, b: i64, c: bool, d: bf16) =
      extern "python:method_stages:Stage.numbers"
  method wide(a: bool[2], b: i8[2], c: u8[2], d: i32[2], e: i64[2], f: f16[2], g: f32[2], h: f64[2])
      -> (a: bool[2], b: i8[2], c: u8[2], d: i32[2], e: i64[2], f: f16[2], g: f32[2], h: f64[2]) =
      extern "python:method_stages:Stage.wide"
  method bits(x: bf16[4]) -> bf16[4] = extern "python:method_stages:Stage.bits"
  method into(x: f32[3]) -> (a: f32[3], b: f32[3]) = extern "python:method_stages:Stage.into"
  method parts(pair: (a: f32[3], b: f32[3]), other: f32[3]) -> f32[3] =
      extern "python:method_stages:Stage.parts"
  method keep(x: f32[3], what: str) -> f32[3] = extern "python:method_stages:Stage.keep"
  method wrong(x: f32[3], what: str) -> f32[3] = extern "python:method_stages:Stage.wrong"
  method ends(x: f32[3], what: str) -> f32[3] = extern "python:method_stages:Stage.end"
  method local() -> i64 = extern "python:method_stages:Stage.local"
  method busy(x: f32[3]) -> f32[3] = extern "python:method_stages:Stage.busy"
  method hold(x: f32[3]) -> f32[3] = extern "python:method_stages:Stage.hold"
  method say(x: f32[3]) -> f32[3] = extern "python:method_stages:Stage.say"
  method double(x: f32[3]) -> f32[3] = extern "python:method_stages:double"
}
actor Keeper() {
  state bias: f32[3] = ones()
  state pair: [f32[3]; 2] = [ones(), ones()]
  method read() -> f32[3] = extern "python:method_stages:Keeper.read" reads bias, pair
  method learn(x: f32[3]) = extern "python:method_stages:Keeper.learn" writes bias
}
actor Trained() {
  state w: f32[3] = zeros()
  method step(x: f32[3]) -> f32[3] = extern "python:method_stages:Trained.step" reads w
  method keep() = extern "python:method_stages:Trained.keep" writes w
  method restore() = extern "python:method_stages:Trained.restore" reads w
}
graph step(x: f32[3]) -> f32[3] { return trained.step(x) }
graph keep() { trained.keep() }
graph restore() { trained.restore() }
place s[i in 0..2] = Stage(1.5, "stage{i}", [i, 7]) on cpu[i]
place keeper = Keeper() on cpu[1]
place trained = Trained() on cpu[1]
graph scale(x: f32[n <= 4, 3], offset: f32[3]) -> (y: f32[n, 3], first: i64[4], second: i64[4])
    inflight 4 {
  let y = s[1].scale(s[0].scale(x, 2, offset), 3, offset)
  return (y: y, first: s[0].about(), second: s[1].about())
}
graph several(x: f32[2, 3]) -> (sum: f32, back: f32[2, 3], turned: f32[3, 2]) {
  return s[1].several(x)
}
graph numbers(x: f32) -> (a: f32, b: i64, c: bool, d: bf16) { return s[1].numbers(x) }
graph wide(a: bool[2], b: i8[2], c: u8[2], d: i32[2], e: i64[2], f: f16[2], g: f32[2], h: f64[2])
    -> (a: bool[2], b: i8[2], c: u8[2], d: i32[2], e: i64[2], f: f16[2], g: f32[2], h: f64[2]) {
  return s[1].wide(a, b, c, d, e, f, g, h)
}
graph bits(x: bf16[4]) -> bf16[4] { return s[1].bits(x) }
graph into(x: f32[3]) -> (a: f32[3], b: f32[3]) { return s[1].into(x) }
graph parts(x: f32[3]) -> f32[3] { return s[1].parts((a: x, b: x), x) }
graph double(x: f32[3]) -> f32[3] { return s[1].double(x) }
graph local() -> i64 { return s[1].local() }
graph say(x: f32[3]) -> f32[3] { return s[1].say(x) }
graph hold(x: f32[3]) -> (a: f32[3], b: f32[3]) { return (a: s[0].hold(x), b: s[1].hold(x)) }
graph busy(x: f32[3]) -> (a: f32[3], b: f32[3]) inflight 8 {
  return (a: s[0].busy(s[1].busy(x)), b: s[1].busy(s[0].busy(x)))
}
graph learn(x: f32[3]) -> f32[3] {
  keeper.learn(x)
  return keeper.read()
}
graph read() -> f32[3] { return keeper.read() }
"""
KEEPS = ("view", "array", "capsule", "cycle", "use", "argument", "write", "buffer", "memory",
         "nothing")
WRONGS = ("dtype", "torch", "short", "shape", "rank", "nothing", "text", "number", "tuple",
          "complex")
ENDS = ("raise", "exit", "interrupt", "bare", "holding", "text", "long", "_exit", "wait")
for graph, names in (("keep", KEEPS), ("wrong", WRONGS), ("ends", ENDS)):
    for name in names:
        PROGRAM += f"""graph {graph}_{name}(x: f32[3]) -> f32[3] {{
  return s[1].{graph}(x, what: "{name}")
}}
"""
X = np.arange(3, dtype=np.float32) + 1
# Objects on three devices, in no order of theirs; the first place has the most to do beforehand.
DRAWN_SIZES, DRAWN_ON = (500000, 3, 1, 40000, 2, 5), (2, 0, 1, 1, 0, 2)
DRAWN = f"""import std.tensor
actor Drawn(size: int) {{
  state w: f32[size] = iota() * 0.5 + 1.0
  method draw() -> i64 = extern "python:method_stages:Drawn.draw" reads w
}}
place d[i in 0..6] = Drawn({list(DRAWN_SIZES)}[i]) on cpu[{list(DRAWN_ON)}[i]]
place last = Drawn(7) on cpu[0]
graph draw() -> [i64; 7] {{
  return [d[0].draw(), d[1].draw(), d[2].draw(), d[3].draw(), d[4].draw(), d[5].draw(), last.draw()]
}}
"""
STAGE = """import std.tensor
actor A(name: str) { method f(x: f32[3]) -> f32[3] = extern "python:SYMBOL" }
place a = A("a") on cpu[0]
graph g(x: f32[3]) -> f32[3] { return a.f(x) }
"""


ENDING = """
import sys
sys.path.insert(0, {path!r})
import cgraph, numpy
engine = cgraph.Engine(cgraph.compile({program!r}), libraries=[{module!r}])
other = cgraph.Engine(engine.plan, libraries=[{module!r}], processes="device")
engine.cycle = engine
x = numpy.ones(3, numpy.float32)
other.busy(x)
later = engine.busy.submit(x)
{ending}
"""


class Base:
    """Tests for one process, and for several."""
    processes = None

    @classmethod
    def setUpClass(cls):
        cls.plan = cgraph.compile(PROGRAM)
        cls.engine = cls.load()

    @classmethod
    def tearDownClass(cls):
        cls.engine.close()

    @classmethod
    def load(cls, plan=None, libraries=(MODULE,), **options):
        return cgraph.Engine(plan or cls.plan, libraries=libraries, processes=cls.processes,
                             timeout=60, **options)

    def fails(self, graph, *said, x=X):
        with self.assertRaises(cgraph.ExecutionError) as raised:
            self.engine.graphs[graph](x)
        for text in said:
            self.assertIn(text, str(raised.exception))
        np.testing.assert_array_equal(self.engine.double(X), X * 2)  # it stays usable
        return str(raised.exception)

    def test_arguments(self):
        x, offset = np.ones((2, 3), np.float32), np.float32([1, 2, 3])
        result = self.engine.scale(x=x, offset=offset)
        expected = (x * np.float32(3) + offset) * np.float32(4.5) + offset
        np.testing.assert_array_equal(result.y, expected)
        first, second = np.array(result.first), np.array(result.second)
        self.assertEqual((first[0], first[1], second[1]), (6, 7, 8))
        self.assertEqual(first[3] == os.getpid(), True)
        self.assertEqual(second[3] == first[3], not self.processes)
        again = self.engine.scale(x=x, offset=offset)
        self.assertEqual(np.array(again.first)[2], first[2] + 1, "the object stays")
        np.testing.assert_array_equal(self.engine.parts(X), X * 111)

    def test_results(self):
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        result = self.engine.several(x)
        self.assertEqual(result.sum.item(), 15)
        np.testing.assert_array_equal(result.back, x[::-1])
        np.testing.assert_array_equal(result.turned, x.T)
        a, b, c, d = self.engine.numbers(np.float32(3.0))
        self.assertEqual((a.item(), b.item(), c.item(), d.item()), (6, 4, True, 1.5))
        result = self.engine.into(X)
        np.testing.assert_array_equal(result.a, X * 2)
        np.testing.assert_array_equal(result.b, X + 1)

    def test_dtypes(self):
        given = [np.array([1, 0]).astype(dtype)
                 for dtype in ("?", "i1", "u1", "i4", "i8", "f2", "f4", "f8")]
        for each, result in zip(given, self.engine.wide(*given)):
            np.testing.assert_array_equal(result, each)
        bits = np.arange(4, dtype=np.uint16) * 1000
        result = self.engine.bits(bits)
        np.testing.assert_array_equal(np.frombuffer(result, np.uint16), bits + 1)

    def test_states(self):
        with self.load() as engine:
            np.testing.assert_array_equal(engine.read(), np.full(3, 3))
            np.testing.assert_array_equal(engine.learn(X), 3 + X)
            with self.assertRaisesRegex(cgraph.ExecutionError, "that is too much"):
                engine.learn(X * 100)
            np.testing.assert_array_equal(engine.read(), 3 + X)

    def test_views_end_with_the_call(self):
        np.testing.assert_array_equal(self.engine.keep_view(X), X)
        self.fails("keep_use", "ValueError: the call that was given this tensor is over")
        for name in ("array", "capsule"):
            self.fails(f"keep_{name}", "made of `x` without a copy is still held", "s[1].keep")
        np.testing.assert_array_equal(self.engine.keep_cycle(X), X)
        np.testing.assert_array_equal(self.engine.keep_argument(X), X)
        for name in ("write", "buffer", "memory"):
            self.fails(f"keep_{name}", "; arguments are read-only, and states that the "
                       "method does not declare as written: `@cgraph.writes(\"x\")` above")

    def test_results_that_do_not_fit(self):
        said = {"dtype": "is f64[3] and was declared as f32[3]; return y.astype(numpy.float32)",
                "torch": "is f64[3] and was declared as f32[3]; return y.astype(numpy.float32), of "
                         "PyTorch y.to(torch.float32)",
                "short": "of the form \"h\", which tensors here lack; return y.astype(numpy.",
                "shape": "is f32[2] and was",
                "rank": "is f32[1, 3] and was", 
                "nothing": "it returned nothing (a `return` is missing?), and f32[3] is declared",
                "text": "of the type `str`", "number": "is a number and was declared as f32[3]",
                "tuple": "of the type `tuple`", "complex": "of the form \"Zf\""}
        self.assertEqual(sorted(said), sorted(WRONGS))
        for name, text in said.items():
            self.fails(f"wrong_{name}", "s[1].wrong", text)

    def test_elements_that_are_not_what_they_seem(self):
        """Masked arrays, and booleans that are neither 0 nor 1, as results and in states."""
        name = f"elements_{bool(self.processes)}"
        path = self.empty_module(name, """import numpy as np
def masked(x):
    return np.ma.masked_greater(np.array(x), 2)
def flags(x):
    return np.array([2, 0, 1], np.uint8).view(bool)
class Keeper:
    def keep(self, mask):
        np.asarray(mask).view(np.uint8)[1] = 4
""")
        plan = cgraph.compile(f"""import std.tensor
actor A() {{
  method masked(x: f32[3]) -> f32[3] = extern "python:{name}:masked"
  method flags(x: f32[3]) -> bool[3] = extern "python:{name}:flags"
}}
actor Keeper() {{
  state mask: bool[3] = iota<i64[3]>() >= 1
  method keep() = extern "python:{name}:Keeper.keep" writes mask
  method get() -> bool[3] {{ return mask }}
}}
place a = A() on cpu[0]
place keeper = Keeper() on cpu[1]
graph masked(x: f32[3]) -> f32[3] {{ return a.masked(x) }}
graph flags(x: f32[3]) -> bool[3] {{ return a.flags(x) }}
graph keep() {{ keeper.keep() }}
graph get() -> bool[3] {{ return keeper.get() }}
""")
        with self.load(plan, [path]) as engine:
            for graph, inputs, said in (
                    (engine.masked, [X], "what it returned is a masked array, whose masked "
                                         "elements are none; return y.filled(...)"),
                    (engine.flags, [X], "its result has booleans that are neither 0 nor 1"),
                    (engine.keep, [], "its state `mask` has booleans that are neither 0 nor 1")):
                with self.assertRaises(cgraph.ExecutionError) as raised:
                    graph(*inputs)
                self.assertIn(said, str(raised.exception))
            self.assertEqual(engine.get().tolist(), [False, True, True])

    def test_errors(self):
        text = self.fails("ends_raise", "s[1].ends (source.cgraph:", "LookupError: at the bottom",
                          "ValueError: the cause", "in deep", "method_stages.py")
        self.assertNotIn("helper.py", text)
        self.fails("ends_exit", "SystemExit: 3")
        self.fails("ends_interrupt", "KeyboardInterrupt: of its own")
        self.fails("ends_bare", "KeyboardInterrupt")
        time.sleep(0.05)  # nor does the program hear of it
        self.fails("ends_text", "Ugly")
        self.assertLess(len(self.fails("ends_long", "ValueError: xxx", "in end")), 2200)
        several = [self.engine.graphs["ends_raise"].submit(X * sign) for sign in (1, -1)]
        self.assertEqual(several[1].result().tolist(), (-X).tolist())
        self.assertRaises(cgraph.ExecutionError, several[0].result)

    def test_causes(self):
        """What a method has raised is the error's cause, where the method is of this process."""
        future = self.engine.ends_raise.submit(X)
        error, again = future.exception(), future.exception()
        self.assertEqual(str(again), str(error))
        self.fails("ends_holding", "ValueError: it holds an array")
        with self.assertRaises(cgraph.ExecutionError) as holding:
            self.engine.ends_holding(X)
        self.assertIsNone(holding.exception.__cause__, "its array is the graph's memory")
        if self.processes:
            self.assertIsNone(error.__cause__)
            return
        cause = error.__cause__
        self.assertIs(again.__cause__, cause)
        self.assertEqual((type(cause), type(cause.__cause__)), (LookupError, ValueError))
        self.assertEqual(traceback.extract_tb(cause.__traceback__)[-1].name, "deep")
        while (frame := cause.__traceback__) is not None and frame.tb_next is not None:
            cause = cause.with_traceback(frame.tb_next)
        self.assertEqual(frame.tb_frame.f_locals, {})
        with self.assertRaises(cgraph.ExecutionError) as raised:
            self.engine.ends_bare(X)
        self.assertIsInstance(raised.exception.__cause__, KeyboardInterrupt)
        path = self.empty_module("raising_stage", "raise LookupError('while it is imported')\n")
        with self.assertRaises(cgraph.PlanError) as raised:
            self.load(cgraph.compile(STAGE.replace("SYMBOL", "raising_stage:f")), [path])
        self.assertIsInstance(raised.exception.__cause__, LookupError)

    def test_what_a_class_only_holds(self):
        """It is out of reach for a program, as what a module has imported is."""
        path = self.empty_module(f"holding_{bool(self.processes)}", """import functools, os
import shutil, subprocess
class Base:
    def inherited(self, x): return x
    borrowed = staticmethod(shutil.rmtree)
class Net(Base):
    a = staticmethod(os.system)
    b = os.system
    c = functools.partial(os.system)
    d = subprocess.Popen
    e = shutil.rmtree
    f = functools.lru_cache(os.system)
    def __init__(self, name): pass
    @functools.lru_cache
    def own(self, x): return x
    @classmethod
    def made(cls, x): return x
    @staticmethod
    def plain(x): return x
    __call__ = plain
function = functools.partial(os.system)
""")
        for name in ("own", "made", "plain", "inherited", "__call__"):
            program = STAGE.replace("SYMBOL", f"{path.stem}:Net.{name}")
            self.load(cgraph.compile(program), [path]).close()
        for name in ("a", "b", "c", "d", "e", "f", "borrowed", "__class__", "__reduce__",
                     "__setattr__", "__init_subclass__", "mro"):
            with self.subTest(name), self.assertRaisesRegex(cgraph.PlanError, "of the class `Net`"):
                self.load(cgraph.compile(STAGE.replace("SYMBOL", f"{path.stem}:Net.{name}")),
                          [path])
        with self.assertRaises(cgraph.PlanError):
            self.load(cgraph.compile(STAGE.replace("SYMBOL", f"{path.stem}:function")), [path])

    def test_written_arguments(self):
        """A method that writes its argument where it lies is found; one that says so has a copy."""
        path = self.empty_module(f"writing_{bool(self.processes)}", """import ctypes
import numpy as np
import cgraph_methods
def write(x):
    array = np.asarray(x)
    ctypes.memset(array.ctypes.data, 0, 4)
    return array + 1
calls = 0
def at_the_third(x):
    global calls
    calls += 1
    return write(x) if calls == 3 else np.asarray(x) + 1
@cgraph_methods.writes("x")
def says_so(x):
    np.asarray(x)[0] = 0  # which may be written
    return write(x)
def total(x): return np.asarray(x).sum()
@cgraph_methods.writes("z")
def misspelt(x): pass
""")
        program = """import std.tensor
actor W() {
  method write(x: f32[2048]) -> f32[2048] = extern "python:writing_stage:NAME"
  method total(x: f32[2048]) -> f32 = extern "python:writing_stage:total"
  method negative(x: f32[2048]) -> f32[2048] { return -x }
}
place w = W() on cpu[0]
place other = W() on cpu[1]
graph g(x: f32[2048]) -> (f32[2048], f32) {
  let y = w.negative(x)
  return (other.write(y), other.total(y))
}
"""
        def plan(name):
            return cgraph.compile(program.replace("writing_stage", path.stem).replace("NAME", name))
        x = np.ones(2048, np.float32)
        with self.load(plan("write"), [path]) as engine:
            with self.assertRaisesRegex(cgraph.ExecutionError, r"other\.write .* has written its "
                                        r"argument `x`.*@cgraph\.writes\(\"x\"\)"):
                engine.g(x)
        for check in (False, True):
            with self.load(plan("at_the_third"), [path], check_arguments=check) as engine:
                for _ in range(2):
                    engine.g(x)
                if check:
                    self.assertRaises(cgraph.ExecutionError, engine.g, x)
            sys.modules.pop(path.stem, None)  # which counts
        with self.load(plan("says_so"), [path], check_arguments=True) as engine:
            for _ in range(3):
                y, total = engine.g(x)
                self.assertEqual((y.tolist()[:2], total.item()), ([1, 0], -2048))
        with self.assertRaisesRegex(cgraph.PlanError, "says that it writes `z`, and takes x"):
            self.load(plan("misspelt"), [path])

    def test_views_are_no_arrays(self):
        for line, said in (("return x + 1", "TypeError: unsupported operand type(s) for +: "
                            "'cgraph.View' and 'int'"),
                           ("return x.reshape(3)", "AttributeError: 'cgraph.View' object has no")):
            name = f"view_{line[8] == ' '}_{bool(self.processes)}"
            path = self.empty_module(name, f"def f(x):\n    {line}\n")
            with self.load(cgraph.compile(STAGE.replace("SYMBOL", f"{name}:f")), [path]) as engine:
                with self.assertRaises(cgraph.ExecutionError) as raised:
                    engine.g(X)
                self.assertIn(said, str(raised.exception))
                self.assertIn("; the arguments of a method are views: torch.from_dlpack(x) is a "
                              "tensor of one, numpy.asarray(x) an array\n", str(raised.exception))

    def test_many_at_once(self):
        local = [self.engine.local().item() for _ in range(3)]
        self.assertEqual(local, [local[0] + i for i in range(3)], "a thread stays the same")
        futures = [self.engine.busy.submit(X * k) for k in range(24)]
        for k, future in enumerate(futures):
            for result in future.result():
                np.testing.assert_array_equal(result, X * k + 2)

    def test_files_of_states(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "kept.safetensors"
            with self.load() as engine:
                engine.step(X)
                engine.keep()
                with self.assertWarnsRegex(RuntimeWarning,
                                           r"those of .*trained \(`Trained` has no state_dict"):
                    engine.save_state(path)
                with self.assertRaises(cgraph.Error):
                    engine.save_state(f"{folder}/absent/kept.safetensors")
            with self.load() as engine:
                engine.load_state(path)
                engine.restore()
                np.testing.assert_array_equal(engine.step(X), X * 1.5)
                with self.assertRaises(cgraph.Error):
                    engine.load_state(f"{folder}/absent.safetensors")
            other = cgraph.compile("""import std.tensor
actor A() {
  state w: i64 = 0
  method up() -> i64 {
    w += 1
    return w
  }
}
place a = A() on cpu[1]
place trained = A() on cpu[0]
graph up() -> i64 { return a.up() }
""")
            with self.load(other) as engine:
                self.assertRaisesRegex(cgraph.InputError, "no state of", engine.load_state, path)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                with self.load(other) as engine:
                    engine.up()
                    engine.save_state(path)
                with self.load(other) as engine:
                    engine.load_state(path)
                    self.assertEqual(engine.up().item(), 2)

    def test_parallel(self):
        """Two methods that keep the interpreter's lock for 0.2 s each."""
        seconds = min(timeit.repeat(lambda: self.engine.hold(X), number=1, repeat=3))
        if self.processes:
            self.assertLess(seconds, 0.35)
        else:
            self.assertGreaterEqual(seconds, 0.4)

    def refused(self, program, *said, libraries=(MODULE,), kind=cgraph.PlanError):
        with self.assertRaises(kind) as raised:
            self.load(cgraph.compile(program), libraries)
        for text in said:
            self.assertIn(text, str(raised.exception))

    def test_what_is_not_found(self):
        def program(symbol):
            return STAGE.replace("SYMBOL", symbol)
        symbol = "method_stages:Stage.keep"
        self.refused(program(symbol), "no module of theirs was named; "
                     '`libraries=["PATH/MODULE.py"]` names it, or `libraries=["python:MODULE"]` '
                     "where it is installed",
                     libraries=())
        self.refused(program("os:system"), "`os:system` is of the Python module os, and named were "
                     "method_stages")
        self.refused(program("method_stages:imported"), "none that it imports")
        self.refused(program("method_stages:np.array"), "`np` is a module that `method_stages` "
                     "imports; a method is one of a class or function that method_stages.py itself")
        self.refused(program("method_stages:KEPT.append"), "`KEPT` is an object of `list`, and "
                     "each place makes its own; name a class")
        self.refused(program("method_stages:stage"),
                     "has no `stage` (did you mean `Stage`?); it has Stage, Keeper")
        self.refused(program("method_stages:something_else"), "has no `something_else`; it has St")
        self.refused(program("method_stages:Stage.keeps"),
                     "has no method `keeps` (did you mean `keep`?)")
        self.refused(program("method_stages:Stage"), "there is no `method_stages:Stage`: "
                     "LookupError: `Stage` is a class; name a method of it, as in "
                     '"python:method_stages:Stage.scale"')
        name = f"with_forward_{bool(self.processes)}"
        text = "class Net:\n    def first(self): pass\n    def forward(self): pass\n"
        self.refused(program(f"{name}:Net"), f'"python:{name}:Net.forward"',
                     libraries=[self.empty_module(name, text)])
        self.refused(program("method_stages.sub:f"), "there is no module `method_stages.sub`: "
                     "`method_stages` (", "method_stages.py) is a module, and no package")
        self.refused(program("absent:f"), "there is no `absent:f`: there is no module "
                     "`absent` in ", libraries=["python:absent"])
        self.refused(program("absent:f"), "`libraries=['absent.py']`: there is no such file",
                     libraries=["absent.py"])
        self.refused(program("json:f"), "the module `json` that is loaded is",
                     libraries=[self.empty_module("json")])
        self.refused(program("broken_stage:f"), "the module of `broken_stage:f` cannot be imported:"
                     " ModuleNotFoundError: No module named 'not_there' (Python ",
                     "broken_stage.py\", line 1",
                     libraries=[self.empty_module("broken_stage", "import not_there\n")])
        for name, text, *said in (
                ("misspelt_stage", "def f() return 1\n", "SyntaxError: expected ':'", "line 1",
                 "def f() return 1"),
                ("indented_stage", "  a = 1\n", "IndentationError: unexpected indent", "line 1"),
                ("other_name_stage", "from os import not_there\n", "ImportError: cannot import "
                 "name 'not_there' from 'os'", "line 1, in <module>", "from os import not_there"),
                ("missing_key_stage", "def g(): {}['k']\ng()\n", "KeyError: 'k'", "line 1, in g")):
            self.refused(program(f"{name}:f"), f"the module of `{name}:f` cannot be imported: "
                         f"{said[0]}", *said[1:], libraries=[self.empty_module(name, text)])
        self.refused(program(symbol), "the object of a (source.cgraph:", ") cannot be made: "
                     "`Stage.__init__` of the module `method_stages`, given name='a': TypeError: "
                     "Stage.__init__() missing 2 ")

    def test_a_package_for_a_module(self):
        """And a module for a package, or what is in it: the message names what was meant."""
        name = f"kit{bool(self.processes)}"
        module = self.empty_module("nets", "class Net:\n    def f(self, x): pass\n")
        package = module.parent / name
        (package / "deep").mkdir(parents=True)
        for file in ("__init__.py", "deep/__init__.py"):
            (package / file).write_text("")
        (package / "nets.py").write_text(module.read_text())
        for symbol, library, *said in (
                ("{}:Net.f", package, ") has no `Net`; its module `{0}.nets` has it (did you mean "
                                      '"python:{0}.nets:Net.f"?)'),
                ("{}:nets.Net", package, "`nets` is a module of this package (did you mean "
                                         '"python:{0}.nets:Net"?)'),
                ("{}.nets.Net:f", package, "`{0}.nets` (", "nets.py) is a module, and no package; "
                 '`Net` is in it (did you mean "python:{0}.nets:Net.f"?)'),
                ("{}.net:Net.f", package, "there is no module `{0}.net`: the package `{0}` (",
                 ") has no `net` (did you mean `nets`?); its modules: deep, nets"),
                ("{}:Knot.f", package, "has no `Knot`; it has nothing; it is a package, with the "
                                       "modules deep, nets"),
                ("nets:Net.f", package, "named were {0} (", "{0} is a package that has it: did you "
                 'mean "python:{0}.nets:Net.f"?)'),
                ("{}.nets:Net.f", package / "nets.py", "nets.py is the module nets by itself: did "
                 'you mean "python:nets:Net.f"?)')):
            with self.subTest(symbol):
                self.refused(STAGE.replace("SYMBOL", symbol.format(name)),
                             *[each.format(name) for each in said], libraries=[library])

    def test_a_path_without_its_ending(self):
        with contextlib.chdir(self.empty_module("without").parent):
            for libraries in (["without"], "without", [pathlib.Path("without")]):
                self.refused(STAGE.replace("SYMBOL", "without:f"), "`libraries=['without']`: there "
                             "is no such file (did you mean `without.py`?)", libraries=libraries)

    def test_of_two_modules_of_one_name_the_named_one(self):
        """Whatever the order of sys.path; as a package, too, with what is in it."""
        program = STAGE.replace("SYMBOL", f"twin{bool(self.processes)}:f")
        name = program.partition("python:")[2].partition(":")[0]
        text = "def f(x):\n    return x.shape[0] + {}.0 + 0 * __import__('numpy').asarray(x)\n"
        folders = [self.empty_module(name, text.format(number)).parent for number in (1, 2)]
        package = folders[1] / "in" / name
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(f"from {name}.part import f\n")
        (package / "part.py").write_text("import numpy\nfrom . import part\n" + text.format(3))
        self.addCleanup(sys.modules.pop, name, None)
        self.addCleanup(sys.modules.pop, f"{name}.part", None)
        with unittest.mock.patch.object(sys, "path", [str(each) for each in folders] + sys.path):
            first, second = (each / f"{name}.py" for each in folders)
            for named, number in ((second, 2), (first, 1), (package, 3), (f"python:{name}", 3)):
                with self.subTest(named), self.load(cgraph.compile(program), [named]) as engine:
                    np.testing.assert_array_equal(engine.g(X), 0 * X + len(X) + number)
                if named == second:
                    self.refused(program, f"{first} is named, and the module `{name}` that is "
                                 f"loaded is {second}", libraries=[first])
                for loaded in (name, f"{name}.part"):
                    sys.modules.pop(loaded, None)
            self.refused(program, f"{first} and {second} are named, and Python has one module "
                         f"`{name}`", libraries=[first, second])

    def test_what_is_a_module(self):
        """One rule, for cgrun, the engine and the processes that it starts."""
        folder = self.empty_module("inside").parent
        package = folder / "package"
        package.mkdir()
        for path, said in ((folder / "inside.py", None), ("python:inside", None),
                           (package, "it is a folder, and a library's own path is wanted"),
                           (folder / "libinside.so", "there is no such file")):
            with self.subTest(path):
                self.assertEqual(cgraph._runtime.is_python_module(str(path)), said is None)
                if said is not None:
                    self.refused(STAGE.replace("SYMBOL", "inside:f"), said, libraries=[path])
        (package / "__init__.py").write_text("")
        self.assertTrue(cgraph._runtime.is_python_module(str(package)))
        self.assertTrue(cgraph._runtime.is_python_module(f"{package}/"))

    def test_an_object_that_cannot_be_made(self):
        self.refused(PROGRAM.replace('"stage{i}"', '"refuse"'),
                     "the object of s[",  # of several processes the first that says so
                     "] (source.cgraph:", ") cannot be made: `Stage.__init__` of the module "
                     "`method_stages`, given factor=1.5, name='refuse', sizes=[", ", 7]: "
                     "ValueError: no stage is called that", "in __init__")
        self.refused(f"""import std.tensor
actor A(width: int, name: str) {{
  method f(x: f32[3]) -> f32[3] = extern "python:method_stages:Unmade.run"
}}
place a = A(3, "{'here' * 40}") on cpu[1]
graph g(x: f32[3]) -> f32[3] {{ return a.f(x) }}
""", "`Unmade.__new__` of the module `method_stages`, given width=3, name='here", "...",
                     "LookupError: no weights for herehere", "in __new__")

    def test_objects_are_made_in_the_order_of_places(self):
        """Whichever devices and workers they have, so that a seed gives the same objects."""
        import method_stages
        expected = list(range(7))
        if self.processes:  # of each device
            on = DRAWN_ON + (0,)
            expected = [on[:i].count(device) for i, device in enumerate(on)]
        plan = cgraph.compile(DRAWN)
        ways = [{}, {"proved": False}]
        if not self.processes:
            ways += [{"workers": count} for count in range(1, 5)]
        for i in range(24 if not self.processes else 4):
            method_stages.DRAWS = itertools.count()
            with self.subTest(i), self.load(plan, **ways[i % len(ways)]) as engine:
                self.assertEqual([each.item() for each in engine.draw()], expected)

    def test_states_of_a_place_with_an_object(self):
        with self.load() as engine:
            self.assertEqual(list(engine.state), ["keeper", "trained"])
            self.assertEqual(engine.state["trained"]["w"].tolist(), [0, 0, 0])
            for ask in (lambda: engine.state["s[0]"],
                        lambda: engine.state["trained"]["u"],
                        lambda: engine.state.__setitem__("s[0]", {"w": X}),
                        lambda: getattr(engine, "s[0]")):
                with self.assertRaises((KeyError, AttributeError)) as raised:
                    ask()
                self.assertIn(" it keeps is in an object of the class `method_stages:",
                              str(raised.exception))
                self.assertIn("load_state_dict(torch.load(path))", str(raised.exception))
            self.assertIn("`keeper` has no state `bia` (did you mean `bias`?); its states: bias, "
                          "pair[0], pair[1]; what else it keeps is in an object",
                          self.key_error(engine.state["keeper"], "bia"))
            self.assertIn("there is no place `trainer` (did you mean `trained`?); the places: "
                          "s[0], s[1], keeper", self.key_error(engine.state, "trainer"))
            self.assertIn("there is no place `s` (did you mean `s[0]`?)",
                          self.key_error(engine.state, "s"))
            with self.assertRaisesRegex(TypeError, r"one by one, engine.state\['keeper'\]\['bias'"):
                engine.state["keeper"] = {"bias": X}
        with self.load(cgraph.compile(STAGE.replace("SYMBOL", "method_stages:double"))) as engine:
            self.assertIn("the place `a` has no states of the program; those that have: none",
                          self.key_error(engine.state, "a"))

    def key_error(self, mapping, key):
        with self.assertRaises(KeyError) as raised:
            mapping[key]
        return raised.exception.args[0]

    def empty_module(self, name, text=""):
        folder = tempfile.mkdtemp()
        self.addCleanup(subprocess.run, ["rm", "-r", folder], check=True)
        path = pathlib.Path(folder) / f"{name}.py"
        path.write_text(text)
        return path


class OneProcess(Base, unittest.TestCase):
    def test_modules_as_libraries(self):
        sys.path.insert(0, str(HERE))
        import method_stages
        for library in (method_stages, method_stages.Stage, "python:method_stages"):
            for libraries in (library, [library]):
                with self.load(libraries=libraries) as engine:
                    np.testing.assert_array_equal(engine.double(X), X * 2)

    def test_who_waits_for_an_object(self):
        plan = cgraph.compile(DRAWN.replace(f"[{DRAWN_SIZES[0]}", "[99"))
        with self.assertRaises(cgraph.TimeoutError) as raised:
            cgraph.Engine(plan, libraries=[MODULE], proved=False, timeout=0.5)
        self.assertRegex(str(raised.exception), r"is running(.|\n)*waits for cpu\[0\] compute to "
                         "make its object: objects of Python's are made in the places' order")

    def test_main(self):
        plan = cgraph.compile(STAGE.replace("SYMBOL", "__main__:twice"))
        with cgraph.Engine(plan, libraries=[twice]) as engine:
            np.testing.assert_array_equal(engine.g(X), X * 2)
        with self.assertRaisesRegex(cgraph.InputError, "are not in other processes"):
            cgraph.Engine(plan, libraries=[twice], processes="device")

    def test_ctrl_c_while_it_is_imported(self):
        """Python's handler runs in the module then; what it raises is the program's, once."""
        path = self.empty_module("interrupted_stage", "import signal\n"
                                 "signal.raise_signal(signal.SIGINT)\ndef f(x): return x\n")
        with self.assertRaises(KeyboardInterrupt):
            self.load(cgraph.compile(STAGE.replace("SYMBOL", "interrupted_stage:f")), [path])
        time.sleep(0.05)

    def test_ctrl_c_while_there_is_no_room(self):
        """No method runs on the main thread, where Python's handler would run in it."""
        path = self.empty_module("slow_stage", "import time, threading\ndef f(x):\n"
                                 "    assert threading.current_thread() is not "
                                 "threading.main_thread()\n"
                                 "    time.sleep(0.6)\n    return x\n")
        with self.load(cgraph.compile(STAGE.replace("SYMBOL", "slow_stage:f")), [path],
                       workers=1) as engine:
            futures = [engine.g.submit(X)]
            timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with self.assertRaises(KeyboardInterrupt):
                engine.g.submit(X)
            timer.join()
            futures += [engine.g.submit(X) for _ in range(2)]
            for future in futures:
                np.testing.assert_array_equal(future.result(), X)

    def test_cost(self):
        """A call costs no more than 1 us over a plain one; the fastest of 100, in one of ten
        tries: other programs can take the cores during a whole try."""
        calls, plan = 500, STAGE.partition("graph g")[0].replace("SYMBOL", "method_stages:nothing")
        plan = plan.replace("f(x: f32[3]) -> f32[3]", "f(x: f32[3])")
        for name, count in (("one", 1), ("many", calls + 1)):
            plan += f"graph {name}(x: f32[3]) -> f32[3] {{\n"
            plan += "  a.f(x)\n" * count + "  return x\n}\n"

        def fastest(call):
            return min(timeit.repeat(call, number=1, repeat=100))
        with self.load(cgraph.compile(plan)) as engine:
            for _ in range(10):
                methods = (fastest(lambda: engine.many(X)) - fastest(lambda: engine.one(X))) / calls
                plainly = fastest(lambda: [twice(X) for _ in range(calls)]) / calls
                if 0 < methods < plainly + 1e-6:
                    return
        self.fail(f"a method costs {methods * 1e6:.2f} us, a plain call {plainly * 1e6:.2f}")

    def test_nothing_is_closed(self):
        """A program that ends with engines that are open, at work, or held by a cycle."""
        for ending in ("", "sys.exit(7)", "later.result()", "del engine, later"):
            done = subprocess.run(
                [sys.executable, "-c", ENDING.format(path=support.OPTIONS.package, ending=ending,
                                                     program=PROGRAM, module=str(MODULE))],
                capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stderr), (7 if "7" in ending else 0, ""))

    def test_engines_end_with_their_objects(self):
        threads = threading.active_count()
        for _ in range(20):
            with self.load() as engine:
                engine.busy(X)
        self.assertLessEqual(threading.active_count(), threads + 20)


def twice(x):
    return np.asarray(x) * 2


class Processes(Base, unittest.TestCase):
    processes = "device"

    def test_deaths(self):
        with self.load() as engine:
            with self.assertRaisesRegex(cgraph.LostError, "itself with exit code 5") as error:
                engine.ends__exit(X)
            self.assertIn("s[1].ends", str(error.exception))
        with self.load() as engine:
            future = engine.ends_wait.submit(X)
            time.sleep(0.3)
            os.kill(engine.stats()["processes"][1]["process"], signal.SIGKILL)
            with self.assertRaisesRegex(cgraph.LostError, "killed by signal 9") as error:
                future.result(30)
            self.assertIn("s[1].ends", str(error.exception))


class Command(unittest.TestCase):
    """cgrun, which begins an interpreter."""

    def run_command(self, graph, *flags, path=None, module=MODULE, source=None):
        with tempfile.TemporaryDirectory() as folder:
            if source is None:
                source = pathlib.Path(folder) / "p.cgraph"
                source.write_text(PROGRAM)
            words = [sys.executable, "-m", "cgraph.cgrun", str(source), "--lib", str(module)]
            words += flags
            if graph:
                words += ["--graph", graph, "--input", "x=[1, 2, 3]"]
            environment = dict(os.environ, PYTHONPATH=support.OPTIONS.package)
            if path is not None:
                words[:3] = [os.path.join(support.OPTIONS.package, "cgraph", "bin", "cgrun")]
                environment["PATH"] = path
            return subprocess.run(words, capture_output=True, text=True, env=environment,
                                  timeout=60, check=False)

    def test_runs(self):
        for flags in ((), ("--processes", "device")):
            done = self.run_command("say", *flags)
            self.assertEqual((done.returncode, done.stdout), (0, "result: f32[3] = [1. 2. 3.]\n"),
                             done.stderr)
            self.assertIn("said by a method", done.stderr)
            done = self.run_command("ends_raise", *flags)
            self.assertEqual(done.returncode, 1)
            interrupted = self.run_command("ends_bare", *flags)
            self.assertEqual(interrupted.returncode, 1, interrupted.stderr)
            self.assertIn("failed: KeyboardInterrupt", interrupted.stderr)
            self.assertIn("LookupError: at the bottom", done.stderr)
            self.assertIn("in deep", done.stderr)

    def test_objects_in_the_file_of_states(self):
        with tempfile.TemporaryDirectory() as folder:
            kept = f"{folder}/kept.safetensors"
            for flags in ((), ("--processes", "device")):
                flags += ("--input", "x=[1, 2, 3]")
                done = self.run_command("", "--call", "step*2", "--call", "keep", "--save-state",
                                        kept, *flags)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("lacks what objects keep", done.stderr)
                done = self.run_command("", "--load-state", kept, "--call", "restore", "--call",
                                        "step", *flags)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("step.result: f32[3] = [1.75 3.5  5.25]", done.stdout)

    def test_module_of_the_current_folder(self):
        """Where Python does not look by itself."""
        program = STAGE.replace("SYMBOL", "not_found:f")
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            pathlib.Path("p.cgraph").write_text(program)
            for file, path in (("not_found/__init__.py", "./not_found"),
                               ("not_found.py", "./not_found.py")):
                pathlib.Path(file).parent.mkdir(exist_ok=True)
                pathlib.Path(file).write_text("def f(x):\n    return x\n")
                said = f"{file} is in the current folder: "
                done = self.run_command("g", module="python:not_found", source="p.cgraph")
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn(f"{said}--lib {path} names it", done.stderr)
                with self.assertRaises(cgraph.PlanError) as raised:
                    cgraph.Engine(cgraph.compile(program), libraries=["python:not_found"])
                self.assertIn(f'{said}`libraries=["{path}"]` names it', str(raised.exception))
                done = self.run_command("g", module=path, source="p.cgraph")
                self.assertEqual(done.returncode, 0, done.stderr)
            (pathlib.Path(folder) / "not_found.py").unlink()
            (pathlib.Path(folder) / "not_found/__init__.py").unlink()
            done = self.run_command("g", module="python:not_found", source="p.cgraph")
            self.assertNotIn("current folder", done.stderr)

    def test_no_python(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_command("say", path=folder)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("has no `python3` that runs", done.stderr)
            fake = pathlib.Path(folder) / "python3"
            for version, said in (
                    ("3.99", "/x/python3 (Python 3.99) has none at /x/libpython3.so; install it"),
                    ("3.10", "/x/python3, the first `python3` in PATH, is Python 3.10; ")):
                fake.write_text("#!/bin/sh\nprintf '/x/python3\\n"
                                f"{version}\\n/x/libpython3.so\\n0\\n'\n")
                fake.chmod(0o755)
                done = self.run_command("say", path=folder)
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn(said, done.stderr)

    def test_no_module(self):
        done = self.run_command("say", module=HERE / "absent.py")
        self.assertEqual(done.returncode, 3)
        self.assertIn("there is no such file", done.stderr)
        done = self.run_command("say", module=HERE)
        self.assertEqual(done.returncode, 2)
        self.assertIn("it is a folder", done.stderr)


ODD = """import torch_like
def forever(x):
    while True:
        pass
def turned(x, out):
    filled = torch_like.asarray(out)
    filled[:] = x
    return filled.T
def unaware(x):
    return torch_like.asarray(x) + 1
""".replace("torch_like", "numpy")
ODD_PROGRAM = """import std.tensor
actor Odd() {
  state w: f32[2] = ones()
  method forever(x: f32[2, 2]) -> f32[2, 2] = extern "python:odd:forever"
  method turned(x: f32[2, 2]) -> f32[2, 2] = extern "python:odd:turned"
  method unaware(x: f32[2, 2]) -> f32[2, 2] = extern "python:odd:unaware"
}
place odd = Odd() on cpu[0]
place other = Odd() on cpu[1]
graph forever(x: f32[2, 2]) -> f32[2, 2] { return odd.forever(x) }
graph turned(x: f32[2, 2]) -> f32[2, 2] { return other.turned(x) }
graph unaware(x: f32[2, 2]) -> f32[2, 2] { return odd.unaware(x) }
"""
HANGS = """import sys, warnings
import cgraph
import numpy as np
warnings.simplefilter("always")
with cgraph.Engine("odd.cgplan", libraries=["odd.py"], timeout=1) as engine:
    try:
        engine.forever(np.ones((2, 2), np.float32))
    except cgraph.TimeoutError as error:
        print("timed out")
try:
    engine.stats()
except cgraph.ClosedError:
    print("closed")
"""


class Odd(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        (self.path / "odd.py").write_text(ODD)
        self.plan = cgraph.compile(ODD_PROGRAM)
        self.plan.save(self.path / "odd.cgplan")

    def test_what_does_not_end_is_abandoned(self):
        done = subprocess.run([sys.executable, "-c", HANGS], cwd=self.path, text=True, timeout=30,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=dict(os.environ, PYTHONPATH=support.OPTIONS.package))
        self.assertEqual((done.returncode, done.stdout), (0, "timed out\nclosed\n"), done.stderr)
        self.assertIn("a method of the engine does not end", done.stderr)

    def test_functions(self):
        x = np.arange(4, dtype=np.float32).reshape(2, 2)
        with cgraph.Engine(self.plan, libraries=[self.path / "odd.py"]) as engine:
            np.testing.assert_array_equal(engine.turned(x), x.T)
            np.testing.assert_array_equal(engine.unaware(x), x + 1)
        with self.assertRaisesRegex(cgraph.InputError, "an object of the type Odd"):
            cgraph.Engine(self.plan, libraries=[self])
        with self.assertRaisesRegex(cgraph.InputError, "name the file"):
            with cgraph.Engine(self.plan, libraries=[self.path / "odd.py"]) as engine:
                engine.save_state(self.path / "states.pt")


if __name__ == "__main__":
    support.main()
