"""Pods that cannot start: the real autoscaler and activator over one directory (protocols.md 3 and 9)."""

import unittest

from activator.case import ActivatorCase, eventually
from autoscaler.case import Autoscaler

FAILED = {'name': 'bad', 'failed': 'container app: image web:1 cannot be pulled'}
TEXT = b'the service fails to start: container app: image web:1 cannot be pulled\n'
STARTING = {'name': 'slow'}


class FailingStarts(ActivatorCase):
    def begin(self, *pods):
        self.platform.revision(pods=list(pods))
        self.autoscaler = Autoscaler(self.platform)
        self.addCleanup(self.autoscaler.close)
        return self.activator(SLUICE_AUTOSCALER_ADDRESS=self.autoscaler.addresses['grpc'])

    def status(self):
        return self.autoscaler.api('/services/default/app').json()

    def wait_for_state(self, state, replicas):
        """Until the autoscaler has that many replicas and has sent that of them."""
        def said():
            told = self.status()
            return told['state'] == state and len(told['replicas']) == replicas
        eventually(said, f'{state} with {replicas} replicas')

    def assert_start_failed(self, answer):
        self.assert_answer(answer, 503, TEXT)
        self.assert_cause(answer, 'start-failed')
        self.assertEqual(answer.headers['retry-after'], '10')

    def ready(self):
        pod = self.pod()
        return {'name': pod.name, 'address': pod.address, 'ready': True}

    def test_a_held_request_is_refused_once_its_pod_cannot_start_and_the_next_pod_serves(self):
        door = self.begin()
        held = self.ask(door)
        self.wait_for_waiting(door, 1)

        self.platform.pods_of([FAILED])

        self.assert_start_failed(held.result())
        self.assert_start_failed(door.get())
        told = self.status()
        self.assertEqual((told['state'], told['why']), ('failing', FAILED['failed']))

        self.platform.pods_of([self.ready()])
        eventually(lambda: door.get().status == 200, 'served')
        self.assertEqual(self.status()['state'], 'awake')

    def test_a_pod_that_may_become_ready_keeps_requests_held(self):
        door = self.begin()
        held = self.ask(door)
        self.wait_for_waiting(door, 1)

        self.platform.pods_of([FAILED, STARTING])
        self.wait_for_state('starting', 2)
        self.assertEqual(door.waiting(), 1)
        self.platform.pods_of([FAILED, self.ready()])

        self.assertEqual(held.result().status, 200)

    def test_a_pod_that_fails_beside_one_that_is_ready_changes_nothing(self):
        door = self.begin(self.ready(), FAILED)
        self.wait_for_state('awake', 2)

        self.assertEqual(door.get().status, 200)

    def test_requests_are_held_again_once_the_failing_pods_are_gone(self):
        door = self.begin(FAILED)
        eventually(lambda: door.get(timeout=1).status == 503, 'refused')

        self.platform.pods_of([])

        held = self.ask_until_held(door)
        self.platform.pods_of([self.ready()])
        self.assertEqual(held.result().status, 200)

    def ask_until_held(self, door):
        """A request that is not refused: the activator has then seen that the failing pods are gone."""
        def held():
            asked = self.ask(door)
            eventually(lambda: asked.answer or door.waiting() == 1, 'an answer, or a wait')
            return None if asked.answer else asked
        return eventually(held, 'a request that is held')


if __name__ == '__main__':
    unittest.main()
