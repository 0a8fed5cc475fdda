"""Which connections the chart's NetworkPolicies permit, as stored in the API server."""

import json
import pathlib

from lab.case import LabCase
from lab.control_plane import API_PORT
from lab.place import NODE_IP
from lab.policies import lets

CHART = pathlib.Path(__file__).resolve().parents[3] / 'deploy' / 'helm'
SPACE = 'sluice-system'
STREAMS, ENROLL, STATS, SCRAPED, SIDE_METRICS, ADMIN = 8081, 8083, 8080, 9090, 9091, 8022
SLICE = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'
PORTS = range(1, 65536)
PROMETHEUS = ('monitoring', {'app': 'prometheus'})
APP = ('shop', {'app': 'web', 'sluice.dev/sidecar': 'queue-proxy'})
BARE = ('shop', {'app': 'plain'})
STRANGER = ('elsewhere', {'app': 'job'})


def program(name, space=SPACE):
    return space, {'app.kubernetes.io/name': name, 'app.kubernetes.io/instance': 'sluice',
                   'app.kubernetes.io/part-of': 'sluice'}


class PolicyCase(LabCase):
    def template(self, *sets, lookup=False):
        values = [word for one in sets for word in ('--set', one)]
        return self.lab.helm('template', 'sluice', str(CHART), *values, *(['--dry-run=server'] if lookup else []))

    def policies(self, *sets, lookup=False):
        """NetworkPolicies of the chart with these values, each as the API server would keep it."""
        made = self.template(*sets, lookup=lookup)
        self.assertEqual(made.returncode, 0, made.stderr)
        for space in (SPACE, 'shop', 'knative-serving'):
            self.lab.kubectl('create', 'namespace', space, check=False)
        found = '\n---\n'.join(part for part in made.stdout.split('\n---\n') if '\nkind: NetworkPolicy\n' in part)
        taken = self.lab.kubectl('apply', '--server-side', '--dry-run=server', '-o', 'json', '-f', '-', stdin=found)
        taken = json.loads(taken)
        return taken['items'] if taken['kind'] == 'List' else [taken]


class PolicyIngress(PolicyCase):
    def test_streams_are_for_activators_node_agents_and_fellow_autoscalers(self):
        policies = self.policies('nodeAgent.enabled=true')
        autoscaler = program('autoscaler')

        for name in ('activator', 'node-agent', 'autoscaler'):
            self.assertTrue(lets(policies, program(name), autoscaler, STREAMS), name)
            self.assertFalse(lets(policies, program(name, 'elsewhere'), autoscaler, STREAMS), name)
        for other in (program('injector'), APP, STRANGER, None):
            self.assertFalse(lets(policies, other, autoscaler, STREAMS), other)

    def test_node_agents_and_no_others_enrol(self):
        policies = self.policies('nodeAgent.enabled=true')
        autoscaler = program('autoscaler')

        self.assertTrue(lets(policies, program('node-agent'), autoscaler, ENROLL))
        for other in (program('activator'), program('autoscaler'), program('node-agent', 'elsewhere'), STRANGER, None):
            self.assertFalse(lets(policies, other, autoscaler, ENROLL), other)
        self.assertFalse(lets(self.policies(), program('node-agent'), autoscaler, ENROLL))

    def test_nothing_reaches_the_stats_of_knative_where_there_is_none(self):
        for source in (program('activator'), program('autoscaler'), STRANGER, ('knative-serving', {}), None):
            self.assertFalse(lets(self.policies(), source, program('autoscaler'), STATS), source)

    def test_stats_of_knative_come_from_its_namespace(self):
        policies = self.policies('knative.enabled=true')

        self.assertTrue(lets(policies, ('knative-serving', {'app': 'activator'}), program('autoscaler'), STATS))
        for source in (program('activator'), STRANGER, None):
            self.assertFalse(lets(policies, source, program('autoscaler'), STATS), source)

    def test_services_can_be_called_by_all(self):
        policies = self.policies()

        for port in (8012, 8013, 8112, 20000, 29999):
            for source in (STRANGER, None):
                self.assertTrue(lets(policies, source, program('activator'), port), f'{source} {port}')


class PolicyEgress(PolicyCase):
    def test_programs_reach_their_peers(self):
        policies = self.policies('nodeAgent.enabled=true')

        for name in ('activator', 'autoscaler', 'injector'):
            for port in (443, 6443):
                self.assertTrue(lets(policies, program(name), None, port), f'{name} {port}')
        for name in ('activator', 'autoscaler', 'injector', 'node-agent'):
            for protocol in ('TCP', 'UDP'):
                self.assertTrue(lets(policies, program(name), ('kube-system', {'k8s-app': 'kube-dns'}), 53, protocol))
        self.assertTrue(lets(policies, program('autoscaler'), APP, SCRAPED))
        self.assertTrue(lets(policies, program('autoscaler'), program('activator'), 20000))
        for port in (8012, 8080, 3000):
            self.assertTrue(lets(policies, program('activator'), APP, port), port)

    def test_programs_reach_nothing_else(self):
        policies = self.policies('nodeAgent.enabled=true')

        for name in ('activator', 'autoscaler', 'injector', 'node-agent'):
            for port in (22, 25, 80, 8080):
                self.assertFalse(lets(policies, program(name), None, port), f'{name} {port}')
        for name in ('injector', 'node-agent'):
            for port in (8012, 8080, SCRAPED):
                self.assertFalse(lets(policies, program(name), APP, port), f'{name} {port}')
        self.assertFalse(lets(policies, program('node-agent'), None, 443))
        for port in (ADMIN, SIDE_METRICS, 8080):
            self.assertFalse(lets(policies, program('autoscaler'), APP, port), port)

    def test_helm_finds_the_port_of_this_clusters_api_server(self):
        self.api.post(SLICE, {
            'metadata': {'name': 'kubernetes', 'labels': {'kubernetes.io/service-name': 'kubernetes'}},
            'addressType': 'IPv4', 'ports': [{'name': 'https', 'port': API_PORT, 'protocol': 'TCP'}],
            'endpoints': [{'addresses': [NODE_IP], 'conditions': {'ready': True}}]})
        self.addCleanup(self.api.delete, f'{SLICE}/kubernetes')

        self.assertFalse(lets(self.policies(), program('autoscaler'), None, API_PORT))
        self.assertTrue(lets(self.policies(lookup=True), program('autoscaler'), None, API_PORT))


class PolicySidecars(PolicyCase):
    CHOSEN = ('networkPolicy.sidecars.namespaces={shop}',)
    METRICS_FROM = ('networkPolicy.metricsFrom[0].namespaceSelector.matchLabels.'
                    'kubernetes\\.io/metadata\\.name=monitoring',)

    def closed(self, policies, source, protocol='TCP'):
        return {port for port in PORTS if not lets(policies, source, APP, port, protocol)}

    def test_side_ports_are_closed_and_every_port_of_an_application_stays_open(self):
        policies = self.policies(*self.CHOSEN, *self.METRICS_FROM)

        for source in (STRANGER, BARE, program('activator'), None):
            self.assertEqual(self.closed(policies, source), {ADMIN, SCRAPED, SIDE_METRICS}, source)
        for protocol in ('UDP', 'SCTP'):
            self.assertEqual(self.closed(policies, STRANGER, protocol), set(), protocol)

    def test_the_autoscaler_measures_and_prometheus_reads(self):
        policies = self.policies(*self.CHOSEN, *self.METRICS_FROM)

        self.assertTrue(lets(policies, program('autoscaler'), APP, SCRAPED))
        self.assertFalse(lets(policies, program('autoscaler', 'elsewhere'), APP, SCRAPED))
        self.assertEqual(self.closed(policies, PROMETHEUS), {ADMIN, SCRAPED})

    def test_pods_without_a_sidecar_are_not_touched(self):
        policies = self.policies(*self.CHOSEN, *self.METRICS_FROM)

        for port in (ADMIN, SCRAPED, SIDE_METRICS):
            self.assertTrue(lets(policies, STRANGER, BARE, port), port)

    def test_a_namespace_with_policies_of_its_own_is_refused(self):
        self.api.post(f'/apis/networking.k8s.io/v1/namespaces/{self.place.name}/networkpolicies', {
            'metadata': {'name': 'deny-all'}, 'spec': {'podSelector': {}, 'policyTypes': ['Ingress']}})

        made = self.template(f'networkPolicy.sidecars.namespaces={{{self.place.name}}}', lookup=True)

        self.assertNotEqual(made.returncode, 0)
        self.assertIn(f'the policy deny-all in {self.place.name} would be widened', made.stderr)
