"""Streams of the installed Sluice: mutual TLS, and what a pod of the cluster can do that forges them.

The forger is what any tenant has: a pod, in a namespace that is not ours. Its connections are made inside
its network. What it says is what activators and node agents say, and would be trusted in plain text.
"""

import base64
import datetime
import json
import ssl

from autoscaler.fake_activator import FakeActivator
from autoscaler.test_nodes import FakeAgent
from protowire import fields, revision_key, wire_stat
from wire import connect, eventually, fetch

from lab import node
from lab.certificates import Authority, redated, signed_by
from lab.chart import NAMESPACE
from lab.crowd import Crowd, account, printed
from lab.installed import LONG, InstalledCase
from lab.place import MS_BIND, in_network, mount

SECRETS = f'/api/v1/namespaces/{NAMESPACE}/secrets'
BUNDLE = f'/api/v1/namespaces/{NAMESPACE}/configmaps/sluice-ca'
SECRET, ACTIVATOR_SECRET = 'sluice-tls', 'sluice-activator-tls'
STATS, STREAMS, API = 8080, 8081, 8082
FRAMES = 5
FORGED_LOAD = 1000
NEVER = {'sluice.dev/inject': 'false'}
LIKE_OURS = {**NEVER, 'app.kubernetes.io/name': 'activator', 'app.kubernetes.io/instance': 'sluice',
             'app.kubernetes.io/part-of': 'sluice'}
REFUSED = (OSError, ssl.SSLError, AssertionError)


class StreamCase(InstalledCase):
    def autoscaler(self, port):
        return f'{self.chart.pods("autoscaler")[0]["status"]["podIP"]}:{port}'

    def secret(self, name):
        return {key: base64.b64decode(value) for key, value in self.api.get(f'{SECRETS}/{name}')['data'].items()}

    def context(self, certificate=None, key=None):
        """What a client of the autoscaler would use that trusts its CA: as it stands in the Secret."""
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        made.load_verify_locations(cadata=self.secret(ACTIVATOR_SECRET)['ca.crt'].decode())
        made.set_alpn_protocols(['h2'])
        if certificate:
            made.load_cert_chain(certificate, key)
        return made

    def activators_own(self):
        """As context(), with the certificate that activators have."""
        found = self.secret(ACTIVATOR_SECRET)
        for name in ('tls.crt', 'tls.key'):
            (self.lab.folder / name).write_bytes(found[name])
        return self.context(self.lab.folder / 'tls.crt', self.lab.folder / 'tls.key')


class ForgedStreams(StreamCase):
    def setUp(self):
        super().setUp()
        self.workload('web')
        self.scale('web', {'max': 20})
        self.wait_routed('web')
        self.asleep('web')
        self.before = self.generation()

    def generation(self):
        """Of the Deployment: one more for each change of its scale."""
        return self.api.get(self.place.path('deployments', 'web'))['metadata']['generation']

    def forger(self, name='forger', labels=None):
        """The network of a pod."""
        self.place.create('deployments', {
            'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': name},
            'spec': {'selector': {'matchLabels': {'app': name}}, 'template': {
                'metadata': {'labels': {'app': name, **(labels or NEVER)}},
                'spec': {'containers': [{'name': 'app', 'image': 'localhost/app:1'}]}}}})
        return node.network_of(self.wait_ready(name, 1)[0]['metadata']['uid'])

    def forge_load(self, network, **tls):
        """Whether the autoscaler listens to an activator in this network; five frames of load if it does."""
        with in_network(network):
            try:
                made = FakeActivator(self.autoscaler(STREAMS), name='forger', **tls)
            except REFUSED:
                return False
        self.addCleanup(made.close)
        try:
            made.wait(lambda a: a.welcome is not None or a.status is not None, 'a welcome')
            for sequence in range(1, FRAMES + 1 if made.welcome else 1):
                made.say(self.batch(sequence))
        except REFUSED:
            pass
        return made.welcome is not None

    def batch(self, sequence):
        """An ActivatorMessage by which the service is overrun."""
        space = self.place.name
        return fields(f2=fields(
            f1=sequence, f2=[wire_stat('web', FORGED_LOAD, FORGED_LOAD, space)],
            f3=[fields(f1=revision_key('web', space), f2=FORGED_LOAD, f3=5)]))

    def forge_node(self, network, **tls):
        """Whether a report is acknowledged that throttles every pod of the node and shuts its gate."""
        with in_network(network):
            try:
                made = FakeAgent(self.autoscaler(STREAMS), node='n1', **tls)
            except REFUSED:
                return False
        self.addCleanup(made.close)
        try:
            made.report(admit=0, throttled=[pod['metadata']['name'] for pod in self.place.pods()])
        except REFUSED:
            pass
        return bool(made.acks)

    def nodes(self):
        return fetch(self.autoscaler(API), '/api/v1/nodes').body.decode()

    def test_a_pod_in_plain_text_is_not_trusted(self):
        for labels in (NEVER, LIKE_OURS):
            network = self.forger('forger' if labels is NEVER else 'likeness', labels)

            self.assertFalse(self.forge_load(network), labels)
            self.assertFalse(self.forge_node(network), labels)
            with self.assertRaises(OSError), in_network(network):
                connect(self.autoscaler(STATS))

        self.assertNotIn('n1', self.nodes())
        self.assert_only_a_request_wakes_it()

    def test_a_pod_with_tls_and_no_certificate_of_ours_is_not_trusted(self):
        network = self.forger()
        stranger = Authority(self.lab.folder / f'stranger-{self.place.name}')
        own = stranger.issue('activator', '/CN=activator', 'URI:sluice://activator')
        agent = stranger.issue('agent', '/CN=node-agent', 'URI:sluice://node-agent/n1')

        self.assertFalse(self.forge_load(network, tls=self.context()))
        self.assertFalse(self.forge_load(network, tls=self.context(*own)))
        self.assertFalse(self.forge_node(network, tls=self.context(*agent)))
        self.assertFalse(self.forge_node(network, tls=self.activators_own()))  # of ours, but no node agent's
        self.assertNotIn('n1', self.nodes())
        self.assert_only_a_request_wakes_it()

    def test_the_same_frames_wake_it_with_an_activators_certificate(self):
        network = self.forger()

        self.assertTrue(self.forge_load(network, tls=self.activators_own()))
        self.wait_replicas('web', lambda count: count > 0, 'stats of an activator are accepted')

    def assert_only_a_request_wakes_it(self):
        """And nothing did before: a scale that was changed and changed back would be two generations more."""
        self.assertEqual(self.ask('web').status, 200)
        self.asleep('web')

        self.assertEqual(self.generation(), self.before + 2)


class Rotations(StreamCase):
    """A year of certificates in a minute: the CA's span is moved, its name and key stay, and so does what it signed."""

    VALUES = {'activator': {'replicas': 2, 'drainQuiet': '10s'}}
    SERVICES = ('svc0', 'svc1')

    def move(self, **days):
        """Gives the CA in the Secret another span, in days from now."""
        found = self.secret(SECRET)
        now = datetime.datetime.now(datetime.timezone.utc)
        folder = self.lab.folder / f'redated-{self.place.name}-{"-".join(map(str, days.values()))}'
        moved = redated(folder, found['ca.crt'].decode(), found['ca.key'].decode(),
                        *(now + datetime.timedelta(days=days[name]) for name in ('begins', 'ends')))
        self.api.patch(f'{SECRETS}/{SECRET}', {'data': {'ca.crt': base64.b64encode(moved.encode()).decode()}})
        return moved.encode()

    def wait_secret(self, condition, what):
        try:
            return eventually(lambda: (found := self.secret(SECRET)) and condition(found) and found, what, LONG)
        except AssertionError as late:
            raise AssertionError(f'{late}{self.story()}') from None

    def activators(self):
        """How many of them the autoscaler gets reports of."""
        said = fetch(self.autoscaler(9090), '/metrics').body.decode()
        return sum(float(line.split()[-1]) for line in said.splitlines()
                   if line.startswith('sluice_autoscaler_activators'))

    def test_a_ca_is_renewed_while_streams_are_open_and_no_request_is_lost(self):
        for name in self.SERVICES:
            self.workload(name, env={'NAME': name})
            self.scale(name, {'target': 1, 'max': 3})
        for name in self.SERVICES:
            self.wait_routed(name)
        eventually(lambda: self.activators() == 2, 'both activators are heard', LONG)
        crowd = Crowd({name: self.address(name) for name in self.SERVICES}, 18)
        try:
            old = self.move(begins=-300, ends=65)
            found = self.wait_secret(lambda it: it['ca.crt'] != old, 'the CA is renewed')
            self.assertTrue(signed_by(found['tls.crt'], old), 'the certificate in service stays')
            eventually(lambda: self.trusted(old, found['ca.crt']), 'both are trusted', LONG)

            new = self.move(begins=-1, ends=364)
            found = self.wait_secret(lambda it: signed_by(it['tls.crt'], new), 'the autoscaler has one of the new CA')
            eventually(lambda: signed_by(self.secret(ACTIVATOR_SECRET)['tls.crt'], new), 'activators have one', LONG)
            self.assertEqual(self.activators(), 2)

            # What starts now begins with the new ones, and what runs dials it.
            self.chart.kill(self.chart.pods('autoscaler')[0])
            self.chart.wait_ready()
            eventually(lambda: self.activators() == 2, 'both activators are heard again', LONG)
        finally:
            crowd.stop()
        print(f'\n{printed(crowd.sent, [])}')

        self.assertEqual(account(crowd.sent, [])[0], [])
        for name in self.SERVICES:
            self.asleep(name)
            self.assertEqual(self.ask(name).status, 200)

    def test_nothing_of_a_deleted_ca_is_trusted_once_the_programs_have_restarted(self):
        before = self.secret(SECRET)['ca.crt']

        self.lab.kubectl('-n', NAMESPACE, 'delete', 'secret', SECRET, ACTIVATOR_SECRET)
        eventually(lambda: self.api.find(f'{SECRETS}/{ACTIVATOR_SECRET}'), 'they are made again', LONG)
        self.lab.kubectl('-n', NAMESPACE, 'rollout', 'restart', 'deployment/autoscaler', 'deployment/activator')
        self.chart.wait_ready()

        eventually(lambda: self.activators() == 2, 'both activators are heard', LONG)
        for name in (SECRET, ACTIVATOR_SECRET):
            self.assertNotIn(before.strip(), self.secret(name)['ca.crt'])
            self.assertFalse(signed_by(self.secret(name)['tls.crt'], before))

    def trusted(self, *authorities):
        """By activators and by node agents."""
        bundles = (self.secret(ACTIVATOR_SECRET)['ca.crt'], self.api.get(BUNDLE)['data']['ca.crt'].encode())
        return all(one.strip() in bundle for bundle in bundles for one in authorities)


class NodeAgents(StreamCase):
    """The laboratory's runtime stands where a node has its own. The autoscaler's name leads to two replicas."""

    SOCKET = '/run/containerd/containerd.sock'
    VALUES = {'autoscaler': {'replicas': 2},
              'nodeAgent': {'enabled': True, 'dryRun': True, 'runtimeEndpoint': f'unix://{SOCKET}'}}

    @classmethod
    def setUpClass(cls):
        open(cls.SOCKET, 'a', encoding='ascii').close()
        mount(cls.lab.folder / 'cri' / 'c.sock', cls.SOCKET, MS_BIND)

    def hears(self, pod):
        """Whether the node's reports come to this replica."""
        try:
            found = fetch(f'{pod["status"]["podIP"]}:{API}', '/api/v1/nodes?here=1')
        except (KeyError, OSError):  # it has only begun, or ended
            return False
        return [(one['name'], one['silent']) for one in json.loads(found.body)['items']] == [('n1', False)]

    def the_one_that_hears(self, but=''):
        def met():
            found = [one for one in self.chart.pods('autoscaler') if self.hears(one)]
            return len(found) == 1 and found[0]['metadata']['name'] != but and found[0]
        return eventually(met, 'one replica hears the node', LONG)

    def test_a_node_agent_is_accepted_for_its_own_node_by_one_of_two_replicas(self):
        self.the_one_that_hears()

    def test_its_reports_go_to_the_next_replica_when_the_one_that_holds_the_bucket_is_killed(self):
        first = self.the_one_that_hears()

        self.chart.kill(first)

        self.the_one_that_hears(but=first['metadata']['name'])
        self.chart.wait_ready()
