"""Pods that a mesh shields from direct connections: requests use their private Service, or name the pod to the mesh."""

import unittest

from activator.case import requests_of, sidecar_play
from sidecar import Upstream
from wire import fetch

from lab.place import NETWORK, ip
from tier1.test_activator import ActivatorCase

SERVICE_IP = '10.96.77.1'
NOBODY = b'HTTP/1.1 503 Service Unavailable\r\nServer: envoy\r\nContent-Length: 0\r\n\r\n'


class Mesh(ActivatorCase):
    def setUp(self):
        super().setUp()
        address = (f'{SERVICE_IP}/32', 'dev', 'lo')
        ip('-n', NETWORK, 'addr', 'add', *address)
        self.addCleanup(ip, '-n', NETWORK, 'addr', 'del', *address)
        self.service = Upstream(sidecar_play(), SERVICE_IP, 80)
        self.addCleanup(self.service.close)

    def hidden_pod(self, name):
        upstream = self.upstream(lambda exchange: exchange.send(NOBODY))
        self.pod(name, 'web', upstream)
        return upstream

    def test_row_50_while_no_pod_can_be_reached_requests_go_to_the_private_service(self):
        self.scaler('web', 20_071, service_ip=SERVICE_IP)
        hidden = self.hidden_pod('web-1')
        activator = self.activator()

        self.assert_served(self.wait_door(activator, 20_071), self.service)
        self.assertEqual(requests_of(hidden), [])

    def test_a_pod_that_can_be_reached_ends_that(self):
        self.scaler('web', 20_072, service_ip=SERVICE_IP)
        self.hidden_pod('web-1')
        activator = self.activator()
        door = self.wait_door(activator, 20_072)
        self.assert_served(door, self.service)
        upstream = self.upstream()

        self.pod('web-2', 'web', upstream)
        self.wait_metric(activator, 'sluice_activator_listed_pods', 1)

        self.assert_served(door, upstream)

    def test_without_a_cluster_ip_there_is_no_such_way(self):
        self.scaler('web', 20_073, service_ip='None')
        self.hidden_pod('web-1')
        activator = self.activator()
        waiting = self.ask(self.wait_door(activator, 20_073))
        self.wait_metric(activator, 'sluice_activator_queue_waiting', 1)

        self.pod('web-2', 'web', self.upstream())

        self.assertEqual(waiting.result().status, 200)
        self.assertEqual(self.service.seen, [])

    def test_row_51_in_mode_enabled_it_is_the_only_way(self):
        upstream = self.upstream()
        self.scaler('web', 20_074, service_ip=SERVICE_IP)
        self.pod('web-1', 'web', upstream)
        activator = self.activator(SLUICE_MESH_COMPATIBILITY_MODE='enabled')

        self.assert_served(self.wait_door(activator, 20_074), self.service)
        self.assertEqual(upstream.seen, [])

    def test_rows_52_and_53_in_mode_disabled_it_is_none_and_ready_pods_need_no_probe(self):
        upstream = self.upstream(sidecar_play(probe=NOBODY))
        self.scaler('web', 20_075, service_ip=SERVICE_IP)
        self.pod('web-1', 'web', upstream)
        activator = self.activator(SLUICE_MESH_COMPATIBILITY_MODE='disabled')

        self.assert_served(self.wait_door(activator, 20_075), upstream)
        self.assertEqual(self.service.seen, [])

    def test_row_54_a_mesh_that_leads_to_the_pod_dialled_is_told_whose_it_is(self):
        upstream = self.upstream()
        self.scaler('web', 20_076, service_ip=SERVICE_IP)
        self.pod('web-1', 'web', upstream)
        activator = self.activator(SLUICE_MESH_POD_ADDRESSABILITY='true')

        self.assert_served(self.wait_door(activator, 20_076), upstream)

        for exchange in upstream.seen:  # probes too
            self.assertEqual((exchange.headers['host'], exchange.headers['k-passthrough-lb']),
                             (f'web-private.{self.place.name}', 'true'))
        self.assertEqual(self.service.seen, [])


if __name__ == '__main__':
    unittest.main()
