"""Hostile HTTP/1: each input gets a clear refusal, the container sees nothing of it, memory stays
bounded, and the next request is served as if nothing had been."""

import socket
import threading
import time
import unittest

from engine import QUEUE_PROXY
from flood import Flood, head
from program import Program
from queue_proxy.case import (GROWTH_MAX, PATIENCE, SidecarCase, eventually, send_all,
                              until_closed)
from sidecar import ENVIRONMENT, OK, Upstream
from wire import request_bytes

SMUGGLED = b'GET /smuggled HTTP/1.1\r\nHost: app\r\n\r\n'
POST = b'POST /outer HTTP/1.1\r\nHost: app\r\n'
CHUNKED = POST + b'Transfer-Encoding: chunked\r\n'

# Refused with 400 before any byte goes to the container. Each is followed by a request that a reader
# of another opinion would take for the next one.
BAD_HEADS = {
    'length and chunked': CHUNKED + b'Content-Length: 4\r\n\r\n0\r\n\r\n',
    'chunked and length': POST + b'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'two lengths that differ': POST + b'Content-Length: 0\r\nContent-Length: 40\r\n\r\n',
    'two lengths in one field': POST + b'Content-Length: 0, 40\r\n\r\n',
    'a negative length': POST + b'Content-Length: -1\r\n\r\n',
    'a signed length': POST + b'Content-Length: +0\r\n\r\n',
    'a hexadecimal length': POST + b'Content-Length: 0x4\r\n\r\nabcd',
    'a length with a letter': POST + b'Content-Length: 4a\r\n\r\nabcd',
    'an empty length': POST + b'Content-Length: \r\n\r\n',
    'a length beyond 64 bits': POST + b'Content-Length: 18446744073709551617\r\n\r\n',
    'a length far beyond': POST + b'Content-Length: ' + b'9' * 400 + b'\r\n\r\n',
    'two codings': POST + b'Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
    'chunked twice': POST + b'Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n',
    'chunked in two fields': CHUNKED + b'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'an unknown coding': POST + b'Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n',
    'identity coding': POST + b'Transfer-Encoding: identity\r\nContent-Length: 0\r\n\r\n',
    'a coding with a tab': POST + b'Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n',
    'chunked in HTTP/1.0': b'POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'a folded field': b'GET / HTTP/1.1\r\nHost: app\r\nX-A: 1\r\n 2\r\n\r\n',
    'a folded coding': POST + b'Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n',
    'a first field that is folded': b'GET / HTTP/1.1\r\n Host: app\r\n\r\n',
    'bare LF after the request line': b'GET / HTTP/1.1\nHost: app\r\n\r\n',
    'bare LF after a field': b'GET / HTTP/1.1\r\nHost: app\nX-A: 1\r\n\r\n',
    'bare LF at the end': b'GET / HTTP/1.1\r\nHost: app\r\n\n',
    'bare CR in a value': b'GET / HTTP/1.1\r\nHost: app\r\nX-A: 1\rX-B: 2\r\n\r\n',
    'NUL in a value': b'GET / HTTP/1.1\r\nHost: app\r\nX-A: 1\x002\r\n\r\n',
    'NUL in a name': b'GET / HTTP/1.1\r\nHost: app\r\nX\x00A: 12\r\n\r\n',
    'NUL in the target': b'GET /\x00 HTTP/1.1\r\nHost: app\r\n\r\n',
    'a control character in a value': b'GET / HTTP/1.1\r\nHost: app\r\nX-A: 1\x012\r\n\r\n',
    'DEL in a value': b'GET / HTTP/1.1\r\nHost: app\r\nX-A: 1\x7f2\r\n\r\n',
    'a space before the colon': b'GET / HTTP/1.1\r\nHost: app\r\nX-A : 1\r\n\r\n',
    'a space before the colon of the coding': POST + b'Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n',
    'a space in a name': b'GET / HTTP/1.1\r\nHost: app\r\nX A: 1\r\n\r\n',
    'an empty name': b'GET / HTTP/1.1\r\nHost: app\r\n: 1\r\n\r\n',
    'no colon': b'GET / HTTP/1.1\r\nHost: app\r\nnonsense\r\n\r\n',
    'no Host': b'GET / HTTP/1.1\r\nX-A: 1\r\n\r\n',
    'two Hosts': b'GET / HTTP/1.1\r\nHost: app\r\nHost: app\r\n\r\n',
    'two Hosts that differ': b'GET / HTTP/1.1\r\nHost: app\r\nHost: other\r\n\r\n',
    'no target': b'GET HTTP/1.1\r\nHost: app\r\n\r\n',
    'a space in the target': b'GET /a b HTTP/1.1\r\nHost: app\r\n\r\n',
    'a fragment in the target': b'GET /a#b HTTP/1.1\r\nHost: app\r\n\r\n',
    'a target of tabs': b'GET\t/\tHTTP/1.1\r\nHost: app\r\n\r\n',
    'no version': b'GET /\r\nHost: app\r\n\r\n',
    'version 2.0 in text': b'GET / HTTP/2.0\r\nHost: app\r\n\r\n',
    'version 1.2': b'GET / HTTP/1.2\r\nHost: app\r\n\r\n',
    'a version of letters': b'GET / HTTP/x.y\r\nHost: app\r\n\r\n',
    'a method of other characters': b'GE(T / HTTP/1.1\r\nHost: app\r\n\r\n',
    'TLS in clear text': b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03' + b'\xab' * 64 + b'\r\n\r\n',
    'bytes of no protocol': b'\xff\xfe\xfd\r\n\r\n',
}

# The head is sound, so the container may see it; the body ends in a refusal, never in a request.
BAD_CHUNKS = {
    'a size that overflows': b'10000000000000000\r\n',
    'a size far beyond': b'f' * 300 + b'\r\n',
    'a negative size': b'-1\r\nab\r\n',
    'a signed size': b'+1\r\na\r\n',
    'a prefixed size': b'0x1\r\na\r\n',
    'a size after spaces': b'  1\r\na\r\n',
    'an empty size': b'\r\na\r\n',
    'a size of letters': b'xyz\r\n',
    'no CRLF after the data': b'1\r\naXX0\r\n\r\n',
    'bare LF after the size': b'1\na\r\n0\r\n\r\n',
    'bare LF after the data': b'1\r\na\n0\r\n\r\n',
    'a folded trailer': b'0\r\nX-A: 1\r\n 2\r\n\r\n',
    'a trailer with a space before the colon': b'0\r\nX-A : 1\r\n\r\n',
    'a trailer with a control character': b'0\r\nX-A: \x01\r\n\r\n',
    'a trailer that frames': b'0\r\nContent-Length: 5\r\n\r\n',
}


class HostileCase(SidecarCase):
    def sidecar(self, play=lambda exchange: (exchange.body(), exchange.send(OK)), **environment):
        return super().sidecar(play, **environment)

    def after(self, proxy, data):
        """Everything that comes back on a connection that sent `data`, until it is closed."""
        sock, _ = self.ask(proxy, data)
        try:
            return until_closed(sock)
        except TimeoutError:
            self.fail('neither refused nor closed')

    def assert_refused(self, got, statuses, cause='bad-request'):
        self.assertTrue(got.startswith(b'HTTP/1.1 '), f'no refusal but {got[:200]}')
        self.assertIn(int(got.split(b' ', 2)[1]), statuses, got[:200])
        self.assertEqual(got.count(b'HTTP/1.1 '), 1, got[:400])
        head = got.split(b'\r\n\r\n')[0].lower()
        self.assertIn(b'\r\nsluice-error: ' + cause.encode(), head)
        self.assertIn(b'\r\nconnection: close', head)


class Heads(HostileCase):
    def test_a_head_that_two_readers_could_read_differently_is_400(self):
        proxy = self.sidecar()
        for name, head in BAD_HEADS.items():
            with self.subTest(name):
                self.assert_refused(self.after(proxy, head + SMUGGLED), {400})
        self.assertEqual(self.paths(), [])
        self.assert_serves(proxy)

    def test_lengths_that_agree_are_one_or_a_refusal(self):
        # RFC 9110 8.6 allows either; what may not be is two of them at the container.
        proxy = self.sidecar()
        data = POST + b'Content-Length: 4\r\nContent-Length: 4\r\n\r\nabcd'
        sock, reader = self.ask(proxy, data)
        status = reader.head()[0]
        self.assertIn(status, (200, 400))
        sock.close()
        for exchange in self.upstream.seen:
            self.assertEqual(exchange.head.lower().count('content-length'), 1)

    def test_a_header_block_beyond_its_limit_is_431(self):
        proxy = self.sidecar(SLUICE_MAX_HEADER_BYTES='4096')
        for name, extra in {'one long value': b'X-A: ' + b'a' * 8192 + b'\r\n',
                            'many fields': b''.join(b'X-%d: a\r\n' % n for n in range(2000)),
                            'a long name': b'X' * 8192 + b': a\r\n'}.items():
            with self.subTest(name):
                got = self.after(proxy, b'GET / HTTP/1.1\r\nHost: app\r\n' + extra + b'\r\n')
                self.assert_refused(got, {431}, 'too-large')
        got = self.after(proxy, b'GET /' + b'a' * 8192 + b' HTTP/1.1\r\nHost: app\r\n\r\n')
        self.assert_refused(got, {431, 414}, 'too-large')
        self.assertEqual(self.paths(), [])
        self.assert_serves(proxy)

    def test_a_header_block_that_never_ends_takes_no_more_than_its_limit(self):
        proxy = self.sidecar()
        before = proxy.memory()
        sock, _ = self.ask(proxy, b'GET / HTTP/1.1\r\nHost: app\r\n')
        line = b'X-A: ' + b'a' * 60_000 + b'\r\n'
        for _ in range(500):
            if not send_all(sock, line):
                break
        self.assertLess(proxy.memory() - before, GROWTH_MAX)
        self.assert_serves(proxy)

    def test_a_header_block_just_within_the_limit_passes(self):
        proxy = self.sidecar(SLUICE_MAX_HEADER_BYTES='65536')
        answer = proxy.get(headers=[('X-A', 'a' * 60_000)])
        self.assert_answer(answer, 200, b'ok')
        self.assertEqual(len(self.seen()['x-a']), 60_000)

    def test_too_many_fields_are_431_whatever_their_size(self):
        proxy = self.sidecar()
        many = b''.join(b'a:\r\n' for _ in range(100_000))
        got = self.after(proxy, b'GET / HTTP/1.1\r\nHost: app\r\n' + many + b'\r\n')
        self.assert_refused(got, {431}, 'too-large')
        self.assertEqual(self.paths(), [])
        self.assert_serves(proxy)

    def test_an_empty_line_before_the_request_is_accepted_or_refused(self):
        proxy = self.sidecar()
        got = self.ask(proxy, b'\r\n' + request_bytes('GET', '/', 'app'))[1].head()
        self.assertIn(got[0], (200, 400))
        self.assert_serves(proxy)


class Bodies(HostileCase):
    def test_a_broken_chunk_ends_the_exchange_and_is_not_read_as_a_request(self):
        proxy = self.sidecar()
        for name, chunks in BAD_CHUNKS.items():
            with self.subTest(name):
                got = self.after(proxy, CHUNKED + b'\r\n' + chunks + SMUGGLED)
                # Refused, or cut when it was already answered; never a second answer.
                self.assertLessEqual(got.count(b'HTTP/1.1 '), 1)
                if got:
                    self.assertIn(got.split(b' ', 2)[1], (b'400', b'502'), got[:200])
        self.assertNotIn('/smuggled', self.paths())
        self.assert_serves(proxy)

    def test_a_chunk_extension_that_never_ends_is_refused(self):
        proxy = self.sidecar()
        before = proxy.memory()
        sock, _ = self.ask(proxy, CHUNKED + b'\r\n1;')
        for _ in range(400):
            if not send_all(sock, b'x' * 60_000):
                break
        until_closed(sock)
        self.assertLess(proxy.memory() - before, GROWTH_MAX)
        self.assert_serves(proxy)

    def test_trailers_that_never_end_are_refused(self):
        proxy = self.sidecar()
        before = proxy.memory()
        sock, _ = self.ask(proxy, CHUNKED + b'\r\n0\r\n')
        for n in range(4000):
            if not send_all(sock, b'X-%d: ' % n + b'a' * 6000 + b'\r\n'):
                break
        until_closed(sock)
        self.assertLess(proxy.memory() - before, GROWTH_MAX)
        self.assert_serves(proxy)

    def test_the_body_of_a_refused_request_is_never_read_as_the_next_one(self):
        gate = self.gate()
        proxy = self.sidecar(gate, CONTAINER_CONCURRENCY='1', SLUICE_QUEUE_DEPTH='1')
        for path in ('/running', '/waiting'):
            self.ask(proxy, request_bytes('GET', path, 'app'))
        eventually(lambda: proxy.get('/refused').status == 503, 'the queue is full')
        got_so_far, reader = self.ask(proxy, POST + b'Content-Length: %d\r\n\r\n' % len(SMUGGLED)
                                      + SMUGGLED)
        answer = reader.answer()
        self.assertEqual(answer.status, 503)
        gate.open()
        got_so_far.shutdown(socket.SHUT_WR)
        self.assertEqual((reader.data + until_closed(got_so_far)).count(b'HTTP/1.1 '), 0)
        self.assertNotIn('/smuggled', self.paths())

    def test_the_body_of_a_probe_is_never_read_as_the_next_request(self):
        proxy = self.sidecar()
        data = (b'POST / HTTP/1.1\r\nHost: app\r\nUser-Agent: kube-probe/1\r\nK-Network-Probe: queue\r\n'
                b'Content-Length: %d\r\n\r\n' % len(SMUGGLED)) + SMUGGLED
        sock, reader = self.ask(proxy, data)
        self.assert_answer(reader.answer(), 200, b'queue')
        sock.shutdown(socket.SHUT_WR)
        self.assertEqual((reader.data + until_closed(sock)).count(b'HTTP/1.1 '), 0)
        self.assertEqual(self.paths(), [])

    def test_a_body_the_container_did_not_read_is_never_read_as_the_next_request(self):
        proxy = self.sidecar(lambda exchange: (exchange.send(OK), exchange.sock.close()))
        data = POST + b'Content-Length: %d\r\n\r\n' % (len(SMUGGLED) + 10)
        sock, reader = self.ask(proxy, data)
        self.assertIn(reader.answer().status, (200, 502))
        send_all(sock, SMUGGLED)
        self.assertEqual((reader.data + until_closed(sock)).count(b'HTTP/1.1 '), 0)
        self.assertNotIn('/smuggled', self.paths())

    def test_a_smuggled_response_of_the_container_reaches_no_client(self):
        # A container that answers twice to one request must not answer the next client's.
        def twice(exchange):
            exchange.send(OK + b'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil')

        proxy = self.sidecar(twice)
        self.assert_answer(proxy.get('/first'), 200, b'ok')
        for _ in range(3):
            answer = proxy.get('/next')
            self.assert_answer(answer, 200, b'ok')

    def test_get_with_a_body_frames_like_any_other(self):
        bodies = []
        proxy = self.sidecar(lambda exchange: (bodies.append(exchange.body()), exchange.send(OK)))
        sock, reader = self.ask(proxy, b'GET / HTTP/1.1\r\nHost: app\r\nContent-Length: %d\r\n\r\n'
                                % len(SMUGGLED) + SMUGGLED + request_bytes('GET', '/next', 'app'))
        self.assert_answer(reader.answer(), 200, b'ok')
        self.assert_answer(reader.answer(), 200, b'ok')
        sock.close()
        self.assertEqual(bodies, [SMUGGLED, b''])
        self.assertEqual(self.paths(), ['/', '/next'])


class Slowness(HostileCase):
    def test_a_head_that_does_not_arrive_ends_the_connection(self):
        proxy = self.sidecar(SLUICE_HEADER_TIMEOUT='300ms')
        began = time.monotonic()
        got = self.after(proxy, b'GET / HTTP/1.1\r\nHost: a')
        self.assertGreater(time.monotonic() - began, 0.25)
        if got:
            self.assert_refused(got, {408}, 'timeout')
        self.assert_serves(proxy)

    def test_a_head_that_arrives_byte_by_byte_still_ends_the_connection(self):
        proxy = self.sidecar(SLUICE_HEADER_TIMEOUT='300ms')
        sock, reader = self.ask(proxy, b'GET / HTTP/1.1\r\nX-A: ')
        sock.settimeout(0.02)
        pause = threading.Event()

        def ended():
            pause.wait(0.02)
            if not send_all(sock, b'a'):
                return True
            try:
                return not reader.more() or reader.data.startswith(b'HTTP/1.1 408')
            except TimeoutError:
                return False
            except ConnectionError:
                return True

        eventually(ended, 'the slow head is ended')
        self.assertEqual(self.paths(), [])
        self.assert_serves(proxy)

    def test_a_body_that_does_not_arrive_is_ended_by_the_revisions_timeout(self):
        proxy = self.sidecar(REVISION_TIMEOUT_SECONDS='1')
        _, reader = self.ask(proxy, POST + b'Content-Length: 10\r\n\r\nhalf')
        self.assert_answer(reader.answer(), 504, b'request timeout')
        self.assert_serves(proxy)

    def test_slow_heads_keep_no_client_out(self):
        proxy = self.sidecar(CONTAINER_CONCURRENCY='1')
        before = proxy.memory()
        held = [self.ask(proxy, b'GET / HTTP/1.1\r\nHost: a')[0] for _ in range(500)]
        self.assert_serves(proxy)
        self.assertLess(proxy.memory() - before, GROWTH_MAX * 2)
        for sock in held:
            sock.close()

    def test_slow_heads_keep_no_client_out_where_files_are_few(self):
        upstream = Upstream(lambda exchange: exchange.send(OK))
        self.addCleanup(upstream.close)
        proxy = Program(['sh', '-c', 'ulimit -n 256; exec "$0"', QUEUE_PROXY],
                        {**ENVIRONMENT, 'USER_PORT': str(upstream.port)})
        self.addCleanup(proxy.close)
        flood = Flood(proxy.addresses['serving'])
        self.addCleanup(flood.close)
        for _ in range(500):
            flood.add(head('/', [('Host', 'a')], ended=False))
        flood.add(head('/', [('Host', 'a')]))
        flood.run(lambda: any(got.endswith(b'ok') for got in flood.got.values()))


if __name__ == '__main__':
    unittest.main()
