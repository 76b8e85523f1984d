"""The optimizers of std.optim once more, in NumPy: each returns the tensor after an update. `state`
is the optimizer's own, a dictionary, empty before the first update.
"""
import numpy as np


def sgd(w, g, state, rate, momentum=0.0, nesterov=False, decay=0.0):
    d = g + (decay if w.ndim > 1 else 0.0) * w
    if momentum == 0.0:
        return w - rate * d
    state["m"] = momentum * state.get("m", 0.0) + d
    return w - rate * (d + momentum * state["m"] if nesterov else state["m"])


def moments(d, state, beta1, beta2):
    state["t"] = state.get("t", 0) + 1
    state["m"] = beta1 * state.get("m", 0.0) + (1 - beta1) * d
    state["v"] = beta2 * state.get("v", 0.0) + (1 - beta2) * d * d
    return (state["m"] / (1 - beta1**state["t"])) / (
        np.sqrt(state["v"] / (1 - beta2**state["t"])) + 1e-8)


def adam(w, g, state, rate, beta1=0.9, beta2=0.999, decay=0.0):
    return w - rate * moments(g + (decay if w.ndim > 1 else 0.0) * w, state, beta1, beta2)


def adamw(w, g, state, rate, beta1=0.9, beta2=0.999, decay=0.01):
    kept = 1 - rate * (decay if w.ndim > 1 else 0.0)
    return w * kept - rate * moments(g, state, beta1, beta2)


def lion(w, g, state, rate, beta1=0.9, beta2=0.99, decay=0.0):
    kept = 1 - rate * (decay if w.ndim > 1 else 0.0)
    m = state.get("m", np.zeros_like(w))
    state["m"] = beta2 * m + (1 - beta2) * g
    return w * kept - rate * np.sign(beta1 * m + (1 - beta1) * g)
