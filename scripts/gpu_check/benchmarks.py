"""The programs that are measured, and what each figure is compared with: a table, BENCHMARKS.

Figures of one group are measured round by round with their anchors, so a ratio is of one moment.
"""
import dataclasses
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIZES = (512, 1024, 2048, 4096, 8192)  # of products
MEMORY_ROWS = 65536  # of 1024 f32: 256 MiB
MEMORY_BYTES = MEMORY_ROWS * 1024 * 4
COPY = f"copy_{MEMORY_BYTES}"
# Groups, in the order in which they are measured: which figures of the probe belong to each.
GROUPS = {"launches": ["launches"], "products": ["products"], "memory": ["memory"],
          "overlap": [], "messages": ["messages", "nccl"], "models": ["memory"],
          "processes": ["processes", "nccl"]}


@dataclasses.dataclass
class Anchor:
    """What a figure is compared with: names of the probe's figures, of those of PyTorch
    (torch_models.py), or of other benchmarks behind a "="; of several the longest time counts.
    `aim` is what the ratio should not exceed; of a bandwidth, what it should reach."""
    names: tuple
    aim: float = 0
    moves: int = 0       # bytes that the anchor reads and writes, where bandwidths are compared
    text: str = ""       # in place of the names


@dataclasses.dataclass
class Benchmark:
    """A graph, and what its figure is compared with.

    `per` executions' worth of work is in one; `kind` says what is read: "latency", the median from
    submission to result, or "time", seconds by the rate with executions in flight.
    """
    name: str
    group: str
    source: str
    graph: str
    defines: dict
    small: dict                 # what the emulation runs instead
    anchors: tuple = ()
    kind: str = "latency"
    flags: tuple = ()
    per: int = 1
    moves: int = 0              # bytes read and written: the figure is a bandwidth
    on_cpu: bool = False        # the graph has no gpu
    simulated: bool = False     # compared with cgc simulate, too
    emulated: bool = True


def against(*names, aim=0, moves=0, text=""):
    return Anchor(names, aim, moves, text)


def launches():
    for n in (8, 64, 512):
        captured = Benchmark(f"{n} small kernels, captured", "launches",
                             "bench/gpu/launches.cgraph", "chain", {"N": n}, {"N": 8},
                             (against(f"launches_{n}_graph", aim=1.1),), emulated=n == 8,
                             simulated=n == 64)
        yield captured
        yield dataclasses.replace(captured, name=f"{n} small kernels, eager",
                                  anchors=(against(f"launches_{n}_eager"),), simulated=False,
                                  flags=("--no-capture",))


def products():
    for dtype in ("f32", "bf16"):
        for side in SIZES:
            repeats = 16 if side <= 2048 else 2
            yield Benchmark(f"{repeats} products {dtype} {side}", "products",
                            "bench/gpu/products.cgraph", f"{dtype}_products",
                            {"D": side, "R": repeats}, {"D": 16, "R": 2},
                            (against(f"product_{dtype}_{side}", aim=1 / 0.95),), "time",
                            simulated=side == 2048, emulated=side == 512)


def memory():
    for dtype in ("f32", "bf16"):
        for graph, name, share in (("relu", "elementwise (relu)", 2),
                                   ("chain", "fused chain of five", 2),
                                   ("sum", "reduction to one number", 1),
                                   ("row_sums", "reduction of rows", 1),
                                   ("softmax", "softmax", 2), ("layer_norm", "layer_norm", 2)):
            yield Benchmark(f"{name} {dtype}, 256 MiB", "memory", "bench/gpu/memory.cgraph",
                            f"{graph}_{dtype}", {"ROWS": MEMORY_ROWS}, {"ROWS": 2},
                            (against(COPY, aim=0.9, moves=2 * MEMORY_BYTES),), "time",
                            moves=share * MEMORY_BYTES,
                            simulated=graph in ("softmax", "chain") and dtype == "f32")


def overlap():
    """Three messages of 200 MB and a product for each."""
    def graph(name, anchors=()):
        return Benchmark(f"overlap, {name.replace('_', ' ')}", "overlap",
                         "bench/gpu/overlap.cgraph", name, {}, {"D": 16}, anchors)

    yield graph("copies")
    yield graph("products")
    yield graph("in_order")
    yield graph("overlapped", (
        against("=overlap, in order", aim=0.86),
        against("=overlap, copies", "=overlap, products", aim=1.05,
                text="the longer of copies and products")))


# The cases of the microbenchmark of compiled graphs in Ray that one GPU and one process have; of
# its other cases G5 is its object store, G6 and G8 are calls that are not compiled. G10 to G13
# differ by what is known of shapes, which a plan always knows. Anchors are the cases without
# compiled graphs: G1 to G3 by the driver, G4 by NCCL with itself.
def reference():
    for text, n, small in (("100 kB", 50_000, 100), ("40 MB", 20_000_000, 100)):
        size = 2 * n

        def case(name, graph, anchors, **more):
            return Benchmark(f"{name}, {text}", "messages", "bench/gpu/reference.cgraph", graph,
                             {"N": n}, {"N": small}, anchors, emulated=n == 50_000, **more)

        yield case("G7 exec_ray_dag_cpu", "cpu_cpu",
                   (against(f"g1_{size}", text="G1 exec_torch_cpu_cpu"),), on_cpu=True)
        yield case("G9 exec_ray_dag_gpu_cpu_gpu", "gpu_cpu_gpu",
                   (against(f"g3_{size}", text="G3 exec_torch_gpu_cpu_gpu"),))
        anchors = [against(f"g2_{size}", text="G2 exec_torch_gpu")]
        if size == 100_000:
            anchors.append(against(f"g4_{size}", text="G4 exec_nccl_gpu, with itself"))
        anchors.append(against(f"=G9 exec_ray_dag_gpu_cpu_gpu, {text}", text="G9, via host"))
        yield case("G10 to G13 exec_ray_dag_gpu_nccl, on one GPU", "gpu_gpu", tuple(anchors))


def hand_overs():
    for text, n, small in (("100 kB", 25_000, 100), ("40 MB", 10_000_000, 100)):
        staged = Benchmark(f"three calls and two hand-overs of {text}, via host", "messages",
                           "examples/ping_pong_devices.cgraph", "through_host", {"N": n},
                           {"N": small}, emulated=n == 25_000)
        yield staged
        yield dataclasses.replace(staged, name=staged.name.replace("via host", "direct"),
                                  graph="direct", anchors=(against("=" + staged.name),))


# Of kv_decode: H * E numbers wide, LAYERS layers of 4 square matrices, V tokens; f32.
DECODE = {"BATCH": 1, "PROMPT": 64, "STEPS": 32, "S": 128, "H": 32, "E": 128, "LAYERS": 4,
          "V": 32_000, "GPUS": 1}
SMALL_DECODE = {"STEPS": 2, "GPUS": 1}


def weight_bytes(of):
    width = of["H"] * of["E"]
    return 4 * width * (4 * width * of["LAYERS"] + of["V"])


def models():
    tokens = DECODE["STEPS"] + 1
    eager = Benchmark(f"kv_decode, {tokens} tokens, eager", "models", "examples/kv_decode.cgraph",
                      "generate", DECODE, SMALL_DECODE, flags=("--no-capture",), per=tokens)
    yield eager
    captured = dataclasses.replace(
        eager, name=f"kv_decode, {tokens} tokens, captured", flags=(), simulated=True,
        anchors=(against("=" + eager.name),
                 against("torch_decode", aim=1, text="PyTorch with CUDA graphs")))
    yield captured
    yield dataclasses.replace(captured, name="kv_decode, weights read", simulated=False,
                              moves=weight_bytes(DECODE),
                              anchors=(against(COPY, aim=0.6, moves=2 * MEMORY_BYTES),))
    yield Benchmark("encoder of the size of MiniLM, 8 x 128", "models",
                    "bench/gpu/encoder.cgraph", "encode", {},
                    {"BATCH": 1, "N": 4, "LAYERS": 1, "H": 2, "E": 4},
                    (against("torch_encode", aim=1, text="PyTorch with CUDA graphs"),),
                    simulated=True)


BENCHMARKS = [*launches(), *products(), *memory(), *overlap(), *reference(), *hand_overs(),
              *models()]


def make(maker, emulated):
    """Compiles the programs; their entries in the manifest, by name."""
    entries = {}
    plans = {}
    for each in BENCHMARKS:
        if emulated and not each.emulated:
            continue
        defines = each.small if emulated else each.defines
        key = (each.source, tuple(defines.items()), each.graph)
        if key not in plans:
            flags = [word for name, value in defines.items() for word in ("-D", f"{name}={value}")]
            plans[key] = maker.add(f"benchmark_{len(plans)}", ROOT / each.source, flags,
                                   graphs=[each.graph], expected=False)
        entries[each.name] = plans[key]
    return entries
