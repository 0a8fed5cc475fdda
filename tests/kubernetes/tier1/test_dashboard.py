"""The page of the autoscaler through the API server's own proxy, with one right and no kubectl."""

import re
import signal
import subprocess

from test_doors import FIELDS
from wire import PATIENCE, Reader, connect, eventually, fetch, request_bytes

from lab.objects import container, service
from scaling.case import ScalingCase

ADDRESS, PORT, POD = '10.99.252.1', 8082, 'autoscaler-a'
RUN_SECONDS = 30


class Dashboard(ScalingCase):
    def setUp(self):
        super().setUp()
        self.configure()
        self.autoscaler(SLUICE_API_ADDRESS=f'{ADDRESS}:{PORT}')
        self.reader = self.account('reader')

    def lead_to(self, addresses):
        """The chart's Service, to pods with these addresses: without controllers they are written here, and the API
        server leads to addresses of pods alone."""
        self.place.create('services', service('autoscaler', selector={}, port=PORT, target=PORT))
        for address in addresses:
            self.place.create('pods', {'metadata': {'name': POD}, 'spec': {'containers': [container()]}})
            self.api.patch(self.place.path('pods', POD) + '/status', {
                'status': {'podIP': address, 'podIPs': [{'ip': address}]}})
        target = {'kind': 'Pod', 'name': POD, 'namespace': self.place.name}
        subset = {'addresses': [{'ip': address, 'targetRef': target} for address in addresses],
                  'ports': [{'name': 'http', 'port': PORT}]}
        self.api.post(f'/api/v1/namespaces/{self.place.name}/endpoints', {
            'metadata': {'name': 'autoscaler'}, 'subsets': [subset] if addresses else []})

    def command(self, *flags):
        return [self.lab.program('sluice'), 'dashboard', '--kubeconfig', str(self.reader.kubeconfig),
                '--namespace', self.place.name, *flags]

    def refused(self):
        """What it says when it serves nothing."""
        done = subprocess.run(self.command(), capture_output=True, text=True, timeout=RUN_SECONDS, check=False)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        return done.stderr

    def give_right(self, told):
        """Runs the command that the refusal names, and binds the role that it makes."""
        words = re.search(r'give it: kubectl (.*?), and a rolebinding', told).group(1).split()
        self.lab.kubectl(*words)
        self.lab.kubectl('-n', self.place.name, 'create', 'rolebinding', 'sluice-dashboard',
                         '--role=sluice-dashboard', f'--serviceaccount={self.place.name}:reader')

    def served(self):
        """The address of the page, once the right is in force."""
        told = []

        def begun():
            process = subprocess.Popen(self.command(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            link = process.stdout.readline().strip()
            if not link:
                told.append(process.communicate(timeout=PATIENCE)[1])
                return None
            self.addCleanup(process.communicate, timeout=PATIENCE)
            self.addCleanup(process.send_signal, signal.SIGINT)
            return link

        try:
            return eventually(begun, 'the page is served').removeprefix('http://').removesuffix('/')
        except AssertionError as late:
            raise AssertionError(f'{late}; it told {told[-1]}') from None

    def test_the_right_that_a_refusal_names_is_enough(self):
        self.lead_to([ADDRESS])
        told = self.refused()
        self.assertIn('get services/proxy of http:autoscaler:8082', told)
        self.give_right(told)
        address = self.served()

        for path in ('/', '/app.js', '/api/v1/overview'):
            answer = fetch(address, path, host=address)
            self.assertEqual(answer.status, 200, path)
            self.assertEqual({name: answer.headers[name] for name in FIELDS}, FIELDS, path)
        self.assertIn(b'src="app.js"', fetch(address, '/', host=address).body)
        self.assertEqual(fetch(address, '/api/v1/overview', host=address).json()['form'], 'cluster')
        with connect(address) as sock:
            sock.sendall(request_bytes('GET', '/api/v1/live?view=fleet', address))
            reader = Reader(sock)
            self.assertEqual(reader.head()[0], 200)
            self.assertIsNotNone(reader.until(b'event: hello'))
            self.assertIsNotNone(reader.until(b'event: fleet'))

    def test_what_is_missing_is_named(self):
        told = self.refused()
        self.give_right(told)
        eventually(lambda: 'there is no Service autoscaler' in self.refused(), 'the right is in force')
        self.lead_to([])
        self.assertIn('no pod of the Service autoscaler', self.refused())
