"""Who keeps what alive: inputs, results, engines; forks; processes that die.

  lifetimes_test.py --package build/release/python
"""
import gc
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
import weakref

import numpy as np
import support

import cgraph


def resident():
    """The bytes of memory that this process has."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Results(unittest.TestCase):
    def setUp(self):
        self.engine = cgraph.Engine(cgraph.compile(support.PROGRAM))
        self.addCleanup(self.engine.close)

    def test_memory_is_shared(self):
        value = self.engine.twice(x=np.ones(8, np.float32))
        views = [np.asarray(value), np.from_dlpack(value), value.numpy(), np.asarray(value)]
        self.assertEqual(len({view.ctypes.data for view in views}), 1)
        views[0][3] = 7
        self.assertEqual([view[3] for view in views] + [value[3]], [7] * 5)

    def test_outlive_the_engine(self):
        x = np.arange(12, dtype=np.float32).reshape(4, 3)
        expected = support.reference(x)[1]
        values = [self.engine.mlp(x=x).y for _ in range(20)]
        view, capsule, unused = np.asarray(values[0]), np.from_dlpack(values[1]), values[2]
        self.assertIn("dltensor", repr(unused.__dlpack__()))
        self.assertIn("versioned", repr(unused.__dlpack__(max_version=(1, 0))))
        kept = values[3:]
        self.engine.close()
        del values, unused, self.engine
        gc.collect()
        for each in [view, capsule] + kept:
            np.testing.assert_allclose(each, expected, rtol=1e-6)
        self.engine = cgraph.Engine(cgraph.compile(support.PROGRAM, graph="add"))

    def test_distinct(self):
        values = [self.engine.twice(x=np.full(8, k, np.float32)) for k in range(50)]
        self.assertEqual([value[0] for value in values], [2 * k for k in range(50)])
        self.assertEqual(len({np.asarray(value).ctypes.data for value in values}), 50)

    def test_closed(self):
        late = self.engine.late.submit(x=np.ones(1, np.float32), ms=50)
        self.engine.close()
        self.engine.close()
        for fails in (late.result, lambda: self.engine.twice(x=np.ones(8, np.float32))):
            with self.assertRaises(cgraph.ClosedError):
                fails()

    def test_concurrent_of_closed(self):
        """Of what was in flight, begun before and asked for after, and of what has its result."""
        done = self.engine.add.submit(x=3)
        value = done.result()
        late = self.engine.late.submit(x=np.ones(1, np.float32), ms=50)
        begun = late.concurrent()
        self.engine.close()
        self.assertEqual(done.concurrent().result(timeout=60), value)
        for future in (begun, late.concurrent()):
            self.assertIsInstance(future.exception(timeout=60), cgraph.ClosedError)
            with self.assertRaises(cgraph.ClosedError):
                future.result()

    def test_more_workers_than_cores(self):
        """Warned of where they are asked for, in words of Python's."""
        plan = cgraph.compile(support.PROGRAM)
        cores = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, cores)
        os.sched_setaffinity(0, {min(cores)})
        with self.assertWarnsRegex(RuntimeWarning, "^2 workers on 1 core: .*leave out `workers`"):
            cgraph.Engine(plan, workers=2).close()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            cgraph.Engine(plan).close()

    def test_closed_while_others_call(self):
        ends = []

        def run(wait):
            x = np.ones(1024, np.float32)
            try:
                while True:
                    wait(x)
            except cgraph.Error as error:
                ends.append(type(error))

        waits = [lambda x: self.engine.late(x=x, ms=1),
                 lambda x: self.engine.late.submit(x=x, ms=1).result(),
                 lambda x: self.engine.late.submit(x=x, ms=1).result(timeout=60),
                 lambda x: self.engine.late.submit(x=x, ms=1)]
        threads = [threading.Thread(target=run, args=(wait,)) for wait in waits]
        for thread in threads:
            thread.start()
        time.sleep(0.2)
        self.engine.close()
        for thread in threads:
            thread.join(20)
        self.assertEqual(ends, [cgraph.ClosedError] * 4)

    def test_inputs_read_in_place_take_no_memory(self):
        plan = cgraph.compile("""import std.tensor
graph total(x: f32[n <= 25000000]) -> f32 inflight 4 { return sum(x) }
graph mean_of(x: f32[n <= 25000000]) -> f32 inflight 4 { return mean(x) }
""")
        before = resident()
        with cgraph.Engine(plan) as engine:
            x = np.ones(1000000, np.float32)
            self.assertEqual([engine.total(x), engine.mean_of(x)], [1e6, 1])
            # Two graphs, each with four executions of 95 MiB, would be 762 MiB.
            self.assertLess(resident() - before, 50 << 20)
            # What is not aligned is copied, and takes its memory then.
            odd = np.frombuffer(b"_" + x.tobytes(), np.uint8)[1:].view(np.float32)
            for _ in range(5):
                self.assertEqual(engine.total(odd), 1e6)
            self.assertLess(resident() - before, 80 << 20)
            self.assertEqual(engine.total(x), 1e6)

    def test_nothing_leaks(self):
        def use(times):
            x = np.ones(1024, np.float32)
            wrong = np.ones(1024)
            bad = np.full(1024, -1, np.float32)
            for k in range(times):
                np.from_dlpack(self.engine.late(x=x, ms=0))
                memoryview(self.engine.late.submit(x=x, ms=0).result())
                self.engine.late(x=x, ms=0).__dlpack__()
                if k % 16 == 0:
                    with self.assertRaises(cgraph.InputError):
                        self.engine.late(x=wrong, ms=0)
                    with self.assertRaises(cgraph.ExecutionError):
                        self.engine.add(x=-1)
                    self.engine.judged.submit(x=bad)  # dropped, and fails
            deadline = time.monotonic() + 20
            while sys.getrefcount(bad) > 2 and time.monotonic() < deadline:
                self.engine.add(x=0)  # lets go of what is over
            return sys.getrefcount(x), sys.getrefcount(bad)

        held = use(100)
        before = resident()
        self.assertEqual(use(1500), held)
        self.assertEqual(held[1], 2, "inputs of what has failed are held")
        # Each result has 4 KiB: all of them would be 18 MB, and a leak of 64 bytes is not noticed.
        self.assertLess(resident() - before, 4 << 20)

    def test_dlpack_refusals(self):
        value = self.engine.twice(x=np.ones(8, np.float32))
        for options in ({"stream": 1}, {"copy": True}, {"dl_device": (2, 0)}):
            with self.assertRaises(BufferError):
                value.__dlpack__(**options)
        self.assertEqual(value.__dlpack_device__(), (1, 0))


class Held(np.ndarray):
    """An array that can be referred to weakly."""


class Inputs(unittest.TestCase):
    def setUp(self):
        self.engine = cgraph.Engine(cgraph.compile(support.PROGRAM))
        self.addCleanup(self.engine.close)

    def make(self):
        x = np.full(1024, 3, np.float32).view(Held)
        return x, weakref.ref(x)

    def test_freed_after_submit(self):
        x, seen = self.make()
        future = self.engine.late.submit(x=x, ms=100)
        del x
        gc.collect()
        self.assertIsNotNone(seen(), "an input was let go of while it is read")
        noise = [np.zeros(1024, np.float32) for _ in range(100)]
        self.assertEqual(set(future.result().tolist()), {6.0})
        del noise
        self.assertIsNone(seen(), "an input is held although nobody reads it")

    def test_dropped_future(self):
        x, seen = self.make()
        self.engine.late.submit(x=x, ms=50)  # nobody asks for the result
        del x
        gc.collect()
        self.assertIsNotNone(seen())
        deadline = time.monotonic() + 20
        while seen() is not None and time.monotonic() < deadline:
            self.engine.add(x=0)
            time.sleep(0.01)
        self.assertIsNone(seen())

    def test_close_lets_go(self):
        x, seen = self.make()
        future = self.engine.late.submit(x=x, ms=50)
        self.engine.late.submit(x=x, ms=0)
        del x
        self.engine.close()
        with self.assertRaises(cgraph.ClosedError):
            future.result()
        del future
        gc.collect()
        self.assertIsNone(seen())

    def test_refused_input_is_let_go(self):
        x, seen = self.make()
        with self.assertRaises(cgraph.InputError):
            self.engine.nested(pair={"a": x, "b": x}, xs=[x, x])
        del x
        gc.collect()
        self.assertIsNone(seen())


class Programs(unittest.TestCase):
    """What needs a process of its own."""

    def python(self, text, timeout=120, **environment):
        before = f"import sys; sys.path[:0] = [{str(pathlib.Path(__file__).parent)!r}, " \
                 f"{support.OPTIONS.package!r}]\nimport os, time, support, cgraph\n" \
                 "import numpy as np\nplan = cgraph.compile(support.PROGRAM)\n"
        return subprocess.run([sys.executable, "-c", before + text], capture_output=True, text=True,
                              timeout=timeout, check=False, env={**os.environ, **environment})

    def test_fork(self):
        done = self.python("""
engine = cgraph.Engine(plan)
value = engine.twice(x=np.ones(8, np.float32))
future = engine.late.submit(x=np.ones(2, np.float32), ms=50)
pid = os.fork()
if pid == 0:
    for call in (lambda: engine.twice(x=np.ones(8, np.float32)), future.result, future.done,
                 engine.stats):
        try:
            call()
        except cgraph.Error as error:
            print(error, flush=True)
    assert value.tolist() == [2.0] * 8
    del future, engine.graphs, value  # nothing of the parent's may be destroyed
    engine.close()
    del engine
    with cgraph.Engine(plan) as again:
        print("again", again.twice(x=np.ones(8, np.float32)).tolist()[0], flush=True)
    sys.exit(0)
assert os.waitpid(pid, 0)[1] == 0
print("parent", future.result().tolist(), engine.twice(x=np.ones(8, np.float32)).tolist()[0])
""")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 6, done.stdout + done.stderr)
        for line in lines[:4]:
            self.assertRegex(line, r"^this engine was made in process \d+, .*forked.*\"spawn\"")
        self.assertEqual(lines[4:], ["again 2.0", "parent [2.0, 2.0] 2.0"])

    def test_no_memory_while_it_waits(self):
        """An execution that nobody can wait for goes on, and its input stays."""
        done = self.python("""
import ctypes, signal, weakref
class Held(np.ndarray):
    pass
no_memory = ctypes.CDLL(None).no_memory_next
engine = cgraph.Engine(plan)
engine.late(x=np.ones(1, np.float32), ms=0)
for _ in range(2):
    x = np.full(1024, 3, np.float32).view(Held)
    seen = weakref.ref(x)
    signal.signal(signal.SIGALRM, lambda *_: no_memory())
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        engine.late(x=x, ms=1000)
    except MemoryError as error:
        del x
        print("held" if seen() is not None else "freed", flush=True)
    time.sleep(1.2)
    engine.late(x=np.ones(1, np.float32), ms=0)
    print("held" if seen() is not None else "freed", flush=True)
engine.close()
""", LD_PRELOAD=support.OPTIONS.no_memory)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.split(), ["held", "freed"] * 2, done.stderr)

    def test_end_without_close(self):
        for end in ("", "sys.exit(3)", "raise ValueError"):
            done = self.python(f"""
engine = cgraph.Engine(plan)
value = engine.twice(x=np.ones(8, np.float32))
future = engine.late.submit(x=np.ones(2, np.float32), ms=50)
also = cgraph.Engine(plan).twice
also(x=np.ones(8, np.float32))
{end}
""")
            self.assertEqual(done.returncode, {"": 0, "sys.exit(3)": 3}.get(end, 1), done.stderr)

    def test_subinterpreter(self):
        """One that imports the package is told so, whether or not the main one has imported it."""
        for first in ("", "import cgraph\n"):
            done = subprocess.run([sys.executable, "-c", f"""import sys
sys.path.insert(0, {support.OPTIONS.package!r})
{first}try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
sub = interpreters.create()
try:
    said = interpreters.run_string(sub, "import sys; sys.path[:0] = %r\\nimport cgraph" % sys.path)
except BaseException as error:
    said = error
print(said)
interpreters.destroy(sub)
import cgraph
print(cgraph.compile("graph g(x: f32) -> f32 {{ return x }}"))
"""], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
            self.assertIn("interpreter", done.stdout)
            self.assertIn("<cgraph.Plan: 1 graph (g)", done.stdout)

    def test_end_with_daemon_threads(self):
        for _ in range(8):
            done = self.python("""
import threading
engine = cgraph.Engine(plan)
def run():
    try:
        while True:
            engine.late(x=np.ones(4, np.float32), ms=2)
    except cgraph.ClosedError:
        pass
for _ in range(3):
    threading.Thread(target=run, daemon=True).start()
time.sleep(0.05)
""")
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_stall(self):
        done = self.python("""
engine = cgraph.Engine(plan, timeout=0.3)
try:
    engine.late(x=np.ones(2, np.float32), ms=1500)
except cgraph.TimeoutError as error:
    print(error)
engine.close()
""")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("nothing has moved for 0.3 s", done.stdout)
        self.assertIn("worker.late", done.stdout)

    def test_killed_while_it_waits(self):
        """Processes of an engine end with it, however it ends."""
        with tempfile.TemporaryFile("w+") as out:
            before = f"import sys; sys.path[:0] = [{str(pathlib.Path(__file__).parent)!r}, " \
                     f"{support.OPTIONS.package!r}]\n"
            child = subprocess.Popen([sys.executable, "-c", before + """
import support, cgraph, time
engine = cgraph.Engine(cgraph.compile(support.PROGRAM), processes="device")
print(*[each["process"] for each in engine.stats()["processes"]], flush=True)
time.sleep(60)
"""], stdout=out)
            pids, deadline = [], time.monotonic() + 60
            while len(pids) < 3 and time.monotonic() < deadline:
                time.sleep(0.05)
                out.seek(0)
                pids = [int(word) for word in out.read().split()]
            self.assertGreaterEqual(len(pids), 3)
            child.kill()
            child.wait()
            deadline = time.monotonic() + 20
            while any(os.path.exists(f"/proc/{pid}/exe") for pid in pids):
                self.assertLess(time.monotonic(), deadline, "processes are left behind")
                time.sleep(0.05)


class Processes(unittest.TestCase):
    def test_results_and_a_death(self):
        x = np.ones((2, 3), np.float32)
        with cgraph.Engine(cgraph.compile(support.PROGRAM), processes="device") as engine:
            np.testing.assert_allclose(engine.mlp(x=x).y, support.reference(x)[1])
            processes = engine.stats()["processes"]
            self.assertEqual(processes[0]["process"], os.getpid())
            victim, = [each for each in processes if "gpu[1]" in each["devices"]]
            value = engine.mlp(x=x)
            os.kill(victim["process"], signal.SIGKILL)
            with self.assertRaisesRegex(cgraph.LostError, r"gpu\[1\][\s\S]*killed"):
                deadline = time.monotonic() + 20
                while time.monotonic() < deadline:
                    engine.mlp(x=x)
            np.testing.assert_allclose(value.y, support.reference(x)[1])

    def test_named_number(self):
        with cgraph.Engine(cgraph.compile(support.PROGRAM), processes=2) as engine:
            self.assertEqual(len(engine.stats()["processes"]), 2)
            self.assertEqual(engine.twice(x=np.ones(8, np.float32)).tolist(), [2.0] * 8)

    def test_death_inside_a_method(self):
        """The message names the actor that the process was inside."""
        text = support.PROGRAM.replace("place worker = Worker() on cpu[0]",
                                       "place worker = Worker() on gpu[1]")
        with cgraph.Engine(cgraph.compile(text), processes="device") as engine:
            future = engine.late.submit(x=np.ones(4, np.float32), ms=20000)
            victim, = [each for each in engine.stats()["processes"] if "gpu[1]" in each["devices"]]
            with self.assertRaises(cgraph.TimeoutError):
                future.result(timeout=0.3)
            os.kill(victim["process"], signal.SIGKILL)
            start = time.monotonic()
            with self.assertRaisesRegex(cgraph.LostError,
                                        r"worker\.late[\s\S]*\nthe engine has ended"):
                future.result()
            self.assertLess(time.monotonic() - start, 15)
            with self.assertRaisesRegex(cgraph.LostError, "the engine has ended"):
                engine.late(x=np.ones(4, np.float32), ms=0)


if __name__ == "__main__":
    support.main()
