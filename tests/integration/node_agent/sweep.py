"""Removes what a test runtime left: processes, control groups, mounts, files; of any run.

Only ever its own: processes inside the control groups of the laboratory, runtimes and shims that were
started with a path of its folder, mounts below that folder.
"""

import ctypes
import os
import pathlib
import shutil
import signal
import threading

from node_agent import cgroup
from wire import Deadline

BASE = pathlib.Path('/tmp/sluice-lab')  # short: socket paths have few characters
DETACH = 2
PATIENCE = 20
PAUSE = threading.Event()


def groups():
    return cgroup.folders(cgroup.TREE)


def inhabitants():
    """Process ids inside those groups."""
    found = set()
    for folder in groups():
        try:
            found |= set((folder / 'cgroup.procs').read_text(encoding='ascii').split())
        except OSError:
            continue  # gone in between
    return {int(pid) for pid in found}


def runtimes():
    """Process ids of runtimes and shims that were given a path of our folder."""
    for entry in pathlib.Path('/proc').iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / 'cmdline').read_bytes().split(b'\0')
        except OSError:
            continue
        program = os.path.basename(words[0]).decode('utf-8', 'replace')
        ours = any(word.startswith(f'{BASE}/'.encode()) for word in words[1:])
        if ours and program in ('containerd', 'containerd-shim-runc-v2', 'node-agent'):
            yield int(entry.name)


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def thaw():
    for folder in groups():
        if (folder / 'freezer.state').exists():
            cgroup.put(folder / 'freezer.state', 'THAWED')


def kill_all():
    """Kills until none is left; the runtimes first, so that they start nothing any more."""
    deadline = Deadline(PATIENCE)
    while not deadline.passed():
        left = [*runtimes(), *inhabitants()]
        if not left:
            return
        kill(left)
        PAUSE.wait(0.02)
    raise AssertionError(f'the laboratory could not be ended: processes {left}')


def unmount():
    libc = ctypes.CDLL(None, use_errno=True)
    lines = pathlib.Path('/proc/self/mountinfo').read_text(encoding='utf-8').splitlines()
    points = [line.split()[4] for line in lines]
    for point in sorted((one for one in points if one.startswith(f'{BASE}/')), reverse=True):
        libc.umount2(point.encode(), DETACH)


def sweep():
    """All of it. No test may use the runtime meanwhile: Lab holds its lock."""
    if not BASE.exists() and not any(groups()):
        return
    thaw()
    kill_all()
    cgroup.remove(cgroup.TREE, PATIENCE)
    unmount()
    shutil.rmtree(BASE, ignore_errors=True)
    if BASE.exists():
        shutil.rmtree(BASE)  # once more: what was in use a moment ago; now with its reason
