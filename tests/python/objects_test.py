"""What objects of Python's classes keep, in files of states; and that a file is of one moment.

  objects_test.py --package build/release/python
"""
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
import warnings

import numpy as np
import support

import cgraph

HERE = pathlib.Path(__file__).resolve().parent
MODULE = HERE / "kept_stages.py"
PROGRAM = """import std.tensor
actor Kept(size: int) {
  state w: i64 = 0
  method step(x: f32) -> (sum: f32, steps: i64) = extern "python:kept_stages:Kept.step" reads w
  method set(what: i64) = extern "python:kept_stages:Kept.set" reads w
  method up() -> i64 {
    w += 1
    return w
  }
}
actor Plain() {
  method step(x: f32) -> f32 = extern "python:kept_stages:Plain.step"
  method nothing(x: f32) -> f32 = extern "python:kept_stages:nothing"
}
actor Empty() {
  method nothing(x: f32) -> f32 = extern "python:kept_stages:nothing"
}
place k[i in 0..2] = Kept([4, 100000][i]) on cpu[i]
place plain = Plain() on cpu[1]
place empty = Empty() on cpu[1]
graph step(x: f32) -> (a: (sum: f32, steps: i64), b: (sum: f32, steps: i64)) {
  return (a: k[0].step(x), b: k[1].step(x))
}
graph set(a: i64, b: i64) {
  k[0].set(a)
  k[1].set(b)
}
graph up() -> (a: i64, b: i64) { return (a: k[0].up(), b: k[1].up()) }
graph others(x: f32) -> f32 { return empty.nothing(plain.nothing(plain.step(x))) }
"""
# Stages on two devices, of which one is a round behind: an execution ends in a later round.
LAGGING = """import std.tensor
actor Stage() {
  state w: i64 = 0
  method up(x: f32[4]) -> f32[4] {
    w += 1
    return x + cast<f32>(w)
  }
}
place a = Stage() on gpu[0]
place b = Stage() on gpu[1]
place c = Stage() on gpu[0]
graph up(x: f32[4]) -> f32[4] inflight 4 { return c.up(b.up(a.up(x))) }
"""
OBJECTS = [f"k[{i}].native object" for i in range(2)]
STATES = ["k[0].w", "k[1].w"]


def read(path):
    """Returns the tensors of a .safetensors file: their bytes by name."""
    data = pathlib.Path(path).read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    begin = 8 + length
    return {name: data[begin + entry["data_offsets"][0]:begin + entry["data_offsets"][1]]
            for name, entry in json.loads(data[8:begin]).items()}


def write(path, tensors):
    header, end = {}, 0
    for name, data in tensors.items():
        state = name in STATES
        header[name] = {"dtype": "I64" if state else "U8", "shape": [] if state else [len(data)],
                        "data_offsets": [end, end + len(data)]}
        end += len(data)
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(tensors.values()))


class Base:
    """Tests for one process, and for several."""
    processes = None

    @classmethod
    def setUpClass(cls):
        cls.plan = cgraph.compile(PROGRAM)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = f"{self.folder}/kept.safetensors"
        self.engine = self.load()
        self.addCleanup(self.engine.close)

    def load(self):
        return cgraph.Engine(self.plan, libraries=[MODULE], processes=self.processes, timeout=60)

    def save(self, engine, *said):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            engine.save_state(self.path)
        text = "; ".join(str(each.message) for each in caught)
        for each in said:
            self.assertIn(each, text)
        return text

    def step(self, engine, x=1.0):
        result = engine.step(np.float32(x))
        return (result.a.sum.item(), result.a.steps.item(), result.b.sum.item(),
                result.b.steps.item())

    def test_goes_on(self):
        self.step(self.engine)
        self.step(self.engine, 2)
        text = self.save(self.engine, "those of plain (`Plain` has no state_dict() and load_state_")
        self.assertNotIn("k[0]", text)
        self.assertNotIn("empty", text)
        self.assertEqual(sorted(read(self.path)), sorted(OBJECTS + STATES))
        with self.load() as engine:
            self.assertEqual(engine.load_state(self.path), [])
            self.assertEqual(self.step(engine), (16, 3, 400000, 3))
        self.assertEqual(self.step(self.engine), (16, 3, 400000, 3))

    def test_what_the_file_lacks(self):
        self.step(self.engine)
        self.save(self.engine)
        kept = read(self.path)
        del kept[OBJECTS[1]], kept[STATES[0]]
        write(self.path, kept)
        with self.load() as engine:
            self.assertEqual(sorted(engine.load_state(self.path)), sorted([OBJECTS[1], STATES[0]]))
            self.assertEqual(self.step(engine), (8, 2, 100000, 1))

    def test_whole_or_not_at_all(self):
        self.step(self.engine)
        self.engine.up()
        self.save(self.engine)
        kept = read(self.path)
        swapped = {**kept, OBJECTS[1]: kept[OBJECTS[1]].replace(b"tuple", b"Tuple"),
                   STATES[0]: struct.pack("<q", 50)}
        for name, tensors, kind, said in (
                ("a kind that is not known", swapped, cgraph.ExecutionError, "a `Tuple`, which is"),
                ("half", {**kept, OBJECTS[1]: kept[OBJECTS[1]][:-1]}, cgraph.ExecutionError,
                 "k[1]: the restore of its object in python: ValueError: a saved object's array"),
                ("nothing", {**kept, OBJECTS[1]: b""}, cgraph.ExecutionError, "no saved object"),
                ("refused late", {**kept, OBJECTS[1]: kept[OBJECTS[1]].replace(b"NaN", b"1.0")
                                  .replace(b"Infinity", b"1.000000")}, cgraph.ExecutionError,
                 "ValueError: what came is"),
                ("one that cannot", {**kept, "plain.native object": b""}, cgraph.InputError,
                 "the object of plain cannot be restored: `Plain` has no state_dict()"),
                ("no object", {**kept, "empty.native object": b""}, cgraph.InputError,
                 "the object of empty cannot be restored: the place has none")):
            with self.subTest(name), self.load() as engine:
                self.step(engine, 3)
                write(self.path, tensors)
                with self.assertRaises(kind) as raised:
                    engine.load_state(self.path)
                self.assertIn(said, str(raised.exception))
                self.assertEqual(self.step(engine), (16, 2, 400000, 2))
                self.assertEqual([each.item() for each in engine.up()], [1, 1])

    def test_what_cannot_be_put_back(self):
        """An object that is neither what it was nor what it should be ends the engine."""
        self.save(self.engine)
        self.engine.set(np.int64(0), np.int64(103))
        with self.assertRaisesRegex(cgraph.ExecutionError, "(?s)LookupError: never.*; and what it "
                                    "kept before cannot be put back, so the engine has ended: k.1"):
            self.engine.load_state(self.path)
        with self.assertRaisesRegex(cgraph.ExecutionError, "the engine has ended"):
            self.engine.up()

    def test_an_execution_whose_rounds_are_not_over(self):
        """It is awaited: no file has half of it."""
        source, x = f"{self.folder}/p.cgraph", np.zeros(4, np.float32)
        pathlib.Path(source).write_text(LAGGING)
        plan = cgraph.compile(source)
        self.assertIn("lag ", str(subprocess.run(
            [sys.executable, "-m", "cgraph.cgc", "compile", source, "--emit", "plan"],
            capture_output=True, text=True, timeout=60, check=False,
            env=dict(os.environ, PYTHONPATH=support.OPTIONS.package))))
        with cgraph.Engine(plan, processes=self.processes) as engine:
            for i in range(1, 10):
                future = engine.up.submit(x)
                engine.save_state(self.path)
                self.assertEqual(set(read(self.path).values()), {struct.pack("<q", i)})
                self.assertTrue(future.done())
                self.assertEqual(future.result().tolist(), [3 * i] * 4)

    def test_as_values(self):
        """What is saved, in memory and of a file."""
        self.step(self.engine, 2)
        kept = self.engine.objects()
        self.assertEqual(sorted(kept), ["k[0]", "k[1]"])
        state = kept["k[0]"]["self"]
        self.assertEqual((state["steps"], state["w"].tolist()), (1, [2] * 4))
        self.save(self.engine)
        self.assertEqual(repr(cgraph.read_objects(self.path)), repr(kept))
        with self.assertRaises(cgraph.InputError):
            cgraph.read_objects(__file__)
        with self.assertRaises(cgraph.FileNotFoundError):
            cgraph.read_objects("absent.safetensors")

    def test_failures(self):
        self.engine.set(np.int64(0), np.int64(100))
        with self.assertRaisesRegex(cgraph.ExecutionError, r"k\[1\]: the save of its object in "
                                    r"python: TypeError: state_dict\(\)\['parts'\]\[0\]\['names'\] "
                                    r"is of the type builtins.set"):
            self.engine.save_state(self.path)
        self.engine.set(np.int64(104), np.int64(0))
        with self.assertRaisesRegex(cgraph.ExecutionError, "of the type numpy.ma.core.MaskedArray"):
            self.engine.save_state(self.path)
        self.engine.set(np.int64(101), np.int64(0))
        with self.assertRaisesRegex(cgraph.ExecutionError, "LookupError: not today") as raised:
            self.engine.save_state(self.path)
        self.assertIn("kept_stages.py", str(raised.exception))
        self.assertNotIn("stored.py", str(raised.exception))
        self.assertFalse(os.path.exists(self.path))
        self.engine.set(np.int64(0), np.int64(0))
        self.save(self.engine)


class OneProcess(Base, unittest.TestCase):
    def test_one_moment(self):
        """Another thread wants to execute graphs while the first of two objects is saved, and while
        it is restored: that comes behind all of it."""
        import kept_stages
        self.step(self.engine)
        self.engine.up()

        def execute():
            self.engine.stats()  # waits, too, and without the interpreter's lock
            self.step(self.engine)
            self.engine.up()
        threads = []

        def during(kept):
            if kept.w.size == 4:
                threads.append(threading.Thread(target=execute))
                threads[-1].start()
                threads[-1].join(0.3)  # as much as an execution needs, many times
                self.assertTrue(threads[-1].is_alive())
        with unittest.mock.patch.object(kept_stages, "DURING", during):
            self.save(self.engine)
        threads.pop().join()
        kept = read(self.path)
        self.assertEqual([kept[name] for name in STATES], [struct.pack("<q", 1)] * 2)
        self.assertEqual([each.item() for each in self.engine.up()], [3, 3])
        self.assertEqual(self.step(self.engine)[1::2], (3, 3))
        with unittest.mock.patch.object(kept_stages, "DURING", during):
            self.engine.load_state(self.path)
        for thread in threads:  # those of what is saved first, and of what is restored
            thread.join()
        self.assertEqual(self.step(self.engine)[1::2], (2 + len(threads),) * 2)
        self.assertEqual([each.item() for each in self.engine.up()], [2 + len(threads)] * 2)

    def test_within_a_method(self):
        """It would wait for its own execution."""
        import kept_stages
        for ask in (lambda: self.engine.save_state(self.path),
                    lambda: self.engine.state["k[0]"]["w"]):
            with unittest.mock.patch.object(kept_stages, "WITHIN", ask), \
                    self.assertRaisesRegex(cgraph.ExecutionError, "a method cannot read or set "
                                           "states of the engine that calls it"):
                self.engine.others(np.float32(1))
        self.assertEqual(self.engine.state["k[0]"]["w"].item(), 0)

    def test_calls_within_a_method(self):
        """So would a call of a graph, a wait for what was submitted, and the end of the engine; one
        that is over, and another engine, it may use, also where that one's methods come back."""
        import kept_stages
        over = self.engine.up.submit()
        over.result()
        entered, submitted = threading.Event(), []

        def wait(asks):
            entered.set()
            while not submitted:
                time.sleep(0.001)
            asks(submitted[0])
        for ask in (lambda: self.engine.up(), lambda: self.engine.up.submit(), self.engine.close,
                    lambda: wait(lambda future: future.result(30)),
                    lambda: wait(lambda future: future.exception()),
                    lambda: other.others(np.float32(0))):
            entered.clear()
            submitted.clear()
            with self.load() as other, \
                    unittest.mock.patch.object(kept_stages, "WITHIN", ask):
                future = self.engine.others.submit(np.float32(1))
                if entered.wait(0.2):
                    submitted.append(self.engine.up.submit())
                begun = time.monotonic()
                with self.assertRaisesRegex(cgraph.ExecutionError, "a method cannot .* close it: "):
                    future.result(30)
                self.assertLess(time.monotonic() - begun, 10)
                for each in submitted:
                    each.result()
        with unittest.mock.patch.object(kept_stages, "WITHIN", lambda: (
                over.result(), self.engine.stats(), self.engine.wait_report())):
            self.engine.others(np.float32(1))
        self.engine.up()

    def test_within_what_saves(self):
        """Nor can an object that is saved use the engine that asks for it."""
        import kept_stages
        for ask in (lambda kept: self.engine.save_state(self.path),
                    lambda kept: self.engine.up(), lambda kept: self.engine.close()):
            with unittest.mock.patch.object(kept_stages, "DURING", ask), \
                    self.assertRaisesRegex(cgraph.ExecutionError,
                                           "cannot use the engine that asks"):
                self.engine.save_state(self.path)
        self.assertEqual([each.item() for each in self.engine.up()], [1, 1])

    def test_what_may_be_asked_while_it_is_saved(self):
        import kept_stages
        counts = []
        with unittest.mock.patch.object(
                kept_stages, "DURING",
                lambda kept: counts.append(self.engine.stats()["executions"])):
            self.engine.save_state(self.path)
        self.assertEqual(counts, [0, 0])

    def test_ctrl_c_while_it_is_saved(self):
        """Python's handler runs in state_dict(), which is no failure of that."""
        import kept_stages

        def interrupt(kept):
            signal.raise_signal(signal.SIGINT)
        with unittest.mock.patch.object(kept_stages, "DURING", interrupt), \
                self.assertRaises(KeyboardInterrupt):
            self.engine.save_state(self.path)
        self.save(self.engine)

    def test_cgrun(self):
        """The files are those of cgrun."""
        self.step(self.engine)
        self.save(self.engine)
        source = f"{self.folder}/p.cgraph"
        pathlib.Path(source).write_text(PROGRAM)
        for flags in ((), ("--processes", "device")):
            done = subprocess.run(
                [sys.executable, "-m", "cgraph.cgrun", source, "--lib", str(MODULE), "--graph",
                 "step", "--input", "x=1", "--load-state", self.path, "--save-state", self.path,
                 *flags], capture_output=True, text=True, timeout=60, check=False,
                env=dict(os.environ, PYTHONPATH=support.OPTIONS.package))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("those of plain (`Plain` has no state_dict()", done.stderr)
        self.engine.load_state(self.path)
        self.assertEqual(self.step(self.engine), (16, 4, 400000, 4))


class Processes(Base, unittest.TestCase):
    processes = "device"

    def test_a_process_that_dies(self):
        self.engine.set(np.int64(0), np.int64(102))
        with self.assertRaisesRegex(cgraph.LostError, "ended by itself with exit code 5"):
            self.engine.save_state(self.path)
        self.assertFalse(os.path.exists(self.path))


if __name__ == "__main__":
    support.main()
