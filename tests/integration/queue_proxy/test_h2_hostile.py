"""Hostile HTTP/2: what is malformed is refused and never reaches the container; floods end the
connection or cost nothing; the next client is served as if nothing had been."""

import socket
import struct
import threading
import unittest

import hpack

from queue_proxy import h2_frames as raw
from queue_proxy.case import GROWTH_MAX, SidecarCase, eventually
from queue_proxy.h2_frames import (ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS,
                                   PING, PRIORITY, PUSH_PROMISE, REQUEST, RST_STREAM, SETTINGS,
                                   WINDOW_UPDATE, RawConnection, block, frame)
from queue_proxy.h2_peers import Client, Container

GET = dict(REQUEST)


def request_with(*extra, **changes):
    """REQUEST with pseudo-headers changed (None drops one) and fields added."""
    pseudo = {**GET, **{':' + name: value for name, value in changes.items()}}
    return [(name, value) for name, value in pseudo.items() if value is not None] + list(extra)


# Malformed requests (RFC 9113 8.1.1, 8.2, 8.3): a stream error, or 400; never at the container.
MALFORMED = {
    'an upper-case name': request_with(('X-Upper', '1')),
    'a connection header': request_with(('connection', 'close')),
    'a keep-alive header': request_with(('keep-alive', '5')),
    'a proxy-connection header': request_with(('proxy-connection', 'close')),
    'a transfer coding': request_with(('transfer-encoding', 'chunked')),
    'an upgrade header': request_with(('upgrade', 'websocket')),
    'te other than trailers': request_with(('te', 'gzip')),
    'no method': request_with(method=None),
    'no path': request_with(path=None),
    'no scheme': request_with(scheme=None),
    'an empty path': request_with(path=''),
    'a path of no form': request_with(path='no-slash'),
    'a method twice': [(':method', 'POST'), *REQUEST],
    'a path twice': [*REQUEST[:3], (':path', '/other'), REQUEST[3]],
    'an unknown pseudo-header': request_with(unknown='x'),
    'a pseudo-header of responses': request_with(status='200'),
    'a pseudo-header after a field': [*REQUEST[:3], ('a', 'b'), REQUEST[3]],
    'a line break in a value': request_with(('x-a', 'b\r\nx-c: d')),
    'a line feed in a value': request_with(('x-a', 'b\nx-c: d')),
    'NUL in a value': request_with(('x-a', 'b\0c')),
    'a line break in the path': request_with(path='/ HTTP/1.1\r\nX-A: b'),
    'a space in the path': request_with(path='/a HTTP/1.1'),
    'a space in the method': request_with(method='GET /x'),
    'a line break in the authority': request_with(authority='app\r\nX-A: b'),
    'a colon in a name': request_with(('x:a', 'b')),
    'a space in a name': request_with(('x a', 'b')),
    'an empty name': request_with(('', 'b')),
    'a length that is no number': request_with(('content-length', 'abc')),
    'lengths that differ': request_with(('content-length', '0'), ('content-length', '5')),
    'a length without a body': request_with(('content-length', '5')),
}

# Errors of the whole connection (RFC 9113 5 and 6): GOAWAY with a code, then closed.
OPEN = frame(HEADERS, END_HEADERS, 1, block(REQUEST))
CONNECTION_ERRORS = {
    'data on stream 0': frame(DATA, 0, 0, b'x'),
    'headers on stream 0': frame(HEADERS, END_HEADERS | END_STREAM, 0, block(REQUEST)),
    'headers on an even stream': frame(HEADERS, END_HEADERS | END_STREAM, 2, block(REQUEST)),
    'data on an idle stream': frame(DATA, 0, 7, b'x'),
    'a reset of an idle stream': frame(RST_STREAM, 0, 7, b'\0\0\0\x08'),
    'a frame too large': OPEN + frame(DATA, 0, 1, b'x' * 16_385),
    'a window update of 0 on the connection': frame(WINDOW_UPDATE, 0, 0, b'\0\0\0\0'),
    'a window that overflows': frame(WINDOW_UPDATE, 0, 0, b'\x7f\xff\xff\xff') * 2,
    'settings of a wrong length': frame(SETTINGS, 0, 0, b'12345'),
    'settings on a stream': frame(SETTINGS, 0, 1),
    'an acknowledgement with settings': frame(SETTINGS, ACK, 0, b'123456'),
    'an initial window too large': frame(SETTINGS, 0, 0, struct.pack('>HI', 4, 1 << 31)),
    'a frame size too small': frame(SETTINGS, 0, 0, struct.pack('>HI', 5, 1)),
    'a ping of a wrong length': frame(PING, 0, 0, b'1234'),
    'a push of a client': frame(PUSH_PROMISE, END_HEADERS, 1, b'\0\0\0\x02' + block(REQUEST)),
    'a continuation of nothing': frame(CONTINUATION, END_HEADERS, 1, block(REQUEST)),
    'a frame between headers and continuation':
        frame(HEADERS, 0, 1, block(REQUEST)[:10]) + frame(PING, 0, 0, b'12345678'),
    'a continuation of another stream':
        frame(HEADERS, 0, 1, block(REQUEST)[:10]) + frame(CONTINUATION, END_HEADERS, 3, b''),
    'an index that no table has': frame(HEADERS, END_HEADERS | END_STREAM, 1, b'\xff\xff\xff\x7f'),
    'a table size beyond the limit': frame(HEADERS, END_HEADERS | END_STREAM, 1,
                                           b'\x3f\xe1\xff\xff\x0f' + block(REQUEST)),
    'a header block that ends in the middle': frame(HEADERS, END_HEADERS | END_STREAM, 1, b'\x10\x7f'),
    'padding longer than the frame': OPEN + frame(DATA, 8, 1, b'\xff1234'),
}


class HostileCase(SidecarCase):
    def guarded(self, **environment):
        """A sidecar in front of an HTTP/2 container that answers everything."""
        self.container = Container(lambda connection, stream: connection.answer(stream))
        self.addCleanup(self.container.close)
        return self.sidecar_for(self.container.port, **environment)

    def raw(self, proxy):
        made = RawConnection(proxy.serving)
        self.addCleanup(made.close)
        return made

    def assert_serves_h2(self, proxy):
        self.assertIsNone(proxy.process.poll(), f'the sidecar has died: {proxy.errors()[-2000:]}')
        client = Client(proxy.serving)
        self.addCleanup(client.close)
        self.assertEqual(client.get('/still-serving').status, 200)
        client.close()

    def seen_paths(self):
        return [stream.headers[':path'] for stream in self.container.seen
                if stream.headers[':path'] != '/still-serving']

    def held(self, connection, stream):
        """Holds whatever was asked of `/`, answers everything else."""
        if stream.headers[':path'] != '/':
            connection.answer(stream)
            return
        connection.wait(lambda: connection.closed or stream.reset is not None, 'the reset')


class Malformed(HostileCase):
    def refusal(self, connection, stream):
        """'reset', 'goaway', 'closed' or a status, whatever comes first for the stream."""
        got = connection.until(lambda one: one[0] == GOAWAY or
                               (one[0] in (HEADERS, RST_STREAM) and one[2] == stream))
        if got is None:
            return 'closed'
        if got[0] == HEADERS:
            return int(dict(connection.decoder.decode(got[3]))[':status'])
        return 'reset' if got[0] == RST_STREAM else 'goaway'

    def test_a_malformed_request_is_refused_and_never_forwarded(self):
        proxy = self.guarded()
        for name, fields in MALFORMED.items():
            with self.subTest(name):
                connection = self.raw(proxy)
                connection.request(1, fields)
                self.assertIn(self.refusal(connection, 1), ('reset', 'goaway', 'closed', 400))
                connection.close()
        self.assertEqual(self.seen_paths(), [])
        self.assert_serves_h2(proxy)

    def test_a_malformed_stream_harms_no_other_of_its_connection(self):
        proxy = self.guarded()
        connection = self.raw(proxy)
        connection.request(1, MALFORMED['an upper-case name'])
        if self.refusal(connection, 1) in ('goaway', 'closed'):
            return  # the whole connection was refused, which the protocol allows
        connection.request(3)
        self.assertEqual(self.refusal(connection, 3), 200)

    def test_more_data_than_the_length_resets_the_stream(self):
        proxy = self.guarded()
        self.container.play = lambda connection, stream: (connection.body(stream),
                                                          connection.answer(stream))
        connection = self.raw(proxy)
        connection.request(1, request_with(('content-length', '2'), method='POST'), end=False)
        connection.send(frame(DATA, END_STREAM, 1, b'four'))
        self.assertIn(self.refusal(connection, 1), ('reset', 'goaway', 'closed', 400))
        self.assert_serves_h2(proxy)
        self.assertFalse(any(stream.ended for stream in self.container.seen[:-1]))

    def test_trailers_with_pseudo_headers_are_refused(self):
        proxy = self.guarded()
        self.container.play = lambda connection, stream: (connection.body(stream),
                                                          connection.answer(stream))
        connection = self.raw(proxy)
        connection.request(1, request_with(method='POST'), end=False)
        connection.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, block([(':path', '/evil')])))
        self.assertIn(self.refusal(connection, 1), ('reset', 'goaway', 'closed', 400))
        self.assert_serves_h2(proxy)

    def test_an_error_of_the_connection_ends_it_with_a_code(self):
        proxy = self.guarded()
        for name, data in CONNECTION_ERRORS.items():
            with self.subTest(name):
                connection = self.raw(proxy)
                connection.send(data)
                kind, code = connection.ending()
                self.assertIn(kind, ('goaway', 'closed', 'reset'))
                self.assertNotEqual(code, 'NO_ERROR')
                connection.close()
        self.assert_serves_h2(proxy)

    def after_its_answer(self, late):
        """How a connection ends on which `late` follows the answer of stream 1."""
        connection = self.raw(self.guarded())
        connection.request(1)
        connection.until(lambda one: one[2] == 1 and one[1] & END_STREAM)
        connection.send(late)
        return connection.ending()

    def test_frames_behind_the_last_words_of_a_connection_do_not_reset_it(self):
        for what, last in (('a goaway of the client', frame(GOAWAY, 0, 0, b'\0' * 8)),
                           ('an error of the connection', frame(DATA, 0, 0, b'x'))):
            with self.subTest(what):
                connection = self.raw(self.guarded())
                connection.send(last)
                connection.until(lambda one: False)
                self.assertTrue(connection.send(frame(PING, 0, 0, b'12345678')))
                # The kernel has handled what was sent once it has an answer to the half-close.
                connection.sock.shutdown(socket.SHUT_WR)
                self.assertEqual(connection.sock.recv(1), b'')
                self.assertEqual(connection.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), 0)
                connection.close()

    def test_a_frame_behind_the_end_of_its_stream_ends_the_connection(self):
        for late in (frame(DATA, END_STREAM, 1, b'late'),
                     frame(HEADERS, END_HEADERS | END_STREAM, 1, block(REQUEST))):
            self.assertEqual(self.after_its_answer(late), ('goaway', 'STREAM_CLOSED'))

    def test_a_frame_behind_a_reset_is_an_error_of_its_stream_alone(self):
        proxy = self.guarded()
        self.container.play = self.held
        for late in (frame(DATA, 0, 1, b'late'),
                     frame(HEADERS, END_HEADERS | END_STREAM, 1, block(REQUEST))):
            connection = self.raw(proxy)
            # All at once: what a frame meets does not depend on how the bytes are cut.
            connection.send(frame(HEADERS, END_HEADERS, 1, block(REQUEST)) +
                            frame(RST_STREAM, 0, 1, b'\0\0\0\x08') + late)
            self.assertEqual(connection.ending(), ('reset', 'STREAM_CLOSED'))
            connection.request(3, request_with(path='/next'))
            got = connection.until(lambda one: one[0] == GOAWAY or one[2] == 3)
            self.assertEqual(got[0], HEADERS)
            connection.close()

    def test_frames_that_cross_our_reset_are_no_error(self):
        # Answered before its body: the rest of it is on its way when our reset is.
        connection = self.raw(self.guarded())
        connection.request(1, request_with(method='POST'), end=False)
        connection.until(lambda one: one[0] == RST_STREAM and one[2] == 1)
        connection.send(frame(DATA, 0, 1, b'x' * 100) * 20 + frame(DATA, END_STREAM, 1, b'x'))
        connection.request(3)
        got = connection.until(lambda one: one[0] in (GOAWAY, RST_STREAM) or one[2] == 3)
        self.assertEqual(got[0], HEADERS)

    def test_a_flood_of_frames_behind_resets_is_ended(self):
        proxy = self.guarded(SLUICE_MAX_CONTROL_FRAMES='200')
        self.container.play = self.held
        connection = self.raw(proxy)
        connection.send(frame(HEADERS, END_HEADERS, 1, block(REQUEST)) +
                        frame(RST_STREAM, 0, 1, b'\0\0\0\x08') + frame(DATA, 0, 1, b'x') * 1000)
        got = connection.until(lambda one: one[0] == GOAWAY)
        self.assertTrue(got is None or got[3][4:8] == b'\0\0\0\x0b')
        self.assert_serves_h2(proxy)

    def test_a_skipped_stream_number_ends_the_connection(self):
        proxy = self.guarded()
        connection = self.raw(proxy)
        connection.request(5)
        connection.request(3, request_with(path='/back'))
        self.assertEqual(connection.ending(), ('goaway', 'PROTOCOL_ERROR'))
        self.assertNotIn('/back', self.seen_paths())
        self.assert_serves_h2(proxy)

    def test_a_host_that_differs_from_the_authority_never_reaches_the_container(self):
        proxy = self.guarded()
        connection = self.raw(proxy)
        connection.request(1, request_with(('host', 'other'), authority='app'))
        self.refusal(connection, 1)
        for stream in self.container.seen:
            self.assertEqual((stream.headers[':authority'], stream.headers.get('host', 'app')),
                             ('app', 'app'))
        self.assert_serves_h2(proxy)

    def test_a_stream_window_that_overflows_resets_it(self):
        proxy = self.guarded()
        self.container.play = self.held
        connection = self.raw(proxy)
        connection.request(1, end=False)
        connection.send(frame(WINDOW_UPDATE, 0, 1, b'\x7f\xff\xff\xff') * 2)
        self.assertIn(connection.ending()[1], ('FLOW_CONTROL_ERROR', ''))
        self.assert_serves_h2(proxy)

    def test_more_data_than_the_window_allows_is_a_flow_control_error(self):
        proxy = self.guarded()
        self.container.options = {'acknowledge': False}
        self.container.play = self.held
        before = proxy.memory()
        connection = self.raw(proxy)
        connection.sock.settimeout(5)
        connection.request(1, request_with(method='POST'), end=False)
        piece = frame(DATA, 0, 1, b'x' * 16_384) * 16
        try:
            for _ in range(200):  # 50 MB into a window of one
                if not connection.send(piece):
                    break
            self.assertIn(connection.ending()[1], ('FLOW_CONTROL_ERROR', ''))
        except TimeoutError:
            self.fail('neither refused nor closed')
        self.assertLess(proxy.memory() - before, GROWTH_MAX)
        self.assert_serves_h2(proxy)

    def test_a_preface_that_is_cut_or_wrong_is_no_request(self):
        proxy = self.guarded()
        for data in (b'PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n' + frame(SETTINGS),
                     b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + frame(PING, 0, 0, b'12345678'),
                     b'PRI * HTTP/2.0\r\nHost: app\r\n\r\n'):
            connection = RawConnection(proxy.serving, preface=False)
            self.addCleanup(connection.close)
            connection.send(data)
            try:
                while connection.sock.recv(4096):
                    pass
            except ConnectionError:
                pass
        self.assertEqual(self.seen_paths(), [])
        self.assert_serves_h2(proxy)


class Floods(HostileCase):
    def flood(self, proxy, data, times, first=b''):
        """Sends `data` again and again without reading; stops when the sidecar no longer listens.
        Afterwards it lives, has taken bounded memory, and serves others."""
        before = proxy.memory()
        connection = self.raw(proxy)
        connection.sock.settimeout(3)
        connection.send(first)
        try:
            for turn in range(times):
                if not connection.send(data(turn) if callable(data) else data):
                    break
        except TimeoutError:
            pass  # it no longer reads: as good as closed
        self.assert_serves_h2(proxy)
        self.assertLess(proxy.memory() - before, GROWTH_MAX * 2)
        return connection

    def test_rapid_reset_costs_the_container_nothing_beyond_its_limit(self):
        # Goal: opening and cancelling streams as fast as the wire allows neither grows memory nor
        # passes the limit of the breaker.
        proxy = self.guarded(CONTAINER_CONCURRENCY='5')
        running = set()
        most = [0]
        lock = threading.Lock()

        def play(connection, stream):
            with lock:
                running.add(id(stream))
                most[0] = max(most[0], len(running))
            connection.wait(lambda: stream.reset is not None or connection.closed or
                            stream.headers[':path'] != '/', 'the reset')
            with lock:
                running.discard(id(stream))
            if stream.reset is None:
                connection.answer(stream)

        self.container.play = play

        def burst(turn):
            made = b''
            for n in range(100):
                number = 2 * (turn * 100 + n) + 1
                made += frame(HEADERS, END_HEADERS | END_STREAM, number, block(REQUEST))
                made += frame(RST_STREAM, 0, number, b'\0\0\0\x08')
            return made

        self.flood(proxy, burst, 300)
        # The container's threads see a stream's end a little after the sidecar has counted it.
        self.assertLessEqual(most[0], 5 + 20)
        eventually(lambda: not running, 'everything at the container has ended')

    def test_continuations_without_end(self):
        piece = frame(CONTINUATION, 0, 1, block([('x-a', 'b' * 16_000)]))
        self.flood(self.guarded(), piece, 4000, frame(HEADERS, 0, 1, block(REQUEST)))
        self.assertEqual(self.seen_paths(), [])

    def test_empty_continuations_without_end(self):
        self.flood(self.guarded(), frame(CONTINUATION, 0, 1, b'') * 1000, 2000,
                   frame(HEADERS, 0, 1, block(REQUEST)))
        self.assertEqual(self.seen_paths(), [])

    def test_a_compression_bomb(self):
        # One entry of 4000 bytes in the table, then ten thousand references to it: 40 MB of fields in
        # 10 KB of frame.
        proxy = self.guarded()
        before = proxy.memory()
        connection = self.raw(proxy)
        encoder = hpack.Encoder()
        entry = encoder.encode([(':method', 'GET'), (':scheme', 'http'), (':path', '/bomb'),
                                (':authority', 'app'), ('x-bomb', 'b' * 4000)], huffman=False)
        connection.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, entry + b'\xbe' * 10_000))
        got = connection.until(lambda one: one[0] in (GOAWAY, RST_STREAM) or
                               (one[0] == HEADERS and one[2] == 1))
        if got is not None and got[0] == HEADERS:
            self.assertEqual(dict(connection.decoder.decode(got[3]))[':status'], '431')
        self.assertEqual(self.seen_paths(), [])
        self.assert_serves_h2(proxy)
        self.assertLess(proxy.memory() - before, GROWTH_MAX)

    def test_a_header_block_beyond_its_limit_is_refused(self):
        proxy = self.guarded(SLUICE_MAX_HEADER_BYTES='4096')
        connection = self.raw(proxy)
        connection.request(1, request_with(('x-a', 'b' * 8192)))
        got = connection.until(lambda one: one[0] in (GOAWAY, RST_STREAM) or
                               (one[0] == HEADERS and one[2] == 1))
        if got is not None and got[0] == HEADERS:
            self.assertEqual(dict(connection.decoder.decode(got[3]))[':status'], '431')
        self.assertEqual(self.seen_paths(), [])
        self.assert_serves_h2(proxy)

    def test_settings_flood(self):
        self.flood(self.guarded(), frame(SETTINGS, 0, 0, struct.pack('>HI', 4, 65_535)) * 1000, 200)

    def test_ping_flood_by_a_client_that_never_reads(self):
        self.flood(self.guarded(), frame(PING, 0, 0, b'12345678') * 1000, 1000)

    def test_window_update_flood(self):
        self.flood(self.guarded(), frame(WINDOW_UPDATE, 0, 1, b'\0\0\0\x01') * 1000, 200, OPEN)

    def test_priority_flood(self):
        def burst(turn):
            return b''.join(frame(PRIORITY, 0, 2 * (turn * 500 + n) + 1, b'\0\0\0\0\x10')
                            for n in range(500))

        self.flood(self.guarded(), burst, 200)

    def test_empty_data_flood(self):
        proxy = self.guarded()
        self.container.play = self.held
        self.flood(proxy, frame(DATA, 0, 1, b'') * 1000, 200, OPEN)

    def test_requests_of_a_client_that_never_reads_its_answers(self):
        def burst(turn):
            return b''.join(frame(HEADERS, END_HEADERS | END_STREAM, 2 * (turn * 50 + n) + 1,
                                  block(REQUEST)) for n in range(50))

        proxy = self.guarded()
        self.container.play = lambda connection, stream: connection.answer(stream, b'x' * 16_000)
        self.flood(proxy, burst, 100)

    def test_refusals_of_a_client_that_never_reads_them(self):
        # Each stream beyond the limit is refused by a frame; the frames may not pile up without a limit.
        proxy = self.guarded()
        self.container.play = self.held

        def burst(turn):
            return b''.join(frame(HEADERS, END_HEADERS | END_STREAM, 2 * (turn * 200 + n) + 1,
                                  block(REQUEST)) for n in range(200))

        self.flood(proxy, burst, 150)

    def test_a_client_that_sends_nothing_after_its_preface_is_only_a_connection(self):
        proxy = self.guarded()
        before = proxy.memory()
        held = [self.raw(proxy) for _ in range(200)]
        self.assert_serves_h2(proxy)
        self.assertLess(proxy.memory() - before, GROWTH_MAX * 2)
        for connection in held:
            connection.close()

    def test_a_preface_that_never_ends_is_ended(self):
        proxy = self.guarded(SLUICE_HEADER_TIMEOUT='300ms')
        sock = socket.create_connection(tuple(proxy.serving.rsplit(':', 1)))
        self.addCleanup(sock.close)
        sock.sendall(b'PRI * HTT')
        sock.settimeout(10)
        try:
            while sock.recv(4096):
                pass
        except ConnectionError:
            pass
        self.assert_serves_h2(proxy)


if __name__ == '__main__':
    unittest.main()
