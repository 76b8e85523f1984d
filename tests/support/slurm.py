"""A cluster of Slurm's on this machine: its controller, a daemon for each of two nodes, and MUNGE,
all of which end with the test. Stands for an Mpi whose ranks srun starts.
"""
import os
import shlex
import shutil
import socket
import subprocess
import sys
import time

import mpirun

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "scancel")
NODES = 2
# How an MPI's processes find each other: what srun's --mpi gets.
CONNECTS = {"openmpi": "pmix", "mpich": "pmi2"}
CONFIGURATION = """ClusterName=cgraph
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
SlurmdParameters=config_overrides
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
TmpFS={folder}/tmp.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
KillWait=5
NodeName=machine1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=8
NodeName=machine2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=8
PartitionName=all Nodes=machine[1-2] Default=YES State=UP
"""


def skip(why):
    print(f"SKIPPED: {why}; no run by srun is tried")
    sys.exit(77)


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Cluster:
    """`folder`: an empty one, which the daemons may fill."""

    def __init__(self, folder):
        os.environ["PATH"] += ":/usr/sbin:/sbin"
        for program in PROGRAMS:
            if shutil.which(program) is None:
                skip(f"{program} is not installed (Debian's slurmctld, slurmd, slurm-client, "
                     "munge)")
        if os.geteuid() != 0:
            skip("Slurm's daemons are for root to start")
        self.folder, self.daemons = folder, []

    def __enter__(self):
        folder = self.folder
        folder.chmod(0o755)
        for name in ("state", "spool.machine1", "spool.machine2", "tmp.machine1", "tmp.machine2"):
            (folder / name).mkdir()
        key = folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        configuration = folder / "slurm.conf"
        configuration.write_text(CONFIGURATION.format(host=socket.gethostname().split(".")[0],
                                                      folder=folder, ports=free_ports(3)))
        # Else slurmd looks for a mounted file system of cgroups, which it has no use for here.
        (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")
        os.environ["SLURM_CONF"] = str(configuration)
        self.start(f"munged --foreground --force --key-file={key} --socket={folder}/munge.socket "
                   f"--pid-file={folder}/munge.pid --log-file={folder}/munge.log "
                   f"--seed-file={folder}/munge.seed")
        self.start("slurmctld -D")
        for node in range(1, NODES + 1):
            self.start(f"slurmd -D -N machine{node}")
        end = time.monotonic() + 20
        while not self.works():
            if time.monotonic() > end:
                logs = "\n".join(f"{log.name}:\n{log.read_text()[-800:]}"
                                 for log in sorted(folder.glob("*.log")))
                self.__exit__()
                skip(f"Slurm's daemons do not come up here:\n{logs}")
            time.sleep(0.2)
        return self

    def start(self, line):
        self.daemons.append(subprocess.Popen(shlex.split(line), stdin=subprocess.DEVNULL,
                                             stdout=subprocess.DEVNULL,
                                             stderr=subprocess.DEVNULL))

    def works(self):
        """Whether both nodes take work."""
        try:
            done = subprocess.run(["srun", "-N", str(NODES), "-n", str(NODES), "--immediate=1",
                                   "true"], capture_output=True, timeout=10)
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def __exit__(self, *_):
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(5)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def cancel(self, *flags):
        """Cancels all jobs, or sends them a signal."""
        subprocess.run(["scancel", "--user=root", *flags], check=True)


class Srun:
    """Runs programs with an MPI on both nodes of a cluster, as Mpi does by mpirun. Without
    `connect`, srun is not told how processes find each other."""

    def __init__(self, name, connect=True):
        self.name, self.launcher = name, "srun"
        self.flags = [f"--mpi={CONNECTS[name] if connect else 'none'}"]

    def line(self, ranks, command):
        nodes = min(ranks, NODES)
        return ["srun", "-N", str(nodes), "-n", str(ranks), *self.flags, *map(str, command)]

    def environment(self, mark):
        # Open MPI asks root for these two.
        return {**os.environ, mpirun.MARK: mark, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def run(self, ranks, command, seconds=60, line=None):
        return mpirun.run_marked(line or self.line(ranks, command), self.environment, seconds)
