"""Objects that other programs edit, delete or pause, and pods that are not what they report."""

import contextlib
import socket

from wire import eventually, fetch

from faults.case import SECONDS, FaultedCase
from lab.objects import deployment
from scaling.case import SIDECAR
from tier1.test_activator import ActivatorCase

NOBODY = '10.99.77.77'    # an address of this machine on which nothing listens: refused at once
DESERT = '10.88.0.77'     # on the bridge, without a host: packets are lost
OURS = 'endpointslice.kubernetes.io/managed-by'


class Targets(FaultedCase):
    def test_a_paused_deployment_is_scaled_all_the_same_and_the_condition_says_that_it_is_paused(self):
        self.begin()
        self.api.patch(self.place.path('deployments', 'web'), {'spec': {'paused': True}})
        self.wait_condition('web', 'Target', 'True Paused')

        self.ask_for('web')

        self.wait_replicas('web', 1)
        self.api.patch(self.place.path('deployments', 'web'), {'spec': {'paused': False}})
        self.wait_condition('web', 'Target', 'True Found')

    def test_a_port_that_is_edited_by_hand_reaches_the_service(self):
        self.begin()
        self.api.patch(self.place.path('deployments', 'web'), {'spec': {'template': {'spec': {'containers': [
            {'name': 'app', 'image': 'any', 'ports': [{'name': 'http', 'containerPort': 9000}]}, SIDECAR]}}}})

        eventually(lambda: self.api.get(self.place.path('services', 'web'))['spec']['ports'][0]['port'] == 9000,
                   'the Service has the new port')

    def test_a_target_that_comes_back_with_other_labels_is_selected_by_these(self):
        self.begin()
        self.api.delete(self.place.path('deployments', 'web'))
        self.wait_condition('web', 'Target', 'False TargetMissing')
        made = deployment('web', 0, labels={'sluice.dev/sidecar': 'queue-proxy', 'app': 'other'},
                          containers=[SIDECAR])
        made['spec']['selector'] = {'matchLabels': {'app': 'other'}}

        self.place.create('deployments', made)

        eventually(lambda: self.api.get(self.place.path('services', 'web-private'))['spec']['selector'].get('app')
                   == 'other', 'the private Service selects the new pods')

    def test_a_target_that_is_deleted_is_not_written_to(self):
        self.begin()
        self.api.delete(self.place.path('deployments', 'web'))
        self.wait_condition('web', 'Target', 'False TargetMissing')
        mark = self.proxy.mark()

        self.ask_for('web')
        self.scale('other')
        self.wait_condition('other', 'Target', 'False TargetMissing')

        self.assertEqual(self.writes_of(self.scale_path(), mark), [])

    def test_replicas_that_are_set_by_hand_again_and_again_are_put_back_each_time(self):
        self.begin()
        self.ask_for('web')
        self.wait_replicas('web', 1)
        self.wait_quiet()

        for wrong in (0, 0, 5):
            self.place.scale('web', wrong)
            self.wait_replicas('web', 1, SECONDS)

    def test_a_scaler_that_is_deleted_leaves_the_replicas_and_is_written_to_no_more(self):
        self.begin()
        self.ask_for('web')
        self.wait_replicas('web', 1)
        self.wait_quiet()
        mark = self.proxy.mark()

        self.api.delete(self.place.path('requestscalers', 'web'))
        self.way.stream.wait(lambda a: 'web' in a.gone, 'the activator has heard')
        self.place.scale('web', 3)
        self.workload('late', 0)
        self.scale('late')
        self.wait_condition('late', 'Ready', 'True Sleeping', SECONDS)

        self.assertEqual(self.replicas('web'), 3)
        self.assertEqual(self.writes_of(self.scale_path(), mark), [])


class Services(FaultedCase):
    def routed_by_way(self):
        self.begin()
        port = self.wait_port('web')
        self.way.stand_for(port)
        self.wait_routed('web', {(self.way.ip, port)}, SECONDS)
        self.wait_quiet()
        return port

    def test_a_private_service_that_is_edited_or_deleted_is_put_back(self):
        self.begin()
        path = self.place.path('services', 'web-private')
        wanted = self.api.get(path)['spec']['selector']
        self.api.patch(path, {'spec': {'selector': {'app': 'wrong'}}})
        eventually(lambda: self.api.get(path)['spec']['selector'] == wanted, 'the selector is back', SECONDS)

        self.api.delete(path)

        eventually(lambda: self.api.find(path), 'it is there again', SECONDS)

    def test_a_public_service_that_is_deleted_is_made_again_with_its_slices(self):
        port = self.routed_by_way()

        self.api.delete(self.place.path('services', 'web'))

        eventually(lambda: self.api.find(self.place.path('services', 'web')), 'it is there again', SECONDS)
        self.wait_routed('web', {(self.way.ip, port)}, SECONDS)

    def test_endpoints_that_somebody_adds_to_our_slice_are_taken_out(self):
        port = self.routed_by_way()
        found = self.place.slices('web')[0]
        self.api.patch(self.place.path('endpointslices', found['metadata']['name']), {'endpoints': [
            *found['endpoints'], {'addresses': [NOBODY], 'conditions': {'ready': True}}]})

        self.wait_routed('web', {(self.way.ip, port)}, SECONDS)

    def test_a_port_that_somebody_changes_in_our_slice_is_put_back(self):
        port = self.routed_by_way()
        name = self.place.slices('web')[0]['metadata']['name']

        self.api.patch(self.place.path('endpointslices', name), {'ports': [{'name': 'http', 'port': 9}]})

        self.wait_routed('web', {(self.way.ip, port)}, SECONDS)

    def test_our_mark_that_somebody_takes_from_our_slice_comes_back(self):
        self.routed_by_way()
        path = self.place.path('endpointslices', self.place.slices('web')[0]['metadata']['name'])

        self.api.patch(path, {'metadata': {'labels': {OURS: 'somebody'}}})

        eventually(lambda: self.api.get(path)['metadata']['labels'][OURS] == 'sluice.dev', 'the mark is back', SECONDS)

    def test_a_slice_of_somebody_else_is_left_alone(self):
        port = self.routed_by_way()
        foreign = {'metadata': {'name': 'foreign', 'labels': {'kubernetes.io/service-name': 'web', OURS: 'other'}},
                   'addressType': 'IPv4', 'ports': [{'name': 'http', 'port': 9}],
                   'endpoints': [{'addresses': [NOBODY], 'conditions': {'ready': True}}]}
        made = self.place.create('endpointslices', foreign)
        name = next(one['metadata']['name'] for one in self.place.slices('web')
                    if one['metadata']['name'] != 'foreign')

        self.api.patch(self.place.path('endpointslices', name), {'endpoints': []})
        self.wait_routed('web', {(self.way.ip, port), (NOBODY, 9)}, SECONDS)

        now = self.api.get(self.place.path('endpointslices', 'foreign'))
        self.assertEqual(now['metadata']['resourceVersion'], made['metadata']['resourceVersion'])


class Unreachable(ActivatorCase):
    """Pods that the API calls ready but that are unreachable."""

    def lost(self, name, ip):
        """A pod of `web` at another address."""
        self.create('pods', {
            'metadata': {'name': name, 'labels': {'app': 'web', 'sluice.dev/sidecar': 'queue-proxy'}},
            'spec': {'containers': [
                {'name': 'app', 'image': 'app'},
                {'name': 'queue-proxy', 'image': 'queue-proxy',
                 'ports': [{'name': 'queue-port', 'containerPort': 8012}]}]}})
        self.api.patch(f'{self.place.path("pods", name)}/status', {'status': {
            'phase': 'Running', 'podIP': ip, 'podIPs': [{'ip': ip}],
            'conditions': [{'type': 'Ready', 'status': 'True'}]}})

    def avoided(self, ip, port):
        """It existed before the one that serves, and was reported before it."""
        upstream = self.upstream()
        self.scaler('web', port)
        self.lost('web-1', ip)
        activator = self.activator()
        door = self.wait_door(activator, port)
        self.pod('web-2', 'web', upstream)
        self.wait_metric(activator, 'sluice_activator_listed_pods', 1)

        for _ in range(20):
            self.assert_served(door, upstream)

    def test_one_that_refuses_connections_costs_no_request(self):
        self.avoided(NOBODY, 20_051)

    def test_one_that_swallows_packets_costs_no_request(self):
        self.avoided(DESERT, 20_052)

    def test_while_no_other_is_there_requests_wait_for_one_that_can_be_reached(self):
        upstream = self.upstream()
        self.scaler('web', 20_053)
        self.lost('web-1', NOBODY)
        activator = self.activator()
        waiting = self.ask(self.wait_door(activator, 20_053))
        self.wait_metric(activator, 'sluice_activator_queue_waiting', 1)

        self.pod('web-2', 'web', upstream)

        self.assertEqual(waiting.result().status, 200)

    def test_one_that_dies_behind_its_ready_condition_costs_no_request(self):
        first, second = self.upstream(), self.upstream()
        self.scaler('web', 20_054)
        self.pod('web-1', 'web', first)
        self.pod('web-2', 'web', second)
        activator = self.activator()
        door = self.wait_door(activator, 20_054)
        self.wait_metric(activator, 'sluice_activator_listed_pods', 2)
        for _ in range(4):
            self.assertEqual(fetch(door, host='anything').status, 200)

        first.close()
        for one in list(first.seen):
            with contextlib.suppress(OSError):  # this one has ended already
                one.sock.shutdown(socket.SHUT_RDWR)

        for _ in range(20):
            self.assertEqual(fetch(door, host='anything').status, 200)
