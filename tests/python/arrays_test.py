"""Arrays as numbers of Python's, of every dtype.

  arrays_test.py --package build/release/python
"""
import copy
import pickle
import unittest

import numpy as np
import support

import cgraph

EVERY = """import std.tensor
actor Same() {
  method same(a: bool[n <= 4, 2], b: i8[n, 2], c: u8[n, 2], d: i32[n, 2], e: i64[n, 2],
              f: f16[n, 2], g: bf16[n, 2], h: f32[n, 2], i: f64[n, 2])
      -> (a: bool[n, 2], b: i8[n, 2], c: u8[n, 2], d: i32[n, 2], e: i64[n, 2], f: f16[n, 2],
          g: bf16[n, 2], h: f32[n, 2], i: f64[n, 2]) {
    return (a: not a, b: b + b, c: c + c, d: d + d, e: e + e, f: f + f, g: g + g, h: h + h,
            i: i + i)
  }
  method one(a: bool, b: i8, c: u8, d: i32, e: i64, f: f16, g: bf16, h: f32, i: f64)
      -> (a: bool, b: i8, c: u8, d: i32, e: i64, f: f16, g: bf16, h: f32, i: f64) {
    return (a: not a, b: b + b, c: c + c, d: d + d, e: e + e, f: f + f, g: g + g, h: h + h,
            i: i + i)
  }
}
place all = Same() on cpu[0]
graph same(a: bool[n <= 4, 2], b: i8[n, 2], c: u8[n, 2], d: i32[n, 2], e: i64[n, 2],
           f: f16[n, 2], g: bf16[n, 2], h: f32[n, 2], i: f64[n, 2])
    -> (a: bool[n, 2], b: i8[n, 2], c: u8[n, 2], d: i32[n, 2], e: i64[n, 2], f: f16[n, 2],
        g: bf16[n, 2], h: f32[n, 2], i: f64[n, 2]) { return all.same(a, b, c, d, e, f, g, h, i) }
graph one(a: bool, b: i8, c: u8, d: i32, e: i64, f: f16, g: bf16, h: f32, i: f64)
    -> (a: bool, b: i8, c: u8, d: i32, e: i64, f: f16, g: bf16, h: f32, i: f64) {
  return all.one(a, b, c, d, e, f, g, h, i)
}
"""


class Numbers(unittest.TestCase):
    def test_every_dtype(self):
        every = cgraph.compile(EVERY)
        dtypes = {"a": np.bool_, "b": np.int8, "c": np.uint8, "d": np.int32, "e": np.int64,
                  "f": np.float16, "h": np.float32, "i": np.float64}

        def given(values):
            inputs = {name: np.array(values, dtype) for name, dtype in dtypes.items()}
            bits = np.array(values, np.float32).view(np.uint32) >> 16
            return {**inputs, "g": bits.astype(np.uint16)}

        with cgraph.Engine(every) as engine:
            for values in ([[0, 1], [2, 60], [5, 0]], np.zeros((0, 2))):
                got = engine.same(**given(values))
                for name, value in got._asdict().items():
                    expected = [[x == 0 if name == "a" else x + x for x in row] for row in values]
                    self.assertEqual(value.tolist(), expected, value.dtype)
            for name, value in engine.one(**given(3))._asdict().items():
                self.assertEqual((value.item(), float(value)), (6 * (name != "a"),) * 2,
                                 value.dtype)
                self.assertEqual(value.tolist(), value.item())
                self.assertIs(type(value.item()),
                              {"a": bool}.get(name, float if name in "fghi" else int))
            many = engine.same(**given([[0, 1], [2, 60], [5, 0]]))
            np.testing.assert_array_equal(many.e == 10, [[False, False], [False, False],
                                                         [True, False]])
            np.testing.assert_array_equal(many.e < many.d, np.zeros((3, 2), bool))
            self.assertTrue((many.h == many.h).all())
            one = engine.one(**given(3))
            self.assertTrue(one.e == 6 and one.h == 6.0 and one.e == one.d and one.e == 6.0)
            self.assertTrue(one.h != 5 and 5 < one.h < 7 and one.h >= 6 and one.h <= 6)
            self.assertTrue(one.a == False and one.e in [6])  # noqa: E712
            self.assertFalse(one.h == "6" or one.h == None)  # noqa: E711
            self.assertEqual((f"{one.h:.3f}", f"{one.e:04}", "abcdefgh"[one.e]),
                             ("6.000", "0006", "g"))
            for wrong in (lambda: [1][one.h], lambda: [1][many.e], lambda: hash(one.e),
                          lambda: one.h < "6"):
                self.assertRaises(TypeError, wrong)
            self.arithmetic(one.e, 6)
            self.arithmetic(one.f, 6.0)
            self.arithmetic(one.g, 6.0)
            for made in (pickle.loads(pickle.dumps(many)), copy.deepcopy(many)):
                self.assertEqual((type(made), repr(made)), (type(many), repr(many)))
                made.h.numpy()[0, 0] = 7  # it has memory of its own
                self.assertEqual(many.h.numpy()[0, 0], 0)
            self.assertEqual(copy.copy(one.e), one.e)
            self.assertEqual((one.a + one.a, one.e + one.h, type(one.e + one.d)), (0, 12.0, int))
            np.testing.assert_array_equal(one.h * np.float32([1, 2]), [6, 12])
            for sum_of in (lambda: many.h + many.h, lambda: sum([many.h]), lambda: -many.h,
                           lambda: many.h * 2, lambda: one.h * many.h, lambda: round(many.h)):
                with self.assertRaisesRegex(TypeError, "no arithmetic: numpy.asarray"):
                    sum_of()
            np.testing.assert_array_equal(many.e + np.int64([1, 2]), [[1, 4], [5, 122], [11, 2]])
            np.testing.assert_array_equal(np.int64([1, 2]) - many.e, [[1, 0], [-3, -118], [-9, 2]])
            with self.assertRaisesRegex(ValueError, "item.. is for one element; this has 6"):
                engine.same(**given([[0, 1], [2, 60], [5, 0]])).f.item()

    def arithmetic(self, x, n):
        """That an Array without dimensions computes as its number does."""
        total = 0
        total += x
        for got, expected in ((total, n), (sum([x, x, x]), 3 * n), (x + x, 2 * n), (x - 1, n - 1),
                              (1 - x, 1 - n), (x * 2, 2 * n), (2 * x, 2 * n), (x / 4, n / 4),
                              (3 / x, 3 / n), (x // 4, n // 4), (9 // x, 9 // n), (x % 4, n % 4),
                              (9 % x, 9 % n), (x ** 2, n ** 2), (2 ** x, 2 ** n), (-x, -n), (+x, n),
                              (abs(-x), n), (abs(x), n), (round(x), round(n)),
                              (round(x / 7, 2), round(n / 7, 2)), (round(x, 2), round(n, 2))):
            self.assertEqual((got, type(got)), (expected, type(expected)))
        self.assertRaises(TypeError, lambda: x + "6")


if __name__ == "__main__":
    support.main()
