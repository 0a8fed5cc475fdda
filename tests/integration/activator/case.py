"""What every theme of the activator's contract shares: an activator, its directory, pods behind it."""

import os
import threading
import unittest

from engine import BIN
from platform_directory import PlatformDirectory
from program import Program
from sidecar import OK, Sidecar, Upstream
from wire import PATIENCE, Reader, connect, eventually, fetch, scraped

ACTIVATOR = os.path.join(BIN, 'activator')
KUBELET = ('User-Agent', 'kube-probe/1.29')
ENVIRONMENT = {
    'POD_NAME': 'activator-1', 'POD_IP': '127.0.0.1', 'SYSTEM_NAMESPACE': 'knative-serving',
    'CLUSTER_DOMAIN': 'cluster.local', 'SLUICE_HTTP_ADDRESS': '127.0.0.1:0',
    'SLUICE_H2C_ADDRESS': '127.0.0.1:0', 'SLUICE_TLS_ADDRESS': '127.0.0.1:0',
    'SLUICE_METRICS_ADDRESS': '127.0.0.1:0', 'SLUICE_DRAIN_QUIET': '0',
    'SLUICE_CERTS_DIR': '/nonexistent',
    # No program listens there; tests that need an autoscaler start their own.
    'SLUICE_STATS_TARGET': '127.0.0.1:1',
}


class Platform(PlatformDirectory):
    """Revisions and activators as files."""

    def __init__(self):
        super().__init__()
        self.pods = {}    # of each revision
        self.fields = {}  # likewise

    def revision(self, name='app', space='default', pods=(), **fields):
        """Writes the file; `pods` are (name, address) or whole entries."""
        key = (space, name)
        self.pods[key] = list(pods)
        self.fields[key] = fields
        entries = [pod if isinstance(pod, dict) else
                   {'name': pod[0], 'node': 'n1', 'address': pod[1], 'ready': True} for pod in pods]
        self.put(f'revisions/{space}.{name}.json',
                 {'namespace': space, 'name': name, 'service': name, 'protocol': 'http1',
                  'container_concurrency': 0, 'timeout_seconds': 60, 'pods': entries, **fields})

    def pods_of(self, pods, name='app', space='default'):
        """The same revision with other pods."""
        self.revision(name, space, pods, **self.fields[(space, name)])

    def activators(self, addresses):
        self.put('activators.json', list(addresses))


class Activator(Program):
    """A running activator; what it writes to its standard output is the request log."""

    def __init__(self, platform, **changes):
        super().__init__([ACTIVATOR], {**ENVIRONMENT, 'SLUICE_PLATFORM': f'dir:{platform.path}',
                                       **changes})
        self.serving = self.addresses['serving']
        self.h2c = self.addresses['h2c']
        self.metrics_address = self.addresses['metrics']

    def get(self, path='/', revision='app', space='default', headers=(), host='app', **options):
        """A request that names its revision by headers; `revision=None`: by host only."""
        named = [] if revision is None else [('Knative-Serving-Namespace', space),
                                             ('Knative-Serving-Revision', revision)]
        return fetch(self.serving, path, host=host, headers=named + list(headers), **options)

    def connect(self, timeout=PATIENCE):
        return connect(self.serving, timeout)

    def metrics(self):
        """{series with its labels: value} of one scrape."""
        return scraped(self.metrics_address)

    def waiting(self):
        return self.metrics()['sluice_activator_queue_waiting']


class Asker(threading.Thread):
    """One request on a thread of its own; `answer` once it has ended."""

    def __init__(self, ask):
        super().__init__(daemon=True)
        self.ask = ask
        self.answer = None
        self.failure = None
        self.start()

    def run(self):
        try:
            self.answer = self.ask()
        except OSError as failure:
            self.failure = failure

    def result(self, seconds=PATIENCE):
        self.join(seconds)
        if self.is_alive():
            raise AssertionError('no answer in time')
        if self.failure is not None:
            raise AssertionError(f'the request failed: {self.failure}')
        return self.answer


class Pod:
    """A real sidecar in front of an upstream that a test plays."""

    def __init__(self, play=lambda exchange: exchange.send(OK), name='pod-1', **environment):
        self.name = name
        self.upstream = Upstream(play)
        self.sidecar = Sidecar(self.upstream.port, SERVING_POD=name, **environment)
        self.address = self.sidecar.serving

    @property
    def entry(self):
        return (self.name, self.address)

    @property
    def seen(self):
        return self.upstream.seen

    def paths(self):
        return [exchange.path for exchange in self.upstream.seen]

    def close(self):
        self.sidecar.close()
        self.upstream.close()


def sidecar_play(answer=b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', probe=None):
    """A pod played byte by byte: answers probes as a ready sidecar does, and the rest by `answer`."""
    ready = b'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nqueue'

    def play(exchange):
        if exchange.headers.get('user-agent', '').startswith('Knative-Activator-Probe'):
            exchange.send(probe(exchange) if callable(probe) else probe or ready)
            return
        exchange.body()
        if callable(answer):
            answer(exchange)
        else:
            exchange.send(answer)
    return play


def requests_of(upstream):
    """What a played pod got beside probes."""
    return [one for one in upstream.seen
            if not one.headers.get('user-agent', '').startswith('Knative-Activator-Probe')]


class ActivatorCase(unittest.TestCase):
    def setUp(self):
        self.platform = Platform()
        self.addCleanup(self.platform.close)

    def activator(self, **environment):
        made = Activator(self.platform, **environment)
        self.addCleanup(made.close)
        return made

    def pod(self, *arguments, **options):
        made = Pod(*arguments, **options)
        self.addCleanup(made.close)
        return made

    def played(self, play=None):
        """A pod without a sidecar: an upstream that is probed and asked directly."""
        made = Upstream(play or sidecar_play())
        self.addCleanup(made.close)
        made.address = f'127.0.0.1:{made.port}'
        return made

    def serving(self, play=lambda exchange: exchange.send(OK), environment=None, **fields):
        """An activator and one ready pod of revision default/app; sets self.only."""
        self.only = self.pod(play)
        self.platform.revision(pods=[self.only.entry], **fields)
        return self.activator(**(environment or {}))

    def ask(self, activator, *arguments, **options):
        return Asker(lambda: activator.get(*arguments, **options))

    def wait_for_waiting(self, activator, count):
        eventually(lambda: activator.waiting() == count, f'{count} waiting')

    def assert_answer(self, answer, status, body):
        self.assertIsNotNone(answer, 'the connection was closed without a response')
        self.assertEqual((answer.status, answer.body), (status, body))

    def assert_cause(self, answer, cause):
        self.assertTrue(answer.headers.get('sluice-error', '').startswith(cause),
                        f"Sluice-Error '{answer.headers.get('sluice-error')}' is not {cause}")
        self.assertIn('at=activator', answer.headers['sluice-error'])

    def reader(self, sock):
        self.addCleanup(sock.close)
        return Reader(sock)
