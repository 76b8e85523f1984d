"""Standard normal numbers as runtime/device/numbers/normal_numbers.h makes them, in NumPy.

Every operation is one of + - * / and sqrt in f64, in the same order, so the bits are the same on
every machine. `normal(seed, shape)` is what the op `normal(seed: ...)` gives as f64; cast it for
f32.
"""
import numpy as np

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
A = (3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
     1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
     3.3430575583588128105e4, 2.5090809287301226727e3)
B = (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
     5.2264952788528545610e3)
C = (1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
     3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
     2.27238449892691845833e-2, 7.74545014278341407640e-4)
D = (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
     1.05075007164441684324e-9)
E = (6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
     2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
     2.71155556874348757815e-5, 2.01033439929228813265e-7)
F = (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
     2.04426310338993978564e-15)


def mix(z):
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def uniform(seed, count):
    with np.errstate(over="ignore"):
        stream = mix(np.array([seed], np.int64).view(np.uint64) + GOLDEN)
        index = np.arange(1, count + 1, dtype=np.uint64)
        bits = mix(stream + index * GOLDEN)
    return ((bits >> np.uint64(12)) * np.uint64(2) + np.uint64(1)).astype(np.float64) * 2.0**-53


def uniform_of(seed, count, digits):
    """What the op `uniform(seed)` gives: multiples of 2**-digits in [0, 1)."""
    with np.errstate(over="ignore"):
        stream = mix(np.array([seed], np.int64).view(np.uint64) + GOLDEN)
        bits = mix(stream + np.arange(1, count + 1, dtype=np.uint64) * GOLDEN)
    return (bits >> np.uint64(64 - digits)).astype(np.float64) * 2.0**-digits


def ln(x):
    bits = x.view(np.uint64)
    exponent = ((bits >> np.uint64(52)).astype(np.int64) - 1023).astype(np.float64)
    m = ((bits & np.uint64(0xFFFFFFFFFFFFF)) | np.uint64(0x3FF0000000000000)).view(np.float64)
    large = m > 1.4142135623730951
    m = np.where(large, m * 0.5, m)
    exponent = np.where(large, exponent + 1.0, exponent)
    s = (m - 1.0) / (m + 1.0)
    s2 = s * s
    series = np.zeros_like(s)
    for k in range(21, 0, -2):
        series = series * s2 + 1.0 / k
    return exponent * 0.6931471805599453 + 2.0 * s * series


def polynomial(c, x):
    total = np.full_like(x, c[7])
    for i in range(6, -1, -1):
        total = total * x + c[i]
    return total


def quantile(p):
    q = p - 0.5
    r = 0.180625 - q * q
    middle = q * polynomial(A, r) / polynomial(B, r)
    r = np.sqrt(-ln(np.where(q < 0, p, 1.0 - p)))
    near = polynomial(C, r - 1.6) / polynomial(D, r - 1.6)
    far = polynomial(E, r - 5.0) / polynomial(F, r - 5.0)
    tail = np.where(r <= 5.0, near, far)
    return np.where(np.abs(q) <= 0.425, middle, np.where(q < 0, -tail, tail))


def normal(seed, shape, dtype=np.float32):
    count = int(np.prod(shape, dtype=np.int64))
    return quantile(uniform(seed, count)).astype(dtype).reshape(shape)
