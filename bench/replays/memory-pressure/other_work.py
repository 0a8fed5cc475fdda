"""What else the machine does meanwhile: its busy time minus that of the laboratory and of this replay."""

import os
import pathlib
import time

from jobs import SHARES
from node_agent import cgroup

TREE = 'sluice-replay'   # beside the laboratory's, whose sweep kills what lives in it
TICKS = os.sysconf('SC_CLK_TCK')
BUSY = (0, 1, 2, 5, 6, 7)   # of /proc/stat: user, nice, system, irq, softirq, steal


def busy_seconds():
    """Of all CPUs."""
    line = pathlib.Path('/proc/stat').read_text(encoding='ascii').splitlines()[0].split()[1:]
    return sum(int(line[at]) for at in BUSY) / TICKS


class OwnWork:
    """Puts this process into a group of its own for the time of the `with`: with what it starts later,
    the runtime and the agents, its CPU time can be told from that of others."""

    def __init__(self):
        self.root = cgroup.mounts()['cpuacct']
        self.before = None

    def __enter__(self):
        group = self.root / TREE
        group.mkdir(exist_ok=True)
        if (group / 'cpu.shares').exists():  # one hierarchy for both: the weight that many processes have
            cgroup.put(group / 'cpu.shares', SHARES)
        self.before = self.place()
        cgroup.put(group / 'cgroup.procs', os.getpid())
        return self

    def place(self):
        """The group of this process now."""
        for line in pathlib.Path('/proc/self/cgroup').read_text(encoding='utf-8').splitlines():
            _, controllers, path = line.split(':', 2)
            if 'cpuacct' in controllers.split(','):
                return self.root / path.lstrip('/')
        return self.root

    def __exit__(self, *_):
        cgroup.put(self.before / 'cgroup.procs', os.getpid())
        cgroup.remove(TREE, seconds=5)

    def seconds(self):
        groups = (self.root / TREE, self.root / cgroup.TREE)
        return sum(cgroup.number(group / 'cpuacct.usage') for group in groups if group.exists()) / 1e9


class Meter:
    """From its making on: cores that others used."""

    def __init__(self, own):
        self.own = own
        self.began = self.now()

    def now(self):
        return time.monotonic(), busy_seconds() - self.own.seconds()

    def cores(self):
        (then, before), (now, after) = self.began, self.now()
        return max(0.0, (after - before) / (now - then))
