"""A real queue-proxy in front of an upstream that a test plays byte by byte."""

import threading

from engine import QUEUE_PROXY
from listening import Listening
from program import Program
from wire import Reader, connect, fetch

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

    @property
    def path(self):
        return self.head.split(' ', 2)[1]

    def send(self, data):
        self.sock.sendall(data)


class Upstream:
    """A container whose answers are written by `play(exchange)`, one thread per connection."""

    def __init__(self, play, host='127.0.0.1', port=0):
        self.play = play
        self.seen = []  # of Exchange
        self.closed = 0  # connections that have ended
        self.lock = threading.Condition()
        self.listening = Listening(self.take, port, host)
        self.port = self.listening.port

    def take(self, sock):
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

    def close(self):
        self.listening.stop()


class Sidecar(Program):
    """A running queue-proxy; what it writes to its standard output is the request log."""

    def __init__(self, user_port, *arguments, **changes):
        super().__init__([QUEUE_PROXY, *arguments],
                         {**ENVIRONMENT, 'USER_PORT': str(user_port), **changes})
        self.serving = self.addresses['serving']
        self.admin = self.addresses['admin']
        self.stats = self.addresses['stats']

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
