"""A program on a terminal of a chosen size, and what it shows there."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios

from engine import SLUICE
from wire import Deadline


class Screen:
    """A `sluice` command with a pseudo-terminal of its own as its controlling terminal."""

    def __init__(self, home, *arguments, columns=100, rows=24):
        self.shown = b''
        self.master, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))
        self.process = subprocess.Popen(
            [SLUICE, *arguments], env={**home.environment, 'TERM': 'xterm'}, stdin=terminal,
            stdout=terminal, stderr=terminal, cwd=home.path, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(terminal)

    def read(self, seconds):
        """Takes what comes next; False when nothing came in time or the terminal was closed."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            piece = os.read(self.master, 65536)
        except OSError:
            return False
        self.shown += piece
        return bool(piece)

    def frame(self):
        """The lines of the last frame that was drawn whole."""
        frames = self.shown.split(b'\x1b[H')
        whole = [each for each in frames[1:] if b'\x1b[J' in each]
        if not whole:
            return []
        text = whole[-1].split(b'\x1b[J')[0].decode()
        return [line.rstrip('\r').removesuffix('\x1b[K') for line in text.split('\n')]

    def wait(self, condition, seconds=30):
        """The first frame for which `condition` holds."""
        deadline = Deadline(seconds)
        while not condition(self.frame()):
            if deadline.passed():
                raise AssertionError(f'not within {seconds} s; exit {self.process.poll()}; '
                                     f'shown: {self.frame() or self.shown[-2000:]}')
            self.read(min(1, deadline.left()))
        return self.frame()

    def press(self, keys):
        os.write(self.master, keys.encode())

    def end(self, seconds=30):
        """The exit status; what is shown meanwhile is read, so that the program does not wait."""
        deadline = Deadline(seconds)
        while self.process.poll() is None and not deadline.passed():
            self.read(0.1)
        return self.process.wait(1)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        os.close(self.master)
