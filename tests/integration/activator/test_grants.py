"""What our autoscaler sends down the stream: grants, refusals, pods to avoid; and what activators send up."""

import unittest

from activator.autoscalers import StreamAutoscaler
from activator.case import KUBELET, ActivatorCase, eventually, requests_of

NO_CAPACITY, START_FAILED, PAUSED = 1, 3, 4


class Stream(ActivatorCase):
    def linked(self, **environment):
        self.autoscaler = StreamAutoscaler()
        self.addCleanup(self.autoscaler.close)
        door = self.activator(SLUICE_AUTOSCALER_ADDRESS=self.autoscaler.address, **environment)
        self.autoscaler.wait(lambda: self.autoscaler.hellos, 'hello')
        eventually(lambda: door.get(revision=None, headers=[KUBELET]).status == 200, 'welcomed')
        return door

    def test_it_sends_its_identity_and_is_ready_when_welcomed(self):
        door = self.linked()
        hello = self.autoscaler.hellos[0]
        self.assertEqual((hello[1], hello[2], hello[3]),
                         ([1], [b'activator-1'], [door.serving.encode()]))
        eventually(lambda: door.get(revision=None, headers=[KUBELET]).status == 200, 'ready')

    def test_the_first_request_and_waiting_requests_of_an_idle_revision_are_reported_at_once(self):
        self.platform.revision(pods=[])
        door = self.linked()
        held = self.ask(door)
        stream = self.autoscaler
        stream.wait(lambda: any(told for told, _ in stream.batches), 'a poke')
        told, waiting = next((told, held) for told, held in stream.batches if told)
        self.assertEqual(told[0][:2], ('default', 'app'))
        self.assertEqual((told[0][2][2], told[0][2][4]), (1.0, 1.0))
        self.assertEqual(waiting, {'app': 1})
        self.platform.forget()
        held.result()

    def test_a_request_that_cannot_be_served_is_refused_with_the_reason(self):
        self.platform.revision(pods=[])
        door = self.linked()
        held = self.ask(door)
        self.wait_for_waiting(door, 1)
        self.autoscaler.tell(desired=1, granted=0, cannot=(NO_CAPACITY, 'no node has room', 2500))
        for answer in (held.result(), door.get()):
            self.assert_answer(answer, 503, b'no node has room\n')
            self.assert_cause(answer, 'cannot-scale; reason=no-capacity')
            self.assertEqual(answer.headers['retry-after'], '3')
        self.autoscaler.tell(desired=1, granted=0, cannot=(START_FAILED, 'exit status 1', 0))
        eventually(lambda: door.get().body == b'exit status 1\n', 'the newer reason')
        answer = door.get()
        self.assert_cause(answer, 'start-failed')
        self.assertEqual(answer.headers['retry-after'], '1')
        self.autoscaler.tell(desired=1, granted=1)
        pod = self.pod()
        self.platform.pods_of([pod.entry])
        eventually(lambda: door.get().status == 200, 'served again')

    def test_less_granted_than_desired_shortens_the_queue(self):
        self.platform.revision(pods=[], container_concurrency=1)
        door = self.linked()
        self.autoscaler.tell(desired=5, granted=0)
        refused = 'sluice_activator_refused_total{reason="queue-full"}'
        held = []

        def full():
            held.append(self.ask(door))
            return door.metrics()[refused] > 0

        eventually(full, 'refused')
        # One that is still on its way would find the revision gone.
        eventually(lambda: door.waiting() + door.metrics()[refused] == len(held), 'every request is there')
        self.assertEqual(door.waiting(), 100)
        self.platform.forget()
        for one in held:
            self.assertIn(one.result().status, (500, 503))

    def test_a_pod_to_avoid_gets_no_new_requests_and_that_is_confirmed(self):
        pods = [self.played() for _ in range(2)]
        self.platform.revision(pods=[(f'p{n}', pod.address) for n, pod in enumerate(pods)],
                               annotations={'sluice.dev/load-balancing': 'round-robin'})
        door = self.linked()
        passed = 'sluice_activator_pod_probes_total{result="passed"}'
        eventually(lambda: door.metrics()[passed] >= 2, 'both probed')
        version = self.autoscaler.tell(desired=1, avoid=[pods[0].address])
        stream = self.autoscaler
        stream.wait(lambda: ('app', version) in stream.applied, 'applied')
        for _ in range(6):
            self.assertEqual(door.get().status, 200)
        self.assertEqual([len(requests_of(pod)) for pod in pods], [0, 6])
        stream.tell(desired=1, avoid=[pod.address for pod in pods])
        stream.wait(lambda: ('app', version + 1) in stream.applied, 'applied')
        self.assertEqual(door.get().status, 200, 'when all are to be avoided, none is')
        stream.tell(desired=2)
        stream.wait(lambda: ('app', version + 2) in stream.applied, 'applied')
        before = len(requests_of(pods[0]))
        for _ in range(4):
            door.get()
        self.assertGreater(len(requests_of(pods[0])), before)

    def test_the_state_applies_to_a_revision_that_is_added_later(self):
        door = self.linked()
        self.autoscaler.tell(desired=1, granted=0, cannot=(PAUSED, 'asleep by order', 0))
        self.platform.revision(pods=[])
        eventually(lambda: door.get().status == 503, 'refused')
        self.assert_cause(door.get(), 'cannot-scale; reason=paused')

    def test_a_lost_link_changes_nothing_and_a_new_one_gets_the_waiting_requests(self):
        pod = self.pod()
        self.platform.revision(pods=[pod.entry])
        self.platform.revision('cold', pods=[])
        door = self.linked()
        self.autoscaler.tell(name='other')
        held = self.ask(door, revision='cold')
        self.wait_for_waiting(door, 1)
        port = self.autoscaler.port
        self.autoscaler.close()
        reachable = 'kn_activator_stats_conn_reachable{peer="autoscaler"}'
        eventually(lambda: door.metrics()[reachable] == 0, 'lost')
        self.assert_answer(door.get(), 200, b'ok')
        self.assertEqual(door.get(revision=None, headers=[KUBELET]).status, 200)
        self.assertEqual(door.waiting(), 1)
        back = StreamAutoscaler(port)
        self.addCleanup(back.close)
        back.wait(lambda: back.hellos, 'hello again')
        self.assertEqual(len(back.hellos[0][5]), 1, 'the one who is held')
        self.platform.forget('cold')
        held.result()

    def test_a_peer_of_another_protocol_is_refused_and_tried_again(self):
        odd = StreamAutoscaler(protocol=2)
        self.addCleanup(odd.close)
        door = self.activator(SLUICE_AUTOSCALER_ADDRESS=odd.address)
        odd.wait(lambda: len(odd.hellos) >= 2, 'asked again')
        self.assertEqual(door.get(revision=None, headers=[KUBELET]).status, 500)


if __name__ == '__main__':
    unittest.main()
