"""Holds the cluster for another process and removes it when that process ends, however it ends.

Started by Keeper: takes the lock, sweeps, says `ready`, waits for the end of its standard input, sweeps.
"""

import os
import pathlib
import signal
import socket
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve()
LOCK_SECONDS = 900
SWEEP_SECONDS = 120


class Keeper:
    """A process of its own, which outlives a kill of this one and then cleans up behind it."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, '-B', str(HERE), str(os.getpid())],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        start_new_session=True)
        line = self.process.stdout.readline()
        if line != 'ready\n':
            self.process.wait(10)
            raise AssertionError('the laboratory is not free; the reason stands above')

    def end(self):
        """Returns when nothing is left. May be called twice."""
        if self.process.stdin.closed:
            return
        self.process.stdin.close()
        code = self.process.wait(SWEEP_SECONDS)
        self.process.stdout.close()
        if code != 0:
            raise AssertionError('the laboratory could not be taken away; the reason stands above')


def locked():
    """The lock of the machine; the kernel gives it back when this process ends."""
    from lab.place import LOCK
    from wire import eventually
    lock = socket.socket(socket.AF_UNIX)

    def taken():
        try:
            lock.bind(LOCK)
        except OSError:
            return False
        return True

    eventually(taken, 'the laboratory of another run has ended', LOCK_SECONDS)
    return lock


def main():
    sys.path[:0] = [str(HERE.parents[1]), str(HERE.parents[2] / 'integration')]
    from lab.sweep import leftovers, sweep
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends when its owner does
    with locked():
        sweep()
        print('ready', flush=True)
        sys.stdin.read()
        owner = {int(sys.argv[1])}
        sweep(owner)
        left = leftovers(owner)  # checked here, while no other run can begin
    if left:
        raise SystemExit(f'left behind: {", ".join(left)}')


if __name__ == '__main__':
    main()
