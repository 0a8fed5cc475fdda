"""A real autoscaler over a platform directory that a test writes."""

import json
import unittest

from engine import BIN
from platform_directory import PlatformDirectory
from program import Program
from protowire import fields
from sidecar import Upstream
from wire import PATIENCE, Reader, connect, eventually, fetch, request_bytes

AUTOSCALER = str(BIN / 'autoscaler')
LOOPBACK = {name: '127.0.0.1:0' for name in (
    'SLUICE_STATS_ADDRESS', 'SLUICE_GRPC_ADDRESS', 'SLUICE_API_ADDRESS', 'SLUICE_METRICS_ADDRESS')}


class Platform(PlatformDirectory):
    """Revisions as files, and the orders that answer them."""

    def revision(self, name, pods=(), **keys):
        self.put(f'revisions/default.{name}.json',
                 {'namespace': 'default', 'name': name, 'service': keys.pop('service', name),
                  'hosts': [f'{name}.example'], 'pods': list(pods), **keys})

    def scale(self, name):
        """The order in force, or None."""
        try:
            return json.loads((self.path / 'scale' / f'default.{name}.json').read_text())
        except FileNotFoundError:
            return None

    def wait_for_scale(self, name, condition, seconds=PATIENCE):
        """The order, once it is there and condition(order)."""
        def met():
            order = self.scale(name)
            return order if order is not None and condition(order) else None
        try:
            return eventually(met, f'the order of {name}', seconds)
        except AssertionError as late:
            raise AssertionError(f'{late}; it is {self.scale(name)}') from None


class Pod:
    """A sidecar's door for scrapes, with a load that a test sets."""

    def __init__(self, name, concurrency=0.0, ready=True):
        self.name = name
        self.concurrency = concurrency
        self.ready = ready
        self.terminating = False
        self.scrapes = 0
        self.door = Upstream(self.play)

    def play(self, exchange):
        self.scrapes += 1
        body = fields(f1=self.name, f2=float(self.concurrency), f4=float(self.concurrency), f6=100.0)
        exchange.send(b'HTTP/1.1 200 OK\r\nContent-Type: application/protobuf\r\n'
                      b'Content-Length: %d\r\n\r\n' % len(body) + body)

    @property
    def address(self):
        """Where it would serve: no client connects there in these tests."""
        return f'127.0.0.2:{self.door.port}'

    def entry(self):
        return {'name': self.name, 'node': 'n1', 'address': self.address,
                'stats': f'127.0.0.1:{self.door.port}', 'ready': self.ready,
                'terminating': self.terminating}

    def close(self):
        self.door.close()


class Autoscaler(Program):
    """A running autoscaler."""

    def __init__(self, platform, **changes):
        super().__init__([AUTOSCALER], {**LOOPBACK, 'SLUICE_PLATFORM': f'dir:{platform.path}',
                                        **changes})

    def api(self, path, method='GET', **options):
        return fetch(self.addresses['api'], '/api/v1' + path, method=method, **options)

    def health(self, path):
        return fetch(self.addresses['metrics'], path)

    def wait_leading(self):
        eventually(lambda: 'sluice_autoscaler_buckets_held 1' in self.health('/metrics').body.decode(),
                   'it holds the bucket')
        return self

    def leave(self):
        """The exit status of an orderly end."""
        self.terminate()
        return self.process.wait(PATIENCE)


class Events:
    """A stream of server-sent events, read when it is asked."""

    def __init__(self, address, query='', after=None):
        self.sock = connect(address)
        self.sock.sendall(request_bytes('GET', '/api/v1/events' + query, 'localhost',
                                        [] if after is None else [('Last-Event-ID', str(after))]))
        self.reader = Reader(self.sock)
        self.status, self.headers = self.reader.head()
        self.text = b''
        self.until(lambda _: b': sluice events' in self.text, 'the greeting')

    def all(self):
        """The events so far, each with its id."""
        events = []
        for block in self.text.decode().split('\n\n')[:-1]:
            lines = dict(line.split(': ', 1) for line in block.splitlines() if not line.startswith(':'))
            if 'data' in lines:
                events.append({**json.loads(lines['data']), 'at': int(lines.get('id', 0)), 'kind': lines['event']})
        return events

    def until(self, enough, what):
        """All events, once enough(events)."""
        while not enough(self.all()):
            size = self.reader.until(b'\r\n')
            if not size or size == b'0':
                raise AssertionError(f'the stream ended before {what}: {self.all()}')
            self.text += self.reader.exactly(int(size, 16) + 2)[:-2]
        return self.all()

    def close(self):
        self.sock.close()


class AutoscalerTest(unittest.TestCase):
    def setUp(self):
        self.platform = Platform()
        self.addCleanup(self.platform.close)

    def start(self, **changes):
        running = Autoscaler(self.platform, **changes)
        self.addCleanup(running.close)
        return running

    def events(self, running, query='', after=None):
        made = Events(running.addresses['api'], query, after)
        self.addCleanup(made.close)
        return made

    def pod(self, name, **facts):
        made = Pod(name, **facts)
        self.addCleanup(made.close)
        return made
