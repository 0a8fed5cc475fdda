"""From a request to the replica that serves it, over all steps and one admission; and what several engines of one
machine share."""

import unittest

from engine import APP
from places import PlacesCase

GROUPS = '''groups:
  - {name: fast, preference: 0, memory: 128Mi, replicas: 2}
  - {name: slow, preference: 1, memory: 1Gi}
'''
LIMITS = '{memory: 64Mi}'
# Two services fill the place that all like, so the third is allocated elsewhere.
WHERE = {'one': 'fast', 'two': 'fast', 'three': 'slow'}


class Steps(PlacesCase):
    def phases(self, answer):
        """Milliseconds of each, of a request that waited for its start."""
        pairs = (part.strip().split(';dur=') for part in answer.headers['server-timing'].split(','))
        return {name: float(value) for name, value in pairs}

    def test_a_request_is_reported_its_replica_allocated_granted_and_launched_in_its_place(self):
        documents = [self.document(name, 0, most=1, limits=LIMITS) for name in WHERE]
        engine = self.up_with(GROUPS, *documents)
        for name in WHERE:
            engine.wait_status(lambda status: status['state'] == 'asleep', service=name)
        self.assertEqual(self.places(), {'fast': {}, 'slow': {}})
        ours = []
        for name, place in WHERE.items():
            mark = engine.mark()
            answer = engine.get(host=f'{name}.localhost')
            self.assertEqual((answer.status, answer.whole), (200, True), answer.body)
            phases = self.phases(answer)
            ours.append(phases['queue'] + phases['decide'] + phases['create'])
            # What was reported was decided and granted, with its place, before there was a replica.
            decided = engine.wait_event('decision', service=name, after=mark)
            ready = engine.wait_event('replica', service=name, state='ready', after=mark)
            self.assertLess(engine.events.index(decided), engine.events.index(ready))
            self.assertEqual((decided['granted'], decided['places']), (1, [{'name': place, 'replicas': 1}]))
            replica, = engine.status(name)['replicas']
            self.assertEqual((replica['place'], replica['pid']), (place, ready['pid']))
        self.assertEqual(self.places(), {'fast': {'one': 1, 'two': 1}, 'slow': {'three': 1}})
        print(f'\nfrom the request to the launch {max(ours):.1f} ms at most', flush=True)

    def test_what_has_no_room_is_reported_and_allocated_but_not_launched(self):
        engine = self.up_with(GROUPS, self.document('pay', 0, most=1, limits='{memory: 2Gi}'))
        answer = engine.get(host='pay.localhost')
        self.assertEqual(answer.status, 503)
        self.assertIn('too big: needs 2 GiB memory', answer.body.decode())
        status = engine.status('pay')
        self.assertEqual((status['granted'], status['replicas']), (0, []))
        self.assertEqual(self.places(), {'fast': {}, 'slow': {}})


class Ports(PlacesCase):
    def test_replicas_of_two_engines_have_ports_of_their_own_also_when_started_at_once(self):
        engines = [self.up('--engine', name, '--min', '6', '--', 'python3', APP) for name in ('one', 'other')]
        replicas = [engine.wait_status(lambda status: status['ready'] == 6)['replicas'] for engine in engines]
        ports = [each['port'] for of_engine in replicas for each in of_engine]
        self.assertEqual((len(ports), len(set(ports))), (12, 12))
        # Each engine's requests reach its own programs.
        for engine, of_engine in zip(engines, replicas):
            pids = {str(each['pid']) for each in of_engine}
            seen = {engine.get('/').body.split()[1].decode() for _ in range(24)}
            self.assertLessEqual(seen, pids)


if __name__ == '__main__':
    unittest.main()
