"""The activator against a real API server: what it makes of the objects there, and without the server."""

import pathlib
import socket
import unittest

from activator.case import ENVIRONMENT, Asker, requests_of, sidecar_play
from sidecar import Upstream
from wire import PATIENCE, Reader, connect, eventually, fetch, scraped

from lab.api import Refused
from lab.case import LabCase
from lab.fault_proxy import Cut, Garbage, Status

CRD = pathlib.Path(__file__).resolve().parents[3] / 'deploy/crds/requestscaler.yaml'
OWN_IP = '10.99.1.1'
SECONDS = 60
# What programs/activator/README.md allows, and nothing else.
RIGHTS = [{'apiGroups': [group], 'resources': [resource], 'verbs': ['list', 'watch']}
          for group, resource in (('autoscaling.sluice.dev', 'requestscalers'), ('', 'pods'),
                                  ('', 'services'), ('discovery.k8s.io', 'endpointslices'))]


class ActivatorCase(LabCase):
    """Pods are objects only; behind their addresses are upstreams that answer as a sidecar does."""

    def setUp(self):
        super().setUp()
        self.lab.kubectl('apply', '-f', str(CRD))
        eventually(self.kind_is_there, 'RequestScalers can be listed')

    def kind_is_there(self):
        try:
            return self.api.get(self.place.path('requestscalers'))
        except Refused:
            return None

    def create(self, collection, body):
        """Taken away again: no controller empties a namespace on this tier, and activators follow all."""
        self.place.create(collection, body)
        self.addCleanup(self.forget, collection, body['metadata']['name'])

    def forget(self, collection, name):
        try:
            self.api.delete(self.place.path(collection, name), grace=0)
        except Refused as refused:
            self.assertEqual(refused.code, 404)

    def activator(self, ip=OWN_IP, **environment):
        made = self.spawn('activator', {**ENVIRONMENT, 'POD_IP': ip, 'POD_NAME': f'activator-{ip}',
                                        'SYSTEM_NAMESPACE': self.place.name,
                                        'SLUICE_HTTP_ADDRESS': f'{ip}:8012',
                                        'SLUICE_H2C_ADDRESS': f'{ip}:8013', **environment})
        made.ip = ip
        return made

    def scaler(self, name, port, service_ip=None, **spec):
        """With its private service, as the controller leaves them; without `service_ip` the server chooses it."""
        self.create('requestscalers', {
            'apiVersion': 'autoscaling.sluice.dev/v1alpha1', 'kind': 'RequestScaler',
            'metadata': {'name': name}, 'spec': {'targetRef': {'name': name}, **spec}})
        self.give_port(name, port)
        self.create('services', {
            'metadata': {'name': f'{name}-private', 'labels': {
                'sluice.dev/scaler': name, 'sluice.dev/service-type': 'private'}},
            'spec': {'selector': {'app': name}, 'clusterIP': service_ip,
                     'ports': [{'name': 'http', 'port': 80, 'targetPort': 'queue-port'}]}})

    def give_port(self, name, port):
        self.api.patch(f'{self.place.path("requestscalers", name)}/status',
                       {'status': {'activatorPort': port}})

    def upstream(self, play=None):
        made = Upstream(play or sidecar_play())
        self.addCleanup(made.close)
        return made

    def pod(self, name, app, upstream, ready=True, **container):
        """A pod with a sidecar, which listens where `upstream` does."""
        self.create('pods', {
            'metadata': {'name': name, 'labels': {'app': app, 'sluice.dev/sidecar': 'queue-proxy'}},
            'spec': {'containers': [
                {'name': 'app', 'image': 'app', **container},
                {'name': 'queue-proxy', 'image': 'queue-proxy',
                 'ports': [{'name': 'queue-port', 'containerPort': upstream.port}]}]}})
        self.pod_is(name, ready)

    def pod_is(self, name, ready):
        self.api.patch(f'{self.place.path("pods", name)}/status', {'status': {
            'phase': 'Running', 'podIP': '127.0.0.1', 'podIPs': [{'ip': '127.0.0.1'}],
            'conditions': [{'type': 'Ready', 'status': str(ready)}]}})

    def activators(self, *ips):
        """The EndpointSlice of their Service."""
        self.create('endpointslices', {
            'metadata': {'name': 'activator-1', 'labels': {'kubernetes.io/service-name': 'activator'}},
            'addressType': 'IPv4', 'ports': [{'name': 'http', 'port': 8012}, {'name': 'h2c', 'port': 8013}],
            'endpoints': [{'addresses': [ip], 'conditions': {'ready': True}} for ip in ips]})

    def wait_metric(self, activator, name, value, seconds=PATIENCE):
        eventually(lambda: scraped(activator.addresses['metrics']).get(name) == value, f'{name} is {value}', seconds)

    def wait_door(self, activator, port):
        """Until a program listens there."""
        eventually(lambda: self.listens(activator, port), f'port {port} is open')
        return f'{activator.ip}:{port}'

    @staticmethod
    def listens(activator, port):
        try:
            socket.create_connection((activator.ip, port), PATIENCE).close()
            return True
        except OSError:
            return False

    def ask(self, door, path='/', **options):
        return Asker(lambda: fetch(door, path, host='anything', **options))

    def assert_served(self, door, upstream):
        before = len(requests_of(upstream))
        answer = fetch(door, host='anything')
        self.assertEqual((answer.status, answer.body), (200, b'ok'))
        self.assertEqual(len(requests_of(upstream)), before + 1)


class Doors(ActivatorCase):
    def test_a_request_on_a_scalers_port_reaches_its_pod_whatever_its_host(self):
        upstream = self.upstream()
        self.scaler('web', 20_001)
        self.pod('web-1', 'web', upstream)

        self.assert_served(self.wait_door(self.activator(), 20_001), upstream)

    def test_a_scaler_that_is_made_later_gets_its_port(self):
        activator = self.activator()
        self.scaler('web', 20_002)

        self.wait_door(activator, 20_002)

    def test_a_scaler_that_is_deleted_loses_its_port(self):
        self.scaler('web', 20_003)
        activator = self.activator()
        self.wait_door(activator, 20_003)

        self.api.delete(self.place.path('requestscalers', 'web'))

        eventually(lambda: not self.listens(activator, 20_003), 'the port is closed')

    def test_an_open_connection_is_answered_that_the_revision_is_gone(self):
        self.scaler('web', 20_004)
        activator = self.activator()
        sock = connect(self.wait_door(activator, 20_004))
        self.addCleanup(sock.close)
        self.api.delete(self.place.path('requestscalers', 'web'))
        eventually(lambda: not self.listens(activator, 20_004), 'the port is closed')

        sock.sendall(b'GET / HTTP/1.1\r\nHost: anything\r\n\r\n')
        answer = Reader(sock).answer()

        self.assertEqual(answer.status, 404)
        self.assertTrue(answer.headers['sluice-error'].startswith('no-route'))
        self.assertEqual(answer.headers['connection'], 'close')

    def test_a_scaler_that_is_given_another_port_moves_and_keeps_waiting_requests(self):
        upstream = self.upstream()
        self.scaler('web', 20_005)
        activator = self.activator()
        waiting = self.ask(self.wait_door(activator, 20_005))
        self.wait_metric(activator, 'sluice_activator_queue_waiting', 1)

        self.give_port('web', 20_006)
        door = self.wait_door(activator, 20_006)
        self.pod('web-1', 'web', upstream)

        self.assertEqual(waiting.result().status, 200)
        self.assert_served(door, upstream)
        eventually(lambda: not self.listens(activator, 20_005), 'the old port is closed')

    def test_the_autoscaler_can_probe_whether_a_port_is_served(self):
        self.scaler('web', 20_007)
        door = self.wait_door(self.activator(), 20_007)

        answer = fetch(door, '/healthz', headers=[('K-Network-Probe', 'activator')])

        self.assertEqual((answer.status, answer.body), (200, b'activator'))


class Pods(ActivatorCase):
    def test_a_request_is_held_until_a_pod_appears(self):
        upstream = self.upstream()
        self.scaler('web', 20_011)
        activator = self.activator()
        waiting = self.ask(self.wait_door(activator, 20_011))
        self.wait_metric(activator, 'sluice_activator_queue_waiting', 1)

        self.pod('web-1', 'web', upstream)

        self.assertEqual(waiting.result().body, b'ok')

    def test_a_pod_that_answers_is_used_before_kubernetes_reports_it_ready(self):
        upstream = self.upstream()
        self.scaler('web', 20_012)
        self.pod('web-1', 'web', upstream, ready=False)

        self.assert_served(self.wait_door(self.activator(), 20_012), upstream)

    def test_with_an_exec_readiness_probe_it_is_used_only_then(self):
        upstream = self.upstream()
        self.scaler('web', 20_013)
        self.pod('web-1', 'web', upstream, ready=False, readinessProbe={'exec': {'command': ['true']}})
        activator = self.activator()
        waiting = self.ask(self.wait_door(activator, 20_013))
        self.wait_metric(activator, 'sluice_activator_queue_waiting', 1)
        self.assertEqual(upstream.seen, [])

        self.pod_is('web-1', True)

        self.assertEqual(waiting.result().status, 200)

    def test_a_pod_that_is_deleted_gets_no_requests(self):
        first, second = self.upstream(), self.upstream()
        self.scaler('web', 20_014)
        self.pod('web-1', 'web', first)
        self.pod('web-2', 'web', second)
        activator = self.activator()
        door = self.wait_door(activator, 20_014)
        self.wait_metric(activator, 'sluice_activator_listed_pods', 2)

        self.api.delete(self.place.path('pods', 'web-1'), grace=0)
        self.wait_metric(activator, 'sluice_activator_listed_pods', 1)

        for _ in range(6):
            self.assert_served(door, second)

    def test_a_pod_without_a_sidecar_is_not_used(self):
        self.scaler('web', 20_015)
        self.create('pods', {'metadata': {'name': 'bare', 'labels': {'app': 'web'}},
                                   'spec': {'containers': [{'name': 'app', 'image': 'app'}]}})
        self.pod_is('bare', True)
        activator = self.activator()
        self.wait_door(activator, 20_015)

        self.assertEqual(scraped(activator.addresses['metrics'])['sluice_activator_listed_pods'], 0)

    def test_an_edited_limit_per_pod_applies_to_the_next_request(self):
        upstream = self.upstream(sidecar_play(answer=lambda exchange: None))
        self.scaler('web', 20_016, containerConcurrency=1)
        self.pod('web-1', 'web', upstream)
        activator = self.activator()
        door = self.wait_door(activator, 20_016)
        self.wait_metric(activator, 'sluice_activator_listed_pods', 1)
        for _ in range(2):
            self.ask(door)
        self.wait_metric(activator, 'sluice_activator_queue_waiting', 1)

        self.api.patch(self.place.path('requestscalers', 'web'), {'spec': {'containerConcurrency': 2}})

        eventually(lambda: len(requests_of(upstream)) == 2, 'both run on the pod')
        self.assertEqual(scraped(activator.addresses['metrics'])['sluice_activator_queue_waiting'], 0)

    def test_two_activators_share_the_pods_where_each_has_a_limit(self):
        self.scaler('web', 20_017, containerConcurrency=1)
        for number in range(4):
            self.pod(f'web-{number}', 'web', self.upstream())
        self.activators(OWN_IP, '10.99.1.2')
        both = [self.activator(), self.activator('10.99.1.2')]

        for index, activator in enumerate(both):
            self.wait_metric(activator, 'sluice_activator_index', index)
            self.wait_metric(activator, 'sluice_activator_listed_pods', 2)


class Places(ActivatorCase):
    def public_slice(self, name, *ips):
        """What the controller writes while requests go through these activators."""
        self.create('endpointslices', {
            'metadata': {'name': f'{name}-x', 'labels': {
                'kubernetes.io/service-name': name, 'sluice.dev/scaler': name,
                'endpointslice.kubernetes.io/managed-by': 'sluice.dev'}},
            'addressType': 'IPv4', 'ports': [{'name': 'http', 'port': 20_041}],
            'endpoints': [{'addresses': [ip], 'conditions': {'ready': True}} for ip in ips]})

    def test_pods_are_shared_among_those_activators_that_serve_the_revision(self):
        self.scaler('web', 20_041, containerConcurrency=1)
        for number in range(6):
            self.pod(f'web-{number}', 'web', self.upstream())
        self.activators(OWN_IP, '10.99.1.2', '10.99.1.3')
        activator = self.activator()
        self.wait_metric(activator, 'sluice_activator_listed_pods', 2)

        self.public_slice('web', OWN_IP, '10.99.1.3')

        self.wait_metric(activator, 'sluice_activator_listed_pods', 3)


class Faults(ActivatorCase):
    """The API server is away, slow or wrong: requests continue, and changes are read later."""

    def through_a_proxy(self, port):
        """An activator behind a fault proxy, and one pod that it serves."""
        self.proxy = self.fault_proxy()
        self.served = self.upstream()
        self.scaler('web', port)
        self.pod('web-1', 'web', self.served)
        activator = self.activator(KUBECONFIG=self.proxy.kubeconfig)
        self.door = self.wait_door(activator, port)
        self.assert_served(self.door, self.served)
        return activator

    def learns_of_a_new_pod(self, activator):
        eventually(self.api_answers, 'the API server answers', SECONDS)
        self.pod('web-2', 'web', self.upstream())
        self.wait_metric(activator, 'sluice_activator_listed_pods', 2, SECONDS)

    def api_answers(self):
        try:
            return self.kind_is_there()
        except OSError:
            return None

    def test_requests_are_served_while_the_api_server_hangs_and_new_pods_are_used_after(self):
        upstream = self.upstream()
        self.scaler('web', 20_021)
        self.pod('web-1', 'web', upstream)
        activator = self.activator()
        door = self.wait_door(activator, 20_021)
        self.lab.apiserver.pause()
        try:
            for _ in range(5):
                self.assert_served(door, upstream)
        finally:
            self.lab.apiserver.resume()

        self.learns_of_a_new_pod(activator)

    def test_a_restart_of_the_api_server_removes_nothing(self):
        upstream = self.upstream()
        self.scaler('web', 20_022)
        self.pod('web-1', 'web', upstream)
        activator = self.activator()
        door = self.wait_door(activator, 20_022)

        self.lab.apiserver.kill()
        self.assert_served(door, upstream)
        self.lab.apiserver.restart()
        self.assert_served(door, upstream)

        self.learns_of_a_new_pod(activator)
        self.assertEqual(scraped(activator.addresses['metrics'])['sluice_activator_scaler_ports{state="open"}'], 1)

    def test_a_watch_that_is_cut_in_the_middle_of_an_event_continues(self):
        activator = self.through_a_proxy(20_023)
        self.proxy.fault(Cut(bytes=100), lambda request: request.watches, times=4)
        self.proxy.drop_connections()

        self.learns_of_a_new_pod(activator)
        self.assertEqual(fetch(self.door).status, 200)

    def test_errors_and_garbage_of_the_api_server_change_nothing(self):
        for fault in (Status(500), Status(429, retry_after=1), Garbage()):
            with self.subTest(fault=type(fault).__name__):
                self.assert_nothing_changes(fault)

    def assert_nothing_changes(self, fault):
        activator = self.through_a_proxy(20_024)
        self.proxy.fault(fault)
        self.proxy.drop_connections()
        self.wait_metric(activator, 'sluice_kubernetes_watches{state="open"}', 0, SECONDS)
        self.assert_served(self.door, self.served)

        self.proxy.clear()

        self.learns_of_a_new_pod(activator)
        activator.close()
        for kind, name in (('requestscalers', 'web'), ('services', 'web-private'), ('pods', 'web-1'),
                           ('pods', 'web-2')):
            self.forget(kind, name)

    def test_a_start_without_an_api_server_serves_after_ten_seconds_and_syncs_later(self):
        proxy = self.fault_proxy()
        proxy.fault(Status(500))
        self.scaler('web', 20_025)

        activator = self.activator(KUBECONFIG=proxy.kubeconfig)

        self.assertIn('started before initial sync completed', activator.errors())
        self.assertFalse(self.listens(activator, 20_025))
        proxy.clear()
        eventually(lambda: self.listens(activator, 20_025), 'the port is open', SECONDS)


class Rights(ActivatorCase):
    def test_the_rights_that_the_readme_names_are_enough(self):
        upstream = self.upstream()
        self.scaler('web', 20_031)
        self.pod('web-1', 'web', upstream)
        account = self.account('activator', RIGHTS, cluster=True)

        activator = self.activator(KUBECONFIG=account.kubeconfig)

        self.assertNotIn('needs list and watch', activator.errors())
        self.assert_served(self.wait_door(activator, 20_031), upstream)

    def test_a_right_that_is_missing_is_named_with_its_verbs_and_does_not_end_it(self):
        account = self.account('narrow', [rule for rule in RIGHTS if rule['resources'] != ['pods']],
                               cluster=True)

        activator = self.activator(KUBECONFIG=account.kubeconfig)

        self.assertIn('needs list and watch on pods', activator.errors())

    def test_it_writes_nothing(self):
        proxy = self.fault_proxy()
        self.scaler('web', 20_032)
        activator = self.activator(KUBECONFIG=proxy.kubeconfig)
        self.wait_door(activator, 20_032)

        self.assertEqual(proxy.count(writes=True), 0)


if __name__ == '__main__':
    unittest.main()
