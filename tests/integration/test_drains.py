"""A drain takes a place apart a few replicas at a time: how much may be on its way at once, and what stays ready."""

import unittest

from engine import wait_until
from places import PlacesCase

SERVICES = {f'app-{number}': 3 for number in range(5)}
MOST = 10   # replicas on their way out
GROUPS = '''groups:
  - {name: fast, preference: 0, replicas: 30}
  - {name: slow, preference: 1, replicas: 30}
'''


class Batches(PlacesCase):
    def test_at_most_ten_replicas_are_on_their_way_and_each_service_stays_as_ready_as_it_wants(self):
        engine = self.up_with(GROUPS, *(self.document(name, count) for name, count in SERVICES.items()))
        self.wait_ready(engine, **SERVICES)
        self.assertEqual(self.places(), {'fast': SERVICES, 'slow': {}})
        process = self.begin('drain', 'fast')
        most, fewest = [], []

        def ended():
            most.append(sum(move['replicas'] for move in self.moves(engine) if not move['over']))
            fewest.append(min(engine.status(name)['ready'] for name in SERVICES))
            return process.poll() is not None

        wait_until(ended, 120, 'the end of the drain')
        code, said = self.end(process)
        self.assertEqual(code, 0, said)
        self.assertIn('drained: 5 services, 15 replicas, 0 requests cut\n', said)
        self.assertEqual(self.places(), {'fast': {}, 'slow': SERVICES})
        self.assertLessEqual(max(most), MOST)
        self.assertGreater(max(most), max(SERVICES.values()), 'several services leave at once')
        self.assertGreaterEqual(min(fewest), 3)


if __name__ == '__main__':
    unittest.main()
