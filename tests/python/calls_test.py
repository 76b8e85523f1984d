"""Engines from Python: calls against NumPy, futures, threads, what is refused.

  calls_test.py --package build/release/python
               --probe build/release/tests/python/libcgraph_probe.so
"""
import asyncio
import concurrent.futures
import enum
import os
import signal
import threading
import time
import unittest
import unittest.mock

import numpy as np
import support

import cgraph


class Kind(enum.IntEnum):
    """Kinds of devices, as PyTorch gives them."""
    CPU = 1
    CUDA = 2


class OnlyDLPack:
    """A tensor that has DLPack alone, in one of its two forms."""

    def __init__(self, array, versioned=True, device=(Kind.CPU, 0)):
        self.array, self.versioned, self.device = array, versioned, device

    def __dlpack__(self, **options):
        if not self.versioned and options:
            raise TypeError("no options here")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device


class WithEngine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.engine = cgraph.Engine(cgraph.compile(support.PROGRAM))

    @classmethod
    def tearDownClass(cls):
        cls.engine.close()


class Calls(WithEngine):
    def test_results(self):
        generator = np.random.default_rng(3)
        for n in (4, 1, 0, 3):
            x = generator.standard_normal((n, 3), dtype=np.float32)
            hidden, y = support.reference(x)
            for value in (self.engine.mlp(x=x), self.engine.mlp(x), self.engine.graphs["mlp"](x)):
                self.assertEqual(value._fields, ("hidden", "y"))
                self.assertEqual(value.y.shape, (n, 3))
                np.testing.assert_allclose(value.hidden, hidden, rtol=1e-6)
                np.testing.assert_allclose(value[1], y, rtol=1e-6)

    def test_single_result(self):
        before = self.engine.add(x=0).item()
        total = self.engine.add(x=np.int64(5))
        self.assertEqual((total.shape, total.dtype, total.ndim, total.nbytes), ((), "i64", 0, 8))
        self.assertEqual(int(total), before + 5)
        self.assertEqual(self.engine.add(x=np.array(2)).tolist(), before + 7)

    def test_dtypes(self):
        given = {"a": np.array([True, False])}
        for name, dtype in (("b", np.int8), ("c", np.uint8), ("d", np.int32), ("e", np.int64),
                            ("f", np.float16), ("g", np.float64)):
            given[name] = np.array([1, 60], dtype)
        value = self.engine.flip(**given)
        np.testing.assert_array_equal(value.a, [False, True])
        for name in "bcdefg":
            got = getattr(value, name)
            self.assertEqual(np.asarray(got).dtype, given[name].dtype)
            np.testing.assert_array_equal(got, given[name] + given[name])
            for array in (np.from_dlpack(got), np.array(got, copy=True), got.numpy()):
                np.testing.assert_array_equal(array, got)
        wrapped = {name: OnlyDLPack(array) if name != "a" else array  # NumPy 1.24 gives no bool
                   for name, array in given.items()}
        self.assertEqual(self.engine.flip(**wrapped).d.tolist(), [2, 120])

    def test_bf16(self):
        bits = np.array([1, 2, 3, -4], np.float32).view(np.uint32) >> 16
        value = self.engine.half(x=bits.astype(np.uint16))
        self.assertEqual(value.dtype, "bf16")
        got = np.frombuffer(value, np.uint16).astype(np.uint32) << 16
        np.testing.assert_array_equal(got.view(np.float32), [0.5, 1, 1.5, -2])
        with self.assertRaisesRegex(BufferError, "bf16"):
            memoryview(value)
        again = self.engine.half(x=OnlyDLPack(value))
        self.assertEqual(np.frombuffer(again, np.uint16)[1], 0x3f00)
        import ml_dtypes
        again = self.engine.half(x=np.array([1, 2, 3, -4], ml_dtypes.bfloat16))
        np.testing.assert_array_equal(again.numpy().astype(np.float32), [0.5, 1, 1.5, -2])

    def test_nested(self):
        a, b, c, d = (np.full(8, k, np.float32) for k in range(4))
        pair = self.engine.nested(pair={"a": a, "b": b}, xs=[c, d])
        self.assertEqual(pair._fields, ("sum", "parts"))
        self.assertEqual(pair.parts.a.tolist(), [2.0] * 8)
        self.assertEqual([each.tolist()[0] for each in pair.parts.rest], [3.0, 2.0])
        again = self.engine.nested({"a": b, "b": d}, pair.parts.rest)
        self.assertEqual(again.parts.a.tolist(), [6.0] * 8)
        for same in ((a, b), [a, b]):
            got = self.engine.nested(pair=same, xs=np.stack([c, d]))
            self.assertEqual(got.parts.a.tolist(), [2.0] * 8)
            self.assertEqual(got.parts.rest[0].tolist(), [3.0] * 8)
        pair = {"a": a, "b": b}
        for words, given in (("`xs` is a list of 2, and was given 3", (pair, [c, d, d])),
                             ("`xs` is a list of 2, and was given 5",
                              (pair, np.ones((5, 8), "f4"))),
                             ("`xs` is a list of 2, and was given 1", (pair, [c])),
                             ("`pair` has no part `z`", ({**pair, "z": c}, [c, d])),
                             ("`pair`.*`?b`?", ({"a": a}, [c, d])),
                             ("`pair`.*2.*3", ((a, b, c), [c, d]))):
            with self.assertRaisesRegex(cgraph.InputError, words) as raised:
                self.engine.nested(*given)
            self.assertNotRegex(str(raised.exception), "KeyError|AttributeError|IndexError")

    def test_documents(self):
        self.assertIn("x: f32[n <= 4, 3]", self.engine.mlp.__doc__)
        self.assertIn("mlp(x", repr(self.engine.mlp))
        self.assertIn("y: f32[n <= 4, 3]", self.engine.mlp.signature)

    def test_state_lives_as_long_as_the_engine(self):
        with cgraph.Engine(self.engine.plan) as other:
            self.assertEqual([int(other.add(x=x)) for x in (1, 2, 3)], [1, 3, 6])
            self.assertEqual(other.stats()["executions"], 3)


class Refusals(WithEngine):
    def refused(self, pattern, *args, graph="mlp", **inputs):
        with self.assertRaisesRegex(cgraph.InputError, pattern):
            self.engine.graphs[graph](*args, **inputs)

    def test_inputs(self):
        x = np.ones((2, 3), np.float32)
        self.refused(r"given f64; `x.astype\(numpy.float32\)`", x=x.astype(float))
        self.refused(r"given f64; `x.to\(torch.float32\)` of PyTorch, or "
                     r"`x.astype\(numpy.float32\)`, makes", x=OnlyDLPack(x.astype(float)))
        self.refused("elements of the form `H`", x=x.astype(np.uint16))
        self.refused(r"takes `x` as f32\[n <= 4, 3\], and was given f32\[2, 2\]",
                     x=np.ones((2, 2), np.float32))
        self.refused(r"was given f32\[5, 3\]", x=np.ones((5, 3), np.float32))
        self.refused("ascontiguousarray", x=np.ones((3, 2), np.float32).T)
        self.refused("ascontiguousarray", x=np.ones((2, 6), np.float32)[:, ::2])
        self.refused("ascontiguousarray", x=OnlyDLPack(np.ones((3, 2), np.float32).T))
        self.refused(r"given a list.*`numpy.asarray\(x, dtype=numpy.float32\)`", x=[[1, 2, 3]])
        self.refused("not given its input `x`")
        self.refused("has no input `z`; its inputs: x", x=x, z=x)
        self.refused("has no input `X`", X=x)
        self.refused("takes 1 input, and was given 2", x, x)
        self.refused("given `x` twice", x, x=x)
        self.refused(r"`x.cpu\(\)`", x=OnlyDLPack(x, device=(Kind.CUDA, 1)))
        self.refused(r"`x` is 1.5, a float; i64.* holds whole numbers.*`round\(x\)`", graph="add",
                     x=1.5)
        self.refused("i64", graph="add", x=True)
        for many in (1 << 63, 1 << 64, -1 << 64, 10 ** 5000):
            self.refused("`x` is an int of more than 64 bits; i64.* holds -9223", graph="add",
                         x=many)

    def test_what_a_producer_refuses(self):
        """As PyTorch does where a tensor requires a gradient."""
        class Refusing(OnlyDLPack):
            requires_grad = True

            def __dlpack__(self, **options):
                raise BufferError("Can't export it")

        x = Refusing(np.ones((2, 3), np.float32))
        self.refused(r"^`mlp` takes `x` as f32\[n <= 4, 3\], and was given a tensor that requires "
                     r"a gradient; `x.detach\(\)` fits$", x=x)
        x.requires_grad = False
        self.refused(r"^`mlp` takes `x` as f32\[n <= 4, 3\], and `__dlpack__` of what was given "
                     r"says: Can't export it$", x=x)

    def test_a_device_that_is_none(self):
        x = np.ones((2, 3), np.float32)
        for device, said in (("nonsense", "returns 'nonsense'"), ((1,), r"returns \(1,\)"),
                             (None, "returns None"), ((1 << 80, 0), "returns")):
            self.refused(rf"^`mlp` takes `x` as .*, and `__dlpack_device__` of what was given "
                         rf"{said}.*which is no device of DLPack's, as \(1, 0\)$",
                         x=OnlyDLPack(x, device=device))

        class Failing(OnlyDLPack):
            def __dlpack_device__(self):
                raise OSError("no such device")

        self.refused("`__dlpack_device__` of what was given fails: no such device$", x=Failing(x))

    def test_more_than_elements(self):
        x = np.ones((2, 3), np.float32)
        for masked in (np.ma.masked_array(x, mask=[[0, 0, 1]] * 2), np.ma.masked_array(x)):
            self.refused(r"^`mlp` takes `x` as f32\[n <= 4, 3\], and was given a masked array, "
                         r"whose masked elements are none; `x.filled\(...\)` makes a copy that "
                         r"fits$", x=masked)
        self.engine.mlp(x=masked.filled(0))

        class Negated(OnlyDLPack):  # as PyTorch's `imag` of a conjugate
            def is_neg(self):
                return True

        self.refused(r"elements are yet to be negated; `x.resolve_neg\(\)` makes", x=Negated(x))

    def test_booleans(self):
        def given(a):
            return {"a": a, **{name: np.zeros(2, dtype) for name, dtype in
                               (("b", "i1"), ("c", "u1"), ("d", "i4"), ("e", "i8"), ("f", "f2"),
                                ("g", "f8"))}}

        views = np.array([[2, 0], [1, 255], [0, 1]], np.uint8).view(bool)
        for a in views[:2]:
            self.refused(r"^`flip` takes `a` as bool\[2\], and was given booleans that are neither "
                         "0 nor 1$", graph="flip", **given(a))
        self.assertEqual(self.engine.flip(**given(views[2])).a.tolist(), [True, False])

    def test_byte_order(self):
        x = np.ones((2, 3), np.float32)
        self.refused(r"form `>f`, whose high bytes come first; "
                     r"`x.astype\(x.dtype.newbyteorder\('<'\)\)`", x=x.astype(">f4"))
        bits = np.array([0x3f80] * 4, ">u2")
        self.refused("form `>H`, whose high bytes come first", graph="half", x=bits)
        fits = bits.astype(bits.dtype.newbyteorder("<"))
        self.assertEqual(self.engine.half(x=fits).tolist(), [0.5] * 4)
        self.refused("given elements of the form `h`", graph="half", x=fits.astype(np.int16))

    def test_is_a_value_error(self):
        with self.assertRaises(ValueError):
            self.engine.mlp(x=1)

    def test_attribute(self):
        with self.assertRaisesRegex(AttributeError, "no graph `nope`; its graphs: mlp, add"):
            _ = self.engine.nope

    def test_method_that_fails(self):
        before = int(self.engine.add(x=0))
        with self.assertRaisesRegex(cgraph.ExecutionError,
                                    r"counter\.add.*source\.cgraph:37.*a counter does not go down"):
            self.engine.add(x=-1)
        failing = self.engine.add.submit(x=-1)
        self.assertIsInstance(failing.exception(), cgraph.ExecutionError)
        with self.assertRaises(cgraph.Error):
            failing.result()
        self.assertEqual(int(self.engine.add(x=1)), before + 1)

    def test_engine_options(self):
        plan = self.engine.plan
        with self.assertRaisesRegex(cgraph.PlanError, r"^`device_map` gpu\[7\]=cpu:0: the plan"):
            cgraph.Engine(plan, device_map={"gpu[7]": "cpu:0"})
        with self.assertRaisesRegex(cgraph.PlanError, "compile with `inflight=100`$"):
            cgraph.Engine(plan, inflight=100)
        digits = cgraph.compile("import std.tensor\nactor A() { state w: f32[2] = "
                                "load(\"w.safetensors\", \"w\")\n method f() -> f32[2] "
                                "{ return w } }\nplace a = A() on cpu[0]\n"
                                "graph g() -> f32[2] { return a.f() }\n")
        with self.assertRaisesRegex(cgraph.PlanError, "`weights=./nowhere.`: there is no"):
            cgraph.Engine(digits, weights="/nowhere")
        for options in ({"processes": 2, "device_map": {"gpu[*]": "cpu:0"}},
                        {"processes": "device", "workers": 1},
                        {"workers": 1, "device_map": {"gpu[*]": "cpu:0"}}):
            first, second = [f"`{name}`" for name in sorted(options, key=list(options).index)]
            with self.assertRaises(cgraph.InputError) as refused:
                cgraph.Engine(plan, **options)
            self.assertIn(" excludes ", str(refused.exception))
            self.assertIn(first, str(refused.exception))
            self.assertIn(second, str(refused.exception))
        with self.assertRaisesRegex(cgraph.PlanError, "(?i)gpu|cuda"):
            cgraph.Engine(plan, processes=2, require_gpus=True)
        with cgraph.Engine(plan, device_map={"gpu[*]": "cpu:0"}, libraries=None) as engine:
            self.assertEqual(engine.twice(np.ones(8, np.float32)).tolist(), [2.0] * 8)
        with cgraph.Engine(plan, device_map={"gpu[*]": "cpu:0"}, workers=None) as engine:
            self.assertEqual(engine.twice(np.ones(8, np.float32)).tolist(), [2.0] * 8)


    def test_several_nodes_under_a_launcher(self):
        plan = cgraph.compile("""import std.tensor
actor A() { method f(x: f32[8]) -> f32[8] { return x + x } }
place a[k in 0..3] = A() on node[k].cpu[0]
graph g(x: f32[8]) -> f32[8] { return a[2].f(a[1].f(a[0].f(x))) }
""")
        x = np.ones(8, np.float32)
        for launcher, variables in (("mpirun of Open MPI", {"OMPI_COMM_WORLD_SIZE": "2"}),
                                    ("mpirun of MPICH", {"PMI_SIZE": "2"}),
                                    ("srun", {"SLURM_STEP_NUM_TASKS": "2"})):
            with unittest.mock.patch.dict(os.environ, variables):
                with self.assertRaises(cgraph.PlanError) as caught:
                    cgraph.Engine(plan)
                with cgraph.Engine(self.engine.plan) as engine:  # of one node
                    self.assertEqual(engine.twice(x).tolist(), [2.0] * 8)
            self.assertEqual(
                str(caught.exception),
                "the plan has devices on node[0] to node[2], and an Engine in Python serves all of "
                f"them in its own process; {launcher} has started 2 processes, and each would run "
                f"the whole program: `{launcher.split()[0]} -n 3 cgrun PLAN` gives each node a "
                "process")
        for variables in ({}, {"OMPI_COMM_WORLD_SIZE": "1"}):
            with unittest.mock.patch.dict(os.environ, variables), cgraph.Engine(plan) as engine:
                self.assertEqual(engine.g(x).tolist(), [8.0] * 8)


class Futures(WithEngine):
    def test_out_of_order(self):
        xs = [np.full((2, 3), k, np.float32) for k in range(4)]
        futures = [self.engine.mlp.submit(x=x) for x in xs]
        for k in (3, 0, 2, 1):
            np.testing.assert_allclose(futures[k].result().y, support.reference(xs[k])[1])
        self.assertTrue(all(future.done() for future in futures))
        self.assertIs(futures[0].result(), futures[0].result())

    def test_timeout(self):
        future = self.engine.late.submit(x=np.ones(4, np.float32), ms=400)
        self.assertFalse(future.done())
        start = time.monotonic()
        with self.assertRaisesRegex(cgraph.TimeoutError,
                                    r"no result of `late` after 0.05 s[\s\S]*worker.late"):
            future.result(timeout=0.05)
        with self.assertRaises(TimeoutError):  # Python's own
            future.result(timeout=0)
        self.assertLess(time.monotonic() - start, 0.4)
        self.assertEqual(future.result(timeout=60).tolist(), [2.0] * 4)

    def test_await(self):
        async def one(x):
            return (await self.engine.mlp.submit(x=x)).y

        async def slow():
            return await self.engine.late.submit(x=np.ones(2, np.float32), ms=100)

        async def all_of_them():
            ticks = 0
            waiting = asyncio.ensure_future(asyncio.gather(slow(), *[one(x) for x in xs]))
            while not waiting.done():
                ticks += 1
                await asyncio.sleep(0.01)
            return await waiting, ticks

        xs = [np.full((1, 3), k, np.float32) for k in range(3)]
        (late, *ys), ticks = asyncio.run(all_of_them())
        self.assertEqual(late.tolist(), [2.0, 2.0])
        self.assertGreaterEqual(ticks, 3, "the loop stood still meanwhile")
        for x, y in zip(xs, ys):
            np.testing.assert_allclose(y, support.reference(x)[1])

    def test_call_async(self):
        """Calls that wait for room do not stand in the loop's way, and are executed in order."""
        async def main():
            ticks = [time.monotonic()]

            async def tick():
                while True:
                    await asyncio.sleep(0.01)
                    ticks.append(time.monotonic())

            ticking = asyncio.create_task(tick())
            late = [self.engine.late.call_async(np.ones(2, np.float32), ms=80) for _ in range(8)]
            sums = [self.engine.add.call_async(x=1 << k) for k in range(6)]
            dropped = asyncio.create_task(self.engine.late.call_async(np.ones(2, np.float32), 80))
            before = self.engine.add(0).item()
            values = await asyncio.gather(*late, *sums)
            dropped.cancel()
            ticking.cancel()
            stood = max(b - a for a, b in zip(ticks, ticks[1:]))
            return [each.tolist() for each in values[:8]], [
                each.item() - before for each in values[8:]], stood

        late, sums, stood = asyncio.run(main())
        self.assertEqual(late, [[2.0, 2.0]] * 8)
        self.assertEqual(sums, [(2 << k) - 1 for k in range(6)])
        self.assertLess(stood, 0.3, "eight executions of 80 ms, four at once, take 0.16 s or more")
        for wrong, error in ((-1, cgraph.ExecutionError), ("x", cgraph.InputError)):
            with self.assertRaises(error):
                asyncio.run(self.engine.add.call_async(wrong))
        closed = cgraph.Engine(self.engine.plan)
        self.assertEqual(asyncio.run(closed.add.call_async(3)).item(), 3)
        closed.close()
        with self.assertRaises(cgraph.ClosedError):
            asyncio.run(closed.add.call_async(3))

    def test_an_input_named_self(self):
        with cgraph.Engine(cgraph.compile(
                "import std.tensor\ngraph g(self: f32) -> f32 { return self * 2.0 }\n")) as engine:
            self.assertEqual(engine.g(self=3.0), 6)
            self.assertEqual(engine.g.submit(self=3.0).result(), 6)
            self.assertEqual(asyncio.run(engine.g.call_async(self=3.0)), 6)

    def test_await_error(self):
        async def failing():
            await self.engine.add.submit(x=-1)
        with self.assertRaises(cgraph.ExecutionError):
            asyncio.run(failing())

    def test_of_several_graphs(self):
        """A result does not wait for that of another graph, also where inputs give its extents."""
        plan = cgraph.compile("""import std.debug
import std.tensor
actor A() {
  method slow(x: f32[n <= 4], ms: i64) -> f32[n] {
    sleep(ms)
    return x + 1.0
  }
}
place a = A() on cpu[0]
place b = A() on cpu[1]
graph first(x: f32[n <= 4], ms: i64) -> f32[n] { return a.slow(x, ms) }
graph second(x: f32[n <= 4], ms: i64) -> f32[n] { return b.slow(x, ms) }
""")
        with cgraph.Engine(plan, workers=3) as engine:
            slow = engine.first.submit(x=np.ones(3, np.float32), ms=2000)
            self.assertEqual(engine.second(x=np.ones(2, np.float32), ms=0).tolist(), [2.0] * 2)
            self.assertFalse(slow.done())
            self.assertEqual(slow.result().tolist(), [2.0] * 3)

    def test_concurrent(self):
        """What concurrent.futures has for its own futures."""
        late = self.engine.late.submit(x=np.ones(2, np.float32), ms=300).concurrent()
        seen = threading.Event()
        late.add_done_callback(lambda future: seen.set())
        add = self.engine.add.submit(x=20)
        both = {late, add.concurrent()}
        done, _ = concurrent.futures.wait(both, timeout=60)
        self.assertEqual(done, both)
        self.assertEqual(set(concurrent.futures.as_completed(both, timeout=60)), both)
        self.assertIn(add.result(), [each.result() for each in both if each is not late])
        self.assertEqual(late.result().tolist(), [2.0, 2.0])
        self.assertTrue(seen.wait(60))
        for wait_first in (False, True):
            failing = self.engine.add.submit(x=-1)
            if wait_first:
                self.assertIsNotNone(failing.exception())
            with self.assertRaises(cgraph.ExecutionError):
                failing.concurrent().result(timeout=60)

    def test_threads(self):
        wrong = []

        def run(seed):
            generator = np.random.default_rng(seed)
            for _ in range(100):
                x = generator.standard_normal((seed % 4 + 1, 3), dtype=np.float32)
                future = self.engine.mlp.submit(x=x) if seed % 2 else None
                value = future.result() if future else self.engine.mlp(x=x)
                if not np.allclose(value.y, support.reference(x)[1], rtol=1e-5):
                    wrong.append((seed, x))

        threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_several_threads_wait_for_one(self):
        future = self.engine.late.submit(x=np.ones(1, np.float32), ms=100)
        values = []
        threads = [threading.Thread(target=lambda: values.append(future.result()))
                   for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([value.tolist() for value in values], [[2.0]] * 4)

    def test_others_run_meanwhile(self):
        """Nobody waits with the interpreter's lock."""
        count, stop = 0, threading.Event()

        def tick():
            nonlocal count
            while not stop.wait(0.005):
                count += 1

        thread = threading.Thread(target=tick)
        thread.start()
        for _ in range(2):  # the second time it is known to take long
            self.engine.late(x=np.ones(1, np.float32), ms=150)
        stop.set()
        thread.join()
        self.assertGreater(count, 5)

    def test_interrupt(self):
        with cgraph.Engine(self.engine.plan) as engine:
            for wait in (lambda: engine.late(x=np.ones(1, np.float32), ms=1500),
                         lambda: engine.late.submit(x=np.ones(1, np.float32), ms=1500).result()):
                for _ in range(100):  # a graph that has been fast up to now
                    engine.late(x=np.ones(1, np.float32), ms=0)
                timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
                start = time.monotonic()
                timer.start()
                with self.assertRaises(KeyboardInterrupt):
                    wait()
                self.assertLess(time.monotonic() - start, 1.3)
                timer.join()
            self.assertEqual(engine.late(x=np.ones(1, np.float32), ms=0).tolist(), [2.0])

    def test_interrupt_of_larger_inputs(self):
        """Where all kernels end, too, a short execution says nothing of one with more input."""
        steps = "".join(f"    let y{k + 1} = y{k} @ w\n" for k in range(64))
        plan = cgraph.compile("""import std.tensor
actor Power() {
  state w: f32[512, 512] = ones()
  method power(y0: f32[n <= 8192, 512]) -> f32[n, 512] {
""" + steps + """    return y64
  }
}
place power = Power() on cpu[0]
graph g(x: f32[n <= 8192, 512]) -> f32[n, 512] { return power.power(x) }
""")
        with cgraph.Engine(plan) as engine:
            for _ in range(3):
                engine.g(np.zeros((1, 512), np.float32))
            future = engine.g.submit(np.zeros((8192, 512), np.float32))
            timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with self.assertRaises(KeyboardInterrupt):
                future.result()
            timer.join()
            self.assertFalse(future.done())


class Native(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.engine = cgraph.Engine(cgraph.compile(support.NATIVE),
                                   libraries=[support.OPTIONS.probe], workers=1)

    @classmethod
    def tearDownClass(cls):
        cls.engine.close()

    def test_error(self):
        with self.assertRaisesRegex(cgraph.ExecutionError,
                                    r"probe\.first.*the first element is negative, as asked"):
            self.engine.first(x=np.full(4, -1, np.float32))
        self.assertEqual(float(self.engine.first(x=np.full(4, 5, np.float32))), 5)

    def test_absent_library(self):
        with self.assertRaisesRegex(cgraph.PlanError, "libcgraph_probe.so"):
            cgraph.Engine(self.engine.plan)

    def test_input_is_not_copied(self):
        for wrap in (lambda x: x, OnlyDLPack, lambda x: OnlyDLPack(x, versioned=False)):
            x = np.ones(1 << 20, np.float32)
            self.assertEqual(int(self.engine.address(x=wrap(x))), x.ctypes.data)

    def test_time_does_not_grow(self):
        def fastest(x):
            times = []
            for _ in range(20):
                start = time.perf_counter()
                self.engine.address(x=x)
                times.append(time.perf_counter() - start)
            return min(times)
        small, large = (fastest(np.ones(size // 4, np.float32)) for size in (1 << 10, 64 << 20))
        print(f"a call with 1 KiB: {small * 1e6:.1f} us, with 64 MiB: {large * 1e6:.1f} us")
        # A copy of 64 MiB would take 3 ms at the least.
        self.assertLess(large, small + 1e-3)


if __name__ == "__main__":
    support.main()
