"""Clients that take all they can of an engine: memory, places, connections."""

import unittest

from engine import APP, EngineCase, wait_until
from flood import Flood, head, resident
from wire import fetch

MIB = 1 << 20
BUDGET = 64 * MIB
FEW_FILES = 256
SERVICES = f'''apiVersion: serving.knative.dev/v1
kind: Service
metadata:
  name: neighbour
spec:
  template:
    spec:
      containers:
        - command: ["sleep", "600"]
---
apiVersion: serving.knative.dev/v1
kind: Service
metadata:
  name: victim
spec:
  template:
    spec:
      containers:
        - command: ["python3", "{APP}"]
'''
CONFIG = '''queue: {bytes: 64Mi}
limits: {header-bytes: 1Mi}
'''


class Overload(EngineCase):
    def engine(self, *flags, **options):
        return self.up('-f', self.write('services.yaml', SERVICES), *flags, **options)

    def flood(self, engine):
        made = Flood(engine.http)
        self.addCleanup(made.close)
        return made

    def assert_serves_the_victim(self, engine):
        answer = fetch(engine.http, host='victim.localhost', timeout=30)
        self.assertEqual(answer.status, 200)

    def test_long_heads_stay_within_the_budget_and_their_memory_comes_back(self):
        engine = self.engine('--config', self.write('config.yaml', CONFIG))
        idle = resident(engine.pid)
        flood = self.flood(engine)
        for number in range(200):
            flood.add(head('/', [('Host', 'neighbour.localhost')], 1_000_000, number % 4 != 0))
        flood.run(lambda: flood.turned_away() > 150)
        self.assert_serves_the_victim(engine)
        # A sanitizer makes the idle program larger than all of the margin.
        self.assertLess(resident(engine.pid, peak=True), 1.2 * BUDGET + max(32 * MIB, idle))
        flood.close()
        wait_until(lambda: resident(engine.pid) < idle + 64 * MIB, 60, 'memory is given back')

    def test_a_head_of_more_than_64_kib_is_refused_at_the_door(self):
        engine = self.engine()
        answer = fetch(engine.http, host='victim.localhost', timeout=30,
                       headers=[('X-Much', 'm' * 70_000)])
        self.assertEqual(answer.status, 431)

    def test_unfinished_heads_keep_no_connection_out_where_files_are_few(self):
        engine = self.engine(wrapper=['sh', '-c', f'ulimit -n {FEW_FILES}; exec "$0" "$@"'])
        flood = self.flood(engine)
        for _ in range(2 * FEW_FILES):
            flood.add(head('/', [('Host', 'victim.localhost')], ended=False))
        flood.add(head('/', [('Host', 'victim.localhost')]))
        flood.run(lambda: any(got.startswith(b'HTTP/1.1 200') for got in flood.got.values()))


if __name__ == '__main__':
    unittest.main()
