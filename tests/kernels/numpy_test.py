#!/usr/bin/python3
"""Every op of the standard library against NumPy, the whole way: a .cgraph with one result per
case, compiled, proved and run, its .npy results compared with what NumPy says in f64.

Tolerances, relative to the greater of the expected value and the case's scale: f64 1e-12, f32 2e-6,
f16 2**-10, bf16 2**-7 (one unit in the last place; NumPy has no bf16, so those cases take f32,
which the program casts). Integers, bools and whatever only moves elements must be equal.
"""
import argparse
import math
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "reference"))
import normal as normal_reference  # noqa: E402

FLOATS = ("f32", "f64", "f16", "bf16")
INTS = ("i32", "i64", "u8", "i8")
NUMBERS = FLOATS + INTS
NUMPY = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": np.float32,
         "i32": np.int32, "i64": np.int64, "u8": np.uint8, "i8": np.int8, "bool": np.bool_}
RELATIVE = {"f32": 2e-6, "f64": 1e-12, "f16": 2.0**-10, "bf16": 2.0**-7}
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-30, -1e-30, 88.0, -88.0, 700.0, -700.0]


def to_bf16(x):
    """f32 rounded to the nearest bf16, as f32."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16).astype(np.uint32)
    return np.where(np.isnan(x), x, rounded.view(np.float32).reshape(np.shape(x)))


def erf(x):
    return np.vectorize(math.erf, otypes=[np.float64])(x)


def normal_cdf(x):
    return np.vectorize(lambda v: 0.5 * math.erfc(-v / math.sqrt(2)), otypes=[np.float64])(x)


class Case:
    """An expression of a, b, c, ...; the inputs' arrays; what NumPy says, in f64 or exactly."""

    def __init__(self, name, dtype, expression, inputs, expected, result=None, exact=False,
                 scale=0, stored=None):
        self.name, self.dtype, self.expression = name, dtype, expression
        self.inputs, self.expected = inputs, np.asarray(expected)
        self.result = result or dtype
        self.exact = exact or self.result not in RELATIVE
        self.scale = scale
        self.stored = stored or {}  # the dtypes of operands that have another one than the case


class Cases:
    def __init__(self):
        self.all, self.random = [], np.random.default_rng(7)

    def values(self, dtype, shape, low=-4, high=4):
        """Numbers that the dtype holds."""
        if dtype == "bool":
            return self.random.integers(0, 2, shape).astype(np.bool_)
        if dtype in INTS:
            return self.random.integers(max(low, 0) if dtype == "u8" else low, high + 1,
                                        shape).astype(NUMPY[dtype])
        x = self.random.uniform(low, high, shape).astype(NUMPY[dtype])
        return to_bf16(x) if dtype == "bf16" else x

    def add(self, name, dtype, expression, inputs, expected, **more):
        with np.errstate(all="ignore"):
            if callable(expected):
                wide = [x.astype(np.float64) if x.dtype.kind == "f" else x for x in inputs]
                expected = expected(*wide)
        self.all.append(Case(name, dtype, expression, inputs, expected, **more))


# ---- the cases ----------------------------------------------------------------------------------

PAIRS = [((), ()), ((5,), (5,)), ((33,), ()), ((), (33,)), ((4, 17), (17,)), ((4, 17), (4, 1)),
         ((17,), (4, 1)), ((2, 3, 4, 5), (3, 1, 5)), ((0, 4), (4,)), ((3, 1), (1, 0)),
         ((700,), (700,))]
SHAPES = [(), (1,), (7,), (64,), (3, 5), (2, 3, 65), (0, 3), (1000,)]


def floored(op, zero):
    """Integer division as the language has it: rounded down, and 0 by zero."""
    def divide(a, b):
        safe = np.where(b == 0, 1, b)
        return np.where(b == 0, zero, op(a, safe)).astype(a.dtype)
    return divide


def elementwise(cases):
    binary = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply,
              "minimum": np.minimum, "maximum": np.maximum}
    for dtype in NUMBERS:
        ops = dict(binary)
        ops["divide"] = floored(np.floor_divide, 0) if dtype in INTS else np.divide
        ops["modulo"] = floored(np.mod, 0) if dtype in INTS else np.mod
        for index, (name, function) in enumerate(ops.items()):
            for shapes in PAIRS if index < 1 else PAIRS[4:8]:
                a, b = (cases.values(dtype, shape, -20, 20) for shape in shapes)
                if name == "modulo" and dtype in FLOATS:
                    b = np.where(abs(b) < 0.5, 1, b).astype(a.dtype)
                cases.add(name, dtype, f"{name}(a, b)", [a, b], function,
                          scale=40 if name in ("add", "subtract") else 0)
        for name, function in {"less": np.less, "less_equal": np.less_equal,
                               "greater": np.greater, "greater_equal": np.greater_equal,
                               "equal": np.equal, "not_equal": np.not_equal}.items():
            a, b = cases.values(dtype, (4, 17), -2, 2), cases.values(dtype, (17,), -2, 2)
            cases.add(name, dtype, f"{name}(a, b)", [a, b], function, result="bool")
        for shapes in [((4, 17), (17,), ()), ((4, 1), (4, 17), (1, 17)), ((600,), (600,), (600,)),
                       ((), (3,), (3,))]:
            condition = cases.values("bool", shapes[0])
            a, b = cases.values(dtype, shapes[1]), cases.values(dtype, shapes[2])
            cases.add("where", dtype, "where(a, b, c)", [condition, a, b], np.where, exact=True)
    for name, function in {"logical_and": np.logical_and, "logical_or": np.logical_or,
                           "equal": np.equal}.items():
        a, b = cases.values("bool", (4, 17)), cases.values("bool", (17,))
        cases.add(name, "bool", f"{name}(a, b)", [a, b], function)
    cases.add("logical_not", "bool", "logical_not(a)", [cases.values("bool", (9,))], np.logical_not)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def bell(x):
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


UNARY = {"negate": (np.negative, -9, 9), "abs": (np.abs, -9, 9), "square": (np.square, -9, 9),
         "sqrt": (np.sqrt, 0, 9), "rsqrt": (lambda x: 1 / np.sqrt(x), 0.01, 9),
         "exp": (np.exp, -10, 10), "log": (np.log, 0.01, 100), "tanh": (np.tanh, -5, 5),
         "erf": (erf, -3, 3), "sin": (np.sin, -9, 9), "cos": (np.cos, -9, 9),
         "sigmoid": (sigmoid, -20, 20), "silu": (lambda x: x * sigmoid(x), -20, 20),
         "gelu": (lambda x: x * normal_cdf(x), -5, 5), "relu": (lambda x: np.maximum(x, 0), -9, 9)}
GRADIENTS = {"relu_grad": lambda z, g: np.where(z > 0, g, 0),
             "gelu_grad": lambda z, g: g * (normal_cdf(z) + z * bell(z)),
             "silu_grad": lambda z, g: g * (sigmoid(z) * (1 + z * (1 - sigmoid(z)))),
             "tanh_grad": lambda y, g: g * (1 - y * y),
             "sigmoid_grad": lambda y, g: g * (y * (1 - y))}


def functions(cases):
    for dtype in FLOATS:
        for name, (function, low, high) in UNARY.items():
            for shape in SHAPES:
                x = cases.values(dtype, shape, low, high)
                scale = 1 if name in ("sin", "cos", "log", "gelu") else 0
                cases.add(name, dtype, f"{name}(a)", [x], function, scale=scale)
        for name, function in GRADIENTS.items():
            for shape in [(), (7,), (3, 5), (1030,)]:
                z, g = cases.values(dtype, shape, -3, 3), cases.values(dtype, shape)
                cases.add(name, dtype, f"{name}(a, b)", [z, g], function, scale=4)
        special = np.array(SPECIAL, NUMPY[dtype])
        if dtype == "bf16":
            special = to_bf16(special)
        for name in ("exp", "log", "tanh", "erf", "sqrt", "relu", "abs", "negate"):
            cases.add(name + " special", dtype, f"{name}(a)", [special], UNARY[name][0])
    for dtype in INTS:
        for name in ("negate", "abs", "square", "relu"):
            x = cases.values(dtype, (65,), -9, 9)
            cases.add(name, dtype, f"{name}(a)", [x],
                      lambda v, f=UNARY[name][0]: f(v.astype(np.int64)).astype(v.dtype))


def casts(cases):
    for source in NUMBERS + ("bool",):
        for target in NUMBERS + ("bool",):
            x = cases.values(source, (3, 67), 0 if "u8" in (source, target) else -100, 100)
            if source == "bf16" and target == "bf16":
                continue

            def expected(v, target=target):
                if target == "bf16":
                    return to_bf16(v.astype(np.float64).astype(np.float32))
                return v.astype(NUMPY[target])
            with np.errstate(all="ignore"):
                cases.add(f"cast {source}", source, f"cast<{target}>(a)", [x], expected(x),
                          result=target, exact=True)
    extremes = np.array([math.nan, math.inf, -math.inf, 1e30, -1e30, 2.0**31, -5.5, 5.5])
    for target, least, most in (("i32", -2**31, 2**31 - 1), ("u8", 0, 255), ("i8", -128, 127)):
        saturated = [0, most, least, most, least, most, max(-5, least), 5]
        cases.add("cast saturates", "f64", f"cast<{target}>(a)", [extremes], saturated,
                  result=target)
    # Half way between two f16, and just above it: rounded once, not twice through f32.
    ties = np.array([1 + 2.0**-11, 1 + 2.0**-11 + 2.0**-40, 65520, 65519.999999, 2.0**-25, 1e-8])
    with np.errstate(over="ignore"):
        cases.add("cast rounds once", "f64", "cast<f16>(a)", [ties], ties.astype(np.float16),
                  result="f16", exact=True)


def matmuls(cases):
    shapes = [((3, 4), (4, 5)), ((1, 64), (64, 33)), ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)),
              ((2, 1, 3, 4), (6, 4, 5)), ((3, 0), (0, 5)), ((0, 4), (4, 5)), ((130, 70), (70, 90)),
              ((1, 601), (601, 70)), ((2, 45), (45, 518)), ((5, 33), (33, 67)), ((8, 99), (99, 9)),
              ((9, 100), (100, 9)), ((2, 2, 70), (70, 35))]
    for dtype in NUMBERS:
        large = [((20, 600), (600, 530))] if dtype in ("f16", "bf16") else []
        for a_shape, b_shape in shapes + large:
            for ta in (False, True):
                for tb in (False, True):
                    a, b = cases.values(dtype, a_shape, -3, 3), cases.values(dtype, b_shape, -3, 3)

                    def product(x, y):
                        return np.matmul(x, y).astype(x.dtype)
                    expected = product(a.astype(np.float64), b.astype(np.float64))
                    if dtype in INTS:
                        expected = np.matmul(a.astype(np.int64), b.astype(np.int64)).astype(a.dtype)
                    given = [np.swapaxes(a, -1, -2) if ta else a,
                             np.swapaxes(b, -1, -2) if tb else b]
                    flags = ", transpose_a: true" * ta + ", transpose_b: true" * tb
                    cases.add("matmul", dtype, f"matmul(a, b{flags})", given, expected,
                              scale=3 * math.sqrt(a_shape[-1]))


def narrow_weights(cases):
    """An f32 times weights of f16 or bf16, which are not rounded in between."""
    shapes = [((1, 64), (64, 33)), ((2, 45), (45, 518)), ((7, 99), (99, 10)),
              ((20, 601), (601, 530)), ((600, 70), (70, 40)), ((2, 3, 70), (70, 35)),
              ((2, 1, 3, 4), (6, 4, 5)), ((2, 1, 13, 67), (3, 67, 21)), ((3, 0), (0, 5)),
              ((0, 4), (4, 5))]
    for dtype in ("f16", "bf16"):
        for a_shape, b_shape in shapes:
            for ta in (False, True):
                for tb in (False, True):
                    a, b = cases.values("f32", a_shape, -3, 3), cases.values(dtype, b_shape, -3, 3)
                    expected = np.matmul(a.astype(np.float64), b.astype(np.float64))
                    given = [np.swapaxes(a, -1, -2) if ta else a,
                             np.swapaxes(b, -1, -2) if tb else b]
                    flags = ", transpose_a: true" * ta + ", transpose_b: true" * tb
                    cases.add("matmul", "f32", f"matmul(a, cast<{dtype}>(b){flags})", given,
                              expected, scale=3 * math.sqrt(a_shape[-1]))


def blocks_of(w):
    return w.reshape(w.shape[0], -1, 32)


def numbers_of(q):
    """The numbers of 4 bits in bytes [m, k / 2], as [m, k]."""
    halves = q.reshape(q.shape[0], -1, 16)
    return np.concatenate([halves % 16, halves // 16], axis=2).reshape(q.shape[0], -1)


def widened(numbers, scale, minimum=0):
    by_block = lambda x: np.asarray(x, np.float64)[..., None]  # noqa: E731
    return (blocks_of(numbers.astype(np.float64)) * by_block(scale) +
            by_block(minimum)).reshape(numbers.shape)


def quantised(cases):
    """Products by weights of 8 and 4 bits, and how weights become such: by GGUF's formulas."""
    for rows, m, k in ((1, 16, 32), (2, 48, 96), (3, 32, 64), (8, 16, 160), (9, 16, 32),
                       (21, 528, 544), (0, 16, 32)):
        x = cases.values("f32", (rows, k), -3, 3)
        q = cases.random.integers(-128, 128, (m, k)).astype(np.int8)
        pairs = cases.random.integers(0, 256, (m, k // 2)).astype(np.uint8)
        scale, minimum = (cases.values("f16", (m, k // 32), -0.1, 0.1) for _ in range(2))
        of_8 = x.astype(np.float64) @ widened(q, scale).T
        of_4 = x.astype(np.float64) @ widened(numbers_of(pairs), scale, minimum).T
        of_4_0 = x.astype(np.float64) @ widened(numbers_of(pairs).astype(np.int32) - 8, scale).T
        within = {"scale": 12 * math.sqrt(k)}
        cases.add("matmul_q8_0", "f32",
                  "matmul_q8_0(a, pack_q8_0((q: b, scale: c)).q, packed_by_block(c))",
                  [x, q, scale], of_8, **within)
        cases.add("linear_q8_0", "f32", "linear_q8_0(a, pack_q8_0((q: b, scale: c)))",
                  [x, q, scale], of_8, **within)
        cases.add("matmul_q4_1", "f32",
                  "matmul_q4_1(a, pack_q4_1((q: b, scale: c, minimum: d)).q, packed_by_block(c), "
                  "packed_by_block(d))", [x, pairs, scale, minimum], of_4, **within)
        cases.add("linear_q4_1", "f32", "linear_q4_1(a, pack_q4_1((q: b, scale: c, minimum: d)))",
                  [x, pairs, scale, minimum], of_4, **within)
        cases.add("linear_q4_1", "f32", "linear_q4_1(a, pack_q4_0((q: b, scale: c)))",
                  [x, pairs, scale], of_4_0, **within)
        index = cases.random.integers(0, m, (5, 2))
        cases.add("embedding_q8_0", "f32", "embedding_q8_0(a, pack_q8_0((q: b, scale: c)))",
                  [index, q, scale], widened(q, scale)[index])
        cases.add("dequantize", "f32", "dequantize_q8_0((q: a, scale: b))", [q, scale],
                  widened(q, scale))
        cases.add("dequantize", "f32", "dequantize_q4_1((q: a, scale: b, minimum: c))",
                  [pairs, scale, minimum], widened(numbers_of(pairs), scale, minimum), scale=2)
        cases.add("dequantize", "f32", "dequantize_q4_0((q: a, scale: b))", [pairs, scale],
                  widened(numbers_of(pairs).astype(np.int32) - 8, scale), scale=2)
    w = cases.values("f32", (32, 96), -3, 3)
    cases.add("groups_of_16", "f32", "groups_of_16(a)", [w], w.reshape(2, 16, 96), exact=True)
    cases.add("blocks_of_32", "f32", "blocks_of_32(a)", [w], w.reshape(32, 3, 32), exact=True)
    w[3, 32:64] = 0
    w[5, :32] = 1.25
    blocks = blocks_of(w)
    scale = np.abs(blocks).max(axis=2, keepdims=True) / np.float32(127)
    q = blocks / np.where(scale > 0, scale, 1)
    q = np.trunc(q + np.where(q < 0, np.float32(-0.5), np.float32(0.5))).astype(np.int8)
    cases.add("quantize", "i8", "quantize_q8_0(a).q", [w], q.reshape(w.shape))
    cases.add("quantize", "f16", "quantize_q8_0(a).scale", [w], scale[..., 0].astype(np.float16))
    low, high = blocks.min(axis=2, keepdims=True), blocks.max(axis=2, keepdims=True)
    scale = (high - low) / np.float32(15)
    q = np.trunc((blocks - low) / np.where(scale > 0, scale, 1) + np.float32(0.5)).astype(np.uint8)
    pairs = (q[..., :16] + q[..., 16:] * 16).reshape(32, 48)
    cases.add("quantize", "u8", "quantize_q4_1(a).q", [w], pairs)
    cases.add("quantize", "f16", "quantize_q4_1(a).scale", [w], scale[..., 0].astype(np.float16))
    cases.add("quantize", "f16", "quantize_q4_1(a).minimum", [w], low[..., 0].astype(np.float16))


def reductions(cases):
    whole = {"sum": np.sum, "max": np.max, "min": np.min, "mean": np.mean}
    for dtype in NUMBERS:
        for name, function in whole.items():
            if name == "mean" and dtype in INTS:
                continue
            for shape in [(), (1,), (7,), (3, 130), (1025,), (2, 3, 4)]:
                x = cases.values(dtype, shape)

                def reduced(v, f=function, d=dtype, **more):
                    return f(v, **more).astype(NUMPY[d]) if d in INTS else f(v, **more)
                scale = math.sqrt(x.size) if name in ("sum", "mean") else 0
                cases.add(name, dtype, f"{name}(a)", [x], reduced, scale=scale)
            for shape in [(7,), (3, 130), (2, 5, 70), (4, 1, 3)]:
                for dim in range(len(shape)):
                    x = cases.values(dtype, shape)
                    wide = x.astype(np.float64) if dtype in FLOATS else x
                    scale = math.sqrt(shape[dim]) if name in ("sum", "mean") else 0
                    cases.add(name, dtype, f"{name}(a, dim: {dim})", [x], reduced(wide, axis=dim),
                              scale=scale)
                    cases.add(name, dtype, f"{name}(a, dim: {dim - len(shape)}, keepdim: true)",
                              [x], reduced(wide, axis=dim, keepdims=True), scale=scale)
            for dims in ([0, 1], [2, 0], [1], [-1, 0, 1]):
                x = cases.values(dtype, (2, 5, 7))
                wide = x.astype(np.float64) if dtype in FLOATS else x
                scale = 2 * math.sqrt(x.size) if name in ("sum", "mean") else 0
                for keep in (False, True):
                    said = f"{dims}, keepdim: true" if keep else dims
                    cases.add(name, dtype, f"{name}(a, dims: {said})", [x],
                              reduced(wide, axis=tuple(dims), keepdims=keep), scale=scale)
        for dim in (0, 1):
            x = cases.values(dtype, (9, 20))
            cases.add("argmax", dtype, f"argmax(a, dim: {dim})", [x], np.argmax(x, dim),
                      result="i64")
            cases.add("argmax", dtype, f"argmax(a, dim: {dim}, keepdim: true)", [x],
                      np.expand_dims(np.argmax(x, dim), dim), result="i64")
        for shape, to in [((4, 17), (17,)), ((4, 17), (4, 1)), ((4, 17), ()), ((2, 3, 70), (3, 1)),
                          ((2, 3, 4, 5), (2, 1, 4, 1)), ((4, 17), (4, 17)), ((0, 3), (3,)),
                          ((2, 3, 4), (1, 1, 1)), ((2, 3, 4, 5), (3, 1, 5)),
                          ((9, 2, 300), (300,)), ((2, 1100), (2, 1))]:
            x = cases.values(dtype, shape)
            wide = x.astype(np.float64) if dtype in FLOATS else x
            leading = tuple(range(len(shape) - len(to)))
            ones = tuple(i for i in range(len(leading), len(shape))
                         if to[i - len(leading)] == 1 and shape[i] != 1)
            expected = wide.sum(axis=leading + ones, dtype=wide.dtype).reshape(to)
            dims = ", ".join(map(str, to))
            cases.add("sum_to", dtype, f"sum_to<{dtype}[{dims}]>(a)" if to
                      else f"sum_to<{dtype}>(a)",
                      [x], expected, scale=math.sqrt(x.size))


def shapes(cases):
    for dtype in NUMBERS + ("bool",):
        def moved(name, expression, inputs, function, dtype=dtype):
            cases.add(name, dtype, expression, inputs, function(*inputs), exact=True)

        x = cases.values(dtype, (2, 3, 4))
        moved("copy", "copy(a)", [x], lambda v: v)
        moved("stop_gradient", "stop_gradient(a)", [x], lambda v: v)
        moved("shaped", f"shaped<{dtype}[4, 6]>(a)", [x], lambda v: v.reshape(4, 6))
        moved("same", "same(a, b, dim: 1)", [x, x], lambda v, w: w)
        moved("reshape", "reshape(a, [4, 6])", [x], lambda v: v.reshape(4, 6))
        moved("reshape", "reshape(a, [1])", [cases.values(dtype, ())], lambda v: v.reshape(1))
        moved("reshape", "reshape(a, [2, -1, 2])", [x], lambda v: v.reshape(2, 6, 2))
        moved("flatten", "flatten(a)", [x], lambda v: v.reshape(24))
        moved("flatten", "flatten(a, start_dim: 1)", [x], lambda v: v.reshape(2, 12))
        moved("flatten", "flatten(a, -2)", [x], lambda v: v.reshape(2, 12))
        moved("flatten", "flatten(a, 0, 1)", [x], lambda v: v.reshape(6, 4))
        moved("flatten", "flatten(a, start_dim: 0, end_dim: -2)", [x], lambda v: v.reshape(6, 4))
        moved("unflatten", "unflatten(a, dim: -1, sizes: [2, 2])", [x],
              lambda v: v.reshape(2, 3, 2, 2))
        moved("unflatten", "unflatten(a, 1, [-1, 1, 1])", [x], lambda v: v.reshape(2, 3, 1, 1, 4))
        moved("unsqueeze", "unsqueeze(a, dim: 1)", [x], lambda v: v[:, None])
        moved("squeeze", "squeeze(a, dim: 1)", [x[:, :1]], lambda v: v[:, 0])
        moved("transpose", "transpose(a)", [x], lambda v: v.swapaxes(-1, -2))
        moved("transpose", "transpose(a)", [cases.values(dtype, (70, 35))], lambda v: v.T)
        for order in [(0, 1, 2), (0, 2, 1), (1, 0, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)]:
            moved("permute", f"permute(a, {list(order)})", [x], lambda v: v.transpose(order))
        y = cases.values(dtype, (3, 5, 1, 33))
        moved("permute", "permute(a, [3, 0, 2, 1])", [y], lambda v: v.transpose(3, 0, 2, 1))
        moved("permute", "permute(a, [1, 0])", [cases.values(dtype, (0, 3))], lambda v: v.T)
        for source, target in [((), (3,)), ((4, 1), (4, 17)), ((17,), (4, 17)),
                               ((3, 1, 2), (2, 3, 5, 2))]:
            dims = ", ".join(map(str, target))
            moved("expand", f"expand<{dtype}[{dims}]>(a)", [cases.values(dtype, source)],
                  lambda v: np.broadcast_to(v, target))
        z = cases.values(dtype, (2, 5, 4))
        moved("concat", "concat([a, b], dim: 1)", [x, z], lambda v, w: np.concatenate([v, w], 1))
        moved("concat", "concat([b, a, b], dim: -2)", [x, z],
              lambda v, w: np.concatenate([w, v, w], 1))
        moved("concat", "concat([a, b, a])", [x, x + x if dtype != "bool" else x],
              lambda v, w: np.concatenate([v, w, v], 0))
        moved("stack", "stack([a, a])", [x], lambda v: np.stack([v, v]))
        for dim in (0, 1, 3, -1, -4):
            moved("stack", f"stack([a, b, a], dim: {dim})", [x, x[::-1].copy()],
                  lambda v, w: np.stack([v, w, v], dim))
        for part in range(2):
            moved("split", f"split(a, parts: 2, dim: 2)[{part}]", [x],
                  lambda v: np.split(v, 2, 2)[part])
        moved("slice", "slice(a, dim: 1, from: 1, length: 2)", [x], lambda v: v[:, 1:3])

        def updated(v, w, *at):
            v = v.copy()
            v[tuple(slice(i, i + n) for i, n in zip(at, w.shape))] = w
            return v
        for part, at in [((1, 2, 2), (1, 1, 2)), ((2, 1, 4), (0, 2, 0)), ((2, 3, 4), (0, 0, 0)),
                         ((1, 1, 1), (1, 2, 3)), ((0, 1, 1), (1, 2, 3)), ((1, 3, 4), (1, 0, 0))]:
            moved("update", f"update(a, b, at: {list(at)})", [x, cases.values(dtype, part)],
                  lambda v, w: updated(v, w, *at))
        moved("update_row", "update_row(a, b, at: 1)", [x, cases.values(dtype, (3, 4))],
              lambda v, w: np.stack([v[0], w]))
        index = np.array([[3, 0], [3, 1]])
        table = cases.values(dtype, (5, 7))
        moved("embedding", "embedding(a, b)", [index, table], lambda i, t: t[i])
        if dtype == "bool":
            continue
        gradient = cases.values(dtype, (2, 2, 7))
        expected = np.zeros((5, 7), np.float64 if dtype in FLOATS else gradient.dtype)
        np.add.at(expected, index, gradient.astype(expected.dtype))
        for name in ("embedding_grad", "gather_rows_grad"):  # the old name is deprecated
            cases.add(name, dtype, f"{name}(a, b, rows: 5)", [index, gradient], expected, scale=8)


def old_names(cases):
    """Those that are deprecated go on to compute what they did."""
    x, y = cases.values("f32", (2, 3, 4)), cases.values("f32", (2, 5, 4))
    condition, index = x > 0, np.array([1, 0, 1])
    for name, function in {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min}.items():
        cases.add(f"{name}_dim", "f32", f"{name}_dim(a, dim: -2)", [x],
                  function(x.astype(np.float64), axis=1), scale=4)
    for name, expression, inputs, expected in [
            ("select", "select(a, b, 1.0)", [condition, x], np.where(condition, x, 1)),
            ("split_dim", "split_dim(a, dim: 2, parts: 2)", [x], x.reshape(2, 3, 2, 2)),
            ("merge_dims", "merge_dims(a, dim: 0)", [x], x.reshape(6, 4)),
            ("concat", "concat(a, b, dim: 1)", [x, y], np.concatenate([x, y], 1)),
            ("join", "join([a, a, a], dim: 0)", [x], np.concatenate([x, x, x], 0)),
            ("gather_rows", "gather_rows(a, b)", [x, index], x[index])]:
        cases.add(name, "f32", expression, inputs, expected, exact=True)


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def rows(cases):
    for dtype in FLOATS:
        for shape, dim in [((10,), -1), ((3, 130), -1), ((3, 130), 0), ((2, 5, 7), 1), ((4, 1), 1),
                           ((0, 3), 1), ((2, 1000), 1)]:
            x, g = cases.values(dtype, shape, -8, 8), cases.values(dtype, shape)
            y = softmax(x.astype(np.float64), dim) if x.size else x
            logs = np.log(y)
            cases.add("softmax", dtype, f"softmax(a, dim: {dim})", [x], y)
            cases.add("log_softmax", dtype, f"log_softmax(a, dim: {dim})", [x], logs, scale=16)
            given = y.astype(NUMPY[dtype])
            given = to_bf16(given) if dtype == "bf16" else given
            cases.add("softmax_grad", dtype, f"softmax_grad(a, b, dim: {dim})", [given, g],
                      lambda v, w: v * (w - (v * w).sum(dim, keepdims=True)), scale=4)
            given = logs.astype(NUMPY[dtype])
            given = to_bf16(given) if dtype == "bf16" else given
            cases.add("log_softmax_grad", dtype, f"log_softmax_grad(a, b, dim: {dim})", [given, g],
                      lambda v, w: w - np.exp(v) * w.sum(dim, keepdims=True),
                      scale=4 * math.sqrt(max(1, shape[dim])))
        for shape in [(10,), (3, 130), (2, 5, 7), (0, 3), (2, 1000)]:
            norms(cases, dtype, shape)
        for shape in [(4, 4), (2, 3, 5), (3, 5, 3), (2, 0, 3)]:
            x = cases.values(dtype, shape)
            n, m = shape[-2:]
            mask = np.arange(m)[None, :] > np.arange(n)[:, None] + m - n
            cases.add("causal_mask", dtype, "causal_mask(a)", [x], np.where(mask, -np.inf, x))
        for shape in [(10,), (3, 130), (2, 3, 5), (0, 4)]:
            cross_entropies(cases, dtype, shape)


# [*b, h, n, e], [*b, g, m, e] and [*b, g, m, d]: one query and many, heads that share keys, tiles
# that end within a head, odd sizes, no keys.
ATTENTIONS = [((), 1, 1, 1, 1, 1, 1), ((), 9, 3, 1, 70, 64, 64), ((2,), 4, 2, 5, 100, 20, 33),
              ((2, 3), 2, 1, 7, 130, 8, 16), ((), 4, 4, 130, 130, 32, 32),
              ((), 6, 1, 64, 65, 16, 48),
              ((), 2, 2, 3, 3, 5, 130), ((1,), 2, 1, 0, 4, 8, 8), ((2,), 2, 2, 97, 300, 16, 16)]
STORED = [("f32", "f32"), ("f64", "f64"), ("f16", "f16"), ("bf16", "bf16"), ("f32", "f16"),
          ("f32", "bf16"), ("f16", "bf16"), ("bf16", "f16"), ("f64", "f32"), ("f64", "bf16")]


def seen(q, k, length, causal):
    """Which keys each query sees, [*b, 1, n, m]."""
    n, m = q.shape[-2], k.shape[-2]
    most = np.broadcast_to(m if length is None else length, q.shape[:-3])[..., None, None, None]
    if causal:
        most = most - (n - 1 - np.arange(n)[:, None])
    return np.broadcast_to(np.arange(m) < most, (*q.shape[:-3], 1, n, m))


def attend(q, k, v, scale, sees):
    """The result, and what its gradient is made of: k and v for each head, probabilities."""
    k, v = (np.repeat(x, q.shape[-3] // k.shape[-3], -3) for x in (k, v))
    if k.shape[-2] == 0:
        return np.zeros((*q.shape[:-1], v.shape[-1])), k, v, np.zeros((*q.shape[:-1], 0))
    scores = np.where(sees, q @ np.swapaxes(k, -1, -2) * scale, -np.inf)
    p = softmax(scores, -1) if scores.size else scores
    return p @ v, k, v, p


def attend_grad(q, k, v, gy, scale, sees):
    y, wide_k, wide_v, p = attend(q, k, v, scale, sees)
    together = (*k.shape[:-3], k.shape[-3], -1)

    def shared(x):
        return x.reshape(*together, *x.shape[-2:]).sum(-3)
    gp = gy @ np.swapaxes(wide_v, -1, -2)
    gs = p * (gp - (gy * y).sum(-1, keepdims=True)) * scale
    return (gs @ wide_k, shared(np.swapaxes(gs, -1, -2) @ q), shared(np.swapaxes(p, -1, -2) @ gy))


def attentions(cases):
    for dtype, stored in STORED:
        for b, h, g, n, m, e, d in ATTENTIONS:
            for causal in (False, True):
                attention(cases, dtype, stored, (b, h, g, n, m, e, d), causal)
    ropes(cases)


def attention(cases, dtype, stored, sizes, causal):
    b, h, g, n, m, e, d = sizes
    q, k, v = (cases.values(t, shape, -2, 2) for t, shape in (
        (dtype, (*b, h, n, e)), (stored, (*b, g, m, e)), (stored, (*b, g, m, d))))
    gy = cases.values(dtype, (*b, h, n, d), -1, 1)
    least = n if causal else 0
    lengths = [None, np.int64(m), cases.random.integers(least, m + 1, b).astype(np.int64)]
    for length in lengths if m >= n else [None][:0 if causal else 1]:
        if length is not None and not causal and length.size and length.min() == 0:
            continue  # NumPy has no mean of nothing
        sees = seen(q, k, length, causal)
        scale = 0.3 if n % 2 else 1 / math.sqrt(e)
        more = f"scale: {scale}, causal: {str(causal).lower()}"
        given = [q, k, v]
        if length is not None:
            more, given = f"length: d, {more}", [q, k, v, np.asarray(length)]
        stores = {"stored": {"b": stored, "c": stored}}
        wide = [x.astype(np.float64) for x in (q, k, v)]
        cases.add("attention", dtype, f"attention(a, b, c, {more})", given,
                  attend(*wide, scale, sees)[0], scale=2, **stores)
        if m > 200 or stored != dtype and n > 64:
            continue
        y = attend(*wide, scale, sees)[0].astype(NUMPY[dtype])
        y = to_bf16(y) if dtype == "bf16" else y
        more = more.replace("length: d", "length: l")
        given = [q, k, v, y, gy, *given[3:]]
        for name, expected in zip("qkv", attend_grad(*wide, gy.astype(np.float64), scale, sees)):
            cases.add("attention_grad", dtype, f"attention_grad(a, b, c, d, e, {more}).{name}",
                      given, expected, scale=8 * math.sqrt(max(n * h // g, 1)),
                      result=dtype if name == "q" else stored, **stores)


def ropes(cases):
    for dtype in FLOATS:
        for shape in [(1, 1, 2), (3, 5, 8), (2, 3, 70, 6), (2, 2, 1, 64), (2, 0, 3, 4)]:
            x = cases.values(dtype, shape)
            b, n, e = shape[:-3], shape[-2], shape[-1]
            table = cases.random.uniform(0, 1, e // 2)
            for first in (0, 1_000_003, -5):
                start = cases.random.integers(0, 50, b) + first
                listed = cases.random.integers(0, 200, (*b, n)) + first
                for at, label in ((np.int64(first), "from"), (start, "from"),
                                  (listed, "positions"), (listed[(0,) * len(b)], "positions")):
                    at = np.asarray(at, np.int64)
                    rows = at[..., None] + np.arange(n) if label == "from" else at
                    for pairs in ("halves", "adjacent"):
                        rope(cases, dtype, x, at, rows, label, pairs, table)


def rope(cases, dtype, x, at, rows, label, pairs, table):
    e = x.shape[-1]
    theta = 500.0
    for more, frequencies in ((f"theta: {theta}", theta ** (-2 * np.arange(e // 2) / e)),
                              ("frequencies: c", table)):
        angles = (rows[..., None] * frequencies)[..., None, :, :]
        c, s = np.cos(angles), np.sin(angles)
        halves = (np.s_[..., :e // 2], np.s_[..., e // 2:])
        first, second = halves if pairs == "halves" else (np.s_[..., ::2], np.s_[..., 1::2])
        wide = x.astype(np.float64)
        for inverse in (False, True)[:1 if len(at.shape) else 2]:
            turned, sign = np.empty(x.shape), -1 if inverse else 1
            turned[first] = wide[first] * c - sign * wide[second] * s
            turned[second] = wide[second] * c + sign * wide[first] * s
            text = f'rope(a, {label}: b, {more}, pairs: "{pairs}"'
            given = [x, at] + ([table] if "c" in more.split() else [])
            cases.add("rope", dtype, text + (", inverse: true)" if inverse else ")"), given, turned,
                      scale=8 * max(1, abs(rows).max() / 1000) if rows.size else 8,
                      stored={"c": "f64"})


def norms(cases, dtype, shape):
    x, g = cases.values(dtype, shape), cases.values(dtype, shape)
    gain, bias = cases.values(dtype, shape[-1:]), cases.values(dtype, shape[-1:])

    def normal(v, epsilon):
        centered = v - v.mean(-1, keepdims=True)
        scale = 1 / np.sqrt((centered**2).mean(-1, keepdims=True) + epsilon)
        return centered * scale, scale

    def layer_norm_grad(v, w, s):
        y, scale = normal(v, 1e-5)
        gx = scale * (s * w - (s * w).mean(-1, keepdims=True) - y * (s * w * y).mean(-1,
                                                                                     keepdims=True))
        return gx, (s * y).reshape(-1, shape[-1]).sum(0), s.reshape(-1, shape[-1]).sum(0)

    wide = [v.astype(np.float64) for v in (x, gain, g)]
    cases.add("layer_norm", dtype, "layer_norm(a, b, c)", [x, gain, bias],
              lambda v, w, b: normal(v, 1e-5)[0] * w + b, scale=8)
    for field, expected in zip(("x", "gain", "bias"), layer_norm_grad(*wide)):
        cases.add("layer_norm_grad", dtype, f"layer_norm_grad(a, b, c).{field}", [x, gain, g],
                  expected, scale=16)

    def rms(v):
        return 1 / np.sqrt((v * v).mean(-1, keepdims=True) + 1e-6)
    cases.add("rms_norm", dtype, "rms_norm(a)", [x], lambda v: v * rms(v))
    cases.add("rms_norm_grad", dtype, "rms_norm_grad(a, b)", [x, g], lambda v, s: rms(v) * (
        s - v * rms(v)**2 * (v * s).mean(-1, keepdims=True)), scale=4)

    def length(v):
        return np.sqrt((v * v).sum(-1, keepdims=True))
    cases.add("l2_normalize", dtype, "l2_normalize(a)", [x], lambda v: v / length(v))
    cases.add("l2_normalize_grad", dtype, "l2_normalize_grad(a, b)", [x, g], lambda v, s: (
        s - v * (v * s).sum(-1, keepdims=True) / length(v)**2) / length(v), scale=4)


def cross_entropies(cases, dtype, shape):
    x, g = cases.values(dtype, shape), cases.values(dtype, shape[:-1])
    target = cases.random.integers(0, shape[-1], shape[:-1])
    wide = x.astype(np.float64)
    y = softmax(wide, -1) if x.size else wide
    hot = np.eye(shape[-1])[target]
    cases.add("cross_entropy", dtype, "cross_entropy(a, b)", [x, target],
              -np.log((y * hot).sum(-1)),
              scale=8)
    cases.add("cross_entropy_grad", dtype, "cross_entropy_grad(a, b, c)", [x, target, g],
              (y - hot) * g.astype(np.float64)[..., None], scale=4)


def creation(cases):
    for dtype in NUMBERS:
        one = cases.values(dtype, ())
        for name, expression, expected in [
                ("zeros", f"zeros<{dtype}[2, 3]>()", np.zeros((2, 3))),
                ("ones", f"ones<{dtype}[0, 3]>()", np.ones((0, 3))),
                ("ones", f"ones<{dtype}[65]>()", np.ones(65)),
                ("full", f"full<{dtype}[3]>(7.0)", np.full(3, 7)),
                ("iota", f"iota<{dtype}[2, 50]>()", np.arange(100).reshape(2, 50)),
                ("iota", f"cast<{dtype}>(arange(5))", np.arange(5))]:
            # Their only inputs are what is made; the input keeps the graph's shape the same.
            cases.add(name, dtype, expression, [one], expected.astype(NUMPY[dtype]), exact=True)
    for dtype in ("f64", "f32", "f16"):
        expected = normal_reference.normal(7, (300,), np.float64).astype(NUMPY[dtype])
        cases.add("normal", dtype, f"normal<{dtype}[300]>(seed: 7)", [np.zeros((), NUMPY[dtype])],
                  expected, exact=True)


def pow_as_numpy(x, exponent):
    """NumPy refuses negative powers of integers; here they are 0, but of 1 and -1."""
    if x.dtype.kind == "f":
        return np.power(x, exponent)
    powers = np.power(x, np.maximum(exponent, 0))
    odd = np.where(exponent % 2 != 0, -1, 1)
    unit = np.where(x == 1, 1, np.where(x == -1, odd, 0))
    return np.where(exponent < 0, unit, powers).astype(x.dtype)


def powers(cases):
    for dtype in NUMBERS:
        low, high = (0.1, 4) if dtype in FLOATS else (-5, 5)
        for shapes in PAIRS:
            a, b = cases.values(dtype, shapes[0], low, high), cases.values(dtype, shapes[1], -4, 4)
            cases.add("pow", dtype, "pow(a, b)", [a, b], pow_as_numpy)
        if dtype in FLOATS:
            numbers = np.array(SPECIAL + [1.0, -1.0, 2.0, -2.0, 3.0, 0.5, -0.5], NUMPY[dtype])
            numbers = to_bf16(numbers) if dtype == "bf16" else numbers
            cases.add("pow special", dtype, "pow(a, b)", [numbers[:, None], numbers], pow_as_numpy)
            x, e, g = (cases.values(dtype, (5, 7), low, 3) for _ in range(3))
            x[0] = e[:, 0] = 0
            y = np.power(x, e)
            y = to_bf16(y) if dtype == "bf16" else y
            cases.add("pow_grad", dtype, "pow_grad(a, b, c)", [x, e, g], lambda v, w, s: np.where(
                w == 0, 0, s * w * np.power(v, w - 1)), scale=100)
            cases.add("pow_exponent_grad", dtype, "pow_exponent_grad(a, b, pow(a, b), c)",
                      [x, e, g], lambda v, w, s: np.where(
                          v == 0, 0, s * np.power(v, w) * np.log(np.where(v == 0, 1, v))),
                      scale=100)
        for shapes in [((4, 17), (), ()), ((4, 17), (17,), (4, 1)), ((600,), (600,), (600,)),
                       ((), (3,), (3,)), ((33,), (33,), ())]:
            inputs = [cases.values(dtype, shape, 0 if dtype == "u8" else -4) for shape in shapes]
            cases.add("clamp", dtype, "clamp(a, b, c)", inputs,
                      lambda v, least, most: np.minimum(np.maximum(v, least), most), exact=True)
            cases.add("clamp to a min", dtype, "clamp(a, min: b)", inputs[:2], np.maximum,
                      exact=True)
            cases.add("clamp to a max", dtype, "clamp(a, max: b)", inputs[:2], np.minimum,
                      exact=True)
            if inputs[0].shape == np.broadcast_shapes(*shapes[:2]):
                cases.add("clamp_grad of a min", dtype, "clamp_grad(a, min: b, gy: a)", inputs[:2],
                          lambda v, least: np.where(v >= least, v, 0), exact=True)
                cases.add("clamp_grad of a max", dtype, "clamp_grad(a, max: b, gy: a)", inputs[:2],
                          lambda v, most: np.where(v <= most, v, 0), exact=True)
            if inputs[0].shape == np.broadcast_shapes(*shapes):
                cases.add("clamp_grad", dtype, "clamp_grad(a, b, c, a)", inputs,
                          lambda v, least, most: np.where((v >= least) & (v <= most), v, 0),
                          exact=True)
        if dtype in FLOATS:
            x = np.array([math.nan, 1, -3, 7], NUMPY[dtype])
            cases.add("clamp special", dtype, "clamp(a, min: -2.0, max: 2.0)", [x],
                      np.array([math.nan, 1, -2, 2]), exact=True)
            cases.add("clamp to a min", dtype, "clamp(a, -2.0)", [x],  # without a label, too
                      np.array([math.nan, 1, -2, 7]), exact=True)
            cases.add("clamp to a max", dtype, "clamp(a, max: 2.0)", [x],
                      np.array([math.nan, 1, -3, 2]), exact=True)


ALONG = [((7,), 0), ((3, 130), 1), ((3, 130), 0), ((2, 5, 70), 1), ((2, 5, 70), -1), ((4, 1), 1),
         ((0, 3), 1), ((3, 0), 1), ((3000,), 0)]


def in_order(x, dim, descending):
    """Stable in both directions; np.argsort has a NaN last, so descending ones come first."""
    if not descending:
        return np.argsort(x, dim, kind="stable")
    back = np.flip(np.argsort(np.flip(x, dim), dim, kind="stable"), dim)
    return x.shape[dim] - 1 - back


def order(cases):
    for dtype in NUMBERS:
        for shape, dim in ALONG:
            x = cases.values(dtype, shape)
            if dtype in FLOATS and x.size:
                x.ravel()[::5] = 0.0
                x.ravel()[::7] = math.nan
                x.ravel()[::11] = -0.0
            for descending in (False, True):
                at = in_order(x, dim, descending)
                call = f"sort(a, dim: {dim}{', descending: true' if descending else ''})"
                cases.add("sort", dtype, call + ".values", [x], np.take_along_axis(x, at, dim),
                          exact=True)
                cases.add("sort", dtype, call + ".indices", [x], at, result="i64")
                for k in {0, 1, 3, shape[dim]}:
                    if k > shape[dim]:
                        continue
                    first = np.take(at, range(k), dim)
                    call = f"topk(a, k: {k}, dim: {dim}{'' if descending else ', largest: false'})"
                    cases.add("topk", dtype, call + ".values", [x],
                              np.take_along_axis(x, first, dim), exact=True)
                    cases.add("topk", dtype, call + ".indices", [x], first, result="i64")
        for of, first in (("sort(a, dim: 1)", 9), ("topk(a, k: 3, dim: 1)", 3)):  # gradients
            x, g = cases.values(dtype, (4, 9)), cases.values(dtype, (4, first))
            at, expected = in_order(x, 1, first == 3)[:, :first], np.zeros_like(x)
            np.put_along_axis(expected, at, g, 1)
            zeros = f"zeros<{type_of(dtype, x.shape)}>()"
            cases.add("scatter_add", dtype,
                      f"scatter_add({zeros}, dim: 1, index: {of}.indices, src: b)", [x, g],
                      expected, exact=True)
        x = cases.values(dtype, (4, 9))
        cases.add("sort", dtype, "sort(a).values", [x], np.sort(x), exact=True)
        cases.add("topk", dtype, "topk(a, k: 2).values", [x],
                  -np.sort(-x.astype(np.float64))[:, :2], exact=True)


def cumulative(cases):
    for dtype in NUMBERS:
        for shape, dim in ALONG:
            x = cases.values(dtype, shape)

            def added(v):
                wide = v.astype(np.float64) if dtype in FLOATS else v
                return np.cumsum(wide, dim, dtype=wide.dtype)
            scale = 4 * math.sqrt(max(x.size, 1))
            cases.add("cumsum", dtype, f"cumsum(a, dim: {dim})", [x], added(x), scale=scale)
            cases.add("cumsum_grad", dtype, f"cumsum_grad(a, dim: {dim})", [x],
                      np.flip(added(np.flip(x, dim)), dim), scale=scale)


def by_index(cases):
    for dtype in NUMBERS + ("bool",):
        index = cases.random.integers(0, 10, (3, 5))
        for given in (index, index[:0], index[0, 0]):
            cases.add("one_hot", dtype, f"one_hot<{type_of(dtype, given.shape + (10,))}>"
                      "(b, num_classes: 10)", [cases.values(dtype, ()), given],
                      np.eye(10)[given].astype(NUMPY[dtype]), exact=True)
        for shape, dim in ALONG:
            for extent in (1, 4):
                whole = list(shape)
                whole[dim] = extent
                x, source = cases.values(dtype, tuple(whole)), cases.values(dtype, shape)
                at = cases.random.integers(0, extent, shape)
                cases.add("take_along_dim", dtype, f"take_along_dim(a, b, dim: {dim})", [x, at],
                          np.take_along_axis(x, at, dim), exact=True)
                if dtype == "bool":
                    continue
                expected = x.astype(np.float64) if dtype in FLOATS else x.copy()
                places = list(np.indices(shape))
                places[dim] = at
                np.add.at(expected, tuple(places), source.astype(expected.dtype))
                cases.add("scatter_add", dtype, f"scatter_add(a, dim: {dim}, index: b, src: c)",
                          [x, at, source], expected, scale=4 * math.sqrt(max(shape[dim], 1)))


def seeded(cases):
    digits = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}
    for dtype in FLOATS:
        for seed in (0, 7, -3, 2**62):
            given = np.array(seed, np.int64)
            uniform = normal_reference.uniform_of(seed, 600, digits[dtype]).reshape(20, 30)
            cases.add("uniform", dtype, f"uniform<{dtype}[20, 30]>(a)", [given], uniform,
                      exact=True)
            normal = normal_reference.normal(seed, (20, 30), np.float64)
            if dtype != "bf16":  # NumPy rounds twice on the way to it
                cases.add("normal", dtype, f"normal<{dtype}[20, 30]>(seed: a)", [given],
                          normal.astype(NUMPY[dtype]), exact=True)
            x = cases.values(dtype, (20, 30))
            drawn = normal_reference.uniform(seed, 600).reshape(20, 30)
            for p in (0.0, 0.25, 0.9, 1.0):
                kept = np.where(drawn >= p, x.astype(np.float64) / max(1 - p, 1e-9), 0)
                cases.add("dropout", dtype, f"dropout(a, seed: b, p: {p})", [x, given], kept)


# x, weight, stride, padding, dilation, groups
CONVOLUTIONS = [
    ((1, 1, 1, 1), (1, 1, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    ((2, 3, 8, 9), (4, 3, 3, 3), (1, 1), (0, 0), (1, 1), 1),
    ((2, 3, 8, 9), (4, 3, 3, 3), (2, 1), (1, 2), (1, 1), 1),
    ((2, 4, 11, 10), (6, 2, 3, 2), (3, 2), (1, 0), (2, 3), 2),
    ((1, 6, 7, 7), (6, 1, 3, 3), (1, 1), (1, 1), (1, 1), 6),
    ((3, 8, 5, 5), (16, 8, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    ((1, 2, 5, 4), (3, 2, 5, 4), (1, 1), (4, 3), (1, 1), 1),
    ((0, 2, 5, 4), (3, 2, 3, 3), (1, 1), (0, 0), (1, 1), 1),
    ((4, 16, 20, 19), (24, 16, 3, 3), (2, 2), (1, 1), (1, 1), 1),
    ((4, 16, 20, 19), (24, 4, 3, 3), (1, 2), (2, 1), (2, 1), 4),
    ((2, 48, 15, 14), (64, 24, 3, 3), (1, 1), (1, 1), (1, 1), 2),
    ((1, 24, 12, 11), (24, 1, 3, 3), (1, 1), (1, 1), (1, 1), 24),
    ((1, 96, 26, 25), (17, 96, 3, 3), (1, 1), (1, 1), (1, 1), 1),  # in blocks of rows
    ((1, 9, 2, 4000), (2, 9, 1, 9), (1, 1), (0, 4), (1, 1), 1),  # in blocks of columns
]


def meetings(x, shape, stride, dilation, kernel):
    """Views of a padded x, one for each element of the kernel: what it is multiplied by."""
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            rows, columns = i * dilation[0], j * dilation[1]
            yield i, j, x[:, :, rows:rows + (shape[0] - 1) * stride[0] + 1:stride[0],
                          columns:columns + (shape[1] - 1) * stride[1] + 1:stride[1]]


def convolved(x, weight, stride, padding, dilation, groups):
    """y of conv2d, and a function that gives the gradients of x and of weight for gy."""
    kernel = weight.shape[2:]
    shape = [(x.shape[2 + a] + 2 * padding[a] - dilation[a] * (kernel[a] - 1) - 1) // stride[a] + 1
             for a in (0, 1)]
    around = [(0, 0), (0, 0)] + [(p, p) for p in padding]
    padded = np.pad(x, around)
    per, of = x.shape[1] // groups, weight.shape[0] // groups
    cut = [(slice(g * per, (g + 1) * per), slice(g * of, (g + 1) * of)) for g in range(groups)]
    y = np.zeros((x.shape[0], weight.shape[0], *shape))
    for i, j, view in meetings(padded, shape, stride, dilation, kernel):
        for inputs, results in cut:
            y[:, results] += np.einsum("nchw,oc->nohw", view[:, inputs], weight[results, :, i, j])

    def gradients(gy):
        gx, gw = np.zeros(padded.shape), np.zeros(weight.shape)
        for i, j, view in meetings(padded, shape, stride, dilation, kernel):
            of_x = [v for a, b, v in meetings(gx, shape, stride, dilation, kernel)
                    if (a, b) == (i, j)][0]
            for inputs, results in cut:
                gw[results, :, i, j] += np.einsum("nchw,nohw->oc", view[:, inputs], gy[:, results])
                of_x[:, inputs] += np.einsum("nohw,oc->nchw", gy[:, results],
                                             weight[results, :, i, j])
        inside = tuple(slice(p, p + n) for p, n in zip(padding, x.shape[2:]))
        return gx[(slice(None), slice(None)) + inside], gw
    return y, gradients


def convolutions(cases):
    for dtype in FLOATS:
        for x_shape, weight_shape, stride, padding, dilation, groups in CONVOLUTIONS:
            x, weight = (cases.values(dtype, shape, -2, 2) for shape in (x_shape, weight_shape))
            y, gradients = convolved(x.astype(np.float64), weight.astype(np.float64), stride,
                                     padding, dilation, groups)
            gy = cases.values(dtype, y.shape, -2, 2)
            gx, gw = gradients(gy.astype(np.float64))
            how = (f"stride: {list(stride)}, padding: {list(padding)}, "
                   f"dilation: {list(dilation)}, groups: {groups}")
            terms = max(math.prod(weight_shape[1:]), 1)
            cases.add("conv2d", dtype, f"conv2d(a, b, {how})", [x, weight], y,
                      scale=4 * math.sqrt(terms))
            bias = cases.values(dtype, (weight_shape[0],), -2, 2)
            cases.add("conv2d with a bias", dtype, f"conv2d(a, b, c, {how})", [x, weight, bias],
                      y + bias.astype(np.float64)[:, None, None], scale=4 * math.sqrt(terms) + 2)
            if all(len(set(pair)) == 1 for pair in (stride, padding, dilation)):
                one = (f"stride: {stride[0]}, padding: {padding[0]}, dilation: {dilation[0]}, "
                       f"groups: {groups}")
                cases.add("conv2d of single numbers", dtype, f"conv2d(a, b, {one})", [x, weight], y,
                          scale=4 * math.sqrt(terms))
            cases.add("conv2d_input_grad", dtype,
                      f"conv2d_input_grad<{type_of(dtype, x_shape)}>(a, b, {how})", [weight, gy],
                      gx, scale=4 * math.sqrt(terms * weight_shape[0]))
            cases.add("conv2d_weight_grad", dtype,
                      f"conv2d_weight_grad<{type_of(dtype, weight_shape)}>(a, b, {how})", [x, gy],
                      gw, scale=4 * math.sqrt(max(y.size // y.shape[1], 1)))


# ---- running them -------------------------------------------------------------------------------

IMPORTS = "import std.tensor\nimport std.nn\nimport std.grad\nimport std.quant\nimport std.random\n"


def type_of(dtype, shape):
    return f"{dtype}[{', '.join(map(str, shape))}]" if shape else dtype


def program(cases):
    """One method per case; bf16 comes in and goes out as f32."""
    names = {np.dtype(v): k for k, v in NUMPY.items() if k != "bf16"}
    methods, calls, inputs, outputs = [], [], {}, []
    for number, case in enumerate(cases):
        declared, given, expression = [], [], case.expression
        for letter, array in zip("abcdel", case.inputs):
            outside = names[array.dtype]
            is_half = case.stored.get(letter, case.dtype) == "bf16" and outside == "f32"
            declared.append(f"{letter}_: {type_of(outside, array.shape)}" if is_half
                            else f"{letter}: {type_of(outside, array.shape)}")
            given.append(f"{letter}{number}")
            inputs[f"{letter}{number}"] = array
        casts_in = "".join(f"let {d[0]} = cast<bf16>({d[0]}_) " for d in declared if d[1] == "_")
        outside = "f32" if case.result == "bf16" else case.result
        if case.result == "bf16":
            expression = f"cast<f32>({expression})"
        result = type_of(outside, case.expected.shape)
        methods.append(f"  method m{number}({', '.join(declared)}) -> {result} {{\n"
                       f"    {casts_in}\n    return {expression}\n  }}")
        outputs.append(f"r{number}: {result}")
        calls.append(f"r{number}: p.m{number}({', '.join(given)})")
    parameters = ", ".join(f"{n}: {type_of(names[a.dtype], a.shape)}" for n, a in inputs.items())
    text = (IMPORTS + "actor A() {\n" + "\n".join(methods) + "\n}\nplace p = A() on cpu[0]\n"
            f"graph all({parameters}) -> ({', '.join(outputs)}) {{\n"
            f"  return ({', '.join(calls)})\n}}\n")
    return text, inputs


def run(cases, tools, folder):
    text, inputs = program(cases)
    (folder / "cases.cgraph").write_text(text)
    subprocess.run([tools["cgc"], "compile", "cases.cgraph", "-o", "cases.cgplan"], cwd=folder,
                   check=True, timeout=120)
    command = [tools["cgrun"], "cases.cgplan", "-q"]
    for name, array in inputs.items():
        np.save(folder / f"{name}.npy", np.ascontiguousarray(array).reshape(array.shape))
        command += ["--input", f"{name}={name}.npy"]
    for number in range(len(cases)):
        command += ["--output", f"r{number}=r{number}.npy"]
    subprocess.run(command, cwd=folder, check=True, timeout=120)
    return [np.load(folder / f"r{number}.npy") for number in range(len(cases))]


def difference(case, got):
    """Returns what is wrong with a result, or nothing."""
    expected = case.expected
    if got.shape != expected.shape:
        return f"shape {got.shape}, expected {expected.shape}"
    if case.exact:
        same = np.array_equal(got, expected, equal_nan=got.dtype.kind == "f")
        return None if same else f"{got.ravel()[:8]} is not {expected.ravel()[:8]}"
    got = got.astype(np.float64)
    with np.errstate(all="ignore"):
        rounded = expected.astype(NUMPY[case.result]).astype(np.float64)
        if case.result == "bf16":
            rounded = to_bf16(expected.astype(np.float32)).astype(np.float64)
        close = abs(got - expected) <= RELATIVE[case.result] * np.maximum(abs(expected), case.scale)
        least = {"f16": 2.0**-24, "bf16": 2.0**-133, "f32": 2.0**-149, "f64": 0}[case.result]
        close |= abs(got - expected) <= 2 * least
        close |= (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    if close.all():
        return None
    at = int(np.argmin(close.ravel()))
    return f"element {at}: {got.ravel()[at]!r}, expected {expected.ravel()[at]!r}"


# ---- every op has a case ------------------------------------------------------------------------

STDLIB = pathlib.Path(__file__).resolve().parents[2] / "stdlib" / "std"
ELSEWHERE = {"load"}  # reads a file: tests/conformance


def ops_without_case(cases):
    """The ops of tensor, nn, grad, quant and random that no case's expression calls."""
    declared = {op for module in ("tensor", "nn", "grad", "quant", "random")
                for op in re.findall(r"^op (\w+)", (STDLIB / f"{module}.cgraph").read_text(), re.M)}
    called = {name for case in cases
              for name in re.findall(r"\b(\w+)(?:<[^()]*>)?\(", case.expression)}
    if not declared & called:
        sys.exit("no op was found in the library")
    return sorted(declared - called - ELSEWHERE)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--cgrun", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--only", help="a group, or the name of an op")
    options = parser.parse_args()
    tools = {"cgc": options.cgc, "cgrun": options.cgrun}

    checked, failures, made = 0, [], []
    for group in (elementwise, functions, casts, matmuls, narrow_weights, quantised, reductions,
                  shapes, old_names, rows, creation, powers, order, cumulative, by_index, seeded,
                  convolutions, attentions):
        cases = Cases()
        group(cases)
        made += cases.all
        chosen = [c for c in cases.all
                  if options.only in (None, group.__name__) or c.name.split()[0] == options.only]
        for first in range(0, len(chosen), 250):
            part = chosen[first:first + 250]
            with tempfile.TemporaryDirectory() as folder:
                results = run(part, tools, pathlib.Path(folder))
            for case, got in zip(part, results):
                checked += 1
                wrong = difference(case, got)
                if wrong:
                    shapes_text = ", ".join(str(x.shape) for x in case.inputs)
                    failures.append(f"{case.name} {case.dtype} {shapes_text}: {case.expression}: "
                                    f"{wrong}")
    failures += [f"op `{op}` of the library has no case" for op in ops_without_case(made)]
    print("\n".join(failures[:60]), end="\n" if failures else "")
    print(f"numpy: {checked} cases checked, {len(failures)} failed")
    sys.exit(1 if failures or checked == 0 else 0)


if __name__ == "__main__":
    main()
