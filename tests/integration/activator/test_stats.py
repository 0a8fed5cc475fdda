"""Statistics over Knative's WebSocket (activator.md 8)."""

import unittest

from activator.autoscalers import KnativeAutoscaler
from activator.case import ActivatorCase, eventually


class Stats(ActivatorCase):
    def setUp(self):
        super().setUp()
        self.autoscaler = KnativeAutoscaler()
        self.addCleanup(self.autoscaler.close)
        self.platform.revision(pods=[])

    def door(self):
        made = self.activator(SLUICE_STATS_TARGET=self.autoscaler.address)
        self.autoscaler.wait(lambda: self.autoscaler.connections, 'connected')
        return made

    def test_it_opens_a_plain_websocket_at_the_root(self):
        self.door()
        head = self.autoscaler.request.lower()
        self.assertTrue(head.startswith(b'get / http/1.1\r\n'))
        self.assertNotIn(b'sec-websocket-protocol', head)

    def test_rows_62_and_64_requests_held_are_reported_each_second_without_the_first(self):
        door = self.door()
        held = [self.ask(door)]
        self.autoscaler.wait(lambda: self.autoscaler.figures('app'), 'the poke')
        held += [self.ask(door) for _ in range(2)]
        told = lambda: self.autoscaler.figures('app')
        self.autoscaler.wait(lambda: sum(count for _, count in told()) >= 3, 'all three counted')
        self.assertEqual(told()[0], (1.0, 1.0))
        self.autoscaler.wait(lambda: told()[-1] == (3.0, 0.0), 'the whole interval')
        self.platform.forget()
        for one in held:
            one.result()

    def test_an_idle_revision_ends_with_zeros_and_pokes_again(self):
        pod = self.pod()
        self.platform.pods_of([pod.entry])
        door = self.door()
        eventually(lambda: door.get().status == 200, 'served')
        told = lambda: self.autoscaler.figures('app')
        self.autoscaler.wait(lambda: told()[-2:] == [(0.0, 0.0)] * 2, 'idle')
        count = len(told())
        door.get()
        self.autoscaler.wait(lambda: len(told()) > count and told()[count] == (1.0, 1.0), 'a poke')

    def test_row_67_revisions_of_one_tick_are_sent_in_one_frame(self):
        self.platform.revision('other', pods=[])
        door = self.door()
        held = [self.ask(door), self.ask(door, revision='other')]
        self.autoscaler.wait(lambda: any(len(frame) == 2 for frame in self.autoscaler.frames),
                             'both in one')
        for name in ('app', 'other'):
            self.platform.forget(name)
        for one in held:
            one.result()

    def test_row_66_an_autoscaler_that_restarts_is_found_again(self):
        door = self.door()
        port = self.autoscaler.port
        self.autoscaler.close()
        held = self.ask(door)
        self.wait_for_waiting(door, 1)
        back = KnativeAutoscaler(port)
        self.addCleanup(back.close)
        back.wait(lambda: back.figures('app'), 'told of who is held')
        self.assertEqual(back.figures('app')[0], (1.0, 1.0))
        self.platform.forget()
        held.result()

    def test_it_sends_pings(self):
        self.door()
        self.autoscaler.wait(lambda: self.autoscaler.pings, 'a ping')


class Silent(ActivatorCase):
    def test_a_peer_that_answers_no_ping_is_disconnected(self):
        mute = KnativeAutoscaler(silent=True)
        self.addCleanup(mute.close)
        self.activator(SLUICE_STATS_TARGET=mute.address)
        mute.wait(lambda: mute.connections >= 2, 'connected again', 40)


if __name__ == '__main__':
    unittest.main()
