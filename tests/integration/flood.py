"""Many connections at once from one thread, and what a program takes of the machine meanwhile."""

import contextlib
import pathlib
import selectors

from wire import Deadline, connect

ROUND_SECONDS = 60


def resident(pid, peak=False):
    """Bytes of memory that a process has in use now, or had at most."""
    name = 'VmHWM:' if peak else 'VmRSS:'
    for line in pathlib.Path(f'/proc/{pid}/status').read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) << 10
    raise AssertionError(f'no {name} of {pid}')


def head(path, headers, size=0, ended=True):
    """A GET whose header block has about `size` bytes."""
    lines = [f'GET {path} HTTP/1.1', *(f'{name}: {value}' for name, value in headers)]
    lines.append('X-Much: ' + 'm' * max(0, size - 100))
    return ('\r\n'.join(lines) + '\r\n' + ('\r\n' if ended else '')).encode()


class Flood:
    """Sockets that each have something to send; what they get is kept."""

    def __init__(self, address):
        self.address = address
        self.left = {}  # what each has still to send
        self.got = {}
        self.closed = set()
        self.selector = selectors.DefaultSelector()

    def add(self, data):
        sock = connect(self.address)
        sock.setblocking(False)
        self.left[sock] = memoryview(data)
        self.got[sock] = b''
        self.selector.register(sock, selectors.EVENT_READ | selectors.EVENT_WRITE)
        return sock

    def run(self, until=None, seconds=ROUND_SECONDS):
        """Sends and receives until all is sent or the other side has closed, and `until()` holds."""
        deadline = Deadline(seconds)
        while any(self.left.values()) or not (until is None or until()):
            if deadline.passed():
                raise AssertionError(f'the flood of {len(self.got)} stopped flowing')
            for key, events in self.selector.select(0.05):
                self.turn(key.fileobj, events)

    def turn(self, sock, events):
        try:
            if events & selectors.EVENT_READ:
                part = sock.recv(65536)
                self.got[sock] += part
                if not part:
                    return self.end(sock)
            if events & selectors.EVENT_WRITE:
                if self.left[sock]:
                    self.left[sock] = self.left[sock][sock.send(self.left[sock]):]
                if not self.left[sock]:
                    self.selector.modify(sock, selectors.EVENT_READ)
        except BlockingIOError:
            pass
        except OSError:
            self.end(sock)

    def end(self, sock):
        self.left[sock] = b''
        self.closed.add(sock)
        self.selector.unregister(sock)

    def turned_away(self):
        """How many were refused, in words or by the end of their connection."""
        return sum(1 for sock, got in self.got.items() if sock in self.closed or got.startswith(b'HTTP/1.1 503'))

    def close(self):
        for sock in self.got:
            with contextlib.suppress(OSError):
                sock.close()
        self.selector.close()
