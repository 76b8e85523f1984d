"""The report: checks that passed, failed or were skipped, and numbers beside their anchors."""
import json
import platform
import time

PASS, FAIL, SKIP = "pass", "fail", "skipped"


class Report:
    def __init__(self, emulated):
        self.emulated, self.started = emulated, time.time()
        self.machine = {"system": platform.platform(), "processor": platform.machine()}
        self.checks, self.numbers = [], []

    def add(self, name, status, reason="", seconds=None):
        self.checks.append({"name": name, "status": status, "reason": reason,
                            **({} if seconds is None else {"seconds": round(seconds, 2)})})
        took = "" if seconds is None else f"  {seconds:.1f} s"
        print(f"{status:>8}  {name}{took}" + (f": {reason}" if reason else ""), flush=True)

    def number(self, name, value, unit):
        """A figure that nothing is compared with."""
        self.numbers.append({"name": name, "value": value, "unit": unit,
                             "emulated": self.emulated})

    def compare(self, name, value, unit, anchor, anchor_value, ratio, aim=0, at_least=False,
                both_ways=False):
        """A figure beside that of an anchor in the same rounds. `aim`: what the ratio should not
        exceed, or reach with `at_least`; with `both_ways` neither may be as many times the other;
        0: none."""
        entry = {"name": name, "value": value, "unit": unit, "emulated": self.emulated,
                 "anchor": anchor, "anchor_value": anchor_value, "ratio": ratio}
        if aim:
            entry |= {"aim": f"{1 / aim:.2f} to {aim:.2f}" if both_ways else
                      f"{'at least' if at_least else 'at most'} {aim:.2f}",
                      "reached": 1 / aim <= ratio <= aim if both_ways else
                      ratio >= aim if at_least else ratio <= aim}
        self.numbers.append(entry)

    def failed(self):
        return [check for check in self.checks if check["status"] == FAIL]

    def counts(self):
        return {status: sum(check["status"] == status for check in self.checks)
                for status in (PASS, FAIL, SKIP)}

    def summary(self):
        counts = self.counts()
        return f"{counts[PASS]} passed, {counts[FAIL]} failed, {counts[SKIP]} skipped"

    def write(self, path):
        told = {"emulated": self.emulated,
                "note": "made on an emulated driver: its numbers are no measurements"
                if self.emulated else "made on the GPU that `machine` names",
                "passed": not self.failed(), "counts": self.counts(),
                "seconds": round(time.time() - self.started, 1), "machine": self.machine,
                "checks": self.checks, "numbers": self.numbers}
        path.write_text(json.dumps(told, indent=1) + "\n")

    def table(self):
        """The numbers as docs/benchmarks.md shows them."""
        lines = []
        if self.emulated:
            lines += ["EMULATED: these are no measurements of any GPU.", ""]
        lines += ["| what | figure | anchor | its figure | ratio | aim |",
                  "|---|---|---|---|---|---|"]
        for each in self.numbers:
            row = [each["name"], text(each["value"], each["unit"])]
            row += [each["anchor"], text(each["anchor_value"], each["unit"]),
                    f"{each['ratio']:.2f}"] if "anchor" in each else ["–", "–", "–"]
            row.append(each["aim"] + ("" if each["reached"] else ": missed") if "aim" in each
                       else "–")
            lines.append("| " + " | ".join(row) + " |")
        return "\n".join(lines)


def text(value, unit):
    return f"{value:,.4g} {unit}"
