"""The encoder and the decoder that are measured, in PyTorch with CUDA graphs, on the same GPU.

  torch_models.py          prints a JSON object: nanoseconds of an encoding, and of a token
  torch_models.py --look   prints whether PyTorch is here, and which
  torch_models.py --libraries  prints the folders of CUDA's libraries that PyTorch brings, as a path
  torch_models.py --small  the same work, tiny and without CUDA graphs, on the CPU: it only runs

The shapes are those of benchmarks.py; weights are random, in f32, and products are not in TF32. As
for a plan, an encoding begins with an input in the host's memory and ends with its result there.
"""
import json
import pathlib
import statistics
import sys
import time

ROUNDS = 30


def look():
    try:
        import torch
    except ImportError as error:
        return f"no PyTorch here: {error}"
    if not torch.cuda.is_available():
        return f"no GPU for the PyTorch here, {torch.__version__}"
    return f"PyTorch {torch.__version__}"


def libraries():
    import torch
    packages = pathlib.Path(torch.__file__).resolve().parents[1]
    return ":".join(str(folder) for folder in sorted(packages.glob("nvidia/*/lib")))


def median(run):
    for _ in range(3):
        run()
    rounds = []
    for _ in range(ROUNDS):
        start = time.perf_counter_ns()
        run()
        rounds.append(time.perf_counter_ns() - start)
    return statistics.median(rounds)


class Runner:
    """Functions of the GPU, as CUDA graphs; on the CPU they are just called."""

    def __init__(self, small):
        import torch
        self.torch, self.small = torch, small
        self.device = "cpu" if small else "cuda"

    def capture(self, work):
        if self.small:
            return work
        torch = self.torch
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):
                work()
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            work()
        return graph.replay

    def host(self, *shape, **how):
        tensor = self.torch.zeros(*shape, **how)
        return tensor if self.small else tensor.pin_memory()

    def weights(self, *shape):
        return self.torch.randn(*shape, device=self.device) * 0.05

    def finish(self):
        if not self.small:
            self.torch.cuda.synchronize()


def encode(runner, batch=8, positions=128, layers=6, heads=12, width=384):
    torch = runner.torch
    f = torch.nn.functional
    wide = 4 * width
    stack = [[runner.weights(*shape) for shape in
              ((3 * width, width), (3 * width,), (width, width), (width,), (wide, width), (wide,),
               (width, wide), (width,), (width,), (width,), (width,), (width,))]
             for _ in range(layers)]
    given = runner.host(batch, positions, width)
    x = torch.zeros(batch, positions, width, device=runner.device)
    out = torch.zeros_like(x)
    got = runner.host(batch, positions, width)

    def split(y):
        return y.view(batch, positions, heads, width // heads).transpose(1, 2)

    def work():
        h = x
        for wqkv, bqkv, wo, bo, w1, b1, w2, b2, g1, c1, g2, c2 in stack:
            q, k, v = (split(part) for part in f.linear(h, wqkv, bqkv).chunk(3, dim=2))
            seen = f.scaled_dot_product_attention(q, k, v)
            seen = seen.transpose(1, 2).reshape(batch, positions, width)
            h = f.layer_norm(h + f.linear(seen, wo, bo), (width,), g1, c1)
            h = f.layer_norm(h + f.linear(f.gelu(f.linear(h, w1, b1)), w2, b2), (width,), g2, c2)
        out.copy_(h)

    launch = runner.capture(work)

    def run():
        x.copy_(given, non_blocking=True)
        launch()
        got.copy_(out, non_blocking=True)
        runner.finish()

    return median(run)


class Decoder:
    """One more token for each sequence, by a cache of keys and values of a fixed size."""

    def __init__(self, runner, batch, cache, heads, of_head, layers, tokens):
        torch = runner.torch
        self.torch, self.shape, self.cache = torch, (batch, heads, of_head), cache
        width = heads * of_head
        self.stack = [(runner.weights(3 * width, width), runner.weights(width, width),
                       torch.zeros(batch, heads, cache, of_head, device=runner.device),
                       torch.zeros(batch, heads, cache, of_head, device=runner.device))
                      for _ in range(layers)]
        self.table, self.head = runner.weights(tokens, width), runner.weights(tokens, width)
        self.last = torch.zeros(batch, dtype=torch.int64, device=runner.device)
        self.at = torch.zeros(1, dtype=torch.int64, device=runner.device)
        self.places = torch.arange(cache, device=runner.device)

    def norm(self, x):
        return x * self.torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)

    def step(self):
        f = self.torch.nn.functional
        batch, heads, of_head = self.shape
        x = self.table[self.last]
        seen = (self.places <= self.at).view(1, 1, 1, self.cache)
        for wqkv, wo, keys, values in self.stack:
            q, k, v = (part.view(batch, heads, 1, of_head)
                       for part in f.linear(self.norm(x), wqkv).chunk(3, dim=1))
            keys.index_copy_(2, self.at, k)
            values.index_copy_(2, self.at, v)
            mixed = f.scaled_dot_product_attention(q, keys, values, attn_mask=seen)
            x = x + f.linear(mixed.reshape(batch, heads * of_head), wo)
        self.last.copy_(f.linear(self.norm(x), self.head).argmax(dim=1))
        self.at.add_(1)


def decode(runner, batch=1, prompt=64, tokens_made=33, cache=128, heads=32, of_head=128, layers=4,
           tokens=32_000):
    """Nanoseconds a token. What precedes the first of them is left out, which is to its good."""
    decoder = Decoder(runner, batch, cache, heads, of_head, layers, tokens)
    launch = runner.capture(decoder.step)
    got = runner.host(batch, dtype=runner.torch.int64)

    def run():
        decoder.at.fill_(prompt)
        for _ in range(tokens_made):
            launch()
        got.copy_(decoder.last, non_blocking=True)
        runner.finish()

    return median(run) / tokens_made


def main():
    if "--look" in sys.argv:
        print(look())
        return
    if "--libraries" in sys.argv:
        print(libraries())
        return
    runner = Runner("--small" in sys.argv)
    with runner.torch.no_grad():
        if runner.small:
            figures = {"torch_encode": encode(runner, 2, 8, 2, 2, 8),
                       "torch_decode": decode(runner, 2, 3, 4, 16, 2, 4, 2, 50)}
        else:
            figures = {"torch_encode": encode(runner), "torch_decode": decode(runner)}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
