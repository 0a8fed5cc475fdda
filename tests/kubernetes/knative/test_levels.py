"""Ours in the place of Knative's, one part after the other, and back; nobody who asks meanwhile notices."""

from wire import eventually, scraped

from lab.case import LabCase
from lab.crowd import Steady, printed
from lab.knative import OUR_QUEUE, OURS, QUEUE, Knative, host_of
from lab.place import NODE_IP

CLASS = 'autoscaling.knative.dev/class'
OUR_CLASS = {CLASS: 'kpa.sluice.dev'}
THEIR_CLASS = {CLASS: 'kpa.autoscaling.knative.dev'}
TARGET = {'autoscaling.knative.dev/target': '2'}
CLIENTS = 8
REQUEST_MS = 400
STEP_SECONDS = 90
OUR_STATS_PORT = 18080
OUR_GRPC_PORT = 18081
OUR_HTTP_PORT = 8012
OUR_H2C_PORT = 8013


class KnativeCase(LabCase):
    def setUp(self):
        super().setUp()
        self.knative = Knative.of(self.lab)
        self.loads = []
        self.programs = []

    def autoscaler(self, **more):
        return self.launch('autoscaler', {
            'SLUICE_PLATFORM': 'kubernetes', 'POD_NAME': 'ours', 'POD_IP': NODE_IP, 'SYSTEM_NAMESPACE': OURS,
            'SLUICE_STATS_ADDRESS': f'{NODE_IP}:{OUR_STATS_PORT}', 'SLUICE_GRPC_ADDRESS': f'{NODE_IP}:{OUR_GRPC_PORT}',
            'SLUICE_API_ADDRESS': '127.0.0.1:0', 'SLUICE_METRICS_ADDRESS': '127.0.0.1:0',
            'SLUICE_STATS_RELAY': f'{NODE_IP}:8080', **more})

    def activator(self, **more):
        return self.launch('activator', {
            'SLUICE_PLATFORM': 'kubernetes', 'POD_NAME': 'ours', 'POD_IP': NODE_IP,
            'SYSTEM_NAMESPACE': 'knative-serving', 'SLUICE_HTTP_ADDRESS': f'{NODE_IP}:{OUR_HTTP_PORT}',
            'SLUICE_H2C_ADDRESS': f'{NODE_IP}:{OUR_H2C_PORT}', 'SLUICE_TLS_ADDRESS': '',
            'SLUICE_METRICS_ADDRESS': '127.0.0.1:0', 'SLUICE_CERTS_DIR': '/nonexistent', **more})

    def launch(self, name, environment):
        self.programs.append(self.spawn(name, environment))
        return self.programs[-1]

    # ---- switches: each gives back what it found when the test ends ----

    def take_sidecars(self):
        self.knative.configure('config-deployment', **{'queue-sidecar-image': OUR_QUEUE})
        self.addCleanup(self.give_sidecars_back)

    def give_sidecars_back(self):
        self.knative.configure('config-deployment', **{'queue-sidecar-image': QUEUE})

    def take_stats(self):
        """Our autoscaler stands where an activator of Knative's sends its stats."""
        self.knative.lead('autoscaler', http=OUR_STATS_PORT)
        self.knative.restart('activator')
        self.addCleanup(self.give_stats_back)

    def give_stats_back(self):
        self.knative.lead('autoscaler')
        self.knative.restart('activator')

    def take_front(self):
        """Our activator stands where Knative leads requests that no pod takes."""
        self.knative.programs['activator'].stop()
        self.addCleanup(self.give_front_back)

    def give_front_back(self):
        self.knative.programs['activator'].start()

    # ---- claims ----

    def load(self, revision, clients=CLIENTS):
        """Clients of a revision, at its public Service; nobody of them is lost when the test ends."""
        space = self.place.name
        made = Steady(host_of(space, revision), self.knative.public_address(space, revision), clients, REQUEST_MS)
        self.addCleanup(made.stop)
        self.loads.append(made)
        return made

    def wait_pods(self, revision, least, most):
        self.wait(lambda: least <= len(self.knative.pods(self.place.name, revision)) <= most,
                  f'{revision} has {least} to {most} ready pods')

    def wait(self, condition, what):
        try:
            return eventually(condition, what, STEP_SECONDS)
        except AssertionError as late:
            raise AssertionError(f'{late}\n{self.story()}') from None

    def story(self):
        """Why a revision may not be as it should."""
        told = [printed(list(load.sent), []) for load in self.loads]
        for kind in ('podautoscalers', 'serverlessservices', 'endpointslices', 'pods'):
            told.append(self.lab.kubectl('-n', self.place.name, 'get', kind, '-o', 'wide', check=False).stdout)
        told += [program.errors()[-4000:] for program in self.programs]
        return '\n'.join(told)

    def wait_sidecars(self, revision, image):
        """All pods of a revision have that sidecar, and are ready."""
        def settled():
            pods = self.knative.pods(self.place.name, revision)
            return pods and all(any(each['image'] == image for each in pod['spec']['containers']) for pod in pods)

        self.wait(settled, f'{revision} has pods with {image} only')

    def assert_answered(self, *loads):
        for load in loads:
            sent = load.stop()
            print(f'{load.service}: {printed(sent, [])}', flush=True)
            self.assertTrue(sent)
            self.assertEqual([one.outcome for one in sent if not one.answered], [])

    def there_and_back(self, revision):
        """1 -> N -> 0 -> 1, and nobody is lost."""
        self.wait_pods(revision, 1, 1)
        many = self.load(revision)
        self.wait_pods(revision, 3, 10)
        self.assert_answered(many)
        self.wait_pods(revision, 0, 0)
        one = self.load(revision, 1)
        self.wait_pods(revision, 1, 1)
        self.assert_answered(one)


class Levels(KnativeCase):
    def test_0_knative_alone_scales_there_and_back(self):
        self.there_and_back(self.knative.deploy(self.place.name, 'alone', TARGET))

    def test_a_our_sidecar_measures_for_knative(self):
        self.take_sidecars()
        revision = self.knative.deploy(self.place.name, 'side', TARGET)
        self.wait_sidecars(revision, OUR_QUEUE)
        self.there_and_back(revision)

    def test_a_sidecars_change_under_load_to_ours_and_back(self):
        revision = self.knative.deploy(self.place.name, 'side', TARGET)
        self.wait_sidecars(revision, QUEUE)
        load = self.load(revision, 4)
        self.wait_pods(revision, 2, 10)

        self.take_sidecars()
        self.wait_sidecars(revision, OUR_QUEUE)
        self.give_sidecars_back()
        self.wait_sidecars(revision, QUEUE)

        self.assert_answered(load)

    def test_b_our_autoscaler_scales_what_is_of_our_class_and_knatives_takes_it_back(self):
        ours = self.autoscaler()
        self.take_stats()
        revision = self.knative.deploy(self.place.name, 'ours', {**TARGET, **OUR_CLASS})
        self.there_and_back(revision)
        eventually(lambda: self.knative.condition(self.place.name, revision, 'Active') == 'True',
                   'its PodAutoscaler is told active')

        back = self.knative.revise(self.place.name, 'ours', 2, {**TARGET, **THEIR_CLASS})
        self.wait_pods(back, 1, 1)
        self.give_stats_back()
        ours.terminate()
        self.assertEqual(ours.process.wait(STEP_SECONDS), 0)
        self.there_and_back(back)

    def test_b_what_is_knatives_is_scaled_by_knative_behind_our_relay(self):
        self.autoscaler()
        self.take_stats()

        self.there_and_back(self.knative.deploy(self.place.name, 'theirs', TARGET))

    def test_c_our_activator_holds_requests_for_knatives_autoscaler(self):
        self.take_front()
        activator = self.activator(SLUICE_STATS_TARGET=f'{NODE_IP}:8080')
        revision = self.knative.deploy(self.place.name, 'front', TARGET)
        self.there_and_back(revision)
        self.assertGreater(self.served_by(activator), 0)

    def test_c_activators_change_under_load_to_ours_and_back(self):
        activator = self.activator(SLUICE_STATS_TARGET=f'{NODE_IP}:8080')
        # Capacity without end is never enough: every request goes by an activator.
        revision = self.knative.deploy(self.place.name, 'front',
                                       {**TARGET, 'autoscaling.knative.dev/target-burst-capacity': '-1'})
        self.wait_pods(revision, 1, 1)
        load = self.load(revision, 4)

        self.take_front()
        self.wait(lambda: self.served_by(activator) > 20, 'requests go by our activator')
        self.give_front_back()
        self.wait_front(revision, 8012)
        before = len(load.sent)
        self.wait(lambda: len(load.sent) > before + 20, 'requests go by Knative\'s activator')

        self.assert_answered(load)

    def test_c_all_of_ours_scale_together(self):
        self.take_sidecars()
        self.autoscaler()
        self.take_front()
        activator = self.activator(SLUICE_AUTOSCALER_ADDRESS=f'{NODE_IP}:{OUR_GRPC_PORT}')
        revision = self.knative.deploy(self.place.name, 'all', {**TARGET, **OUR_CLASS})
        self.wait_sidecars(revision, OUR_QUEUE)
        self.there_and_back(revision)
        self.assertGreater(self.served_by(activator), 0)

    # ---- what they look at ----

    @staticmethod
    def served_by(activator):
        return sum(value for name, value in scraped(activator.addresses['metrics']).items()
                   if name.startswith('sluice_activator_choices_total'))

    def wait_front(self, revision, port):
        """The public slices of a revision lead to that port of the node."""
        def settled():
            ports = {each['port'] for one in self.place.slices(revision) for each in one.get('ports') or ()}
            return ports == {port}

        self.wait(settled, f'{revision} leads to port {port}')
