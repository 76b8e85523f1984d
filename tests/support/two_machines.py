"""Two machines that are one: namespaces with their own network, host name, processes and shared
memory, which a cable joins. What goes between them goes by TCP.
"""
import os
import shlex
import shutil
import subprocess
import sys
import time

import mpirun

NETWORK = "10.77.31"
# Runs a command on the machine that a launcher names, in the way of ssh: options, host, command.
AGENT = """#!/bin/sh
while :; do
  case "$1" in
    -x|-q|-n) shift ;;
    *) break ;;
  esac
done
host=$1
shift
exec {folder}/on ${{host##*.}} "$*"
"""
# Runs a shell command on machine 1 or 2.
ON = """#!/bin/sh
exec ip netns exec {name}$1 unshare --uts --mount --ipc --pid --fork --kill-child --mount-proc \\
    sh -c "hostname machine$1; mount -t tmpfs tmpfs /dev/shm; $2"
"""


def skip(why):
    print(f"SKIPPED: {why}; no run on two machines is tried")
    sys.exit(77)


class TwoMachines:
    """Stands for an Mpi whose ranks are on two machines, in turn."""

    def __init__(self, name, folder):
        self.name, self.mpi, self.folder = name, mpirun.Mpi(name), folder
        self.space = f"cgraph{os.getpid()}m"
        for script, text in (("agent", AGENT), ("on", ON)):
            path = folder / script
            path.write_text(text.format(folder=folder, name=self.space))
            path.chmod(0o755)

    def __enter__(self):
        for tool in ("ip", "unshare"):
            if shutil.which(tool) is None:
                skip(f"{tool} is not installed")
        commands = [f"ip netns add {self.space}1", f"ip netns add {self.space}2",
                    f"ip -n {self.space}1 link add v1 type veth peer name v1 netns {self.space}2"]
        for i in (1, 2):
            commands += [f"ip -n {self.space}{i} addr add {NETWORK}.{i}/24 dev v1",
                         f"ip -n {self.space}{i} link set v1 up",
                         f"ip -n {self.space}{i} link set lo up", f"{self.folder}/on {i} true"]
        for command in commands:
            done = subprocess.run(command.split(), capture_output=True, text=True)
            if done.returncode != 0:
                self.__exit__()
                skip(f"namespaces cannot be made here (`{command}`: {done.stderr.strip()})")
        self.await_cable()
        return self

    def await_cable(self):
        """Waits until both ends say that they are up, which the system tells late. MPICH's UCX
        takes no other."""
        end = time.monotonic() + 5
        for i in (1, 2):
            while "state UP" not in subprocess.run(
                    ["ip", "-n", f"{self.space}{i}", "link", "show", "v1"], capture_output=True,
                    text=True).stdout and time.monotonic() < end:
                time.sleep(0.05)

    def __exit__(self, *_):
        for i in (1, 2):
            subprocess.run(["ip", "netns", "del", f"{self.space}{i}"], capture_output=True)

    def line(self, ranks, command):
        flags = (f"--mca plm_rsh_agent {self.folder}/agent -H {NETWORK}.1,{NETWORK}.2 "
                 f"--mca oob_tcp_if_include {NETWORK}.0/24 "
                 f"--mca btl_tcp_if_include {NETWORK}.0/24")
        if self.name == "mpich":
            flags = (f"-launcher ssh -launcher-exec {self.folder}/agent "
                     f"-hosts {NETWORK}.1,{NETWORK}.2")
        words = " ".join(shlex.quote(str(word)) for word in command)
        return [str(self.folder / "on"), "1",
                f"exec {self.mpi.launcher} -n {ranks} {flags} {words}"]

    def run(self, ranks, command, seconds=60, line=None):
        return mpirun.run_marked(line or self.line(ranks, command), self.mpi.environment, seconds)

    def cable(self, state):
        """Plugs the cable in ("up"), or out ("down")."""
        subprocess.run(["ip", "-n", f"{self.space}1", "link", "set", "v1", state], check=True)

    def sent(self):
        """Returns the bytes that machine 1 has sent."""
        text = subprocess.run(["ip", "netns", "exec", f"{self.space}1", "cat",
                               "/sys/class/net/v1/statistics/tx_bytes"],
                              capture_output=True, text=True, check=True).stdout
        return int(text)
