"""Tensors on GPUs, in and out, by DLPack: on the emulated driver, where memory of a GPU faults when
the host touches it, and streams run late.

  LD_LIBRARY_PATH=build/release/emulated CGRAPH_EMULATION=devices=2 \\
      gpus_test.py --package build/release/python
"""
import pathlib
import threading
import unittest

import cuda_tensors
import numpy as np
import support

import cgraph

PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "emulation/engine/handover.cgraph"
PLAN = cgraph.compile(PROGRAM)
N = 4096
ON_FIRST = {"gpu[0]": "cuda:0", "gpu[1]": "cuda:0"}


def numbers(first, count=N):
    return first + np.arange(count, dtype=np.float32)


class Inputs(unittest.TestCase):
    def setUp(self):
        self.cuda = cuda_tensors.Cuda(0)
        self.engine = cgraph.Engine(PLAN, require_gpus=True)
        self.addCleanup(self.engine.close)

    def test_read_on_the_gpu(self):
        self.assertEqual(self.engine.stats()["gpus"], {"gpu[0]": "cuda:0", "gpu[1]": "cuda:1"})
        for device in (cuda_tensors.CUDA, cuda_tensors.CUDA_HOST, cuda_tensors.CUDA_MANAGED):
            x = self.cuda.tensor(numbers(3), device)
            if device == cuda_tensors.CUDA_HOST:
                self.cuda.finish()
            for _ in range(3):
                np.testing.assert_array_equal(self.engine.twice(x), 2 * numbers(3))
            on_gpu = device != cuda_tensors.CUDA_HOST
            self.assertEqual({stream is not None and stream > 2 for stream in x.streams}, {on_gpu})
            self.assertEqual((x.given, x.freed), (3, 3))
        few = self.cuda.tensor(numbers(1, 4))
        np.testing.assert_array_equal(self.engine.four(few), 2 * numbers(1, 4))
        none = self.cuda.tensor(numbers(1, 0))
        self.assertEqual(self.engine.twice(none).shape, (0,))

    def test_whoever_reads_it(self):
        x = self.cuda.tensor(numbers(5))
        for graph in (self.engine.with_host, self.engine.on_both):
            for result in graph(x):
                np.testing.assert_array_equal(result, 2 * numbers(5))

    def test_behind_the_stream_of_its_producer(self):
        x = self.cuda.tensor(numbers(100))
        self.cuda.finish()  # what is there where the order is ignored
        for graph in ("twice", "with_host"):
            for first in (1, 2):
                self.cuda.close()
                x.fill(numbers(first))
                opener = threading.Thread(target=self.cuda.open_after, args=(0.05,))
                opener.start()
                future = getattr(self.engine, graph).submit(x)
                opener.join()
                result = future.result()
                result = result if graph == "twice" else result.cpu
                np.testing.assert_array_equal(result, 2 * numbers(first))

    def test_kept_until_the_execution_is_over(self):
        x = self.cuda.tensor(numbers(1))
        future = self.engine.twice.submit(x)
        self.assertEqual(x.freed, 0)
        future.result()
        self.assertEqual(x.freed, 1)

    def test_refused(self):
        x = self.cuda.tensor(numbers(1))
        on_cores = {"gpu[0]": "cpu:0", "gpu[1]": "cpu:0"}
        with cgraph.Engine(PLAN, device_map=on_cores) as engine, \
                self.assertRaisesRegex(cgraph.InputError, "cuda:0: the engine does not run on "
                                       "cuda:0; it runs on CPU threads alone; `x.cpu..` makes"):
            engine.twice(x)
        other = cuda_tensors.Cuda(1).tensor(numbers(1))
        with cgraph.Engine(PLAN, device_map=ON_FIRST) as engine, \
                self.assertRaisesRegex(cgraph.InputError, "not run on cuda:1; it runs on cuda:0"):
            engine.twice(other)
        other.cuda.finish()
        self.cuda.make_current()
        wrong = self.cuda.tensor(np.arange(4, dtype=np.int64))
        with self.assertRaisesRegex(cgraph.InputError, "and was given i64"):
            self.engine.twice(wrong)
        self.assertEqual((wrong.given, wrong.freed), (1, 1))
        with self.assertRaisesRegex(cgraph.InputError, "device 10:0"):
            self.engine.twice(self.cuda.tensor(numbers(1), device=10))
        with cgraph.Engine(cgraph.compile(support.PROGRAM), require_gpus=True) as engine, \
                self.assertRaisesRegex(cgraph.InputError, "from this machine's memory alone"):
            engine.state["first"]["w"] = self.cuda.tensor(np.ones((3, 3), np.float32))


class Results(unittest.TestCase):
    def setUp(self):
        self.cuda = cuda_tensors.Cuda(0)
        self.engine = cgraph.Engine(PLAN, require_gpus=True, results="device")
        self.addCleanup(self.engine.close)

    def test_stay_there(self):
        x = self.cuda.tensor(numbers(3))
        y = self.engine.twice(x)
        self.assertEqual((y.device, y.__dlpack_device__(), y.shape), ("cuda:0", (2, 0), (N,)))
        read = self.cuda.read(y.__dlpack__(stream=self.cuda.stream.value))
        self.cuda.finish()
        np.testing.assert_array_equal(read, 2 * numbers(3))
        np.testing.assert_array_equal(self.engine.twice(y).cpu(), 4 * numbers(3))
        both = self.engine.on_both(y)
        self.assertEqual([one.device for one in both], ["cuda:0", "cuda:1"])
        np.testing.assert_array_equal(both.b.cpu(), 4 * numbers(3))
        mixed = self.engine.with_host(y)
        self.assertEqual([one.device for one in mixed], ["cuda:0", "cpu"])
        np.testing.assert_array_equal(mixed.cpu, 4 * numbers(3))

    def test_for_the_host(self):
        y = self.engine.four(numbers(1, 4))
        self.assertEqual(repr(y), "<cgraph.Array f32[4] on cuda:0: [2. 4. 6. 8.]>")
        self.assertEqual(y.tolist(), [2, 4, 6, 8])
        on_host = y.cpu()
        self.assertEqual((on_host.device, on_host.cpu().tolist()), ("cpu", y.tolist()))
        for use in (np.asarray, lambda array: array.numpy(), lambda array: array[0]):
            with self.assertRaisesRegex(TypeError, "no arrays on cuda:0; use .cpu.. first"):
                use(y)
        with self.assertRaisesRegex(BufferError, "is on cuda:0, where the host does not reach it"):
            memoryview(y)
        with self.assertRaisesRegex(BufferError, "`dl_device`: these results are in cuda:0's"):
            y.__dlpack__(dl_device=(2, 1))
        with self.assertRaisesRegex(BufferError, "`dl_device`"):
            y.__dlpack__(dl_device=(1, 0), copy=False)
        capsule = y.__dlpack__(dl_device=(1, 0))
        managed = cuda_tensors.Managed.from_address(
            cuda_tensors.python.PyCapsule_GetPointer(capsule, cuda_tensors.DLTENSOR))
        self.assertEqual(managed.tensor.device.type, cuda_tensors.CPU)
        with self.assertRaisesRegex(cgraph.InputError, '`results` is "host" or "device", and was'):
            cgraph.Engine(PLAN, results="gpu")

    def test_outlive_the_engine(self):
        y = self.engine.twice(numbers(1))
        capsule = y.__dlpack__(stream=self.cuda.stream.value)
        self.engine.close()
        del self.engine, y
        read = self.cuda.read(capsule)
        self.cuda.finish()
        np.testing.assert_array_equal(read, 2 * numbers(1))

    def test_not_written_while_their_reader_may_read(self):
        held = [self.engine.twice(numbers(first)) for first in range(6)]
        self.cuda.close()
        read = [self.cuda.read(one.__dlpack__(stream=self.cuda.stream.value)) for one in held]
        del held
        opener = threading.Thread(target=self.cuda.open_after, args=(0.05,))
        opener.start()
        for _ in range(10):
            np.testing.assert_array_equal(self.engine.twice(numbers(70)).cpu(), 2 * numbers(70))
        opener.join()
        self.cuda.finish()
        for first, one in enumerate(read):
            np.testing.assert_array_equal(one, 2 * numbers(first))


if __name__ == "__main__":
    support.main()
