"""The laboratory itself: controllers that follow the API, over nodes that only report running pods."""

import socket

from wire import eventually

from lab.case import LabCase
from lab.objects import fake, is_ready

LATE = 15  # seconds: much longer than anything else that a fake pod waits for


class Fakes(LabCase):
    def test_a_deployment_has_ready_pods(self):
        self.place.deploy('web', 3)

        pods = self.wait_ready('web', 3)

        self.assertEqual(len({pod['status']['podIP'] for pod in pods}), 3)

    def test_a_pod_is_ready_after_its_configured_delay(self):
        self.place.deploy('late', annotations=fake(start_delay=f'{LATE}s'))
        self.place.deploy('early', annotations=fake(start_delay='1ms'))
        order = []

        def ready():
            order.extend(name for name in ('early', 'late')
                         if name not in order and self.place.ready_pods(name))
            return len(order) == 2

        eventually(ready, 'both are ready', 60)
        self.assertEqual(order, ['early', 'late'])

    def test_slices_follow_the_pods_up_and_down(self):
        self.place.deploy('web', 2)
        pods = self.wait_ready('web', 2)

        self.assertEqual(self.wait_endpoints('web', 2), sorted(pod['status']['podIP'] for pod in pods))
        self.place.scale('web', 4)
        self.wait_endpoints('web', 4)
        self.place.scale('web', 0)
        self.wait_endpoints('web', 0)
        self.wait_ready('web', 0)

    def test_native_sidecars_of_a_fake_pod_are_running(self):
        sidecar = {'name': 'side', 'image': 'any', 'restartPolicy': 'Always'}
        self.place.deploy('web', initContainers=[sidecar])

        pod = self.wait_ready('web', 1)[0]

        self.assertTrue(pod['status']['initContainerStatuses'][0]['ready'])

    def test_two_hundred_pods_become_ready(self):
        self.place.deploy('many', 200)

        self.wait_ready('many', 200, seconds=120)
        self.wait_endpoints('many', 200)

    def test_a_removed_namespace_is_gone(self):
        self.place.deploy('web', 1)
        self.wait_ready('web', 1)
        self.addCleanup(self.place.api.post, '/api/v1/namespaces', {'metadata': {'name': self.place.name}})

        self.api.delete(f'/api/v1/namespaces/{self.place.name}')

        eventually(lambda: self.api.find(f'/api/v1/namespaces/{self.place.name}') is None,
                   'the namespace is gone', 60)


class Programs(LabCase):
    def test_a_local_program_can_be_a_fake_pod(self):
        self.place.deploy('web', annotations=fake(ip='10.99.200.7'))
        pod = self.wait_ready('web', 1)[0]
        self.assertTrue(is_ready(pod))

        with socket.create_server((pod['status']['podIP'], 0)) as server:
            with socket.create_connection(server.getsockname(), timeout=10) as client:
                self.assertEqual(client.getpeername()[0], '10.99.200.7')
