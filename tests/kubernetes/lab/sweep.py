"""Takes away what a laboratory left: processes, control groups, network, files.

Only ever its own: processes inside its network or its control groups, runtimes started with a path of its
folder, the one namespace with its name. Its mounts are nowhere else than in its processes.
"""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import threading

from node_agent import cgroup
from wire import Deadline

from lab.place import BASE, CGROUP, NETWORK, NETWORK_FILE, STUBBORN

PATIENCE = 30
PAUSE = threading.Event()
# As a shim writes them, the arguments of a runtime of ours name its socket or its configuration.
RUNTIMES = ('containerd', 'containerd-shim-runc-v2', 'runc', 'ctr')


def processes():
    return (entry for entry in pathlib.Path('/proc').iterdir() if entry.name.isdigit())


def in_network():
    """Process ids inside the namespace of the laboratory."""
    try:
        home = os.stat(NETWORK_FILE)
    except OSError:
        return
    for entry in processes():
        with contextlib.suppress(OSError):
            there = os.stat(entry / 'ns' / 'net')
            if (there.st_dev, there.st_ino) == (home.st_dev, home.st_ino):
                yield int(entry.name)


def runtimes():
    """Process ids of runtimes and shims with a path of our folder."""
    for entry in processes():
        with contextlib.suppress(OSError):
            words = (entry / 'cmdline').read_bytes().split(b'\0')
            program = os.path.basename(words[0]).decode('utf-8', 'replace')
            if program in RUNTIMES and any(word.startswith(f'{BASE}/'.encode()) for word in words[1:]):
                yield int(entry.name)


def groups():
    return cgroup.folders(CGROUP)


def in_groups():
    for folder in groups():
        with contextlib.suppress(OSError):
            for line in (folder / 'cgroup.procs').read_text(encoding='ascii').split():
                yield int(line)


def alive(pid):
    try:
        stat = pathlib.Path(f'/proc/{pid}/stat').read_text(encoding='utf-8')
    except OSError:
        return False
    return stat.rsplit(')', 1)[1].split()[0] not in 'ZX'


def kill_all(spared):
    """Kills until none is left."""
    deadline = Deadline(PATIENCE)
    while True:
        left = {pid for pid in (*runtimes(), *in_network(), *in_groups()) if alive(pid)} - spared
        if not left:
            return
        if deadline.passed():
            raise AssertionError(f'the laboratory could not be ended: processes {sorted(left)}')
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        PAUSE.wait(0.02)


def remove_stubborn():
    """Folders that had to exist for others to be mounted over them; whose is not empty, keeps it."""
    for place in STUBBORN:
        with contextlib.suppress(OSError):
            os.rmdir(place)


def leftovers(spared=frozenset()):
    """What is there of a laboratory, in words; empty when there is nothing."""
    there = {pid for pid in (*runtimes(), *in_network(), *in_groups()) if alive(pid)}
    found = [f'process {pid}' for pid in sorted(there - set(spared))]
    found += [str(path) for path in (BASE, NETWORK_FILE) if path.exists()]
    return found + [str(path) for path in groups()]


def sweep(spared=frozenset()):
    """All of it, but for the processes `spared`. No test may use the cluster meanwhile."""
    kill_all(set(spared) | {os.getpid()})
    cgroup.remove(CGROUP, PATIENCE)
    if NETWORK_FILE.exists():
        subprocess.run(['ip', 'netns', 'del', NETWORK], check=True, capture_output=True, timeout=20)
    shutil.rmtree(BASE, ignore_errors=True)
    if BASE.exists():
        shutil.rmtree(BASE)  # once more: what was in use a moment ago; now with its reason
    remove_stubborn()
