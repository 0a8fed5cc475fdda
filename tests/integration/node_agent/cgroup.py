"""The control groups of the laboratory: a small node made of one of them in every hierarchy (v1)."""

import errno
import functools
import os
import pathlib
import threading

from wire import Deadline

TREE = 'sluice-lab'  # below the root of every hierarchy; nothing else is ever touched
CONTROLLERS = ('memory', 'cpu', 'cpuacct', 'cpuset')


@functools.cache
def mounts():
    """{controller: where its v1 hierarchy is mounted}; `unified` is the v2 mount."""
    found = {}
    for line in pathlib.Path('/proc/self/mountinfo').read_text(encoding='utf-8').splitlines():
        before, after = line.split(' - ')
        point = pathlib.Path(before.split()[4])
        kind, _, options = after.split(' ', 2)
        if kind == 'cgroup2':
            found.setdefault('unified', point)
        elif kind == 'cgroup':
            for option in options.split(','):
                found.setdefault(option.removeprefix('name='), point)
    return found


def folders(tree):
    """Folders of the control groups below `tree` in every hierarchy, the deepest first."""
    for root in dict.fromkeys(mounts().values()):
        for folder, _, _ in os.walk(root / tree, topdown=False):
            yield pathlib.Path(folder)


def remove(tree, seconds):
    """Removes those groups, whose processes have been killed: the kernel lets go of them when it can."""
    deadline = Deadline(seconds)
    pause = threading.Event()
    while True:
        busy = []
        for folder in folders(tree):
            try:
                folder.rmdir()
            except OSError as problem:
                if problem.errno != errno.ENOENT:
                    busy.append(folder)
        if not busy:
            return
        if deadline.passed():
            raise AssertionError(f'control groups that do not go away: {busy}')
        pause.wait(0.05)


def put(path, value):
    """Writes a cgroup file. Unbuffered: what the kernel refuses is raised here and now."""
    file = os.open(path, os.O_WRONLY)
    try:
        os.write(file, str(value).encode())
    finally:
        os.close(file)


def number(path):
    return int(pathlib.Path(path).read_text(encoding='ascii').split()[0])


class Group:
    """One control group, by its path below the roots; the same in every hierarchy."""

    def __init__(self, path):
        self.path = path  # '/sluice-lab/n1'

    def folder(self, controller):
        return mounts()[controller] / self.path.lstrip('/')

    def make(self):
        for controller in CONTROLLERS:
            self.folder(controller).mkdir(parents=True, exist_ok=True)
        self.fill_cpuset()
        return self

    def fill_cpuset(self):
        """A new cpuset is empty, and nothing can run in it: it takes what its parent has."""
        at = mounts()['cpuset']
        for part in self.path.strip('/').split('/'):
            for name in ('cpuset.cpus', 'cpuset.mems'):
                if not (at / part / name).read_text(encoding='ascii').strip():
                    put(at / part / name, (at / name).read_text(encoding='ascii').strip())
            at = at / part

    def child(self, name):
        return Group(f'{self.path}/{name}').make()

    def quota(self):
        """(quota, period) in microseconds, as the kernel has them now."""
        cpu = self.folder('cpu')
        return number(cpu / 'cpu.cfs_quota_us'), number(cpu / 'cpu.cfs_period_us')

    def set_quota(self, quota, period=100_000):
        put(self.folder('cpu') / 'cpu.cfs_period_us', period)
        put(self.folder('cpu') / 'cpu.cfs_quota_us', quota)

    def is_frozen(self):
        """Whether its own freezer is shut; a group that is gone is not."""
        try:
            return number(self.folder('freezer') / 'freezer.self_freezing') == 1
        except OSError:
            return False

    def thaw(self):
        put(self.folder('freezer') / 'freezer.state', 'THAWED')

    def cpu_seconds(self):
        return number(self.folder('cpuacct') / 'cpuacct.usage') / 1e9

    def memory_limit(self):
        return number(self.folder('memory') / 'memory.limit_in_bytes')

    def memory_usage(self):
        return number(self.folder('memory') / 'memory.usage_in_bytes')

    def memory_peak(self):
        return number(self.folder('memory') / 'memory.max_usage_in_bytes')

    def working_set(self):
        """What is in use and cannot be had back by dropping cold files."""
        stat = (self.folder('memory') / 'memory.stat').read_text(encoding='ascii')
        inactive = next(int(line.split()[1]) for line in stat.splitlines()
                        if line.startswith('total_inactive_file '))
        return max(0, self.memory_usage() - inactive)

    def kernel_kills(self):
        """How many the kernel killed here. The parent of the victim's group does not count them."""
        text = (self.folder('memory') / 'memory.oom_control').read_text(encoding='ascii')
        return next(int(line.split()[1]) for line in text.splitlines()
                    if line.startswith('oom_kill '))


def node(name, memory, cpus='', quota=None, shares=None):
    """A node in miniature: its containers share `memory` bytes, the CPUs and `quota` of a period.

    `shares`: its weight against everything else on the machine, 1024 for as much as one process.
    """
    made = Group(f'/{TREE}/{name}').make()
    if memory:
        put(made.folder('memory') / 'memory.limit_in_bytes', memory)
    if cpus:
        put(made.folder('cpuset') / 'cpuset.cpus', cpus)
    if quota:
        made.set_quota(*quota)
    if shares:
        # Weights count among siblings: it is the tree that competes with the rest of the machine.
        put(Group(f'/{TREE}').folder('cpu') / 'cpu.shares', shares)
    return made
