"""What tests of methods on GPUs compute with a program's own kernels around the methods: an actor
`Layer`, what it computes by NumPy, and their inputs."""
import numpy as np

ROWS = 5
# Methods of `actor Layer(k: float)`.
METHODS = """
  method up(x: f32[n <= 5, 3]) -> f32[n, 3] { return cumsum(x * 2 + k, dim: 0) * 0.5 }
  method slow(x: f32[5, 3]) -> f32[5, 3] {
    sleep(20)
    return x + 1
  }
  method positive(x: f32[5, 3]) -> f32[5, 3] {
    check(sum(x) > 0, "the sum is not positive")
    return x + 1
  }
"""


def up(x, k):
    """As Layer.up: the numbers are small multiples of powers of two, so no bit is rounded."""
    return np.cumsum(x * 2 + np.float32(k), axis=0, dtype=np.float32) * np.float32(0.5)


def roll(x):
    """As the method on trial."""
    return np.roll(x, -1, axis=0)


def chain(x):
    """As the graph `chain`, of both on two GPUs in turn."""
    b = roll(roll(up(up(roll(up(x, 1)), 1), 2)))
    return up(roll(b), 1)


def numbers(seed=3, rows=ROWS):
    """Small whole numbers, f32[rows, 3]."""
    return np.random.default_rng(seed).integers(-4, 5, (rows, 3)).astype(np.float32)
