"""States of an engine: looked at, set, saved, and taken up by another engine.

  states_test.py --package build/release/python
"""
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy as np
import support

import cgraph

PROGRAM = """import std.debug
import std.tensor
actor Sum(start: float) {
  state w: f32[2, 3] = full(start)
  state half: bf16[2] = zeros()
  state pair: (low: f32, high: f32) = (low: 1.0, high: 2.0)
  state steps: i64 = 0
  method add(x: f32[2, 3], ms: i64) -> f32[2, 3] {
    sleep(ms)
    w += x
    steps += 1
    return w
  }
}
place sums[i in 0..2] = Sum(start: 1.0 * i) on gpu[i]
place idle = Sum(4.0) on cpu[0]
graph add(x: f32[2, 3], ms: i64) -> f32[2, 3] inflight 2 {
  return sums[1].add(sums[0].add(x, ms), ms)
}
"""
BRANCHES = """import std.debug
import std.tensor
actor Branch() {
  state k: f32[4] = zeros()
  method fail(x: f32[4]) { check(sum(x) < 10.0, "too big") }
  method late(x: f32[4], ms: i64) {
    sleep(ms)
    k += x
  }
}
place a = Branch() on cpu[0]
place b = Branch() on cpu[1]
place c = Branch() on cpu[2]
graph other(x: f32[4], ms: i64) { c.late(x, ms) }
graph both(x: f32[4], ms: i64) {
  a.fail(x)
  b.late(x, ms)
}
"""
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def saved(path, name):
    """Returns a number of a file of states."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        begin, _ = header[name]["data_offsets"]
        file.seek(begin, os.SEEK_CUR)
        return struct.unpack("<q", file.read(8))[0]


def write(path, **tensors):
    """Writes vectors of f32 as a .safetensors file."""
    header, data = {}, b""
    for name, values in tensors.items():
        more = np.array(values, np.float32).tobytes()
        header[name] = {"dtype": "F32", "shape": [len(values)],
                        "data_offsets": [len(data), len(data) + len(more)]}
        data += more
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


class States(unittest.TestCase):
    processes = None

    @classmethod
    def setUpClass(cls):
        cls.plan = cgraph.compile(PROGRAM)

    def engine(self):
        return cgraph.Engine(self.plan, processes=self.processes)

    def test_read(self):
        with self.engine() as engine:
            self.assertEqual(list(engine.state), ["sums[0]", "sums[1]", "idle"])
            self.assertEqual(set(engine.state["idle"]), {"w", "half", "steps", "pair.low",
                                                         "pair.high"})
            before = engine.state["sums[1]"]["w"]
            engine.add(x=X, ms=0)
            np.testing.assert_array_equal(engine.state["sums[1]"]["w"], X + 1)
            np.testing.assert_array_equal(before, np.ones((2, 3)))  # a copy
            self.assertEqual(engine.state["sums[0]"]["steps"].item(), 1)
            self.assertEqual(engine.state["idle"]["half"].tolist(), [0, 0])
            self.assertEqual(engine.state["idle"]["pair.high"].item(), 2)
            shared = np.asarray(before)
            del before
        np.testing.assert_array_equal(shared, np.ones((2, 3)))

    def test_write(self):
        with self.engine() as engine:
            place = engine.state["sums[0]"]
            place["w"] = X
            place["steps"] = 41
            engine.state["sums[1]"].update(w=np.zeros((2, 3), np.float32))
            np.testing.assert_array_equal(engine.add(x=X, ms=0), 2 * X)
            self.assertEqual(place["steps"].item(), 42)
            place["half"] = np.array([0x3F80, 0x4000], np.uint16)
            self.assertEqual(place["half"].tolist(), [1, 2])

    def test_write_copies(self):
        plan = cgraph.compile("""import std.tensor
actor A() {
  param w: f32[2] = ones()
  state n: i64 = 0
  method get(x: f32[2]) -> f32[2] { return w * x }
}
place a[d in 0..2] = A() on gpu[d] equal along d
graph get(x: f32[2]) -> f32[2] { return a[0].get(x) + a[1].get(x) }
""")
        with cgraph.Engine(plan, processes=self.processes) as engine:
            engine.state["a[1]"].update(w=np.array([2, 3], np.float32), n=7)
            self.assertEqual(engine.state["a[0]"]["w"].tolist(), [2, 3])
            self.assertEqual(engine.state["a[0]"]["n"].item(), 0)
            self.assertEqual(engine.get(x=np.ones(2, np.float32)).tolist(), [4, 6])

    def test_booleans(self):
        plan = cgraph.compile("""import std.tensor
actor A() {
  state mask: bool[2] = iota<i64[2]>() >= 1
  method get() -> bool[2] { return mask }
}
place a = A() on cpu[0]
graph get() -> bool[2] { return a.get() }
""")
        with cgraph.Engine(plan, processes=self.processes) as engine:
            with self.assertRaisesRegex(cgraph.InputError, "^state `a.mask` was given booleans "
                                        "that are neither 0 nor 1$"):
                engine.state["a"]["mask"] = np.array([2, 1], np.uint8).view(bool)
            self.assertEqual(engine.get().tolist(), [False, True])

    def test_wrong(self):
        with self.engine() as engine:
            place = engine.state["sums[0]"]
            for value, said in (
                    (X.astype(np.float64), "`sums[0]` takes `w` as f32[2, 3], and was given f64; "
                     "`w.astype(numpy.float32)`"),
                    (X.T.copy(), "`sums[0]` takes `w` as f32[2, 3], and was given f32[3, 2]"),
                    (X.T, "rows do not lie one after the other"),
                    (np.ma.masked_array(X), "was given a masked array"),
                    (3.0, "which holds no tensor")):
                with self.assertRaises(cgraph.InputError) as caught:
                    place["w"] = value
                self.assertIn(said, str(caught.exception))
            for ask in (lambda: engine.state["sums"], lambda: place["v"],
                        lambda: place.__setitem__("v", X)):
                with self.assertRaises(KeyError):
                    ask()
            with self.assertRaisesRegex(KeyError, r"there is no place `sums` \(did you mean "
                                        r"`sums\[0\]`\?\); the places: sums\[0\], "):
                engine.state["sums"]
            with self.assertRaisesRegex(KeyError, r"`idle` has no state `pair` \(did you mean "
                                        r"`pair.low`\?\); its states: w, half, pair.low"):
                engine.state["idle"]["pair"]
            with self.assertRaisesRegex(AttributeError, r'place.*engine.state\["idle"\]'):
                engine.idle
            np.testing.assert_array_equal(place["w"], np.zeros((2, 3)))

    def test_an_object_of_a_library(self):
        with cgraph.Engine(cgraph.compile(support.NATIVE), libraries=support.OPTIONS.probe,
                           processes=self.processes) as engine:
            with self.assertRaisesRegex(KeyError, "the place `probe` has no states of the program: "
                                        "what it keeps is in an object of libcgraph_probe.so"):
                engine.state["probe"]

    def test_awaits_what_is_in_flight(self):
        with self.engine() as engine:
            for later in ("held", "dropped"):
                future = engine.add.submit(x=X, ms=100)
                if later == "dropped":
                    future = None
                times = 1 if later == "held" else 2
                np.testing.assert_array_equal(engine.state["sums[0]"]["w"], times * X)
            del future
            later = engine.add.submit(x=X, ms=100)
            engine.state["sums[0]"]["w"] = 5 * X
            self.assertTrue(later.done())
            np.testing.assert_array_equal(later.result(), 1 + (1 + 2 + 3) * X)
            np.testing.assert_array_equal(engine.state["sums[0]"]["w"], 5 * X)

    def test_nothing_is_no_state(self):
        with self.engine() as engine:
            with self.assertRaisesRegex(cgraph.InputError, "`idle` takes `w` as f32"):
                engine.state["idle"]["w"] = None

    def test_ctrl_c_ends_the_wait(self):
        program = ("import sys, numpy as np, cgraph\n"
                   f"plan = cgraph.compile({PROGRAM!r})\n"
                   f"engine = cgraph.Engine(plan, processes={self.processes!r})\n"
                   "later = engine.add.submit(x=np.zeros((2, 3), np.float32), ms=20000)\n"
                   "print('waits', flush=True)\n"
                   "try:\n"
                   "    engine.state['idle']['w']\n"
                   "except KeyboardInterrupt:\n"
                   "    print('interrupted', flush=True)\n"
                   "    __import__('os')._exit(0)\n")
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True,
                              env=dict(os.environ, PYTHONPATH=support.OPTIONS.package)) as run:
            self.assertEqual(run.stdout.readline(), "waits\n")
            time.sleep(0.5)
            begun = time.monotonic()
            run.send_signal(signal.SIGINT)
            self.assertEqual(run.stdout.readline(), "interrupted\n")
            self.assertLess(time.monotonic() - begun, 10)

    def test_is_of_one_moment_while_others_go_on(self):
        """However many executions other threads submit, a file comes, and is of one moment."""
        stop, counts = threading.Event(), []

        def go_on(engine):
            count = 0
            while not stop.is_set():
                engine.add(x=X, ms=0)
                count += 1
            counts.append(count)

        with self.engine() as engine, tempfile.TemporaryDirectory() as folder:
            threads = [threading.Thread(target=go_on, args=(engine,)) for _ in range(3)]
            for thread in threads:
                thread.start()
            seen = []
            try:
                end = time.monotonic() + 30
                while time.monotonic() < end and (len(seen) < 20 or seen[-1] == seen[0]):
                    path = os.path.join(folder, "some.safetensors")
                    engine.save_state(path)
                    steps = [saved(path, f"sums[{k}].steps") for k in range(2)]
                    self.assertEqual(steps[0], steps[1])
                    seen.append(steps[0])
            finally:
                stop.set()
                for thread in threads:
                    thread.join()
            self.assertEqual(seen, sorted(seen))
            self.assertGreater(seen[-1], seen[0])
            self.assertEqual(engine.state["sums[0]"]["steps"].item(), sum(counts))

    def test_awaits_an_execution_that_has_failed(self):
        """Its other branch goes on, and nobody can await that."""
        plan = cgraph.compile(BRANCHES)
        with cgraph.Engine(plan, processes=self.processes) as engine:
            for i in range(1, 4):
                with self.assertRaises(cgraph.ExecutionError):
                    engine.both(np.full(4, 5, np.float32), ms=50)
                np.testing.assert_array_equal(engine.state["b"]["k"], np.full(4, 5 * i))

    def test_closed(self):
        engine = self.engine()
        states = engine.state
        engine.close()
        with self.assertRaises(cgraph.ClosedError):
            states["idle"]["w"].tolist()

    def test_saved(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "states.safetensors")
            with self.engine() as engine:
                for _ in range(3):
                    engine.add(x=X, ms=0)
                engine.save_state(path)
                expected = {place: {name: value.tolist() for name, value in states.items()}
                            for place, states in engine.state.items()}
            with self.engine() as engine:  # tomorrow
                self.assertEqual(engine.load_state(os.fsencode(path)), [])
                engine.save_state(os.fsencode(path))
                self.assertEqual({place: {name: value.tolist() for name, value in states.items()}
                                  for place, states in engine.state.items()}, expected)
            self.assertEqual(os.listdir(folder), ["states.safetensors"])
            with self.engine() as engine:
                with self.assertRaisesRegex(cgraph.Error, "cannot read"):
                    engine.load_state(path + "s")
                with self.assertRaises(cgraph.Error):
                    engine.save_state(os.path.join(folder, "absent", "states.safetensors"))

    def test_made_of_a_file(self):
        """Engine(load_state=) needs the weight files of those states alone that the file lacks."""
        with tempfile.TemporaryDirectory() as folder:
            def path(name):
                return os.path.join(folder, f"{name}.safetensors")

            program = ("import std.tensor\nactor A(file: str) {\n"
                       "  state w: f32[2] = load(file, \"w\")\n  state n: i64 = 5\n"
                       "  method f() -> f32[2] { return w * cast<f32>(n) }\n}\n"
                       "place a = A(\"a.safetensors\") on cpu[0]\n"
                       "place b = A(\"b.safetensors\") on cpu[1]\n"
                       "graph f() -> f32[2] { return a.f() + b.f() }\n")
            plan = cgraph.compile(program)

            def engine(**given):
                return cgraph.Engine(plan, weights=folder, processes=self.processes, **given)

            write(path("a"), w=[1, 2])
            write(path("b"), w=[10, 20])
            with engine() as made:
                self.assertEqual(made.absent_states, [])
                made.state["a"]["n"] = 7
                made.save_state(path("all"))
            write(path("some"), **{"a.w": [3, 4]})
            os.remove(path("a"))
            with engine(load_state=path("some")) as made:
                self.assertEqual(made.absent_states, ["a.n", "b.w", "b.n"])
                self.assertEqual(made.f().tolist(), [65, 120])
            os.remove(path("b"))
            with engine(load_state=os.fsencode(path("all"))) as made:
                self.assertEqual(made.absent_states, [])
                self.assertEqual(made.f().tolist(), [57, 114])
            with self.assertRaisesRegex(cgraph.PlanError, "b.safetensors"):
                engine(load_state=path("some"))
            with self.assertRaisesRegex(cgraph.FileNotFoundError, "no.safetensors") as raised:
                engine(load_state=path("no"))
            self.assertEqual(raised.exception.filename, path("no"))
            write(path("wrong"), **{"a.w": [1, 2], "b.w": [1, 2], "c.w": [1, 2]})
            with self.assertRaisesRegex(cgraph.InputError, "`c.w`, which is no state of the plan"):
                engine(load_state=path("wrong"))

    def test_metadata(self):
        """What a file says beside its states: texts, for the program that goes on with them."""
        said = {"epoch": "3", "": "", "text": 'two\nlines, "quoted", ä, \0'}
        with tempfile.TemporaryDirectory() as folder, self.engine() as engine:
            path = os.path.join(folder, "states.safetensors")
            engine.save_state(path, metadata=said)
            self.assertEqual(cgraph.read_metadata(os.fsencode(path)), said)
            self.assertEqual(engine.load_state(path), [])
            engine.save_state(path)
            self.assertEqual(cgraph.read_metadata(path), {})
            for wrong in ({"a": 3}, {3: "a"}, {"a": b"b"}, {"a": "\udc80"}, {"a": None}):
                with self.assertRaisesRegex(cgraph.InputError, "is none; write a number as"):
                    engine.save_state(path, metadata=wrong)
            self.assertEqual(cgraph.read_metadata(path), {})
            with self.assertRaises(cgraph.FileNotFoundError) as raised:
                cgraph.read_metadata(path + "x")
            self.assertEqual(raised.exception.filename, path + "x")
            with self.assertRaisesRegex(cgraph.InputError, "is no .safetensors file"):
                cgraph.read_metadata(__file__)

    def test_command_goes_on(self):
        """A shuffled training by a loop, and the same by cgrun: each goes on with the other's
        file."""
        program = ("import std.tensor\nactor A() {\n  state w: f32[3] = zeros()\n"
                   "  method f(x: f32[4, 3]) -> f32 {\n    w = w * 0.7 + sum(x, dim: 0)\n"
                   "    return sum(w)\n  }\n}\nplace a = A() on cpu[0]\n"
                   "graph step(x: f32[4, 3]) -> f32 { return a.f(x) }\n")
        rows = np.random.default_rng(1).standard_normal((20, 3)).astype(np.float32)
        plan = cgraph.compile(program)
        with tempfile.TemporaryDirectory() as folder:
            def path(name):
                return os.path.join(folder, name)

            def loop(begin, end, to, of=None):
                with cgraph.Engine(plan, processes=self.processes) as engine:
                    if of:
                        self.assertEqual(engine.load_state(of), [])
                        self.assertEqual(cgraph.read_metadata(of)["cgraph.executions"],
                                         str(5 * begin))
                    for epoch in range(begin, end):
                        order = np.asarray(cgraph.permutation(20, seed=6, epoch=epoch))
                        for some in order.reshape(5, 4):
                            engine.step(x=rows[some])
                    engine.save_state(to, metadata={
                        "cgraph.executions": str(5 * end), "cgraph.executions_of_epoch": "5",
                        "cgraph.graph": "step", "cgraph.rows": "20",
                        "cgraph.rows_of_execution": "4", "cgraph.shuffle": "6"})

            def command(epochs, to, *flags):
                cgrun = os.path.join(os.path.dirname(cgraph.__file__), "bin", "cgrun")
                subprocess.run([cgrun, "-q", path("p.cgplan"), "--input", f"x={path('x.npy')}",
                                "--batch", "x", "--epochs", str(epochs), "--shuffle", "6",
                                "--save-state", to, *flags],
                               check=True, timeout=60, stdout=subprocess.DEVNULL)

            plan.save(path("p.cgplan"))
            np.save(path("x.npy"), rows)
            loop(0, 4, path("loop.safetensors"))
            command(4, path("command.safetensors"))
            loop(0, 1, path("1.safetensors"))
            command(3, path("3.safetensors"), "--load-state", path("1.safetensors"))
            loop(3, 4, path("4.safetensors"), of=path("3.safetensors"))
            files = [open(path(f"{name}.safetensors"), "rb") for name in ("loop", "command", "4")]
            saved_bytes = [file.read() for file in files]
            for file in files:
                file.close()
            self.assertEqual(saved_bytes[0], saved_bytes[1])
            self.assertEqual(saved_bytes[0], saved_bytes[2])

    def test_command_reads_it(self):
        with tempfile.TemporaryDirectory() as folder:
            path, plan = os.path.join(folder, "s.safetensors"), os.path.join(folder, "p.cgplan")
            self.plan.save(plan)
            with self.engine() as engine:
                engine.add(x=X, ms=0)
                engine.save_state(path)
            x = os.path.join(folder, "x.npy")
            np.save(x, X)
            cgrun = os.path.join(os.path.dirname(cgraph.__file__), "bin", "cgrun")
            subprocess.run([cgrun, "-q", plan, "--input", f"x={x}", "--input", "ms=0",
                            "--load-state", path, "--save-state", path], check=True, timeout=60,
                           stdout=subprocess.DEVNULL)
            with self.engine() as engine:
                engine.load_state(path)
                self.assertEqual(engine.state["sums[0]"]["steps"].item(), 2)
                np.testing.assert_array_equal(engine.state["sums[0]"]["w"], 2 * X)


class StatesOfProcesses(States):
    processes = "device"


if __name__ == "__main__":
    support.main()
