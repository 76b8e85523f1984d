#!/usr/bin/python3
"""A transformer over 2 x 2 x 2 places (mesh.cgraph) against its serial model in NumPy, in f64.

Gradients of all params of all places, by every schedule, with recomputation, with one worker and in
processes: those of the serial model within rounding, the same bits in each way, copies equal to
the bit. Then five steps of AdamW with clipping, also with the states saved and loaded in between.
Copies that are not declared are warned of. Last, ZeRO-3: params that are cut, and gathered once for
all micro-batches.

  mesh_test.py --cgc build/release/cgc --cgrun build/release/cgrun
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import reverse_mode as r  # noqa: E402
import tensor_files  # noqa: E402

DP, P, T, M, N, D, H, HEADS = 2, 2, 2, 4, 8, 16, 32, 4
NORMS = ("gain", "bias", "gain2", "bias2")
SHAPES = {**dict.fromkeys(NORMS, (D,)), **dict.fromkeys("qkvo", (D, D)), "up": (D, H),
          "down": (H, D)}
CUT = {"q": 1, "k": 1, "v": 1, "o": 0, "up": 1, "down": 0}  # the dimension that T places share
ONE_F = "one_f_one_b(P, along: p) with (forward = attend)"
ZERO_BUBBLE = "zb_h1(P, along: p) with (forward = attend)"
PARTS = ["gradients", "memory", "copies", "training", "zero"]
RATE, EPSILON, DECAY = 0.05, 0.001, 0.1


def part(name, array, t):
    return np.split(array, T, CUT[name])[t] if name in CUT else array


def initial():
    rng = np.random.default_rng(5)
    draw = lambda *shape: (rng.normal(size=shape) * 0.5).astype(np.float32).astype(np.float64)
    return [{name: draw(*shape) + name.startswith("gain") for name, shape in SHAPES.items()}
            for _ in range(P)], draw(DP, M, N, D), draw(DP, M, N, D)


def serial_loss(params, x, y):
    """The loss of the model on one device, whose params are values of the reference."""
    heads = lambda h: r.permute(r.reshape(h, (N, HEADS, D // HEADS)), (1, 0, 2))
    losses = []
    for d in range(DP):
        for m in range(M):
            h = r.value(x[d, m])
            for w in params:
                n = r.layer_norm(h, 1e-5) * w["gain"] + w["bias"]
                q, k, v = (heads(n @ w[name]) for name in "qkv")
                seen = r.softmax(r.matmul(q, k, transpose_b=True) * 0.5) @ v
                h = h + r.reshape(r.permute(seen, (1, 0, 2)), (N, D)) @ w["o"]
                n = r.layer_norm(h, 1e-5) * w["gain2"] + w["bias2"]
                h = h + r.relu(n @ w["up"]) @ w["down"]
            losses.append(r.mean(r.square(h - y[d, m])))
    return r.mean(r.stack(losses))


def serial_gradients(weights, x, y):
    """The loss, and the gradients by stage and name."""
    r.reset()
    params = [{name: r.Value(a) for name, a in stage.items()} for stage in weights]
    loss = serial_loss(params, x, y)
    found = iter(r.gradients(loss, [v for stage in params for v in stage.values()]))
    return loss.array, [{name: next(found) for name in stage} for stage in weights]


def serial_training(weights, x, y, steps):
    """What AdamW makes of the weights; the losses and the norms of the gradients."""
    weights = [dict(stage) for stage in weights]
    m, v = ([{k: np.zeros(a.shape) for k, a in s.items()} for s in weights] for _ in range(2))
    losses, norms = [], []
    for step in range(1, steps + 1):
        loss, found = serial_gradients(weights, x, y)
        norm = np.sqrt(sum((g * g).sum() for stage in found for g in stage.values()))
        losses.append(loss)
        norms.append(norm)
        for p, stage in enumerate(found):
            for k, g in stage.items():
                g = g * min(1.0, 1.0 / norm)
                m[p][k] = 0.9 * m[p][k] + 0.1 * g
                v[p][k] = 0.999 * v[p][k] + 0.001 * g * g
                mean, spread = m[p][k] / (1 - 0.9 ** step), v[p][k] / (1 - 0.999 ** step)
                kept = 1 - RATE * (DECAY if g.ndim > 1 else 0)
                weights[p][k] = weights[p][k] * kept - RATE * mean / (np.sqrt(spread) + EPSILON)
    return weights, losses, norms


class Test:
    def __init__(self, options, folder):
        self.options, self.folder = options, pathlib.Path(folder)
        self.faults, self.checked = [], 0
        self.weights, self.x, self.y = initial()
        cut = {f"{p}.{t}.{k}" if k in CUT else f"{p}.{k}": part(k, a, t).astype(np.float32)
               for p, stage in enumerate(self.weights) for k, a in stage.items() for t in range(T)}
        tensor_files.write(self.folder / "mesh.safetensors", cut)
        np.save(self.folder / "x.npy", self.x.astype(np.float32))
        np.save(self.folder / "y.npy", self.y.astype(np.float32))

    def expect(self, what, holds, detail=""):
        self.checked += 1
        if not holds:
            self.faults.append(f"{what}: {detail}")

    def run(self, what, *command):
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True,
                              timeout=300, cwd=self.folder)
        self.expect(f"{what}: runs without a word", not done.returncode and not done.stderr,
                    done.stderr)
        return done

    def write(self, recompute=""):
        body = " {\n  let loss = loss_of"
        text = (HERE / "mesh.cgraph").read_text().replace(body, f" {recompute}{body}")
        path = self.folder / "mesh.cgraph"
        path.write_text(text)
        return path

    def cgrun(self, what, path, *flags, inputs="xy", output="out.safetensors"):
        """The outputs, or none (a fault)."""
        given = [flag for name in inputs for flag in ("--input", f"{name}={name}.npy")]
        done = self.run(what, self.options.cgrun, "-q", path, *given, "--output", output, *flags)
        return None if done.returncode else tensor_files.read(self.folder / output)

    def ways(self):
        """(what, recompute, flags)"""
        yield "program order", "", ["--schedule", "program", "--workers", "1"]
        yield "1F1B", "", ["--schedule", ONE_F, "--workers", "2"]
        yield "ZB-H1", "", ["--schedule", ZERO_BUBBLE, "--workers", "2"]
        yield "auto", "", ["--schedule", "auto", "--workers", "1"]
        yield "processes", "", ["--schedule", ZERO_BUBBLE, "--processes", "2"]
        yield "recompute", "recompute feed if p < P - 1", ["--schedule", ONE_F, "--workers", "2"]
        yield "recompute halves", "recompute attend, feed", ["--schedule", ZERO_BUBBLE]

    def gradients(self):
        loss, expected = serial_gradients(self.weights, self.x, self.y)
        first = None
        for what, recompute, flags in self.ways():
            got = self.cgrun(what, self.write(recompute), "--graph", "gradients", *flags)
            if got is None:
                continue
            first = first or got
            self.expect(f"{what}: loss", abs(got["loss"] - loss) < 1e-5 * loss, got["loss"])
            same = got.keys() == first.keys() and all(
                got[k].tobytes() == first[k].tobytes() for k in got)
            self.expect(f"{what}: the same bits", same, "others than in program order")
            self.places(what, got, expected, "g{place}.{name}", 2e-5)
        if first:
            self.planted(first, expected)

    def places(self, what, got, expected, pattern, rounding):
        """Compares what each place has with its part of what the serial model has."""
        for d, p, t in np.ndindex(DP, P, T):
            for name in SHAPES:
                key = lambda d, t: pattern.format(place=f"[{d}][{p}][{t}]", name=name,
                                                  at=f"[{d}, {p}, {t}]")
                mine, wanted = got[key(d, t)], part(name, expected[p][name], t)
                worst = np.abs(mine - wanted).max() / np.abs(expected[p][name]).max()
                self.expect(f"{what}: {key(d, t)}", worst < rounding, f"{worst:.1e} off")
                other = got[key(0, t if name in CUT else 0)]
                self.expect(f"{what}: copy {key(d, t)}", mine.tobytes() == other.tobytes(),
                            "other bits than the first copy's")

    def planted(self, got, expected):
        """A gradient that a copy does not share must be found."""
        before = len(self.faults)
        wrong = got | {"g[1][0][1].gain": got["g[1][0][1].gain"] * np.float32(1.01)}
        self.places("planted", wrong, expected, "g{place}.{name}", 2e-5)
        if len(self.faults) != before + 2:
            sys.exit("self-test: a wrong gradient of a copy was not found")
        del self.faults[before:]

    def memory(self):
        """Recomputation keeps less."""
        most = []
        for recompute in ("", "recompute attend, feed"):
            done = self.run("simulate", self.options.cgc, "simulate", self.write(recompute), "-q",
                            "--json", "--graph", "gradients", "--schedule", ONE_F, "--no-warn",
                            "W0501")
            devices = json.loads(done.stdout)["graphs"][0]["devices"]
            most.append(max(d["memory_bytes"] for d in devices if d["name"] != "caller"))
        self.expect("recompute keeps less", 0 < most[1] < most[0], f"{most[1]}, without {most[0]}")

    def copies(self):
        """Copies that are not declared are told of; of those that are, nothing is said."""
        text = self.write().read_text()
        for what, declaration, told in [("declared", "no declaration", False),
                                        ("along t", " equal along t", True),
                                        ("along d", " equal along d", True)]:
            path = self.folder / "copies.cgraph"
            path.write_text(text.replace(declaration, ""))
            done = subprocess.run([self.options.cgc, "compile", path, "--graph", "gradients",
                                   "--no-warn", "W0501", "-o", self.folder / "copies.cgplan"],
                                  capture_output=True, text=True, timeout=300)
            self.expect(f"copies {what}", ("W0507" in done.stderr) == told and (
                told or "warning" not in done.stderr) and not done.returncode, done.stderr)

    def training(self, steps=5):
        weights, losses, norms = serial_training(self.weights, self.x, self.y, steps)
        final = {}
        rate = ["--input", f"rate={RATE}", "--graph", "train", "--schedule", ZERO_BUBBLE]
        for what, recompute, runs in [("AdamW", "", [["-n", steps]]),
                                      ("recompute", "recompute feed", [["-n", steps]]),
                                      ("saved and loaded", "", [["-n", 2], ["-n", steps - 2]])]:
            for i, flags in enumerate(runs):
                load = ["--load-state", "saved.safetensors"] if i else []
                got = self.cgrun(what, self.write(recompute), *rate, *flags, *load,
                                 "--save-state", "saved.safetensors")
            if got is None:
                continue
            states = tensor_files.read(self.folder / "saved.safetensors")
            final[what] = {k: a.tobytes() for k, a in (states | got).items()}
            self.expect(f"{what}: loss", abs(got["loss"] - losses[-1]) < 1e-4 * losses[-1],
                        f"{got['loss']}, not {losses[-1]}")
            self.expect(f"{what}: norm", abs(got["norm"] - norms[-1]) < 1e-3 * norms[-1],
                        f"{got['norm']}, not {norms[-1]}")
            self.places(what, states, weights, "block{at}.{name}", 1e-3)
            slots = sum(key.endswith(".m") for key in states)
            self.expect(f"{what}: a slot of each param", slots == DP * P * T * len(SHAPES), slots)
            self.expect(f"{what}: the same bits", final[what] == final.get("AdamW"), "others")

    def zero(self):
        """ZeRO-3: each place keeps its part of the weights; one all_gather, one reduce_scatter."""
        rng = np.random.default_rng(8)
        w, x = (rng.normal(size=s).astype(np.float32) for s in ((8, 8), (3, 4, 8)))
        tensor_files.write(self.folder / "zero.safetensors", {"0": w[:4].copy(), "1": w[4:].copy()})
        np.save(self.folder / "x.npy", x)
        path = self.folder / "zero.cgraph"
        path.write_text(ZERO)
        r.reset()
        whole = r.Value(w)
        losses = [r.mean(r.square(r.relu(r.value(x[m, d * 2:d * 2 + 2]) @ whole)))
                  for m in range(3) for d in range(2)]
        expected, = r.gradients(r.mean(r.stack(losses)), [whole])
        first = None
        for schedule in ("program", "halves", "auto"):
            got = self.cgrun(f"ZeRO {schedule}", path, "--schedule", schedule, inputs="x")
            if got is None:
                continue
            first = first or got
            for d in range(2):
                name = f"g[{d}].w"
                off = np.abs(got[name] - expected[d * 4:d * 4 + 4]).max()
                self.expect(f"ZeRO {schedule}: {name}", off < 1e-5 * np.abs(expected).max(), off)
                self.expect(f"ZeRO {schedule}: bits", got[name].tobytes() == first[name].tobytes())
        done = self.run("ZeRO", self.options.cgc, "compile", path, "-q", "--emit", "graph")
        for name in ("all_gather", "reduce_scatter"):
            count = len(re.findall(rf"= {name}\(", done.stdout))
            self.expect(f"ZeRO: one {name}", count == 1, f"{count}\n{done.stdout}")


ZERO = """import std.tensor
import std.nn
schedule halves { prefer backward_input > backward_weight }
actor Part(d: int) {
  param w: f32[4, 8] = load("zero.safetensors", "{d}")
  method weights() -> f32[4, 8] { return w }
  method forward(full: f32[8, 8], x: f32[2, 8]) -> f32 { return mean(square(relu(x @ full))) }
}
place part[d in 0..2] = Part(d) on gpu[d]
graph step(x: f32[3, 4, 8]) -> (loss: f32, g: [(w: f32[4, 8]); 2]) {
  let full = all_gather([p.weights() for p in part])
  var losses = []
  for m in 0..3 {
    let xs = scatter(x[m], to: part)
    for d in 0..2 { losses = losses + [part[d].forward(full[d], xs[d])] }
  }
  let loss = mean(stack(losses))
  return (loss: loss, g: grad(loss, of: part))
}
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--cgrun", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--only", choices=PARTS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        test = Test(options, folder)
        for name in PARTS:
            if options.only in (None, name):
                getattr(test, name)()
    for fault in test.faults[:20]:
        print(fault)
    print(f"mesh: {test.checked} checks, {len(test.faults)} wrong; 1 planted case")
    sys.exit(1 if test.faults or not test.checked else 0)


if __name__ == "__main__":
    main()
