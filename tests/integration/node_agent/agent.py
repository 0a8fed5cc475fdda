"""The program `node-agent` as tests and replays run it: over a small node, with a state of its own."""

import json
import os
import re
import subprocess
import tempfile
import urllib.request

from program import Program
from wire import PATIENCE

# Scaled to nodes of some hundred MiB, and quick enough for a test.
DEFAULTS = {'--sample': '100ms', '--reserve': '4Mi', '--lease': '3s'}


def flags(given):
    """['--upper', '0.9', …] of {'--upper': 0.9, '--dry-run': None}: None is a flag alone."""
    words = []
    for name, value in given.items():
        words += [name] if value is None else [name, str(value)]
    return words


class Agent(Program):
    """A running agent over `node` of `lab`. What its flags are called: memory-pressure.md 11.2."""

    def __init__(self, binary, lab, node, state=None, autoscaler='', environment=(), **given):
        self.binary = binary
        self.state = state or tempfile.mkdtemp(prefix='agent-', dir=lab.folder)
        given = {f'--{name.replace("_", "-")}': value for name, value in given.items()}
        self.words = flags({
            '--runtime-endpoint': lab.endpoint, '--state-dir': self.state,
            '--memory-source': f'cgroup:{node.folder("memory")}', **DEFAULTS, **given})
        super().__init__([binary, *self.words], {
            'SLUICE_METRICS_ADDRESS': '127.0.0.1:0', 'SLUICE_AUTOSCALER_ADDRESS': autoscaler,
            'SLUICE_NRI_SOCKET': str(lab.nri), 'NODE_NAME': 'lab', **dict(environment)})

    def metrics(self):
        with urllib.request.urlopen(f'http://{self.addresses["metrics"]}/metrics',
                                    timeout=PATIENCE) as answer:
            return answer.read().decode()

    def metric(self, name, label=''):
        """The sum of all series of a name, or of those with a label in them."""
        return sum(float(line.rsplit(' ', 1)[1]) for line in self.metrics().splitlines()
                   if re.match(rf'{name}[{{ ]', line) and label in line)

    def killed(self, cause):
        """Containers that ended with 137 by `oom`, `sacrificed` or `other`."""
        return self.metric('node_agent_containers_killed_total', f'cause="{cause}"')

    def log(self):
        """What it has logged, a list of events."""
        return [json.loads(line) for line in self.errors().splitlines() if line.startswith('{')]

    def verb(self, *words):
        """Another invocation over the same state: ('status',) or ('--restore',)."""
        return run(self.binary, '--state-dir', self.state, *words)

    def status(self):
        return json.loads(self.verb('status', '--json').stdout)

    def throttled(self):
        """Ids of the containers that it holds, by its own word."""
        return [one['id'] for one in self.status()['throttled']]

    def end(self, seconds=PATIENCE):
        """SIGTERM; its exit code."""
        self.terminate()
        return self.process.wait(seconds)


def run(binary, *words):
    """An invocation that ends by itself."""
    return subprocess.run([binary, *words], capture_output=True, text=True, timeout=PATIENCE,
                          check=False, env={**os.environ, 'SLUICE_METRICS_ADDRESS': ''})
