"""The clients, the application and the pods of the soak against a real sidecar alone, so that what
the long run finds is not of its own making: pod_test.py BIN."""

import asyncio
import collections
import pathlib
import random
import sys
import tempfile
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / 'integration')]

import account  # noqa: E402
from lateness import Lateness  # noqa: E402
from pods import Pod  # noqa: E402
from records import ABORTED, ANSWERED, REFUSED, read_journal  # noqa: E402
from supervisor import Spec  # noqa: E402
from traffic import KINDS, Ask, Client, Traffic  # noqa: E402

PATIENCE = 30
CROWDS_MAX = 10


class Place:
    """What a pod needs of a Site, and one door: its own sidecar."""

    def __init__(self, folder, programs):
        self.queue_proxy = str(programs / 'queue-proxy')
        self.app = str(programs.parent / 'tests' / 'soak_app')
        self.sockets = folder
        self.journal = folder / 'journal'
        self.journal.touch()
        self.pod_log = open(folder / 'pods.log', 'ab')
        self.incidents, self.problems = [], []
        self.faults = collections.Counter()
        self.doors = []

    @staticmethod
    def now():
        return asyncio.get_running_loop().time()

    def problem(self, what):
        self.problems.append(what)


class OnePod:
    """A pod that serves, its traffic, and the account of both."""

    def __init__(self, protocol='http1', concurrency=0, probe=None):
        self.folder = tempfile.TemporaryDirectory(prefix='soak-pod-')
        self.place = Place(pathlib.Path(self.folder.name), PROGRAMS)
        spec = Spec(protocol, concurrency, False, 40, probe or {}, {})
        self.revision = types.SimpleNamespace(name='one', spec=spec, hosts=['one.soak.example'])
        self.traffic = Traffic(self.place, 4)

    async def __aenter__(self):
        self.pod = Pod('one-1', self.revision, self.place, lambda: None)
        await asyncio.wait_for(self.pod.live(0.05), PATIENCE)
        self.place.doors = [types.SimpleNamespace(
            name='door', address=self.pod.addresses['serving'], closing=False,
            lateness=Lateness())]
        return self

    async def __aexit__(self, *_error):
        self.traffic.close()
        if not self.pod.gone:
            await self.pod.kill()
        self.place.pod_log.close()
        self.folder.cleanup()

    def client(self, seed=1):
        return Client(self.traffic, self.revision, random.Random(seed))

    async def crowd(self, count, seconds, number=0):
        until = self.place.now() + seconds
        first = number * count
        await asyncio.gather(*(self.client(first + one).work(until) for one in range(count)))

    def ask_one(self, milliseconds, kind='get', **changes):
        """The attempt of one request of this kind, as a task."""
        async def once():
            attempt = account.Attempt('q0.0', 0, 'one', kind, 'door', self.place.now())
            self.traffic.attempts.append(attempt)
            headers = [('X-Soak-Id', attempt.id), ('X-Soak-Ms', str(milliseconds))]
            ask = Ask(**{'id': attempt.id, 'host': 'one', 'headers': headers, 'body': b'',
                         'chunked': False, 'grpc': False, **changes})
            await self.client().attempt(ask, attempt, self.place.doors[0], None)
            attempt.ended = self.place.now()
            return attempt
        return asyncio.create_task(once())

    def lines(self):
        return read_journal(self.place.journal.read_text(encoding='utf-8'))

    async def begun(self):
        """Waits until the application has begun something."""
        deadline = self.place.now() + PATIENCE
        while not self.lines() and self.place.now() < deadline:
            await asyncio.sleep(0.01)

    def account(self):
        made = account.settle(self.traffic.attempts, self.lines(), self.place.incidents)
        made.problems[:0] = self.place.problems
        return made


class PodCase(unittest.IsolatedAsyncioTestCase):
    async def crowd(self, kinds=(), **options):
        """A crowd, or several, until each of the kinds was asked; all is accounted for."""
        async with OnePod(**options) as one:
            for number in range(CROWDS_MAX):
                await one.crowd(6, 1.5, number)
                asked = {attempt.kind for attempt in one.traffic.attempts}
                if asked.issuperset(kinds):
                    break
            self.assertLessEqual(set(kinds), asked)
            made = one.account()
            self.assertEqual(made.problems, [], account.printed(made))
            self.assertGreater(made.entries['answered'], 5)


class Traffics(PodCase):
    async def test_every_kind_over_http1_is_accounted_for(self):
        await self.crowd([kind for kind, _ in KINDS['http1']], protocol='http1')

    async def test_every_kind_over_h2c_is_accounted_for(self):
        await self.crowd([kind for kind, _ in KINDS['h2c']], protocol='h2c')

    async def test_a_limit_of_one_is_never_exceeded(self):
        await self.crowd(protocol='http1', concurrency=1)

    async def test_a_limit_of_two_is_never_exceeded_over_h2c(self):
        await self.crowd(protocol='h2c', concurrency=2)


class Faults(PodCase):
    async def test_an_application_that_runs_too_many_is_found_out(self):
        async with OnePod(concurrency=1) as one:
            # Past the sidecar, so that the second is not queued.
            one.place.doors[0].address = f'127.0.0.1:{one.pod.port.number}'
            await one.crowd(3, 1.0)
            self.assertTrue(any('containerConcurrency' in told for told in one.account().problems))

    async def test_a_request_on_an_application_that_is_killed_is_matched(self):
        async with OnePod() as one:
            asked = one.ask_one(5000)
            await one.begun()
            await one.pod.crash_app(0)
            attempt = await asyncio.wait_for(asked, PATIENCE)
            self.assertEqual((attempt.outcome, attempt.status), (REFUSED, 502))
            made = one.account()
            self.assertEqual(made.problems, [])
            self.assertEqual(made.entries['broken by a kill, having begun'], 1)

    async def test_an_answer_cut_in_its_middle_is_matched(self):
        async with OnePod() as one:
            headers = [('X-Soak-Id', 'q0.0'), ('X-Soak-Ms', '5000'), ('X-Soak-Parts', '2')]
            asked = one.ask_one(5000, 'parts', headers=headers)
            await one.begun()
            await one.pod.kill()
            self.assertEqual((await asyncio.wait_for(asked, PATIENCE)).outcome, ABORTED)
            self.assertEqual(one.account().problems, [])

    async def test_a_call_on_a_pod_that_is_killed_is_matched(self):
        async with OnePod('h2c') as one:
            asked = one.ask_one(5000, 'grpc', body=b'q0.0 ', grpc=True)
            await one.begun()
            await one.pod.crash_app(0)
            self.assertEqual((await asyncio.wait_for(asked, PATIENCE)).status, 502)
            self.assertEqual(one.account().problems, [])

    async def test_a_drain_loses_nothing(self):
        async with OnePod() as one:
            asked = one.ask_one(1000)
            await one.begun()
            await one.pod.stop()
            self.assertEqual((await asyncio.wait_for(asked, PATIENCE)).outcome, ANSWERED)
            self.assertEqual(one.account().problems, [])

    async def test_streams_outlive_the_goaway_of_a_drain(self):
        async with OnePod('h2c') as one:
            asked = one.ask_one(1500, 'stream')
            await one.begun()
            await one.pod.stop()
            self.assertEqual((await asyncio.wait_for(asked, PATIENCE)).outcome, ANSWERED)
            self.assertEqual(one.account().problems, [])

    async def test_readiness_fails_and_comes_back(self):
        async with OnePod(probe={'periodSeconds': 1, 'timeoutSeconds': 1}) as one:
            self.assertTrue(one.pod.ready)
            playing = asyncio.create_task(one.pod.fail_readiness(0.2))
            deadline = one.place.now() + PATIENCE
            while one.pod.ready and one.place.now() < deadline:
                await asyncio.sleep(0.01)
            self.assertFalse(one.pod.ready)
            await asyncio.wait_for(playing, PATIENCE)
            self.assertTrue(one.pod.ready)

    async def test_a_sidecar_that_ends_by_itself_is_a_problem(self):
        async with OnePod() as one:
            one.pod.sidecar.kill()
            await one.pod.sidecar.end(PATIENCE)
            await asyncio.sleep(0)
            self.assertTrue(any('by itself' in told for told in one.place.problems))


if __name__ == '__main__':
    PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(warnings='ignore')  # a killed peer's sockets end with the loop
