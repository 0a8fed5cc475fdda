"""A real autoscaler over a platform directory that a test writes."""

import json
import os
import pathlib
import select
import signal
import subprocess
import tempfile
import threading
import unittest

from engine import BIN
from sidecar import SANITIZERS, Upstream
from wire import Deadline, fetch

from .protowire import fields

AUTOSCALER = str(BIN / 'autoscaler')
LOOPBACK = {name: '127.0.0.1:0' for name in (
    'SLUICE_STATS_ADDRESS', 'SLUICE_GRPC_ADDRESS', 'SLUICE_API_ADDRESS', 'SLUICE_METRICS_ADDRESS')}


class Platform:
    """A directory of revisions, as somebody who starts pods would write it."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix='sluice-platform-')
        self.path = pathlib.Path(self.folder.name)
        (self.path / 'revisions').mkdir()

    def close(self):
        self.folder.cleanup()

    def write(self, name, content):
        """Replaces a file by rename."""
        target = self.path / name
        draft = target.with_name('.draft')
        draft.write_text(content if isinstance(content, str) else json.dumps(content))
        draft.rename(target)

    def revision(self, name, pods=(), **keys):
        self.write(f'revisions/default.{name}.json',
                   {'namespace': 'default', 'name': name, 'service': keys.pop('service', name),
                    'hosts': [f'{name}.example'], 'pods': list(pods), **keys})

    def remove(self, name):
        (self.path / 'revisions' / f'default.{name}.json').unlink()

    def scale(self, name):
        """The order in force, or None."""
        try:
            return json.loads((self.path / 'scale' / f'default.{name}.json').read_text())
        except FileNotFoundError:
            return None

    def wait_for_scale(self, name, condition, seconds=20):
        """Polls the order until condition(order)."""
        deadline = Deadline(seconds)
        order = self.scale(name)
        while order is None or not condition(order):
            if deadline.passed():
                raise AssertionError(f'the order of {name} is {order}')
            threading.Event().wait(0.02)
            order = self.scale(name)
        return order


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
        """Where it would serve: nobody asks there in these tests."""
        return f'127.0.0.2:{self.door.port}'

    def entry(self):
        return {'name': self.name, 'node': 'n1', 'address': self.address,
                'stats': f'127.0.0.1:{self.door.port}', 'ready': self.ready,
                'terminating': self.terminating}

    def close(self):
        self.door.close()


class Autoscaler:
    """A running autoscaler, ready by its own line."""

    def __init__(self, platform, **changes):
        ready, inherited = os.pipe()
        environment = {**os.environ, **SANITIZERS, **LOOPBACK,
                       'SLUICE_PLATFORM': f'dir:{platform.path}', 'SLUICE_READY_FD': str(inherited),
                       **changes}
        self.stderr = tempfile.TemporaryFile()
        self.process = subprocess.Popen([AUTOSCALER], env=environment, pass_fds=[inherited],
                                        stderr=self.stderr, stdout=subprocess.DEVNULL)
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
            raise AssertionError(f'autoscaler not ready: {self.errors()}')
        self.addresses = json.loads(line)['addresses']

    def errors(self):
        return os.pread(self.stderr.fileno(), 1 << 26, 0).decode('utf-8', 'replace')

    def api(self, path, method='GET'):
        return fetch(self.addresses['api'], '/api/v1' + path, method=method)

    def health(self, path):
        return fetch(self.addresses['metrics'], path)

    def kill(self):
        self.process.kill()
        self.process.wait(10)

    def terminate(self):
        """The exit status of an orderly end."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        self.stderr.close()


class AutoscalerTest(unittest.TestCase):
    def setUp(self):
        self.platform = Platform()
        self.addCleanup(self.platform.close)

    def start(self, **changes):
        running = Autoscaler(self.platform, **changes)
        self.addCleanup(running.close)
        return running

    def pod(self, name, **facts):
        made = Pod(name, **facts)
        self.addCleanup(made.close)
        return made

    def poll(self, condition, seconds=20, what='the condition'):
        """Waits until condition() gives something, and returns it."""
        deadline = Deadline(seconds)
        while not (found := condition()):
            if deadline.passed():
                raise AssertionError(f'{what} was not met')
            threading.Event().wait(0.02)
        return found
