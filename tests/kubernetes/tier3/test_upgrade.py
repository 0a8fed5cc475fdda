"""`helm upgrade` under traffic, from the chart whose streams were plain text to the one of mutual TLS.

Both charts run the build under test; with SLUICE_BIN_BEFORE=FOLDER the first one runs the programs there,
which may be those of the release before.
"""

import os
import threading

from wire import eventually

from lab.chart import CHART, CHART_BEFORE
from lab.crowd import Crowd, account, printed
from lab.installed import LONG, InstalledCase

SERVICES = [f'svc{number}' for number in range(4)]
SLEEPER = 'sleeper'
BEFORE = os.environ.get('SLUICE_BIN_BEFORE')
TAG = 'before'
SEED = 18
GRACE = 12
ANSWERS_MIN = 20   # of the crowd, before and after each step
LABEL = 'sluice.dev/stream-tls'


class Waker(threading.Thread):
    """Asks a service once, each time it sleeps."""

    def __init__(self, case, name):
        super().__init__(daemon=True)
        self.case, self.name = case, name
        self.answers = []   # statuses, or what went wrong
        self.over = threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(0.2):
            try:
                if self.case.replicas(self.name) == 0:
                    self.answers.append(self.case.ask(self.name).status)
            except (OSError, AttributeError) as problem:  # the connection ended without an answer
                self.answers.append(repr(problem))

    def stop(self):
        self.over.set()
        self.join(LONG)
        return self.answers


class Upgrades(InstalledCase):
    SOURCE = CHART_BEFORE
    VALUES = {'activator': {'replicas': 2, 'drainQuiet': '10s'}}

    def setUp(self):
        chart = self.lab.chart
        if chart.values is not None:
            chart.remove()  # nothing of the new one is left: no certificates either
        if BEFORE:
            chart.import_images(BEFORE, TAG)
            self.VALUES = {**self.VALUES, 'image': {'tag': TAG}}
        super().setUp()

    def test_no_request_is_lost_on_the_way_to_mutual_tls(self):
        for name in (*SERVICES, SLEEPER):
            self.workload(name, env={'NAME': name}, terminationGracePeriodSeconds=GRACE)
            self.scale(name, {'target': 1, 'max': 3})
        for name in (*SERVICES, SLEEPER):
            self.wait_routed(name)
        self.assertEqual(self.labels(), {None})
        crowd = Crowd({name: self.address(name) for name in SERVICES}, SEED)
        try:
            self.wait_more(crowd)
            woken = self.upgrade(crowd)
            self.assertEqual(self.labels(), {'mutual'})
        finally:
            crowd.stop()
        print(f'\nwoken {len(woken)} times meanwhile; {printed(crowd.sent, [])}')

        self.assertEqual(account(crowd.sent, [])[0], [])
        self.assertEqual(set(woken), {200})
        for name in SERVICES:
            self.asleep(name)

    def upgrade(self, crowd):
        """Until all is of the new chart; what those got who woke a service meanwhile, at least once after it."""
        waker = Waker(self, SLEEPER)
        self.chart.ensure(CHART, **{name: value for name, value in self.VALUES.items() if name != 'image'})
        before = len(waker.answers)
        eventually(lambda: len(waker.answers) > before, f'{SLEEPER} sleeps and wakes behind the others', 2 * LONG)
        self.wait_more(crowd)
        return waker.stop()

    def wait_more(self, crowd):
        before = len(crowd.sent)
        eventually(lambda: len(crowd.sent) > before + ANSWERS_MIN, 'requests continue', LONG)

    def labels(self):
        """What the activators are labelled with."""
        return {pod['metadata']['labels'].get(LABEL) for pod in self.chart.pods('activator')}
