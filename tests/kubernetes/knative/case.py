"""What tests beside a Knative share: revisions under load, and programs of ours on the node."""

from wire import eventually, scraped

from lab.case import LabCase
from lab.crowd import Steady, printed
from lab.knative import OUR_QUEUE, OURS, QUEUE, SPACE, Knative, host_of
from lab.objects import addresses
from lab.place import NODE_IP

CLASS = 'autoscaling.knative.dev/class'
OUR_CLASS = {CLASS: 'kpa.sluice.dev'}
THEIR_CLASS = {CLASS: 'kpa.autoscaling.knative.dev'}
TARGET = {'autoscaling.knative.dev/target': '2'}
CLIENTS = 8
REQUEST_MS = 1000  # the way takes little beside it: 8 clients are more than 7 in flight, 6 pods at 1.4 each
STEP_SECONDS = 90
FRESH = 20  # requests that show a path to be taken
OUR_STATS_NAME = f'autoscaler.{OURS}.svc.cluster.local'
OUR_GRPC_PORT = 8081


class KnativeCase(LabCase):
    def setUp(self):
        super().setUp()
        self.knative = Knative.of(self.lab)
        self.space = self.place.name  # where its revisions are
        self.loads = []
        self.programs = []

    def autoscaler(self, **more):
        return self.launch('autoscaler', {
            'SLUICE_PLATFORM': 'kubernetes', 'POD_NAME': 'ours', 'POD_IP': NODE_IP, 'SYSTEM_NAMESPACE': OURS,
            'SLUICE_STATS_ADDRESS': f'{NODE_IP}:8080', 'SLUICE_GRPC_ADDRESS': f'{NODE_IP}:{OUR_GRPC_PORT}',
            'SLUICE_API_ADDRESS': '127.0.0.1:0', 'SLUICE_METRICS_ADDRESS': '127.0.0.1:0',
            'SLUICE_STATS_RELAY': self.knative.stats_address(), **more})

    def activator(self, **more):
        return self.launch('activator', {
            'SLUICE_PLATFORM': 'kubernetes', 'POD_NAME': 'ours', 'POD_IP': NODE_IP,
            'SYSTEM_NAMESPACE': SPACE, 'SLUICE_HTTP_ADDRESS': f'{NODE_IP}:8012',
            'SLUICE_H2C_ADDRESS': f'{NODE_IP}:8013', 'SLUICE_TLS_ADDRESS': '',
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
        self.addCleanup(self.give_stats_back)
        self.knative.lead_stats(OUR_STATS_NAME)

    def give_stats_back(self):
        self.knative.lead_stats(None)

    def take_front(self):
        """Our activator stands where Knative leads requests that no pod takes."""
        self.addCleanup(self.give_front_back)
        self.knative.lead_front(NODE_IP)

    def give_front_back(self):
        self.knative.lead_front(None)

    # ---- claims ----

    def load(self, revision, clients=CLIENTS):
        """Clients of a revision, at its public Service; no request is lost when the test ends."""
        address = self.knative.public_address(self.space, revision)
        made = Steady(host_of(self.space, revision), address, clients, REQUEST_MS)
        self.addCleanup(made.stop)
        self.loads.append(made)
        return made

    def wait_pods(self, revision, least, most):
        self.wait(lambda: least <= len(self.knative.pods(self.space, revision)) <= most,
                  f'{revision} has {least} to {most} ready pods')

    def wait_settled(self, revision):
        """How many pods are ready, once Knative wants that number."""
        def settled():
            wanted = self.knative.autoscaler(self.space, revision).get('status', {}).get('desiredScale')
            return wanted if wanted == len(self.knative.pods(self.space, revision)) else None

        return self.wait(settled, f'{revision} has the pods that it is to have')

    def wait(self, condition, what):
        try:
            return eventually(condition, what, STEP_SECONDS)
        except AssertionError as late:
            raise AssertionError(f'{late}\n{self.story()}') from None

    def wait_more(self, load, count=FRESH):
        """Until so many requests that begin now have been answered."""
        wanted = len(load.sent) + load.clients + count
        self.wait(lambda: len(load.sent) >= wanted, f'{count} more requests are answered')

    def story(self):
        """Why a revision may not be as it should."""
        told = [printed(list(load.sent), []) for load in self.loads]
        for kind in ('podautoscalers', 'serverlessservices', 'endpointslices', 'pods'):
            told.append(self.lab.kubectl('-n', self.space, 'get', kind, '-o', 'wide', check=False).stdout)
        told += [program.errors()[-4000:] for program in self.programs]
        return '\n'.join([*told, self.knative.story()])

    def wait_sidecars(self, revision, image):
        """All pods of a revision have that sidecar, and are ready."""
        def settled():
            pods = self.knative.pods(self.space, revision)
            return pods and all(any(each['image'] == image for each in pod['spec']['containers']) for pod in pods)

        self.wait(settled, f'{revision} has pods with {image} only')

    def front(self, revision):
        """Addresses that the public Service of a revision leads to."""
        slices = self.api.items(f'/apis/discovery.k8s.io/v1/namespaces/{self.space}/endpointslices'
                                f'?labelSelector=kubernetes.io%2Fservice-name%3D{revision}')
        return set(addresses(slices))

    def assert_answered(self, *loads):
        for load in loads:
            sent = load.stop()
            print(f'{load.service}: {printed(sent, [])}', flush=True)
            self.assertTrue(sent)
            self.assertEqual([one.outcome for one in sent if not one.answered], [])

    def there_and_back(self, revision):
        """1 -> N -> 0 -> 1, and no request is lost."""
        self.wait_pods(revision, 1, 1)
        many = self.load(revision)
        self.wait_pods(revision, 3, 10)
        self.assert_answered(many)
        self.wait_pods(revision, 0, 0)
        one = self.load(revision, 1)
        self.wait_pods(revision, 1, 1)
        self.assert_answered(one)

    @staticmethod
    def served_by(activator):
        return sum(value for name, value in scraped(activator.addresses['metrics']).items()
                   if name.startswith('sluice_activator_choices_total'))
