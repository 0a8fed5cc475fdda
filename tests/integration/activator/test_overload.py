"""Clients that take all they can: memory, places, patience (activator.md 14.3, queue-proxy.md 15.23, 15.25)."""

import threading
import unittest

from activator.case import ACTIVATOR, ENVIRONMENT, ActivatorCase, eventually, requests_of, sidecar_play
from flood import Flood, head, resident
from program import Program
from queue_proxy.case import SANITIZED
from queue_proxy.h2_frames import DATA, END_HEADERS, HEADERS, PREFACE, SETTINGS, block, frame

MIB = 1 << 20
BUDGET = 64 * MIB
FEW_FILES = 256


def named(revision):
    return [('Host', 'app'), ('Knative-Serving-Namespace', 'default'),
            ('Knative-Serving-Revision', revision)]


def streams(revision, count):
    """A connection's worth of requests whose bodies are still to come."""
    fields = [(':method', 'POST'), (':scheme', 'http'), (':path', '/'), (':authority', 'app')]
    fields += [(name.lower(), value) for name, value in named(revision)[1:]]
    return PREFACE + frame(SETTINGS) + b''.join(
        frame(HEADERS, END_HEADERS, 2 * number + 1, block(fields)) for number in range(count))


class Overload(ActivatorCase):
    def flood(self, address):
        made = Flood(address)
        self.addCleanup(made.close)
        return made

    def asleep(self, **environment):
        """An activator before a neighbour without pods, and a victim that has one."""
        self.platform.revision('neighbour', pods=[])
        self.victim = self.played()
        self.platform.revision('victim', pods=[('v', self.victim.address)])
        return self.activator(**environment)

    def assert_serves_the_victim(self, door):
        self.assert_answer(door.get(revision='victim'), 200, b'ok')

    def test_long_heads_stay_within_the_budget_and_their_memory_comes_back(self):
        door = self.asleep(SLUICE_QUEUE_BYTES=str(BUDGET), SLUICE_MAX_HEADER_BYTES=str(MIB))
        idle = resident(door.pid)
        for ended in (True, False):
            flood = self.flood(door.serving)
            for _ in range(200):
                flood.add(head('/', named('neighbour'), 1_000_000, ended))
            flood.run(lambda: flood.turned_away() > 150)
            self.assert_serves_the_victim(door)
            self.assertLess(resident(door.pid, peak=True), self.bound())
            flood.close()
            if not SANITIZED:  # a sanitizer's allocator keeps what it has, whatever the program asks
                eventually(lambda: resident(door.pid) < idle + 64 * MIB, 'memory is given back', 60)
            self.wait_for_waiting(door, 0)

    @staticmethod
    def bound():
        return (4 if SANITIZED else 1.2) * BUDGET + 32 * MIB

    def test_heads_that_a_pod_does_not_answer_are_counted_too(self):
        gate = threading.Event()
        self.addCleanup(gate.set)
        stuck = self.played(sidecar_play(lambda exchange: gate.wait(60)))
        door = self.asleep(SLUICE_QUEUE_BYTES=str(BUDGET), SLUICE_MAX_HEADER_BYTES=str(MIB))
        self.platform.pods_of([('n', stuck.address)], 'neighbour')
        flood = self.flood(door.serving)
        for _ in range(120):
            flood.add(head('/', named('neighbour'), 1_000_000))
        flood.run(lambda: flood.turned_away() > 80)
        self.assertLess(resident(door.pid, peak=True), self.bound())
        self.assert_serves_the_victim(door)

    def test_a_revision_that_holds_all_it_can_costs_others_no_first_request(self):
        door = self.asleep(SLUICE_QUEUE_BYTES=str(8 * MIB), SLUICE_QUEUE_TOTAL='1000')
        flood = self.flood(door.h2c)
        for _ in range(8):
            flood.add(streams('neighbour', 250))
        flood.run()
        eventually(lambda: door.metrics()['sluice_activator_refused_total{reason="queue-full"}'] > 0,
                   'the neighbour is refused')
        self.assert_serves_the_victim(door)
        self.platform.revision('cold', pods=[])
        waiting = door.waiting()
        first = self.ask(door, revision='cold')
        eventually(lambda: door.waiting() > waiting, 'the first request of another waits')
        self.platform.pods_of([('v', self.victim.address)], 'cold')
        self.assert_answer(first.result(), 200, b'ok')

    def test_bodies_of_held_requests_are_bounded(self):
        door = self.asleep(SLUICE_QUEUE_BYTES=str(4 * MIB))
        flood = self.flood(door.h2c)
        for _ in range(4):
            bodies = b''.join(frame(DATA, 0, 2 * number + 1, b'b' * 16_000)
                              for _ in range(3) for number in range(60))
            flood.add(streams('neighbour', 60) + bodies)
        flood.run()
        eventually(lambda: door.metrics()['sluice_activator_refused_total{reason="queue-full"}'] > 0,
                   'the neighbour is refused')
        self.assertLessEqual(door.metrics()['sluice_activator_queue_bytes'], 4 * MIB)
        self.assert_serves_the_victim(door)

    def test_clients_that_do_not_read_give_their_places_back(self):
        large = b'HTTP/1.1 200 OK\r\nContent-Length: 33554432\r\n\r\n' + b'x' * (32 << 20)
        small = b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
        pod = self.played(sidecar_play(
            lambda exchange: exchange.send(large if exchange.path == '/large' else small)))
        self.platform.revision(pods=[('p', pod.address)], container_concurrency=2)
        door = self.activator(SLUICE_WRITE_TIMEOUT='300ms')
        for _ in range(2):
            sock = door.connect()
            self.addCleanup(sock.close)
            sock.sendall(head('/large', named('app')))
        eventually(lambda: len(requests_of(pod)) == 2, 'both run')
        self.assert_answer(door.get(), 200, b'ok')

    def test_unfinished_heads_keep_no_connection_out_where_files_are_few(self):
        self.platform.revision('victim', pods=[('v', self.played().address)])
        door = Program(['sh', '-c', f'ulimit -n {FEW_FILES}; exec "$0"', ACTIVATOR],
                       {**ENVIRONMENT, 'SLUICE_PLATFORM': f'dir:{self.platform.path}'})
        self.addCleanup(door.close)
        flood = self.flood(door.addresses['serving'])
        for _ in range(2 * FEW_FILES):
            flood.add(head('/', named('victim'), ended=False))
        flood.add(head('/', named('victim')))
        flood.run(lambda: any(got.endswith(b'ok') for got in flood.got.values()))


if __name__ == '__main__':
    unittest.main()
