"""What every theme of the sidecar's contract shares: a sidecar, its upstream, and how to send requests."""

import os
import socket
import struct
import threading
import time
import unittest

from protowire import parse_flat
from sidecar import OK, Sidecar, Upstream
from wire import PATIENCE, Deadline, Reader, eventually, fetch

KUBELET = ('User-Agent', 'kube-probe/1.29')
QUEUE = ('K-Network-Probe', 'queue')
SANITIZED = os.environ.get('SLUICE_BUILD_TYPE', '').lower() in ('asan', 'tsan')
# What moving any amount of data may add to the peak of memory. Under a sanitizer each byte has
# shadows, so the bound is looser there; it still lies far below the bodies that are moved.
GROWTH_MAX = (96 if SANITIZED else 8) << 20


def until_closed(sock, seconds=PATIENCE):
    """Everything that still comes until the other side closes; a reset is an end, too."""
    sock.settimeout(seconds)
    got = b''
    try:
        while part := sock.recv(65536):
            got += part
    except (ConnectionResetError, BrokenPipeError):
        pass
    return got


def send_all(sock, data):
    """Sends until done or until the other side no longer listens; returns which."""
    try:
        sock.sendall(data)
        return True
    except (ConnectionResetError, BrokenPipeError):
        return False


def reset(sock):
    """Closes with a reset instead of an orderly end."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    sock.close()


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as taken:
        return taken.getsockname()[1]


class Gate:
    """Upstream play that lets requests wait inside, counts them, and opens on `open()`."""

    def __init__(self, answer=OK):
        self.answer = answer
        self.opened = threading.Event()
        self.lock = threading.Lock()
        self.inside = 0
        self.most = 0

    def __call__(self, exchange):
        exchange.body()
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        self.opened.wait(PATIENCE)
        with self.lock:
            self.inside -= 1
        exchange.send(self.answer)

    def open(self):
        self.opened.set()


class SidecarCase(unittest.TestCase):
    def sidecar(self, play=lambda exchange: exchange.send(OK), **environment):
        """A sidecar in front of an upstream that plays `play`; `self.upstream` has what it saw."""
        self.upstream = Upstream(play)
        self.addCleanup(self.upstream.close)
        return self.sidecar_for(self.upstream.port, **environment)

    def sidecar_for(self, port, **environment):
        made = Sidecar(port, **environment)
        self.addCleanup(made.close)
        return made

    def gate(self, answer=OK):
        made = Gate(answer)
        self.addCleanup(made.open)
        return made

    def ask(self, proxy, data):
        """Sends bytes on a connection of their own; returns it and its reader."""
        sock = proxy.connect()
        self.addCleanup(sock.close)
        send_all(sock, data)
        return sock, Reader(sock)

    def seen(self):
        return self.upstream.seen[-1].headers

    def paths(self):
        return [exchange.path for exchange in self.upstream.seen]

    def assert_answer(self, answer, status, body):
        self.assertIsNotNone(answer, 'the connection was closed without a response')
        self.assertEqual((answer.status, answer.body), (status, body))

    def assert_cause(self, answer, cause):
        self.assertTrue(answer.headers.get('sluice-error', '').startswith(cause),
                        f"Sluice-Error '{answer.headers.get('sluice-error')}' is not {cause}")

    def assert_serves(self, proxy, path='/still-serving'):
        """The sidecar runs and serves an ordinary request."""
        self.assertIsNone(proxy.process.poll(), f'the sidecar has died: {proxy.errors()[-2000:]}')
        answer = proxy.get(path)
        self.assertIsNotNone(answer, 'no answer to an ordinary request')
        self.assertEqual(answer.status, 200)

    def in_flight(self, proxy):
        """Requests the sidecar counts as running and waiting, as its next report shows them."""
        return self.scrape(proxy).get(2, 0.0)

    def scrape(self, proxy):
        """The Stat as {field number: value}."""
        answer = fetch(proxy.stats, '/metrics')
        self.assertEqual(answer.status, 200)
        return parse_flat(answer.body)

    @staticmethod
    def seconds_of(action):
        began = time.monotonic()
        action()
        return time.monotonic() - began
