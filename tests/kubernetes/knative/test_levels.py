"""Ours in the place of Knative's, one part after the other."""

import threading

from wire import eventually, fetch

from lab.case import LabCase
from lab.knative import OURS, Knative
from lab.place import NODE_IP

OUR_CLASS = {'autoscaling.knative.dev/class': 'kpa.sluice.dev'}
TARGET = {'autoscaling.knative.dev/target': '2'}
CLIENTS = 8
REQUEST_MS = 500
ANSWER_SECONDS = 30
STEP_SECONDS = 90
OUR_STATS_PORT = 18080


class Load:
    """Clients that ask one revision again and again; what they were answered is counted."""

    def __init__(self, address, space, revision, clients=CLIENTS):
        self.address = address
        self.headers = [('Knative-Serving-Namespace', space), ('Knative-Serving-Revision', revision)]
        self.answered = 0
        self.lost = []
        self.lock = threading.Lock()
        self.ending = threading.Event()
        self.threads = [threading.Thread(target=self.ask_on, daemon=True) for _ in range(clients)]
        for thread in self.threads:
            thread.start()

    def ask_on(self):
        while not self.ending.is_set():
            self.ask(REQUEST_MS)

    def ask(self, wait=0):
        try:
            answer = fetch(self.address, f'/?ms={wait}', headers=self.headers, timeout=ANSWER_SECONDS)
            code = answer.status if answer else 'closed'
        except OSError as problem:
            code = repr(problem)
        with self.lock:
            if code == 200:
                self.answered += 1
            else:
                self.lost.append(code)

    def stop(self):
        self.ending.set()
        for thread in self.threads:
            thread.join(ANSWER_SECONDS)


class KnativeCase(LabCase):
    def setUp(self):
        super().setUp()
        self.knative = Knative.of(self.lab)

    def autoscaler(self, **more):
        return self.spawn('autoscaler', {
            'SLUICE_PLATFORM': 'kubernetes', 'POD_NAME': 'ours', 'POD_IP': NODE_IP, 'SYSTEM_NAMESPACE': OURS,
            'SLUICE_STATS_ADDRESS': f'{NODE_IP}:{OUR_STATS_PORT}', 'SLUICE_GRPC_ADDRESS': '127.0.0.1:0',
            'SLUICE_API_ADDRESS': '127.0.0.1:0', 'SLUICE_METRICS_ADDRESS': '127.0.0.1:0',
            'SLUICE_STATS_RELAY': f'{NODE_IP}:8080', **more})

    def take_stats(self):
        """Our autoscaler stands where Knative's activator sends its stats, until the test ends."""
        self.knative.lead('autoscaler', http=OUR_STATS_PORT)
        self.knative.restart('activator')

        def give_back():
            self.knative.lead('autoscaler')
            self.knative.restart('activator')

        self.addCleanup(give_back)

    def wait_pods(self, revision, least, most, seconds=STEP_SECONDS):
        eventually(lambda: least <= len(self.knative.pods(self.place.name, revision)) <= most,
                   f'{revision} has {least} to {most} ready pods', seconds)

    def there_and_back(self, revision):
        """1 -> N -> 0 -> 1, and nothing is lost."""
        space = self.place.name
        address = self.knative.public_address(space, revision)
        self.wait_pods(revision, 1, 1)
        load = Load(address, space, revision)
        try:
            self.wait_pods(revision, 3, 10)
        finally:
            load.stop()
        self.wait_pods(revision, 0, 0)
        load.ask()
        self.wait_pods(revision, 1, 1)
        print(f'{revision}: {load.answered} answered, {len(load.lost)} lost', flush=True)
        self.assertEqual(load.lost, [])


class Levels(KnativeCase):
    def test_knative_alone_scales_there_and_back(self):
        self.there_and_back(self.knative.deploy(self.place.name, 'alone', TARGET))

    def test_our_autoscaler_scales_what_is_of_our_class(self):
        ours = self.autoscaler()
        self.take_stats()
        revision = self.knative.deploy(self.place.name, 'ours', {**TARGET, **OUR_CLASS})

        try:
            self.there_and_back(revision)
            self.assertEqual(self.knative.condition(self.place.name, revision, 'Active'), 'True')
        except AssertionError as failed:
            raise AssertionError(f'{failed}\n{ours.errors()[-6000:]}') from failed

    def test_what_is_knatives_is_scaled_by_knative_behind_our_relay(self):
        self.autoscaler()
        self.take_stats()

        self.there_and_back(self.knative.deploy(self.place.name, 'theirs', TARGET))
