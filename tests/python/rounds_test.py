"""Graphs that repeat, from Python: rows, iterators of rounds, limits, failures, what is refused.

  rounds_test.py --package build/release/python
"""
import os
import tempfile
import unittest

import numpy as np
import support

import cgraph

ROUNDS = """import std.debug
import std.tensor
actor Count() {
  state n: i64 = 0
  method next(by: i64) -> i64 {
    n += by
    return n
  }
}
actor Judge() {
  method judge(n: i64) -> i64 {
    check(n != 13, "13 is not allowed")
    return n
  }
}
place count = Count() on cpu[0]
place judge = Judge() on cpu[1]
graph up(by: i64, x: f32[k <= 4], most: i64) -> (n: i64, x: f32[k]) {
  var y = x
  repeat until n >= 6 limit most <= 100 {
    let n = judge.judge(count.next(by))
    y = y + 1.0
    yield (n: n, x: y)
  }
}
graph add(by: i64) -> i64 { return count.next(by) }
"""


class Rounds(unittest.TestCase):
    def setUp(self):
        self.engine = cgraph.Engine(cgraph.compile(ROUNDS))
        self.addCleanup(self.engine.close)
        self.x = np.zeros(2, np.float32)

    def test_rows(self):
        rows = self.engine.up(by=2, x=self.x, most=50)
        self.assertEqual([int(row.n) for row in rows], [2, 4, 6])
        self.assertEqual([row.x.tolist() for row in rows], [[1, 1], [2, 2], [3, 3]])
        self.assertEqual(self.engine.up(by=2, x=self.x, most=0), [])

    def test_iterator(self):
        rounds = self.engine.up.rounds(by=1, x=self.x, most=50)
        self.assertIsInstance(rounds, cgraph.Rounds)
        self.assertIs(iter(rounds), rounds)
        self.assertEqual(int(next(rounds).n), 1)
        self.assertEqual((rounds.made, rounds.done), (1, False))
        # Nothing is executed before the next row is asked for.
        self.assertEqual(int(self.engine.state["count"]["n"]), 1)
        self.assertEqual(int(self.engine.add(by=1)), 2)
        self.assertEqual([int(row.n) for row in rounds], [3, 4, 5, 6])
        self.assertEqual((rounds.made, rounds.done), (5, True))
        self.assertRaises(StopIteration, next, rounds)
        self.assertIs(rounds.graph, self.engine.graphs["up"])

    def test_limits(self):
        rounds = self.engine.up.rounds(by=-1, x=self.x, most=2)
        self.assertEqual(len(list(rounds)), 2)
        self.assertFalse(rounds.done)
        with self.assertRaisesRegex(cgraph.InputError, "input most is 101, and `up` makes 0 to"):
            self.engine.up(by=1, x=self.x, most=101)

    def test_plan(self):
        self.assertEqual(list(self.engine.plan.graphs), ["up", "add"])
        info = self.engine.plan.graphs["up"]
        self.assertTrue(info.repeats)
        self.assertFalse(self.engine.plan.graphs["add"].repeats)
        self.assertEqual(info.signature,
                         "up(by: i64[], x: f32[k <= 4], most: i64[]) -> "
                         "(n: i64[], x: f32[k <= 4])")

    def test_refused(self):
        with self.assertRaisesRegex(cgraph.Error, "`up` repeats, and each of its rounds"):
            self.engine.up.submit(by=1, x=self.x, most=1)
        with self.assertRaisesRegex(cgraph.Error, "`add` does not repeat"):
            self.engine.add.rounds(by=1)
        with self.assertRaisesRegex(cgraph.InputError, "by"):
            self.engine.up.rounds(x=self.x, most=1)

    def test_failure(self):
        self.engine.add(by=10)
        self.engine.state["count"]["n"] = -3
        rounds = self.engine.up.rounds(by=8, x=self.x, most=9)
        self.assertEqual(int(next(rounds).n), 5)
        with self.assertRaisesRegex(cgraph.ExecutionError, "13 is not allowed(.|\n)*in round 2"):
            next(rounds)
        self.assertRaises(cgraph.ExecutionError, next, rounds)
        with self.assertRaisesRegex(cgraph.Error, "may be of two executions"):
            self.engine.state["count"]["n"]
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(cgraph.Error, "may be of two executions"):
                self.engine.save_state(os.path.join(folder, "s.safetensors"))
        self.engine.state["count"]["n"] = 1
        self.assertEqual(int(self.engine.state["count"]["n"]), 1)
        self.assertEqual(len(self.engine.up(by=5, x=self.x, most=9)), 1)

    def test_dropped_and_closed(self):
        next(self.engine.up.rounds(by=1, x=self.x, most=9))
        rounds = self.engine.up.rounds(by=1, x=self.x, most=9)
        self.engine.close()
        self.assertRaises(cgraph.ClosedError, next, rounds)

    def test_processes(self):
        with cgraph.Engine(self.engine.plan, processes="device") as engine:
            self.assertEqual([int(row.n) for row in engine.up(by=2, x=self.x, most=50)], [2, 4, 6])


if __name__ == "__main__":
    support.main()
