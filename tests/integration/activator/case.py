"""What every theme of the activator's contract shares: an activator, its directory, pods behind it."""

import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest

from engine import BIN
from sidecar import OK, SANITIZERS, Sidecar, Upstream
from wire import Deadline, Reader, connect, fetch

ACTIVATOR = os.path.join(BIN, 'activator')
PATIENCE = 20
KUBELET = ('User-Agent', 'kube-probe/1.29')
ENVIRONMENT = {
    'POD_NAME': 'activator-1', 'POD_IP': '127.0.0.1', 'SYSTEM_NAMESPACE': 'knative-serving',
    'CLUSTER_DOMAIN': 'cluster.local', 'SLUICE_HTTP_ADDRESS': '127.0.0.1:0',
    'SLUICE_H2C_ADDRESS': '127.0.0.1:0', 'SLUICE_TLS_ADDRESS': '127.0.0.1:0',
    'SLUICE_METRICS_ADDRESS': '127.0.0.1:0', 'SLUICE_DRAIN_QUIET': '0',
    'SLUICE_CERTS_DIR': '/nonexistent',
    # Nobody listens there; tests that need an autoscaler bring their own.
    'SLUICE_STATS_TARGET': '127.0.0.1:1',
}


def eventually(condition, what, seconds=PATIENCE):
    """Waits until `condition()` is true and returns its value; fails naming `what`."""
    deadline = Deadline(seconds)
    pause = threading.Event()
    while not (value := condition()):
        if deadline.passed():
            raise AssertionError(f'after {seconds} s still not: {what}')
        pause.wait(0.005)
    return value


class Platform:
    """The directory of protocols.md 9: revisions and activators as files, replaced by rename."""

    def __init__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix='sluice-platform-'))
        (self.path / 'revisions').mkdir()
        self.pods = {}    # of each revision
        self.fields = {}  # likewise

    def put(self, name, content):
        whole = self.path / name
        new = whole.with_name(f'.tmp-{whole.name}')
        new.write_text(json.dumps(content), encoding='utf-8')
        new.rename(whole)

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

    def forget(self, name='app', space='default'):
        (self.path / 'revisions' / f'{space}.{name}.json').unlink()

    def activators(self, addresses):
        self.put('activators.json', list(addresses))

    def close(self):
        shutil.rmtree(self.path, ignore_errors=True)


class Activator:
    """A running activator, ready by its own line; addresses as it printed them."""

    def __init__(self, platform, **changes):
        ready, inherited = os.pipe()
        environment = {**os.environ, **ENVIRONMENT, **SANITIZERS,
                       'SLUICE_PLATFORM': f'dir:{platform.path}', 'SLUICE_READY_FD': str(inherited),
                       **changes}
        self.stdout = tempfile.TemporaryFile()
        self.stderr = tempfile.TemporaryFile()
        self.process = subprocess.Popen([ACTIVATOR], env=environment, pass_fds=[inherited],
                                        stderr=self.stderr, stdout=self.stdout)
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
            raise AssertionError(f'activator not ready: {self.errors()}')
        self.addresses = json.loads(line)['addresses']
        self.serving = self.addresses['serving']
        self.h2c = self.addresses['h2c']
        self.metrics_address = self.addresses['metrics']

    @staticmethod
    def written(file):
        return os.pread(file.fileno(), 1 << 26, 0).decode('utf-8', 'replace')

    def output(self):
        """What it has written to its standard output: the request log."""
        return self.written(self.stdout)

    def errors(self):
        return self.written(self.stderr)

    def get(self, path='/', revision='app', space='default', headers=(), host='app', **options):
        """A request that names its revision by headers; `revision=None`: by host only."""
        named = [] if revision is None else [('Knative-Serving-Namespace', space),
                                             ('Knative-Serving-Revision', revision)]
        return fetch(self.serving, path, host=host, headers=named + list(headers), **options)

    def connect(self, timeout=PATIENCE):
        return connect(self.serving, timeout)

    def metrics(self):
        """{series with its labels: value} of one scrape."""
        body = fetch(self.metrics_address, '/metrics', host='localhost').body.decode()
        rows = (line.rsplit(' ', 1) for line in body.splitlines() if line and line[0] != '#')
        return {name: float(value) for name, value in rows}

    def waiting(self):
        return self.metrics()['sluice_activator_queue_waiting']

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        self.stdout.close()
        self.stderr.close()


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
