"""Machines made of namespaces on this one: each with a network interface, a name, processes, shared memory and a
temporary folder of its own. The disk they share. No packet leaves the network that they form.

Everything ends with the process that made it, also where that is killed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOOLS = ("ip", "unshare", "nsenter", "mount", "hostname")
PORT = 6379
APART = ("--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc")


def unfit():
    """Why there can be no such machines here; empty where there can."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"machines are made with {', '.join(missing)}, which this system lacks"
    if not hasattr(os, "geteuid") or os.geteuid():
        return "only root may make machines of namespaces"
    tried = subprocess.run(["unshare", *APART, "true"], capture_output=True, text=True, timeout=30)
    return f"this system makes no namespaces ({tried.stderr.strip()})" if tried.returncode else ""


class Apart:
    """A first process in namespaces of its own, which waits until its input ends; all others there end with it."""

    def __init__(self, setting_up="true"):
        self.process = subprocess.Popen(["unshare", *APART, "sh", "-c", f"{setting_up} && echo up && exec cat"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "up\n":
            raise OSError("a machine could not be set up")
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        self.first = children.read_text().split()[0]

    def command(self, *command):
        """A command line that runs there."""
        return ["nsenter", "--target", self.first, "--mount", "--uts", "--net", "--pid", f"--wd={ROOT}", *command]

    def ip(self, command):
        """Change its network."""
        subprocess.run(["nsenter", "--target", self.first, "--net", "ip", *command.split()], check=True, timeout=30)

    def kill(self):
        """At once, with all that runs there."""
        self.process.kill()
        self.process.communicate(timeout=30)


class Machine(Apart):
    """A node of a Ray cluster. address: in the network of the machines."""

    def __init__(self, network, name, address):
        super().__init__(f"hostname {name} && mount -t tmpfs tmpfs /dev/shm && mount -t tmpfs tmpfs {network.scratch}")
        self.network, self.name, self.address = network, name, address
        network.switch.ip(f"link add {name} type veth peer name eth0 netns {self.first}")
        network.switch.ip(f"link set {name} master switch up")
        for act in (f"addr add {address}/24 dev eth0", "link set eth0 up", "link set lo up"):
            self.ip(act)

    def unplug(self):
        """Take its network away; what runs there goes on, and nobody elsewhere is told."""
        self.ip("link set eth0 down")

    def join(self, cores, *more):
        """Become a node with so many cores; the head where `more` says so."""
        self.run(sys.executable, "-m", "ray.scripts.scripts", "start", "--node-ip-address", self.address, "--num-cpus",
                 str(cores), "--object-store-memory", "100000000", *more, check=True)

    def run(self, *command, check=False):
        return subprocess.run(self.command(*command), capture_output=True, text=True, timeout=300, check=check,
                              env=self.network.variables)


class Network:
    """A switch, and the machines at it; the first is the head of the cluster."""

    def __init__(self, variables):
        self.scratch = Path(tempfile.mkdtemp(prefix="wf"))  # short: the path of a socket has 107 letters at most
        self.variables = {**variables, "RAY_TMPDIR": str(self.scratch), "RAY_USAGE_STATS_ENABLED": "0"}
        self.switch, self.machines = Apart(), []

    @property
    def head(self):
        return self.machines[0]

    def start(self):
        """Begin the cluster."""
        self.switch.ip("link add switch type bridge")
        self.switch.ip("link set switch up")
        self._machine("head").join(1, "--head", "--port", str(PORT), "--include-dashboard", "false")

    @property
    def address(self):
        return f"{self.head.address}:{PORT}"

    def add(self, name, cores=1):
        """Another machine that is a node of the cluster."""
        machine = self._machine(name)
        machine.join(cores, "--address", self.address)
        return machine

    def _machine(self, name):
        machine = Machine(self, name, f"10.0.0.{len(self.machines) + 1}")
        self.machines.append(machine)
        return machine

    def close(self):
        for apart in (*self.machines, self.switch):
            apart.kill()
        self.scratch.rmdir()


def until(condition, seconds=240.0):
    """Wait for what comes soon; what it is then."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > end:
            raise TimeoutError("it did not come")
        time.sleep(0.05)
    return found
