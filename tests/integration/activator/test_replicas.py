"""In a cluster the autoscaler's address is a Service: a stream to every replica behind it."""

import unittest

from activator.autoscalers import StreamAutoscaler
from activator.case import KUBELET, ActivatorCase, eventually
from activator.fake_cluster import FakeCluster

FIRST, SECOND = '127.0.0.1', '127.0.0.2'


class Replicas(ActivatorCase):
    def setUp(self):
        super().setUp()
        self.first = self.autoscaler(FIRST)
        self.second = self.autoscaler(SECOND, self.first.port)

    def autoscaler(self, ip, port=0):
        made = StreamAutoscaler(port, host=ip)
        self.addCleanup(made.close)
        return made

    def linked(self, *ips):
        self.cluster = FakeCluster('autoscaler', ips)
        self.addCleanup(self.cluster.close)
        return self.activator(
            SLUICE_PLATFORM='kubernetes', SLUICE_KUBECONFIG=self.cluster.kubeconfig,
            SYSTEM_NAMESPACE='system', SLUICE_AUTOSCALER_ADDRESS=f'autoscaler.system.svc:{self.first.port}')

    def talks_to(self, autoscaler):
        heard = len(autoscaler.batches)
        autoscaler.wait(lambda: len(autoscaler.batches) > heard, 'another batch')

    def test_each_is_greeted_once_and_gets_every_batch(self):
        door = self.linked(FIRST, SECOND)

        for autoscaler in (self.first, self.second):
            self.talks_to(autoscaler)
            self.assertEqual(len(autoscaler.hellos), 1)
        eventually(lambda: door.get(revision=None, headers=[KUBELET]).status == 200, 'ready')

    def test_one_that_is_added_is_greeted_and_a_removed_one_is_disconnected(self):
        door = self.linked(FIRST)
        self.talks_to(self.first)

        self.cluster.replicas(FIRST, SECOND)
        self.talks_to(self.second)
        self.cluster.replicas(SECOND)
        eventually(lambda: 'autoscaler is no longer listed' in door.errors(), 'the first is left')
        self.talks_to(self.second)

        self.assertEqual((len(self.first.hellos), len(self.second.hellos)), (1, 1))
        self.assertEqual(door.get(revision=None, headers=[KUBELET]).status, 200)

    def test_without_any_the_last_one_is_kept(self):
        self.linked(FIRST)
        self.talks_to(self.first)

        self.cluster.replicas()
        self.cluster.replicas(FIRST, SECOND)
        self.talks_to(self.second)

        self.talks_to(self.first)
        self.assertEqual(len(self.first.hellos), 1)


if __name__ == '__main__':
    unittest.main()
