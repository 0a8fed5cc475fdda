"""The activator, its pods and their applications as processes, in the directory form of protocols.md 9."""

import dataclasses
import json
import pathlib
import re
import subprocess
import threading
import time
import urllib.request

from peers import OUR_SIDE_PORTS, PATIENCE, PROXY, SIDECAR, BenchError, Stage, free_port

HOST = 'app.example'
NAMESPACE = 'default'
HELD_PATIENCE = 120
READY = {'httpGet': {'path': '/ready', 'host': '127.0.0.1', 'scheme': 'HTTP'}, 'successThreshold': 1}


class Tool:
    """`held`, which takes orders line by line and answers each with a line of JSON."""

    def __init__(self, path, *arguments):
        self.process = subprocess.Popen([path, *arguments], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, bufsize=1)

    def line(self):
        text = self.process.stdout.readline()
        if not text:
            raise BenchError(f'held ended with {self.process.wait(PATIENCE)}')
        return json.loads(text)

    def order(self, *words):
        self.process.stdin.write(' '.join(str(word) for word in words) + '\n')
        return self.line()

    def stop(self):
        self.process.kill()
        self.process.wait(PATIENCE)
        self.process.stdin.close()
        self.process.stdout.close()


@dataclasses.dataclass
class Pod:
    name: str
    port: int

    def as_json(self):
        return {'name': self.name, 'node': 'bench', 'address': f'127.0.0.1:{self.port}',
                'stats': '127.0.0.1:9', 'ready': False, 'terminating': False}


class ActivatorStage(Stage):
    """A stage that knows activators, sidecars with applications of ours, and the files between."""

    def __init__(self, folder, binaries, held):
        super().__init__(folder, str(pathlib.Path(binaries, 'queue-proxy')))
        self.activator_path = str(pathlib.Path(binaries, 'activator'))
        self.held = held
        self.platform = self.folder / 'platform'
        (self.platform / 'revisions').mkdir(parents=True)
        (self.platform / 'scale').mkdir()
        self.tools = []
        self.metrics_port = 0

    def __exit__(self, *problem):
        for tool in self.tools:
            tool.stop()
        super().__exit__(*problem)

    def tool(self, *arguments):
        self.tools.append(Tool(self.held, *arguments))
        return self.tools[-1]

    def apps(self, count):
        """`count` applications; (the tool, their ports)."""
        tool = self.tool('apps', str(count))
        return tool, tool.line()['ports']

    def clients(self, activator):
        return self.tool('clients', f'127.0.0.1:{activator.port}', HOST)

    def revision(self, name='app-00001', pods=(), host=HOST, **more):
        """Writes the file of a revision, as a platform does: beside it, then renamed."""
        text = json.dumps({
            'namespace': NAMESPACE, 'name': name, 'service': name, 'hosts': [host],
            'protocol': 'http1', 'container_concurrency': 0, 'timeout_seconds': 600,
            'annotations': {}, 'pods': [pod.as_json() for pod in pods], **more})
        path = self.platform / 'revisions' / f'{NAMESPACE}.{name}.json'
        new = path.with_name(f'.tmp-{path.name}')
        new.write_text(text)
        new.rename(path)

    def activator(self, **settings):
        """An activator that no autoscaler answers: it serves what the files say."""
        port, self.metrics_port = free_port(), free_port()
        (self.platform / 'activators.json').write_text(json.dumps([f'127.0.0.1:{port}']))
        environment = {
            'POD_NAME': 'activator-1', 'POD_IP': '127.0.0.1', 'SYSTEM_NAMESPACE': 'knative-serving',
            'SLUICE_PLATFORM': f'dir:{self.platform}', 'SLUICE_HTTP_ADDRESS': f'127.0.0.1:{port}',
            'SLUICE_H2C_ADDRESS': '127.0.0.1:0', 'SLUICE_TLS_ADDRESS': '',
            'SLUICE_METRICS_ADDRESS': f'127.0.0.1:{self.metrics_port}',
            'SLUICE_AUTOSCALER_ADDRESS': '127.0.0.1:9', 'SLUICE_LOG_LEVEL': 'error', **settings}
        return self.run('activator', port, [self.activator_path], environment)

    def sidecar(self, name, user_port, concurrency=0, probe=False):
        """A queue-proxy in front of a port; with `probe` it is ready once GET /ready says so."""
        port = free_port()
        environment = {**SIDECAR, **OUR_SIDE_PORTS, 'USER_PORT': str(user_port),
                       'QUEUE_SERVING_PORT': f'127.0.0.1:{port}',
                       'CONTAINER_CONCURRENCY': str(concurrency),
                       'REVISION_TIMEOUT_SECONDS': '600'}
        if probe:
            ready = {**READY, 'httpGet': {**READY['httpGet'], 'port': user_port}}
            environment['SERVING_READINESS_PROBE'] = json.dumps(ready)
        return self.run(name, port, [self.queue_proxy], environment)

    def nginx_proxy(self, name, behind):
        """An nginx like the other peers', under a name of its own."""
        port = free_port()
        rest = PROXY.format(backend=behind.port, port=port, buffering='')
        return self.run(name, port, self.nginx(name, rest))

    def waiting(self):
        """How many requests the activator says it holds."""
        with urllib.request.urlopen(f'http://127.0.0.1:{self.metrics_port}/metrics',
                                    timeout=PATIENCE) as answer:
            text = answer.read().decode()
        return sum(float(line.rsplit(' ', 1)[1]) for line in text.splitlines()
                   if re.match(r'kn_revision_request_queued[{ ]', line))

    def until_waiting(self, count):
        until = time.monotonic() + HELD_PATIENCE
        tick = threading.Event()
        seen = -1
        while time.monotonic() < until:
            seen = self.waiting()
            if seen >= count:
                return
            tick.wait(0.05)
        raise BenchError(f'the activator holds {seen:.0f} requests of {count}')


def answered(outcome, count):
    """Whether all `count` requests of an `await` got a 200: how many did not."""
    return count - outcome['statuses'].get('200', 0)
