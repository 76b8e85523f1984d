#!/usr/bin/python3
"""The examples, run by cgrun and compared with NumPy, written once more by hand.

  examples_test.py --cgc build/release/cgc --cgrun build/release/cgrun
                   [--one-gpu | --processes N | --machines MPI]

With `--one-gpu`, all gpus of an example share the first GPU of the machine; with `--processes`, its
workers are processes; with `--machines`, its devices are on two nodes, and mpirun starts a process
for each.
"""
import argparse
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "reference"), str(ROOT / "tests" / "support")]
import expectations  # noqa: E402
import mpirun  # noqa: E402
from expectations import expect  # noqa: E402
from normal import normal  # noqa: E402


class Runner:
    def __init__(self, options):
        self.cgc, self.cgrun, self.folder = options.cgc, options.cgrun, None
        self.one_gpu = options.one_gpu
        self.processes = options.processes
        self.mpi = mpirun.Mpi(options.machines) if options.machines else None

    def compile(self, example, *flags):
        plan = self.folder / (pathlib.Path(example).stem + ".cgplan")
        source = ROOT / "examples" / example
        if self.mpi:
            flags = [*flags, "-I", str(source.parent)]
            source = self.folder / source.name
            source.write_text(on_two_nodes((ROOT / "examples" / example).read_text()))
        command([self.cgc, "compile", str(source), "-o", str(plan), *flags])
        return plan

    def line(self, plan, *flags):
        """Returns the command that runs a plan."""
        line = [self.cgrun, str(plan), *flags]
        if self.processes and "--workers" not in flags:
            line += ["--processes", self.processes]
        if self.one_gpu and "--workers" not in flags:
            text = command([self.cgc, "plan", str(plan)]).stdout
            gpus = re.findall(r"^  device\d+ (gpu\[\d+\])$", text, re.MULTILINE)
            if gpus:
                line += ["--device-map", ",".join(f"{gpu}=cuda:0" for gpu in gpus)]
        return line

    def run(self, plan, inputs, outputs, *flags):
        line = self.line(plan, "-q", "--timeout", "60", *flags)
        for name, value in inputs.items():
            np.save(self.folder / f"in_{name}.npy", value)
            line += ["--input", f"{name}={self.folder}/in_{name}.npy"]
        files = {name: self.folder / f"out_{i}.npy" for i, name in enumerate(outputs)}
        for name, path in files.items():
            line += ["--output", f"{name}={path}"]
        if self.mpi:
            done = self.mpi.run(2, line)
            expect(done.returncode == 0, f"{' '.join(line)}: exit code {done.returncode}",
                   done.stderr)
        else:
            command(line)
        return [np.load(path) for path in files.values()]


def command(line, status=0):
    done = subprocess.run(line, capture_output=True, text=True, timeout=120)
    if done.returncode != status:
        sys.exit(f"FAILED: {' '.join(line)}\nexits with {done.returncode}, not {status}\n"
                 f"{done.stdout}{done.stderr}")
    return done


def on_two_nodes(text):
    """Returns an example's text with every other device on node 0, the first on node 1; what asks
    for a transport within a machine gets that between machines."""
    text, devices = re.subn(r"\bon (cpu|gpu)\[([^\[\]]+)\]", r"on node[1 - (\2) % 2].\1[\2]",
                            text)
    expect(devices > 0 or "on node[" in text, f"no device is spread in\n{text}")
    return re.sub(r"\bvia (nccl|shm|host|local)\b", "via mpi", text)


def round_trip(r):
    plan = r.compile("round_trip.cgraph")
    (y,) = r.run(plan, {"x": np.array([7], np.uint8)}, ["result"])
    expect(y.dtype == np.uint8 and y.tolist() == [7], f"round_trip gave {y}")


def scatter_gather(r):
    x = np.linspace(-1, 1, 16, dtype=np.float32)
    for n in (1, 4):
        plan = r.compile("scatter_gather.cgraph", "-D", f"N={n}")
        got = r.run(plan, {"x": x}, [f"result[{i}]" for i in range(n)])
        for i, y in enumerate(got):
            expect(np.array_equal(y, x + np.float32(i)), f"scatter_gather n={n} result[{i}]")


def chain(r):
    for n in (1, 4, 8):
        plan = r.compile("chain.cgraph", "-D", f"N={n}")
        (y,) = r.run(plan, {"x": np.int64(5)}, ["result"])
        expect(y == 5 + n * (n - 1) // 2, f"chain n={n} gave {y}")


def two_way(r):
    """Proves and runs; one side's order swapped is refused with the cycle; unproved it hangs."""
    x = np.array([1, 2, 3, 4], np.float32)
    plan = r.compile("two_way.cgraph", "--lanes", "one")
    command([r.cgc, "verify", str(plan)])
    # After n executions a has seen n times b's 3 x, and b n times a's 2 x.
    a, b = r.run(plan, {"x": x}, ["result[0]", "result[1]"], "-n", "3")
    expect(np.array_equal(a, 9 * x) and np.array_equal(b, 6 * x), f"two_way gave {a} {b}")
    if r.mpi:
        return  # by mpi a send does not wait for its receive, so no order is a deadlock

    swapped = r.folder / "swapped.cgplan"
    (r.folder / "swapped.json").write_text(command([r.cgc, "plan", "--json", str(plan)]).stdout)
    command([sys.executable, str(ROOT / "examples" / "swap_transfers.py"),
             str(r.folder / "swapped.json")])
    command([r.cgc, "plan", "--from-json", str(r.folder / "swapped.json"), "-o", str(swapped)])
    refused = command([r.cgc, "verify", str(swapped)], status=1).stderr
    for words in ("a.make", "b.make", "two_way.cgraph:", "waits for"):
        expect(words in refused, f"the refusal does not speak of {words!r}:\n{refused}")
    told = json.loads(command([r.cgc, "verify", "--json", str(swapped)], status=1).stdout)
    expect(told["proved"] is False and told["refusal"] == "deadlock" and len(told["cycle"]) >= 2,
           f"verify --json gave {told}")
    command(r.line(swapped, "--input", "x=[1,2,3,4]"), status=1)
    hung = command(r.line(swapped, "--unproved", "--timeout", "1", "--input", "x=[1,2,3,4]"),
                   status=1).stderr
    expect("waits for" in hung and "gpu[0]" in hung and "gpu[1]" in hung,
           f"the time-out does not say who waits for whom:\n{hung}")


def two_machines(r):
    """A stage on each of two nodes; the counts of both are summed."""
    x = np.array([1, 2, 3, 4], np.float32)
    plan = r.compile("two_machines.cgraph")
    y, seen = r.run(plan, {"x": x}, ["result[0]", "result[1]"], "-n", "3")
    expect(np.array_equal(y, 6 * x) and seen == 6, f"two_machines gave {y} {seen}")


def pipeline_1f1b(r):
    stages, micro_batches, rows, d, steps = 4, 8, 16, 64, 4
    rng = np.random.default_rng(1)
    x = rng.standard_normal((steps * micro_batches, rows, d)).astype(np.float32)
    target = rng.standard_normal(x.shape).astype(np.float32)
    expected, w = [], [normal(s, (d, d)).astype(np.float32) * np.float32(0.125)
                       for s in range(stages)]
    for step in range(steps):
        gw, losses = [np.zeros((d, d), np.float32) for _ in w], []
        for mb in range(step * micro_batches, (step + 1) * micro_batches):
            h, saved = x[mb], []
            for s in range(stages):
                z = h @ w[s]
                saved.append((h, z))
                h = np.maximum(z, 0)
            losses.append(np.mean(np.square(h - target[mb]), dtype=np.float64))
            g = (h - target[mb]) * np.float32(2 / (rows * d))
            for s in reversed(range(stages)):
                gz = np.where(saved[s][1] > 0, g, 0)
                gw[s] += saved[s][0].T @ gz
                g = gz @ w[s].T
        for s in range(stages):
            w[s] = w[s] - np.float32(0.01) * gw[s]
        expected.append(np.mean(losses))
    expected = np.array(expected)
    for flags in ([], ["--no-overlap"], ["--inflight", "2"]):
        plan = r.compile("pipeline_1f1b.cgraph", *flags)
        (loss,) = r.run(plan, {"x": x, "target": target}, ["result"], "--batch", "x", "--batch",
                        "target")
        error = np.abs(loss - expected).max()
        expect(loss.shape == (steps,) and error < 1e-5, f"pipeline {flags}: off by {error}\n{loss}")
    expect(expected[-1] != expected[0], "the weights did not change")

    profile = r.folder / "profile.json"
    profile.write_text(json.dumps({"unit": "ps", "default": 0,
                                   "calls": {"Stage.forward": 1, "Stage.backward": 2}}))
    told = json.loads(command([r.cgc, "simulate", str(plan), "--json", "--profile",
                               str(profile)]).stdout)
    expect(told["graphs"][0]["makespan_ps"] == 33,
           f"simulated makespan {told['graphs'][0]['makespan_ps']}, not 33")


def overlap(r):
    d, n = 512, 3
    w = normal(9, (d, d)).astype(np.float32)
    expected = [(normal(i, (d, d)).astype(np.float32).astype(np.float64) @ w).sum()
                for i in range(n)]
    plan, told = r.compile("overlap.cgraph"), {}
    names = [f"result[{i}]" for i in range(n)]
    both = [r.run(plan, {}, names, "--graph", graph, "-n", "2")
            for graph in ("overlap", "in_order")]
    for one, other, wanted in zip(*both, expected):
        expect(one == other, f"overlap changes a result: {one} and {other}")
        # A sum of d * d numbers of size sqrt(d): what float32 can tell of it.
        expect(abs(one - wanted) < 1e-6 * d * d, f"overlap gave {one}, not {wanted}")
    if r.mpi:
        return  # what a network costs is another question
    for graph in json.loads(command([r.cgc, "simulate", str(plan), "--json"]).stdout)["graphs"]:
        told[graph["graph"]] = graph["makespan_ps"]
    expect(told["overlap"] < 0.8 * told["in_order"], f"overlap does not pay: {told}")


def counter(r):
    plan = r.compile("counter.cgraph")
    for graph in ("crossed", "crossed_early"):
        a, b = 0, 100                              # each cgrun begins with fresh state
        for _ in range(3):
            a += 3
            if graph == "crossed":
                b += 3
                a, b = 2 * a + b, 2 * b + a
                shown = b
            else:
                b = shown = 2 * b + a
                b += 3
                a = 2 * a + b
        got = r.run(plan, {"x": np.int64(3)}, ["a", "b"], "--graph", graph, "-n", "3")
        expect([int(g) for g in got] == [a, shown], f"{graph} gave {got}, not {a} {shown}")
    (y,) = r.run(plan, {"x": np.int64(5)}, ["result"], "--graph", "round")
    expect(y == 110, f"round gave {y}")            # 5, then 100 + 5, then 5 + 105
    (log,) = r.run(plan, {"x": np.int64(4)}, ["result"], "--graph", "append", "-n", "7")
    expect(log.tolist() == [4] * 7, f"append gave {log}")
    full = command(r.line(plan, "--graph", "append", "--input", "x=1", "-n", "65"), status=1)
    expect("the log is full" in full.stderr, f"65 appends gave {full.stderr}")
    a, b = r.run(plan, {}, ["a", "b"], "--graph", "values")
    expect((a, b) == (0, 100), f"values gave {a} {b}")


def native(r):
    """Compiles the libraries as the comments in them say."""
    libraries = []
    for source in ("normalizer.c", "top_k.cpp"):
        text = (ROOT / "examples/native" / source).read_text()
        line = re.search(r"(cc|c\+\+) -O2 .*", text).group(0).split()
        libraries.append(str(r.folder / line[line.index("-o") + 1]))
        line[line.index("-o") + 1] = libraries[-1]
        done = subprocess.run(line, capture_output=True, text=True, timeout=120, cwd=ROOT)
        expect(done.returncode == 0, " ".join(line), done.stderr)
    plan = r.compile("native/native.cgraph")
    x = np.random.default_rng(5).normal(size=(5, 4)).astype(np.float32)
    flags = [word for library in libraries for word in ("--lib", library)]
    values, indices = r.run(plan, {"x": x}, ["values", "indices"], "-n", "3", *flags)
    mean = np.zeros(4)
    for _ in range(3):                             # the object remembers the first executions
        centred = np.empty_like(x)
        for row in range(len(x)):
            mean = 0.5 * mean + 0.5 * x[row]
            centred[row] = x[row] - mean
    scores = np.maximum(centred @ normal(7, (4, 6)), 0)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :2]
    expect(np.array_equal(indices, order), f"indices are {indices}, not {order}")
    expect(np.allclose(values, np.take_along_axis(scores, order, 1), atol=1e-5), "values")


def ping_pong_devices(r):
    x = np.linspace(-1, 1, 25_000, dtype=np.float32)
    plan = r.compile("ping_pong_devices.cgraph")
    for graph in ("through_host", "direct"):
        (y,) = r.run(plan, {"x": x}, ["result"], "--graph", graph)
        expect(np.array_equal(y, x + np.float32(1) + np.float32(1) + np.float32(1)),
               f"{graph} gave {y}")
    told = command([r.cgc, "compile", str(ROOT / "examples" / "ping_pong_devices.cgraph"), "--emit",
                    "transports", "--stop-after", "transports"]).stdout
    for value in ("ping: gpu[0] -> gpu[1]", "pong: gpu[1] -> gpu[0]"):
        for transport in ("host", "nccl"):
            expect(told.count(f"{value} by {transport} ") == 1, f"{value} by {transport}:\n{told}")


def all_reduce_three_ways(r):
    x = np.linspace(-2, 2, 8, dtype=np.float32)
    ways = ("direct", "by_root", "by_parts")
    got = r.run(r.compile("all_reduce_three_ways.cgraph"), {"x": x},
                [f"{way}[{rank}]" for way in ways for rank in range(4)])
    for i, y in enumerate(got):
        expect(np.allclose(y, 10 * x, atol=1e-5), f"{ways[i // 4]}[{i % 4}] gave {y}")


def weights(seed, shape, scale):
    return normal(seed, shape).astype(np.float32) * np.float32(scale)


def rms_norm(x):
    return x / np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + 1e-6)


def tensor_parallel_mlp(r):
    gelu = np.vectorize(lambda v: v * 0.5 * (1 + math.erf(v / math.sqrt(2))))
    up, down = weights(1, (32, 64), 0.2), weights(2, (64, 32), 0.2)
    x = np.random.default_rng(2).standard_normal((8, 32)).astype(np.float32)
    expected = x.astype(np.float64)
    for _ in range(2):
        expected = rms_norm(expected + gelu(expected @ up) @ down)
    for shards in (1, 4):
        plan = r.compile("tensor_parallel_mlp.cgraph", "-D", f"T={shards}")
        for y in r.run(plan, {"x": x}, [f"result[{i}]" for i in range(shards)]):
            error = np.abs(y - expected).max()
            expect(error < 1e-4, f"tensor_parallel_mlp on {shards}: off by {error}")


def mesh(r):
    """Sharded training gives the losses of training on one device, but for rounding."""
    up, down = weights(1, (16, 32), 0.2), weights(2, (32, 16), 0.2).astype(np.float64)
    rng = np.random.default_rng(3)
    x, target = (rng.standard_normal((40, 16)).astype(np.float32) for _ in range(2))
    expected = []
    for step in range(5):
        h = np.maximum(x[8 * step:8 * step + 8] @ up, 0)
        difference = h @ down - target[8 * step:8 * step + 8]
        expected.append(np.mean(np.square(difference)))
        down = down - 0.01 * h.T @ difference
    for sizes in (("DP=1", "TP=1"), ("DP=2", "TP=2"), ("DP=4", "TP=1"), ("DP=1", "TP=4")):
        plan = r.compile("mesh.cgraph", "-D", sizes[0], "-D", sizes[1])
        (loss,) = r.run(plan, {"x": x, "target": target}, ["result"], "--batch", "x", "--batch",
                        "target")
        error = np.abs(loss - expected).max()
        expect(error < 1e-4, f"mesh {sizes}: off by {error}\n{loss}\n{expected}")


def two_towers(r):
    def bf16(x):
        bits = np.asarray(x, np.float32).view(np.uint32)
        return ((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000).view(np.float32)

    def encode(x, seed):
        y = bf16(x).astype(np.float64) @ bf16(normal(seed, (x.shape[1], 16)).astype(np.float32))
        return y / np.linalg.norm(y, axis=1, keepdims=True)

    rng = np.random.default_rng(4)
    images, texts = (rng.standard_normal((8, n)).astype(np.float32) for n in (64, 32))
    logits = 10 * encode(images, 3) @ encode(texts, 7).T
    shifted = logits - logits.max(axis=1, keepdims=True)
    expected = np.mean(np.log(np.exp(shifted).sum(axis=1)) - np.diag(shifted))
    (loss,) = r.run(r.compile("two_towers.cgraph"), {"images": images, "texts": texts}, ["result"])
    # bf16 has 8 bits: a cosine is off by 0.01, a logit by 0.1 at the most.
    expect(abs(loss - expected) < 0.1, f"two_towers gave {loss}, not {expected}")


class Decoder:
    """kv_decode in NumPy: without a cache, every step looks at all positions again."""
    heads, width, layers = 4, 8, 3
    d = heads * width

    def __init__(self):
        self.table, self.head = weights(1, (50, self.d), 1), weights(2, (self.d, 50), 1)
        self.qkv = [weights(10 + l, (self.d, 3 * self.d), 0.25) for l in range(self.layers)]
        self.out = [weights(20 + l, (self.d, self.d), 0.25) for l in range(self.layers)]

    def logits(self, tokens):
        batch, n = tokens.shape
        x = self.table[tokens].astype(np.float64)
        for qkv, out in zip(self.qkv, self.out):
            q, k, v = (part.reshape(batch, n, self.heads, self.width).transpose(0, 2, 1, 3)
                       for part in np.split(rms_norm(x) @ qkv, 3, axis=2))
            score = q @ k.transpose(0, 1, 3, 2) / np.sqrt(self.width)
            score = np.where(np.tril(np.ones((n, n), bool)), score, -np.inf)
            weight = np.exp(score - score.max(axis=-1, keepdims=True))
            weight /= weight.sum(axis=-1, keepdims=True)
            x = x + (weight @ v).transpose(0, 2, 1, 3).reshape(batch, n, self.d) @ out
        return rms_norm(x[:, -1]) @ self.head


def kv_decode(r):
    prompt = np.random.default_rng(5).integers(0, 50, (2, 6))
    decoder, tokens = Decoder(), prompt
    for _ in range(5):
        logits = decoder.logits(tokens)
        best = np.sort(logits, axis=1)
        expect((best[:, -1] - best[:, -2] > 1e-3).all(),
               "the reference cannot tell two tokens apart")
        tokens = np.concatenate([tokens, logits.argmax(axis=1)[:, None]], axis=1)
    plan = r.compile("kv_decode.cgraph")
    (made,) = r.run(plan, {"tokens": prompt}, ["tokens"], "--graph", "generate")
    expect(np.array_equal(made.T, tokens[:, 6:]), f"kv_decode made {made.T}, not {tokens[:, 6:]}")
    (first,) = r.run(plan, {"tokens": prompt}, ["result"], "--graph", "prefill")
    expect(np.array_equal(first, made[0]), f"prefill gave {first}, not {made[0]}")
    full = command(r.line(plan, "--graph", "decode", "-n", "17"), status=1).stderr
    expect("the cache is full" in full, f"17 positions in a cache of 16: {full}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--cgrun", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--one-gpu", action="store_true")
    parser.add_argument("--processes")
    parser.add_argument("--machines", choices=sorted(mpirun.PACKAGES))
    runner = Runner(parser.parse_args())
    examples = [round_trip, scatter_gather, chain, two_way, two_machines, pipeline_1f1b, overlap,
                counter, ping_pong_devices, all_reduce_three_ways, tensor_parallel_mlp, mesh,
                two_towers, kv_decode, native]
    for example in examples:
        with tempfile.TemporaryDirectory() as folder:
            runner.folder = pathlib.Path(folder)
            example(runner)
            print(f"{example.__name__}: ok")
    print(f"examples: {len(examples)} examples, {expectations.checks} checks")


if __name__ == "__main__":
    main()
