"""The laboratory itself: a node on which containers run, and traffic to them."""

from wire import eventually, fetch

from lab.case import LabCase
from lab.images import APP
from lab.objects import PORT, container, environment

SIDE_PORT = 9000
ALWAYS = {'restartPolicy': 'Always'}
GET = ('/pod_app', 'get')


class PodCase(LabCase):
    def answer(self, address):
        """The body, or None while there is no answer."""
        try:
            answer = fetch(address, timeout=2)
        except OSError:
            return None
        return answer.body.decode() if answer and answer.status == 200 else None

    def cluster_ip(self, name):
        return self.api.get(self.place.path('services', name))['spec']['clusterIP']

    def ask_from(self, pod, address):
        done = self.lab.kubectl('-n', self.place.name, 'exec', pod, '--', *GET, address, check=False)
        return done.stdout

    def logs(self, pod, name):
        return self.lab.kubectl('-n', self.place.name, 'logs', pod, '-c', name)

    def times(self, pod, name):
        """{event: milliseconds} of what a container of APP has written."""
        return {words[0]: int(words[1]) for words in map(str.split, self.logs(pod, name).splitlines())}


class Traffic(PodCase):
    def test_a_pod_answers_at_its_own_address_and_at_the_service(self):
        self.place.deploy('web', containers=[container(env=environment(NAME='hello'))])
        pod = self.wait_ready('web', 1)[0]
        wanted = f'hello {pod["metadata"]["name"]}\n'

        eventually(lambda: self.answer(f'{pod["status"]["podIP"]}:{PORT}') == wanted, 'the pod answers')
        self.wait_endpoints('web', 1)
        eventually(lambda: self.answer(f'{self.cluster_ip("web")}:80') == wanted, 'the Service answers')

    def test_pods_reach_each_other_and_themselves_by_service(self):
        self.place.deploy('web', 1)
        self.place.deploy('client', 1)
        client = self.wait_ready('client', 1)[0]['metadata']['name']
        web = self.wait_ready('web', 1)[0]['metadata']['name']
        address = f'{self.cluster_ip("web")}:80/'

        for caller in (client, web):
            eventually(lambda caller=caller: self.ask_from(caller, address) == f'app {web}\n',
                       f'{caller} reaches the Service', 60)

    def test_a_pod_reaches_the_host(self):
        self.place.deploy('web', 1)
        pod = self.wait_ready('web', 1)[0]['metadata']['name']

        # Plain HTTP at a TLS port: the API server says so, in an answer that is no 200.
        eventually(lambda: 'HTTPS' in self.ask_from(pod, '10.88.0.1:12443/'), 'the API server answers', 60)

    def test_scaled_to_zero_and_back_the_service_answers_again(self):
        self.place.deploy('web', 1)
        self.wait_endpoints('web', 1, 60)

        self.place.scale('web', 0)
        self.wait_ready('web', 0)
        self.wait_endpoints('web', 0)
        self.assertIsNone(self.answer(f'{self.cluster_ip("web")}:80'))
        self.place.scale('web', 1)

        self.wait_endpoints('web', 1, 60)
        eventually(lambda: self.answer(f'{self.cluster_ip("web")}:80'), 'the Service answers')

    def test_who_is_not_ready_leaves_the_slices(self):
        self.place.deploy('web', 1)
        at = f'{self.wait_ready("web", 1)[0]["status"]["podIP"]}:{PORT}'
        self.wait_endpoints('web', 1)

        fetch(at, '/unready')
        self.wait_endpoints('web', 0)
        fetch(at, '/ready')
        self.wait_endpoints('web', 1)


class Sidecars(PodCase):
    def deploy(self, term=0):
        """A Deployment with a native sidecar that takes a while to start."""
        probe = {'httpGet': {'path': '/healthz', 'port': SIDE_PORT}, 'periodSeconds': 1}
        side = {'name': 'side', 'image': APP, **ALWAYS, 'startupProbe': probe,
                'env': environment(PORT=SIDE_PORT, START_MS=700, NAME='side')}
        app = container(env=environment(TERM_MS=term))
        self.place.deploy('web', containers=[app], initContainers=[side])
        return self.wait_ready('web', 1)[0]['metadata']['name']

    def test_a_native_sidecar_listens_before_the_app_starts(self):
        pod = self.deploy()

        self.assertLessEqual(self.times(pod, 'side')['listening'], self.times(pod, 'app')['started'])

    def test_a_native_sidecar_is_ended_after_the_app(self):
        pod = self.deploy(term=300)
        log = self.lab.folder / 'podlogs'
        folder = next(log.glob(f'{self.place.name}_{pod}_*'))

        # The kubelet removes the files with the pod: they are held open and read at the end.
        with open(folder / 'side' / '0.log', encoding='ascii') as side, \
             open(folder / 'app' / '0.log', encoding='ascii') as app:
            self.api.delete(self.place.path('pods', pod), grace=30)
            eventually(lambda: self.api.find(self.place.path('pods', pod)) is None, 'the pod is gone', 60)
            ended = self.logged(app.read())['ended']
            told = self.logged(side.read())['sigterm']
        self.assertLessEqual(ended, told)

    @staticmethod
    def logged(text):
        """As times(), of a file of the runtime: TIME STREAM TAG EVENT MILLISECONDS."""
        return {words[3]: int(words[4]) for words in map(str.split, text.splitlines())}


class Accounts(PodCase):
    def test_a_pod_has_what_a_program_needs_to_find_the_api(self):
        self.place.deploy('web', 1)
        pod = self.wait_ready('web', 1)[0]['metadata']['name']

        found = self.lab.kubectl('-n', self.place.name, 'get', 'pod', pod, '-o', 'jsonpath='
                                 '{.spec.containers[0].volumeMounts[0].mountPath}')

        self.assertEqual(found, '/var/run/secrets/kubernetes.io/serviceaccount')
        eventually(lambda: 'HTTPS' in self.ask_from(pod, '10.96.0.1:443/'), 'the Service `kubernetes` leads there', 60)


class Images(PodCase):
    def test_a_program_of_ours_runs_in_an_image_with_its_libraries(self):
        self.lab.import_image('localhost/queue-proxy:1', self.lab.program('queue-proxy'), '--version')
        self.place.create('pods', {'metadata': {'name': 'version'}, 'spec': {
            'restartPolicy': 'Never', 'dnsPolicy': 'Default',
            'containers': [{'name': 'main', 'image': 'localhost/queue-proxy:1'}]}})

        eventually(lambda: self.phase('version') in ('Succeeded', 'Failed'), 'the pod has ended', 60)

        self.assertEqual(self.phase('version'), 'Succeeded', self.logs('version', 'main'))

    def phase(self, name):
        return self.api.get(self.place.path('pods', name))['status'].get('phase')
