"""Makes the recordings of this folder again: make.py BIN_DIRECTORY [NAME...].

Each is a short run of the real engine, recorded by `sluice record`. Every build replays them and must decide what
was decided. They are made again when a decision is meant to be another one, or has more keys.
"""

import json
import os
import pathlib
import signal
import sys
import threading
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'integration'))
if len(sys.argv) > 1:
    os.environ['SLUICE_BIN'] = sys.argv[1]

from clients import Clients, Posts  # noqa: E402
from engine import APP, EngineCase  # noqa: E402
from places import DOCUMENT  # noqa: E402
from test_memory_pressure import Machine  # noqa: E402

SCALE = 'autoscaling.knative.dev/'
# Short windows: a minute shows what takes ten with those that people have.
SHORT = {'window': '6s', 'panic-window-percentage': '20', 'target': '2', 'max-scale': '8'}
NAMES = ('step', 'spike', 'saturation', 'zero_and_back', 'live_spec', 'bounds', 'no_memory', 'killed_replica',
         'clock_step', 'rps')


class Runs(EngineCase):
    def document(self, limits='{}', **keys):
        settings = {SCALE + key: value for key, value in {**SHORT, **keys}.items()}
        return DOCUMENT.format(name='app', annotations=json.dumps(settings), program=APP, env='[]', limits=limits)

    def begin(self, **keys):
        self.engine = self.up('-f', self.write('app.yaml', self.document(**keys)))

    def wait(self, seconds):
        threading.Event().wait(seconds)

    def clients(self, count, seconds, milliseconds=100):
        clients = Clients(self.engine, count, milliseconds)
        self.wait(seconds)
        clients.stop()

    def end(self, name):
        done = self.home.run('record', 'app', '-o', str(HERE / f'{name}.jsonl.gz'))
        self.assertEqual(done.returncode, 0, done.stderr)
        print(done.stdout, end='')
        self.assertEqual(self.engine.stop(), 0)

    def test_step(self):
        self.begin()
        self.clients(1, 8)
        self.clients(10, 14)
        self.clients(1, 10)
        self.end('step')

    def test_spike(self):
        self.begin()
        self.clients(2, 8)
        self.clients(24, 3)
        self.clients(2, 14)
        self.end('spike')

    def test_saturation(self):
        self.begin(**{'max-scale': '1'})
        self.clients(12, 14, 400)
        self.clients(1, 6)
        self.end('saturation')

    def test_zero_and_back(self):
        self.begin()
        self.clients(2, 4)
        self.engine.wait_status(lambda status: status['state'] == 'asleep')
        self.wait(3)
        self.clients(2, 5)
        self.home.run('sleep', 'app')
        self.wait(3)
        self.home.run('wake', 'app')
        self.wait(4)
        self.end('zero_and_back')

    def test_live_spec(self):
        self.begin()
        clients = Clients(self.engine, 6, 100)
        self.wait(8)
        self.write('app.yaml', self.document(target='1', window='10s', **{'scale-down-delay': '4s'}))
        self.wait(8)
        self.write('app.yaml', self.document(
            target='4', **{'metric-aggregation-algorithm': 'weighted-exponential', 'target-burst-capacity': '0'}))
        self.wait(8)
        clients.stop()
        self.wait(6)
        self.end('live_spec')

    def test_bounds(self):
        self.begin()
        clients = Clients(self.engine, 6, 100)
        self.wait(6)
        self.home.run('scale', 'app', '--min', '5')
        self.wait(6)
        self.home.run('scale', 'app', '--min', '0', '--max', '2')
        self.wait(6)
        clients.stop()
        self.wait(8)
        self.end('bounds')

    def test_no_memory(self):
        machine = Machine(self.home, 260)
        self.begin(limits='{memory: 128Mi}')
        clients = Clients(self.engine, 8, 100)
        self.engine.wait_status(lambda status: 'no memory' in status['why'])
        self.wait(4)
        machine.available(900)
        self.wait(6)
        clients.stop()
        self.wait(6)
        self.end('no_memory')

    def test_killed_replica(self):
        self.begin()
        clients = Posts(self.engine, 30, 100, ('app.localhost',))
        self.wait(8)
        ready = [each for each in self.engine.status()['replicas'] if each['state'] == 'ready']
        os.kill(ready[0]['pid'], signal.SIGKILL)
        self.wait(10)
        clients.stop()
        self.wait(4)
        self.end('killed_replica')

    # The engine's clock runs on while it is stopped: what it sees is a step.
    def test_clock_step(self):
        self.begin()
        clients = Posts(self.engine, 20, 100, ('app.localhost',))
        self.wait(8)
        os.kill(self.engine.pid, signal.SIGSTOP)
        self.wait(14)
        os.kill(self.engine.pid, signal.SIGCONT)
        self.wait(10)
        clients.stop()
        self.wait(4)
        self.end('clock_step')

    def test_rps(self):
        self.begin(metric='rps', target='10')
        clients = Posts(self.engine, 40, 50, ('app.localhost',))
        self.wait(14)
        clients.stop()
        self.wait(10)
        self.end('rps')


if __name__ == '__main__':
    if len(sys.argv) < 2:
        sys.exit('usage: make.py BIN_DIRECTORY [NAME...]')
    tests = [Runs(f'test_{name}') for name in sys.argv[2:] or NAMES]
    result = unittest.TextTestRunner(verbosity=2).run(unittest.TestSuite(tests))
    sys.exit(0 if result.wasSuccessful() else 1)
