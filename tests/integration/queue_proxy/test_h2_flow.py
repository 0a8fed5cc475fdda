"""Flow control over HTTP/2: bodies of any size in bounded memory, whichever side stops reading."""

import struct
import threading
import unittest

from queue_proxy import h2_frames as raw
from queue_proxy.case import GROWTH_MAX, SANITIZED, eventually
from queue_proxy.h2_frames import ACK, PREFACE, REQUEST, SETTINGS, frame
from queue_proxy.test_h2 import H2Case, answer
from wire import PATIENCE

INITIAL_WINDOW_SIZE = 4
FIRST_WINDOW = 16 << 10  # of each stream's response, towards the container
SHARED_MAX = 4 << 20     # what the streams of one client connection may claim beyond it
LARGEST_WINDOW = 256 << 10


class Flow(H2Case):
    HUGE = 40_000_000
    PIECE = b'x' * 200_000

    def send_huge(self, connection, stream):
        connection.send_headers(stream.number, [(':status', '200')])
        for _ in range(self.HUGE // len(self.PIECE)):
            connection.send_data(stream.number, self.PIECE)
            self.sent += len(self.PIECE)
        connection.send_data(stream.number, b'', end=True)

    def setUp(self):
        self.sent = 0

    def test_large_bodies_take_no_memory(self):
        def take(connection, stream):
            connection.body(stream)
            self.send_huge(connection, stream)

        client = self.h2(take, {'keep_data': False}, {'keep_data': False})
        self.assertEqual(client.get(method='POST', body=b'warm').received, self.HUGE)
        before = self.proxy.memory()
        got = client.get(method='POST', body=b'y' * 20_000_000)
        self.assertEqual((got.status, got.received, got.ended), (200, self.HUGE, True))
        self.assertEqual(self.container.seen[-1].received, 20_000_000)
        self.assertLess(self.proxy.memory() - before, GROWTH_MAX)

    def test_a_stalled_stream_stops_its_container_and_no_other_stream(self):
        client = self.h2(self.send_huge, None, {'acknowledge': False})
        before = self.proxy.memory()
        stalled = client.request('/stalled')
        client.wait(lambda: stalled.received >= 65535, 'the window is full')
        with client.changed:  # the connection's window opens, the stream's stays shut
            client.h2.increment_flow_control_window(1 << 20)
            client.flush()
        self.container.play = answer
        for n in range(20):
            self.assertEqual(client.get(f'/{n}').status, 200)
        self.assertLess(self.sent, 4 << 20)
        self.assertLess(self.proxy.memory() - before, GROWTH_MAX)
        self.assertEqual(stalled.received, 65535)

    def test_streams_whose_windows_stay_closed_give_their_places_back(self):
        client = self.h2(answer, CONTAINER_CONCURRENCY='2', SLUICE_WRITE_TIMEOUT='300ms')
        closed = raw.RawConnection(self.proxy.serving, preface=False)
        self.addCleanup(closed.close)
        closed.send(PREFACE + frame(SETTINGS, payload=struct.pack('>HI', INITIAL_WINDOW_SIZE, 0)))
        for stream in (1, 3):
            closed.request(stream)
        eventually(lambda: len(self.container.seen) == 2, 'both run')
        self.assertEqual(client.get().status, 200)
        self.assertEqual(closed.ending(), ('reset', 'CANCEL'))

    def test_a_stalled_container_stops_the_client(self):
        def never_read(connection, stream):
            connection.wait(lambda: connection.closed, 'the end')

        client = self.h2(never_read, {'acknowledge': False})
        before = self.proxy.memory()
        stream = client.request(method='POST', end=False)
        with self.assertRaises(AssertionError):
            client.send_data(stream.number, b'x' * 20_000_000, seconds=0.5)
        self.assertLess(self.proxy.memory() - before, GROWTH_MAX)
        self.container.play = answer
        self.assertEqual(client.get('/other').status, 200)


class Counted:
    """A play that sends without end as the windows allow, and counts."""

    PIECE = b'x' * 4096

    def __init__(self, pause_at=None):
        """At `pause_at` bytes it waits until `resume` is set."""
        self.sent = 0
        self.pause_at = pause_at
        self.resume = threading.Event()
        self.lock = threading.Lock()
        self.seen = []  # of sent, by rests

    def rests(self):
        """Whether nothing was sent while this was asked fifty times."""
        self.seen = [*self.seen[-49:], self.sent]
        return len(self.seen) == 50 and self.seen[0] == self.sent

    def __call__(self, connection, stream):
        connection.send_headers(stream.number, [(':status', '200')])
        try:
            while True:
                if self.sent == self.pause_at:
                    self.resume.wait(PATIENCE)
                connection.send_data(stream.number, self.PIECE)
                with self.lock:
                    self.sent += len(self.PIECE)
        except AssertionError:
            pass  # the window stays shut: as intended


class Stalled(H2Case):
    STREAMS = 250

    def test_a_client_that_reads_nothing_holds_little_memory_however_many_its_streams(self):
        play = Counted()
        self.h2(play)
        self.proxy.get('/')  # whatever a first request takes
        before = self.proxy.memory()
        client = raw.RawConnection(self.proxy.serving, preface=False)
        self.addCleanup(client.close)
        no_window = struct.pack('>HI', INITIAL_WINDOW_SIZE, 0)
        client.send(PREFACE + frame(SETTINGS, 0, 0, no_window) + frame(SETTINGS, ACK))
        for n in range(self.STREAMS):
            client.request(2 * n + 1, REQUEST)
        first = self.STREAMS * FIRST_WINDOW
        eventually(lambda: play.sent >= first, 'every stream has filled its first window', 60)
        eventually(play.rests, 'no window opens any more', 60)
        self.assertLessEqual(play.sent, first + SHARED_MAX)
        self.assertLess(self.proxy.memory() - before, (150 if SANITIZED else 16) << 20)

    def test_a_stream_that_its_client_takes_gets_a_larger_window(self):
        play = Counted(pause_at=128 << 10)
        client = self.h2(play)
        stream = client.request()
        client.wait(lambda: stream.received == play.pause_at, 'nothing of it waits in the sidecar')
        play.resume.set()
        client.wait(lambda: stream.received > 1 << 20, 'a megabyte has come')
        client.acknowledge = False
        eventually(lambda: play.sent - stream.received > LARGEST_WINDOW / 2, 'the window is full')
        eventually(play.rests, 'no window opens any more')
        self.assertLessEqual(play.sent - stream.received, LARGEST_WINDOW + len(play.PIECE))


if __name__ == '__main__':
    unittest.main()
