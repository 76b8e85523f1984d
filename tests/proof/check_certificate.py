"""Checks a certificate again in twenty lines, sharing nothing with the prover: waits go forwards.

`plan` is what `cgc plan --json` prints, `told` what `cgc verify --json [--capacity N]` does.
"""


def broken_waits(plan, told, capacity=None):
    """Each (graph, position, position) where something waits for what does not stand before it."""
    for graph, start, done in ((c["graph"], c["start"], c["done"]) for c in told["certificate"]):
        g = plan["start"] if graph is None else plan["graphs"][graph]
        steps, ends, captures = g["instructions"], {}, {}
        for i, step in enumerate(steps):  # an instruction outside captures is one by itself
            captures.setdefault(step["capture_id"] or -1 - i, []).append(i)
        unit = [captures[step["capture_id"] or -1 - i] for i, step in enumerate(steps)]
        signal = {step["subject"]: i for i, step in enumerate(steps) if step["kind"] == "signal"}
        waits = [(start[i], done[i] + (step["kind"] != "comm")) for i, step in enumerate(steps)]
        for lane, program in enumerate(g["programs"]):
            for i in range(program["first"], program["first"] + program["count"]):
                first, last = steps[i]["first"], steps[i]["first"] + steps[i]["inputs"]
                befores = [i - 1] if i > program["first"] else []
                if steps[i]["kind"] == "wait":
                    befores += [signal[w["event"]] for w in g["waits"][first:last] if not w["lag"]]
                for before in befores:  # into a capture, or out of one: all of it
                    waits += ([(done[before], start[i])] if before in unit[i] else
                              [(done[a], start[b]) for a in unit[before] for b in unit[i]])
                for part in g["parts"][first:last] if steps[i]["kind"] == "comm" else []:
                    where = ((g["collectives"][part["subject"]]["communicator"], lane)
                             if part["part"] == "collective" else (part["subject"],))
                    ends.setdefault((part["part"], *where), []).append(i)
        for (kind, subject, *_), mine in ends.items():
            theirs = ends["recv", subject] if kind == "send" else []
            stated = g["channels"][subject]["capacity"] if kind == "send" else 0
            room = stated if capacity is None else capacity
            waits += [(start[send], done[receive]) for send, receive in zip(mine, theirs)]
            waits += [(start[receive], done[send]) for receive, send in zip(theirs, mine[room:])]
            waits += [(start[a], done[b]) for key, others in ends.items() 
                      for a, b in zip(mine, others)
                      if kind == "collective" and key[:2] == (kind, subject) and others is not mine]
        yield from ((graph, *wait) for wait in waits if wait[0] >= wait[1])
