"""200 changes of replica counts over three services, with random SIGKILLs: nothing lost, nothing twice."""

import os
import random
import signal
import threading
import unittest

from clients import Clients, Journal
from engine import APP, EngineCase
from wire import Deadline

SERVICES = ('red', 'green', 'blue')
EVENTS = 200
KILLS = 12
DOCUMENT = '''apiVersion: serving.knative.dev/v1
kind: Service
metadata:
  name: {name}
spec:
  template:
    metadata:
      annotations:
        autoscaling.knative.dev/min-scale: "1"
        autoscaling.knative.dev/max-scale: "4"
        autoscaling.knative.dev/window: "6s"
    spec:
      containerConcurrency: 4
      containers:
        - command: ["python3", "{app}"]
          env: [{{name: JOURNAL, value: "{journal}"}}]
'''


class ScaleEvents(EngineCase):
    def start(self):
        journal = self.home.path / 'journal'
        text = '---\n'.join(DOCUMENT.format(name=name, app=APP, journal=journal) for name in SERVICES)
        engine = self.up('-f', self.write('all.yaml', text))
        for name in SERVICES:
            engine.wait_status(lambda status: status['ready'] >= 1, service=name)
        return engine, journal

    def scale(self, name, count):
        done = self.home.run('scale', name, '--min', str(count), '--max', str(count))
        self.assertEqual(done.returncode, 0, done.stderr)

    def changes(self, engine):
        while engine.drain(0.01):
            pass
        return sum(1 for event in engine.events if event['type'] == 'replica'
                   and event['state'] in ('ready', 'stopped', 'exited'))

    def kill_one(self, engine, chooser):
        """SIGKILL for a ready replica of any service; a service with one keeps it."""
        replicas = engine.status(chooser.choice(SERVICES))['replicas']
        ready = [replica for replica in replicas if replica['state'] == 'ready']
        if len(ready) < 2:
            return 0
        os.kill(chooser.choice(ready)['pid'], signal.SIGKILL)
        return 1

    def test_two_hundred_scale_events_with_kills_lose_and_duplicate_nothing(self):
        chooser = random.Random(7)
        engine, journal = self.start()
        hosts = [f'{name}.localhost' for name in SERVICES]
        clients = Clients(engine, 12, 15, hosts)
        deadline = Deadline(240)
        pause = threading.Event()
        killed = 0
        while self.changes(engine) < EVENTS or killed < KILLS:
            self.assertFalse(deadline.passed(), f'{self.changes(engine)} changes, {killed} kills')
            self.scale(chooser.choice(SERVICES), chooser.randint(1, 4))
            if killed < KILLS:
                killed += self.kill_one(engine, chooser)
            pause.wait(0.2)
        clients.stop()
        self.assertEqual(clients.lost, {}, 'neither answered nor refused with Sluice-Error')
        self.assertEqual(clients.sent, clients.answered | clients.refused)
        seen = Journal(journal)
        self.assertEqual(seen.doubled(), {}, 'ran twice')
        self.assertLessEqual(seen.most_running, 4)
        self.assertLessEqual(clients.answered, set(seen.begun))
        self.assertEqual(engine.stop(), 0)


if __name__ == '__main__':
    unittest.main()
