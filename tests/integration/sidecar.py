"""A real queue-proxy in front of an upstream that a test plays byte by byte."""

import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import threading

from engine import QUEUE_PROXY
from wire import Deadline, Reader, connect, fetch

ENVIRONMENT = {
    'CONTAINER_CONCURRENCY': '0', 'QUEUE_SERVING_PORT': '127.0.0.1:0', 'QUEUE_SERVING_TLS_PORT': '',
    'REVISION_TIMEOUT_SECONDS': '60', 'SERVING_LOGGING_CONFIG': '', 'SERVING_LOGGING_LEVEL': '',
    'SERVING_NAMESPACE': 'default', 'SERVING_CONFIGURATION': 'app', 'SERVING_REVISION': 'app-00001',
    'SERVING_POD': 'app-00001-1', 'SERVING_POD_IP': '127.0.0.1',
    'SLUICE_ADMIN_ADDRESS': '127.0.0.1:0', 'SLUICE_STATS_ADDRESS': '127.0.0.1:0',
    'SLUICE_METRICS_ADDRESS': '127.0.0.1:0', 'SLUICE_DRAIN_QUIET': '1s',
}
# A sanitizer that keeps what was freed would look like memory that grows.
SANITIZERS = {'ASAN_OPTIONS': 'quarantine_size_mb=0:thread_local_quarantine_size_kb=0'}
OK = b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'


class Exchange:
    """One request as the upstream sees it: its head, headers by lower-case name, and the socket."""

    def __init__(self, sock, reader, head):
        self.sock = sock
        self.reader = reader
        self.head = head.decode('latin-1')
        self.headers = {}
        for line in self.head.split('\r\n')[1:]:
            name, _, value = line.partition(':')
            self.headers[name.strip().lower()] = value.strip()

    def body(self):
        if self.headers.get('transfer-encoding') == 'chunked':
            return self.reader.chunks()[0]
        return self.reader.exactly(int(self.headers.get('content-length', 0)))

    @property
    def path(self):
        return self.head.split(' ', 2)[1]

    def send(self, data):
        self.sock.sendall(data)


class Upstream:
    """A container whose answers are written by `play(exchange)`, one thread per connection."""

    def __init__(self, play):
        self.play = play
        self.seen = []  # of Exchange
        self.closed = 0  # connections that have ended
        self.lock = threading.Condition()
        self.listener = socket.create_server(('127.0.0.1', 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(sock,), daemon=True).start()

    def serve(self, sock):
        reader = Reader(sock)
        with sock:
            try:
                while (head := reader.until(b'\r\n\r\n')) is not None:
                    exchange = Exchange(sock, reader, head)
                    with self.lock:
                        self.seen.append(exchange)
                    self.play(exchange)
            except OSError:
                pass
        with self.lock:
            self.closed += 1
            self.lock.notify_all()

    def wait_for_closed(self, count, seconds=20):
        with self.lock:
            if not self.lock.wait_for(lambda: self.closed >= count, seconds):
                raise AssertionError(f'{self.closed} connections closed, not {count}')

    def stop(self):
        """Nothing listens on the port from now on, not even the thread that waits in accept."""
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()

    def close(self):
        self.stop()


class Sidecar:
    """A running queue-proxy, ready by its own line; addresses as it printed them."""

    def __init__(self, user_port, *arguments, **changes):
        ready, inherited = os.pipe()
        environment = {**os.environ, **ENVIRONMENT, **SANITIZERS, 'USER_PORT': str(user_port),
                       'SLUICE_READY_FD': str(inherited), **changes}
        # Files, not pipes: whatever it writes, it never waits for a reader.
        self.stdout = tempfile.TemporaryFile()
        self.stderr = tempfile.TemporaryFile()
        self.process = subprocess.Popen([QUEUE_PROXY, *arguments], env=environment,
                                        pass_fds=[inherited], stderr=self.stderr, stdout=self.stdout)
        self.pid = self.process.pid
        os.close(inherited)
        line = b''
        deadline = Deadline(30)
        with os.fdopen(ready, 'rb', 0) as pipe:
            while not line.endswith(b'\n'):
                if not select.select([pipe], [], [], deadline.left())[0]:
                    break
                part = pipe.read(4096)
                if not part:
                    break
                line += part
        if not line.endswith(b'\n'):
            self.process.kill()
            self.process.wait(10)
            raise AssertionError(f'queue-proxy not ready: {self.errors()}')
        self.addresses = json.loads(line)['addresses']
        self.serving = self.addresses['serving']
        self.admin = self.addresses['admin']
        self.stats = self.addresses['stats']

    @staticmethod
    def written(file):
        return os.pread(file.fileno(), 1 << 26, 0).decode('utf-8', 'replace')

    def output(self):
        """What it has written to its standard output: the request log."""
        return self.written(self.stdout)

    def errors(self):
        return self.written(self.stderr)

    def memory(self):
        """The most memory it ever held, in bytes."""
        with open(f'/proc/{self.pid}/status', encoding='ascii') as status:
            for line in status:
                if line.startswith('VmHWM:'):
                    return int(line.split()[1]) * 1024
        raise AssertionError('no VmHWM: the process has ended')

    def get(self, path='/', headers=(), **options):
        return fetch(self.serving, path, host='app', headers=headers, **options)

    def connect(self, timeout=20):
        return connect(self.serving, timeout)

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        self.stdout.close()
        self.stderr.close()
