#!/usr/bin/python3
"""The protocols of the runtime, as Promela models, checked in every interleaving by SPIN.

Each model is checked as it is, in a few sizes, and with each of its planted faults, which SPIN must
find: so a model that shows nothing does not pass. Without spin or gcc the test is skipped (77).
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# By model: what must hold, and what must fail.
MODELS = {
    "event_count": ([""], ["NO_FENCE", "LOOK_FIRST", "STALE_EPOCH"]),
    "channel": (["CAPACITY=0", "CAPACITY=1", "CAPACITY=2", "CAPACITY=3", "CAPACITY=0 SHUTDOWN",
                 "CAPACITY=2 SHUTDOWN"],
                ["ROOM_TOO_MUCH CAPACITY=2", "SENT_EARLY", "NUMBER_FIRST",
                 "NUMBER_FIRST CAPACITY=2",
                 "NO_NOTIFY_SENDER", "NO_NOTIFY_RECEIVER", "SILENT_END SHUTDOWN"]),
    "slot": (["COPIES=1", "COPIES=2", "COPIES=2 LAG=1", "COPIES=3 LAG=2"],
             ["NO_WAIT_BACK", "LATE", "LATE COPIES=2 LAG=1", "CYCLE", "NO_LISTENER"]),
    "collective": (["", "EAGER", "MEMBERS=3 AWAKE", "MEMBERS=3 AWAKE EAGER"],
                   ["ONE_TURN EAGER", "NOT_LEFT", "NO_NOTIFY_ARRIVED EAGER", "NO_NOTIFY_LEFT"]),
    "ranks": ([""], ["EARLY", "NO_SECOND_LOOK", "GONE_LAST"]),
    "failures": ([""], ["CLEAR_EARLY", "LATE_KEEP", "TRUST_ANY"]),
    "shared": ([""], ["PRIVATE_BARRIER", "SILENT_END", "BLIND", "SIGNAL_FIRST", "NO_WAIT_BACK"]),
    "machines": ([""], ["RESEND", "LATE", "NO_CLEAR"]),
}


def check(model, flags, folder):
    """(errors found, states looked at), every state within reach seen unless there is an error."""
    defines = [f"-D{flag}" for flag in flags.split()]
    subprocess.run(["spin", *defines, "-a", str(HERE / f"{model}.pml")], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["gcc", "-O1", "-w", "-DSAFETY", "-o", "pan", "pan.c"], cwd=folder, check=True)
    said = subprocess.run(["./pan", "-m1000000"], cwd=folder, check=True, capture_output=True,
                          text=True, timeout=300).stdout
    if "max search depth too small" in said or "out of memory" in said:
        sys.exit(f"{model} {flags}: the search did not end\n{said}")
    return (int(re.search(r"errors: (\d+)", said)[1]),
            float(re.search(r"([\d.e+]+) states, stored", said)[1]))


def main():
    for tool in ("spin", "gcc"):
        if shutil.which(tool) is None:
            print(f"SKIPPED: {tool} is not installed (scripts/setup --tests installs it)")
            return 77
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for model, (hold, fail) in MODELS.items():
            for flags, expected in [*((f, False) for f in hold), *((f, True) for f in fail)]:
                errors, states = check(model, flags, folder)
                verdict = "fault found" if errors else "holds"
                print(f"{model} {flags or 'as it is'}: {verdict}, {states:.0f} states", flush=True)
                if (errors > 0) != expected:
                    wrong.append(f"{model} {flags}")
    print(f"not as they should be: {', '.join(wrong)}" if wrong else "all as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
