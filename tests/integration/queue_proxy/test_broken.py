"""Responses that are broken from the first bytes on, and what of a body is not passed on
(queue-proxy.md 15.22 and 15.26)."""

import socket
import unittest

from queue_proxy.case import SidecarCase, eventually, until_closed
from sidecar import OK
from wire import request_bytes

GET = request_bytes('GET', '/', 'app')
CHUNKED = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
# Head and body in one segment: the client has seen nothing when the break shows.
BROKEN = {
    'no size': CHUNKED + b'zz\r\nabc\r\n',
    'a chunk that is too long': CHUNKED + b'3\r\nabcd\r\n0\r\n\r\n',
    'a chunk behind a good one': CHUNKED + b'3\r\nabc\r\nxyz\r\n',
    'a trailer that frames': CHUNKED + b'0\r\nContent-Length: 3\r\n\r\n',
    'an extension with a line break': CHUNKED + b'3;a\nb\r\nabc\r\n0\r\n\r\n',
}


class Broken(SidecarCase):
    def answers(self, data, ends=False):
        """A sidecar whose container sends `data` at once, and then ends if asked."""
        def play(exchange):
            if exchange.path != '/':
                exchange.send(OK)
                return
            exchange.send(data)
            if ends:
                exchange.sock.shutdown(socket.SHUT_WR)

        return self.sidecar(play)

    def assert_502(self, answer, text):
        self.assert_answer(answer, 502, text)
        self.assert_cause(answer, 'upstream')

    def test_a_broken_body_in_the_segment_of_its_head_is_502(self):
        for name, data in BROKEN.items():
            with self.subTest(name):
                proxy = self.answers(data)
                for request in (GET, b'GET / HTTP/1.0\r\nHost: app\r\n\r\n'):
                    sock, reader = self.ask(proxy, request)
                    answer = reader.answer()
                    self.assertIsNotNone(answer, 'an empty reply')
                    self.assertTrue(answer.body.startswith(b'malformed HTTP response: '), answer.body)
                    self.assert_502(answer, answer.body)
                    sock.close()
                self.assert_serves(proxy)

    def test_the_log_shows_502_too(self):
        proxy = self.sidecar(
            lambda exchange: exchange.send(BROKEN['no size']),
            OBSERVABILITY_CONFIG='{"enableRequestLog": true, "requestLogTemplate": "{{.Response.Code}}"}')
        self.assertEqual(proxy.get().status, 502)
        eventually(lambda: proxy.output() == '502\n', 'the line is written')

    def test_the_connection_of_the_client_stays_open(self):
        proxy = self.answers(BROKEN['no size'])
        sock, reader = self.ask(proxy, GET)
        self.assertEqual(reader.answer().status, 502)
        sock.sendall(request_bytes('GET', '/next', 'app'))
        self.assert_answer(reader.answer(), 200, b'ok')

    def test_a_head_that_ends_with_its_connection_is_502_and_not_sent_again(self):
        head = b'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n'
        proxy = self.answers(head, ends=True)
        # The first request leaves an idle connection behind: on a reused one nothing is repeated
        # either, since the container has begun to answer.
        self.assert_answer(proxy.get('/first'), 200, b'ok')
        _, reader = self.ask(proxy, GET)
        answer = reader.answer()
        if answer.status == 200:  # the end came after the head
            self.assertFalse(answer.whole)
        else:
            self.assert_502(answer, b'EOF\n')
        self.assertEqual(self.paths().count('/'), 1)

    def test_a_body_that_breaks_later_is_cut(self):
        proxy = self.sidecar(self.break_when_asked)
        sock, reader = self.ask(proxy, request_bytes('POST', '/', 'app', [('Transfer-Encoding', 'chunked')]))
        self.assertEqual(reader.head()[0], 200)
        sock.sendall(b'1\r\nx\r\n0\r\n\r\n')
        got = reader.data + until_closed(sock)
        self.assertNotIn(b'HTTP/1.1', got)
        self.assertFalse(got.endswith(b'0\r\n\r\n'))

    @staticmethod
    def break_when_asked(exchange):
        exchange.send(CHUNKED + b'3\r\nabc\r\n')
        exchange.body()
        exchange.send(b'zz\r\n')


class Extensions(SidecarCase):
    EXTENDED = b'5;a="b;c"\r\nhe;lo\r\n1;x\r\n;\r\n0;last\r\nX-Sum: 1;2\r\n\r\n'
    PLAIN = b'5\r\nhe;lo\r\n1\r\n;\r\n0\r\nX-Sum: 1;2\r\n\r\n'

    def test_those_of_a_response_are_dropped(self):
        proxy = self.sidecar(lambda exchange: exchange.send(CHUNKED + self.EXTENDED))
        sock, reader = self.ask(proxy, request_bytes('GET', '/', 'app', [('Connection', 'close')]))
        self.assertEqual(reader.head()[0], 200)
        self.assertEqual(reader.data + until_closed(sock), self.PLAIN)

    def test_those_of_a_request_are_dropped_however_they_arrive(self):
        bodies = []

        def play(exchange):
            bodies.append(exchange.reader.until(b'2\r\n\r\n') + b'2\r\n\r\n')
            exchange.send(OK)

        head = b'POST / HTTP/1.1\r\nHost: app\r\nTransfer-Encoding: chunked\r\n\r\n'
        proxy = self.sidecar(play)
        for pieces in ([head + self.EXTENDED],
                       [head, *(bytes([byte]) for byte in self.EXTENDED)],
                       [head + self.EXTENDED[:4], self.EXTENDED[4:]]):
            sock, reader = self.ask(proxy, b'')
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for piece in pieces:
                sock.sendall(piece)
            self.assert_answer(reader.answer(), 200, b'ok')
        self.assertEqual(bodies, [self.PLAIN] * 3)


if __name__ == '__main__':
    unittest.main()
