"""The three timers of a revision: rows 32 to 40, 15.4 and 15.13."""

import threading
import time
import unittest

from queue_proxy.case import PATIENCE, SidecarCase, eventually, until_closed
from sidecar import OK
from wire import request_bytes

TIMERS = {'max': 'REVISION_TIMEOUT_SECONDS',
          'response-start': 'REVISION_RESPONSE_START_TIMEOUT_SECONDS',
          'idle': 'REVISION_IDLE_TIMEOUT_SECONDS'}
CHUNKED = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'


def silent(exchange):
    exchange.reader.more()


def one_chunk(exchange):
    exchange.send(CHUNKED + b'3\r\nfoo\r\n')
    exchange.reader.more()


class BeforeTheFirstByte(SidecarCase):
    def fires(self, timer):
        proxy = self.sidecar(silent, **{TIMERS[timer]: '1'})
        began = time.monotonic()
        answer = proxy.get()
        self.assertGreaterEqual(time.monotonic() - began, 0.99)
        self.assert_answer(answer, 504, b'request timeout')
        self.assertIn(f'timer={timer}', answer.headers['sluice-error'])
        self.assert_cause(answer, 'timeout')
        # The container's side has been cancelled: its connection ends.
        eventually(lambda: self.upstream.closed, "the container's connection is closed")

    def test_row_32_a_silent_container_is_504_at_the_end_of_the_time(self):
        self.fires('max')

    def test_the_response_start_timer_is_504(self):
        self.fires('response-start')

    def test_row_38_idleness_before_any_write_is_504(self):
        self.fires('idle')

    def test_row_33_a_timeout_of_zero_fires_at_once(self):
        proxy = self.sidecar(silent, REVISION_TIMEOUT_SECONDS='0')
        self.assert_answer(proxy.get(), 504, b'request timeout')

    def test_the_time_in_the_queue_counts(self):
        proxy = self.sidecar(silent, CONTAINER_CONCURRENCY='1', REVISION_TIMEOUT_SECONDS='1')
        _, first = self.ask(proxy, request_bytes('GET', '/first', 'app'))
        eventually(lambda: self.upstream.seen, 'the first request reached the container')
        _, queued = self.ask(proxy, request_bytes('GET', '/queued', 'app'))
        self.assert_answer(first.answer(), 504, b'request timeout')
        answer = queued.answer()
        self.assert_answer(answer, 504, b'request timeout')
        self.assert_cause(answer, 'timeout')

    def test_row_40_a_container_that_ends_before_the_timer_is_reported_as_such(self):
        def end(exchange):
            exchange.sock.close()

        answer = self.sidecar(end, REVISION_TIMEOUT_SECONDS='1').get()
        self.assert_answer(answer, 502, b'EOF\n')

    def test_an_unanswered_upload_is_504_without_waiting_for_its_rest(self):
        proxy = self.sidecar(silent, REVISION_TIMEOUT_SECONDS='1')
        _, reader = self.ask(proxy, b'POST / HTTP/1.1\r\nHost: app\r\nContent-Length: 100000\r\n'
                                    b'\r\nslow')
        self.assert_answer(reader.answer(), 504, b'request timeout')


class AfterTheFirstByte(SidecarCase):
    def aborted(self, play, timer):
        """What came before the abort, whether the text `request timeout` was kept out."""
        proxy = self.sidecar(play, **{TIMERS[timer]: '1'})
        sock, reader = self.ask(proxy, request_bytes('GET', '/', 'app'))
        self.assertEqual(reader.head()[0], 200)
        rest = reader.data + until_closed(sock)
        self.assertNotIn(b'request timeout', rest)
        self.assertNotIn(b'0\r\n\r\n', rest)
        return rest

    def test_row_34_a_timeout_mid_stream_aborts_it(self):
        self.assertEqual(self.aborted(one_chunk, 'max'), b'3\r\nfoo\r\n')

    def test_row_37_idleness_mid_stream_aborts_it(self):
        self.assertEqual(self.aborted(one_chunk, 'idle'), b'3\r\nfoo\r\n')

    def test_a_timeout_in_a_body_with_a_length_injects_nothing(self):
        def half(exchange):
            exchange.send(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf')
            exchange.reader.more()

        self.assertEqual(self.aborted(half, 'max'), b'half')

    def test_row_35_the_first_byte_ends_the_response_start_timer(self):
        def slow(exchange):
            exchange.send(CHUNKED + b'3\r\nfoo\r\n')
            threading.Event().wait(1.3)
            exchange.send(b'3\r\nbar\r\n0\r\n\r\n')

        proxy = self.sidecar(slow, REVISION_RESPONSE_START_TIMEOUT_SECONDS='1')
        self.assert_answer(proxy.get(), 200, b'foobar')

    def test_an_interim_response_is_a_first_byte(self):
        def slow(exchange):
            exchange.send(b'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n')
            threading.Event().wait(1.3)
            exchange.send(OK)

        proxy = self.sidecar(slow, REVISION_RESPONSE_START_TIMEOUT_SECONDS='1')
        self.assert_answer(proxy.get(), 200, b'ok')

    def test_row_36_continuing_writes_keep_the_idle_timer_quiet(self):
        def steady(exchange):
            exchange.send(CHUNKED)
            for _ in range(6):
                threading.Event().wait(0.3)
                exchange.send(b'3\r\nfoo\r\n')
            exchange.send(b'0\r\n\r\n')

        proxy = self.sidecar(steady, REVISION_IDLE_TIMEOUT_SECONDS='1')
        self.assert_answer(proxy.get(), 200, b'foo' * 6)

    def test_row_39_writes_of_the_container_after_the_timeout_are_dropped(self):
        late = threading.Event()
        failed = threading.Event()

        def write_late(exchange):
            if exchange.path == '/next':
                exchange.send(OK)
                return
            late.wait(PATIENCE)
            try:
                while True:
                    exchange.send(b'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate')
            except OSError:
                failed.set()

        proxy = self.sidecar(write_late, REVISION_TIMEOUT_SECONDS='1', CONTAINER_CONCURRENCY='1')
        sock, reader = self.ask(proxy, request_bytes('GET', '/', 'app'))
        self.assert_answer(reader.answer(), 504, b'request timeout')
        late.set()
        self.assertTrue(failed.wait(PATIENCE), "the container's write has not failed")
        # The same client connection, if it is still open, carries the next answer and no late one.
        if sock.fileno() >= 0:
            self.assert_serves(proxy, '/next')
        self.assertNotIn(b'late', reader.data)

    def test_mid_stream_timeouts_leave_nothing_behind(self):
        # Goal: the reference leaks one task for each timeout mid-stream; ours gives the slot back.
        # Method: more of them one after the other than there are slots and places in the queue.
        proxy = self.sidecar(one_chunk, REVISION_TIMEOUT_SECONDS='1', CONTAINER_CONCURRENCY='20',
                             SLUICE_QUEUE_DEPTH='1')
        for _ in range(2):
            asked = [self.ask(proxy, request_bytes('GET', '/', 'app')) for _ in range(20)]
            for sock, _ in asked:
                self.assertTrue(until_closed(sock).endswith(b'foo\r\n'))
        self.upstream.play = lambda exchange: exchange.send(OK)
        self.assert_serves(proxy)


if __name__ == '__main__':
    unittest.main()
