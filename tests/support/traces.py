"""Traces in Chrome's trace-event format, checked: what --trace of both commands writes."""
import decimal
import json


def faults(text):
    """Sentences about what a trace must not have; none when it is sound."""
    try:
        trace = json.loads(text, parse_float=decimal.Decimal)
        every = trace["traceEvents"]
        named = {kind: {(e["pid"], e["tid"] if kind == "thread_name" else 0): e["args"]["name"]
                        for e in every if e["ph"] == "M" and e["name"] == kind}
                 for kind in ("process_name", "thread_name")}
        lanes = lanes_of(every)
    except (ValueError, KeyError, TypeError) as error:
        return [f"not a trace: {error!r}"]
    told = [f"lane {lane} has no name" for lane in lanes if not named["thread_name"].get(lane)]
    told += [f"process {lane[0]} has no name" for lane in lanes
             if not named["process_name"].get((lane[0], 0))]
    for lane, events in lanes.items():
        open_until = []
        for start, end, name in events:
            while open_until and open_until[-1] <= start:
                open_until.pop()
            if open_until and end > open_until[-1]:
                told.append(f"lane {lane}: `{name}` overlaps what it stands in")
            open_until.append(end)
        # Only a call's instructions stand within something.
        depth = max((nesting(events, at) for at in range(len(events))), default=0)
        if depth > 1:
            told.append(f"lane {lane}: events stand {depth} deep")
    return told


def lanes_of(every):
    """(pid, tid) -> [(start, end, name)] in the order in which viewers nest them."""
    lanes = {}
    for event in every:
        if event["ph"] == "X":
            if event["dur"] < 0 or event["ts"] < 0:
                raise ValueError(f"a negative time in {event}")
            lanes.setdefault((event["pid"], event["tid"]), []).append(
                (event["ts"], event["ts"] + event["dur"], event["name"]))
    for events in lanes.values():
        events.sort(key=lambda e: (e[0], -e[1]))
    return lanes


def nesting(events, at):
    start, end, _ = events[at]
    return sum(s <= start and end <= e and (s, e) != (start, end) for s, e, _ in events[:at])


def self_test():
    """Wrong traces are found; returns how many."""
    meta = [{"ph": "M", "pid": 1, "tid": 0, "name": "process_name", "args": {"name": "g"}},
            {"ph": "M", "pid": 1, "tid": 0, "name": "thread_name", "args": {"name": "l"}}]

    def bar(ts, dur, tid=0):
        return {"ph": "X", "pid": 1, "tid": tid, "name": "x", "ts": ts, "dur": dur}

    def of(*events):
        return json.dumps({"traceEvents": [*meta, *events]})

    assert not faults(of(bar(0, 4), bar(0, 2), bar(2, 2), bar(4, 1))), "a sound trace is refused"
    wrong = [of(bar(0, 2), bar(1, 2)), of(bar(0, 2, tid=1)), of(bar(0, -1)), "{}", "[",
             of(bar(0, 4), bar(0, 3), bar(0, 2))]
    for text in wrong:
        assert faults(text), f"not found: {text}"
    return len(wrong)
