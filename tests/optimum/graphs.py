"""Small random graphs of calls on a few devices, as numbers and as the programs that make them.

A graph has 8 to 20 calls on 2 to 4 devices; a call needs what up to two of the last six made. What
crosses is sent once to each device that needs it, and occupies one communication lane at either
end. Nothing else takes time: nothing is given to the graph or taken from it.
"""
import dataclasses
import random

GRAPHS = 300
# What a message takes on the links that the compiler assumes, in picoseconds and bytes per us.
LATENCY = 6_600_000
RATE = 370_000


@dataclasses.dataclass
class Call:
    device: int
    time: int            # picoseconds
    needs: list          # calls
    elements: int        # f32 of its result

    def message(self):
        return LATENCY + -(-self.elements * 4 * 1_000_000 // RATE)


def graph(seed):
    rand = random.Random(seed)
    devices = rand.randint(2, 4)
    calls = []
    for i in range(rand.randint(8, 20)):
        recent = range(max(0, i - 6), i)
        needs = rand.sample(recent, min(len(recent), rand.randint(0, 2)))
        calls.append(Call(rand.randrange(devices), rand.randint(1, 50) * 1_000_000, sorted(needs),
                          rand.randint(1, 20) * 92_500))
    return calls


def program(calls):
    text = ["import std.tensor", ""]
    for i, call in enumerate(calls):
        parameters = ", ".join(f"x{n}: f32[{calls[n].elements}]" for n in call.needs)
        total = "".join(f" + sum(x{n})" for n in call.needs)
        text += [f"actor Work{i}() {{", "  state seen: f32 = zeros()",
                 f"  method run({parameters}) -> f32[{call.elements}] {{",
                 f"    seen = seen + 1.0{total}", "    return zeros()", "  }", "}",
                 f"place w{i} = Work{i}() on gpu[{call.device}]"]
    text += ["graph work() using auto {"]
    read = {n for call in calls for n in call.needs}
    for i, call in enumerate(calls):
        made = f"w{i}.run({', '.join(f'x{n}' for n in call.needs)})"
        text += [f"  let x{i} = {made}" if i in read else f"  {made}"]
    return "\n".join(text + ["}", ""])


def profile(calls):
    return {"unit": "ps",
            "calls": {f"Work{i}.run": call.time for i, call in enumerate(calls)}}
