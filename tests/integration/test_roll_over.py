"""A changed spec under load: the service keeps its capacity, and no request is lost."""

import re
import unittest

from clients import Clients
from engine import APP, EngineCase
from wire import eventually

DOCUMENT = '''apiVersion: serving.knative.dev/v1
kind: Service
metadata:
  name: app
spec:
  template:
    metadata:
      annotations:
        autoscaling.knative.dev/min-scale: "{replicas}"
        autoscaling.knative.dev/initial-scale: "{replicas}"
    spec:
      containers:
        - command: ["python3", "{app}"]
          env: [{{name: VERSION, value: "{version}"}}]
'''
# The second of a new revision starts only when the file is there.
GATED = ('import os, sys, threading\n'
         'gate, first = os.environ["GATE"], os.environ["FIRST"]\n'
         'try: os.close(os.open(first, os.O_CREAT | os.O_EXCL))\n'
         'except FileExistsError:\n'
         ' while not os.path.exists(gate): threading.Event().wait(0.02)\n'
         'sys.argv = ["app.py"]\nexec(open(os.environ["APP"]).read())\n')


class RollOver(EngineCase):
    def document(self, version, **changes):
        return self.write('app.yaml', DOCUMENT.format(replicas=3, app=APP, version=version, **changes))

    def replicas(self, engine, state='ready'):
        """How many of each revision are in that state."""
        ids = [each['id'] for each in engine.status()['replicas'] if each['state'] == state]
        return [sum(name.startswith(f'app-0000{n}-') for name in ids) for n in (1, 2)]

    def test_old_replicas_go_one_for_one_and_share_the_requests_meanwhile(self):
        engine = self.up('-f', self.document('1'))
        engine.wait_status(lambda status: status['ready'] == 3)
        gate, first = self.home.path / 'gate', self.home.path / 'first'
        gated = self.write('gated.py', GATED)
        text = DOCUMENT.format(replicas=3, app=gated, version='2').replace(
            'value: "2"}]', f'value: "2"}}, {{name: APP, value: "{APP}"}}, '
            f'{{name: GATE, value: "{gate}"}}, {{name: FIRST, value: "{first}"}}]')
        clients = Clients(engine, 6, 20)
        done = self.home.run('apply', '--write', '-f', self.write('next.yaml', text))
        self.assertEqual(done.returncode, 0, done.stderr)
        eventually(lambda: self.replicas(engine) == [2, 1], 'one new replica in the place of an old one')

        status = engine.status()
        self.assertEqual(status['revision'], 'app-00002')
        pids = {each['id'].rsplit('-', 1)[0]: set() for each in status['replicas']}
        for each in status['replicas']:
            if each['state'] == 'ready':
                pids[each['id'].rsplit('-', 1)[0]].add(str(each['pid']).encode())
        served = set()

        def all_serve():
            served.add(engine.get('/?id=1').body.split()[1])
            return all(served & own for own in pids.values())

        eventually(all_serve, 'requests reach replicas of both revisions')

        gate.touch()
        eventually(lambda: self.replicas(engine) == [0, 3], 'three new replicas alone')
        clients.stop()
        self.assertEqual((clients.lost, clients.refused), ({}, set()))
        self.assertEqual(engine.stop(), 0)

    def test_many_roll_overs_under_load_lose_no_request_and_never_have_fewer_replicas(self):
        engine = self.up('-f', self.document('1'))
        engine.wait_status(lambda status: status['ready'] == 3)
        clients = Clients(engine, 6, 10)
        fewest = 3
        for version in range(2, 6):
            done = self.home.run('apply', '--write', '-f', self.document(str(version)))
            self.assertEqual(done.returncode, 0, done.stderr)
            current = f'app-{version:05}'

            def rolled():
                nonlocal fewest
                ids = [each['id'] for each in engine.status()['replicas'] if each['state'] == 'ready']
                fewest = min(fewest, len(ids))
                return len(ids) == 3 and all(re.match(current, each) for each in ids)

            eventually(rolled, f'{current} alone', 60)
        clients.stop()
        self.assertEqual((clients.lost, clients.refused), ({}, set()))
        self.assertEqual(fewest, 3)
        self.assertEqual(engine.stop(), 0)


if __name__ == '__main__':
    unittest.main()
