"""The programs that are measured, and how their figures are read: a table, BENCHMARKS."""
import dataclasses
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIZES = (512, 1024, 2048, 4096, 8192)  # of products
MEMORY_ROWS = 65536  # of 1024 f32: 256 MiB
MEMORY_BYTES = MEMORY_ROWS * 1024 * 4


@dataclasses.dataclass
class Benchmark:
    """A graph, and what of it is compared with what.

    `per` executions' worth of work is in one; `kind` says what is read: "latency", the median from
    submission to result, or "time", seconds by the rate with executions in flight. `anchors` are
    names of the probe's figures, or of other benchmarks with flags of cgrun behind a colon.
    """
    name: str
    source: str
    graph: str
    defines: dict
    small: dict                 # what the emulation runs instead
    anchor: str = ""            # of the probe, or "=NAME": another benchmark
    kind: str = "latency"
    flags: tuple = ()
    per: int = 1
    moves: int = 0              # bytes read and written: the figure is a bandwidth
    anchor_moves: int = 0
    emulated: bool = True


def launches():
    for n in (8, 64, 512):
        captured = Benchmark(f"{n} small kernels, captured", "bench/gpu/launches.cgraph", "chain",
                             {"N": n}, {"N": 8}, f"launches_{n}_graph", emulated=n == 8)
        yield captured
        yield dataclasses.replace(captured, name=f"{n} small kernels, eager",
                                  anchor=f"launches_{n}_eager", flags=("--no-capture",))


def products():
    for dtype in ("f32", "bf16"):
        for side in SIZES:
            repeats = 16 if side <= 2048 else 2
            yield Benchmark(f"{repeats} products {dtype} {side}", "bench/gpu/products.cgraph",
                            f"{dtype}_products", {"D": side, "R": repeats}, {"D": 16, "R": 2},
                            f"product_{dtype}_{side}", "time", emulated=side == 512)


def memory():
    copied = f"copy_{MEMORY_BYTES}"
    for graph, name, share in (("elementwise", "elementwise (relu)", 2),
                               ("fused_chain", "fused chain of five", 2),
                               ("reduction", "reduction (sum)", 1), ("softmax_rows", "softmax", 2),
                               ("layer_norm_rows", "layer_norm", 2)):
        yield Benchmark(f"{name}, 256 MiB", "bench/gpu/memory.cgraph", graph,
                        {"ROWS": MEMORY_ROWS}, {"ROWS": 2}, copied, "time",
                        moves=share * MEMORY_BYTES, anchor_moves=2 * MEMORY_BYTES)


def communication():
    overlap = Benchmark("examples/overlap, in order", "examples/overlap.cgraph", "in_order",
                        {"D": 2048}, {"D": 16})
    yield overlap
    yield dataclasses.replace(overlap, name="examples/overlap, overlapped", graph="overlap",
                              anchor="=examples/overlap, in order")
    for text, n, small in (("100 kB", 25_000, 100), ("40 MB", 10_000_000, 100)):
        staged = Benchmark(f"three calls and two hand-overs of {text}, via host",
                           "examples/ping_pong_devices.cgraph", "through_host", {"N": n},
                           {"N": small}, emulated=n == 25_000)
        yield staged
        yield dataclasses.replace(staged, name=staged.name.replace("via host", "direct"),
                                  graph="direct", anchor="=" + staged.name)


def decoding():
    generate = Benchmark("kv_decode, 32 tokens, eager", "examples/kv_decode.cgraph", "generate",
                         {"BATCH": 4, "PROMPT": 64, "STEPS": 31, "S": 128, "H": 8, "E": 64},
                         {"STEPS": 2}, flags=("--no-capture",), per=32)
    yield generate
    yield dataclasses.replace(generate, name="kv_decode, 32 tokens, captured", flags=(),
                              anchor="=kv_decode, 32 tokens, eager")


BENCHMARKS = [*launches(), *products(), *memory(), *communication(), *decoding()]


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
