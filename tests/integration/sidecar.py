"""A real queue-proxy in front of an upstream that a test plays byte by byte."""

import json
import os
import select
import signal
import socket
import subprocess
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

    def send(self, data):
        self.sock.sendall(data)


class Upstream:
    """A container whose answers are written by `play(exchange)`, one thread per connection."""

    def __init__(self, play):
        self.play = play
        self.seen = []
        self.lock = threading.Lock()
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

    def close(self):
        self.listener.close()


class Sidecar:
    """A running queue-proxy, ready by its own line; addresses as it printed them."""

    def __init__(self, user_port, **changes):
        ready, inherited = os.pipe()
        environment = {**os.environ, **ENVIRONMENT, 'USER_PORT': str(user_port),
                       'SLUICE_READY_FD': str(inherited), **changes}
        self.process = subprocess.Popen([QUEUE_PROXY], env=environment, pass_fds=[inherited],
                                        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
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
            raise AssertionError(f'queue-proxy not ready: {self.process.communicate()[1]}')
        addresses = json.loads(line)['addresses']
        self.serving = addresses['serving']
        self.admin = addresses['admin']
        self.stats = addresses['stats']

    def get(self, path='/', headers=(), **options):
        return fetch(self.serving, path, host='app', headers=headers, **options)

    def connect(self):
        return connect(self.serving)

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        self.process.stderr.close()
