"""What a cold start costs beside the application's own time, and what it tells the client."""

import os
import statistics
import time
import unittest

from engine import EngineCase

QUICK_APP = os.environ.get('SLUICE_QUICK_APP', '')
STARTS = int(os.environ.get('SLUICE_COLD_STARTS', '50'))
PHASES = ['queue', 'decide', 'create', 'start', 'ready', 'first_byte']


def own_milliseconds(body):
    """The application's part: from its exec to its listening, and its answering."""
    times = dict(pair.split('=') for pair in body.decode().split())
    spent = int(times['listen']) - int(times['exec']) + int(times['out']) - int(times['in'])
    return spent / 1e6


def phases_of(header):
    """Server-Timing as a dictionary of milliseconds."""
    pairs = (part.strip().split(';dur=') for part in header.split(','))
    return {name: float(value) for name, value in pairs}


class ColdStart(EngineCase):
    def one_start(self, engine):
        """(answer, the client's milliseconds) of a request that found no replica."""
        for _ in range(20):
            self.assertEqual(self.home.run('sleep', 'app').returncode, 0)
            if engine.status()['ready'] > 0:
                continue
            began = time.monotonic()
            answer = engine.get('/')
            took = (time.monotonic() - began) * 1000
            self.assertIsNotNone(answer)
            # The service may wake by itself once more: its window still remembers the last request.
            if 'server-timing' in answer.headers:
                return answer, took
        raise AssertionError(f'the service does not stay asleep: {engine.status()}')

    def check(self, answer):
        self.assertIsNotNone(answer)
        self.assertEqual((answer.status, answer.whole), (200, True), answer.body)
        phases = phases_of(answer.headers['server-timing'])
        self.assertEqual(list(phases), PHASES)
        self.assertTrue(all(value >= 0 for value in phases.values()), phases)
        # Each figure is rounded; more than that must not lie between the sum and the whole.
        total = float(answer.headers['sluice-cold-start'])
        self.assertAlmostEqual(sum(phases.values()), total, delta=1 + 0.1 * len(PHASES) + total / 20)
        return phases

    def test_every_cold_start_is_answered_and_its_phases_add_up(self):
        engine = self.up('--name', 'app', '--', QUICK_APP)
        seen = []
        added = []
        for _ in range(STARTS):
            answer, took = self.one_start(engine)
            seen.append(self.check(answer))
            added.append(took - own_milliseconds(answer.body))
        medians = {name: round(statistics.median(phases[name] for phases in seen), 1)
                   for name in PHASES}
        print(f'\n{STARTS} cold starts: median {statistics.median(added):.1f} ms beside the '
              f'application itself, least {min(added):.1f}, most {max(added):.1f}; '
              f'phases {medians}', flush=True)

    def test_a_warm_request_tells_of_no_cold_start(self):
        engine = self.up('--name', 'app', '--', QUICK_APP)
        engine.get('/')
        warm = engine.get('/')
        self.assertEqual(warm.status, 200)
        self.assertNotIn('server-timing', warm.headers)


if __name__ == '__main__':
    unittest.main()
