"""Heads over HTTP/2: large ones pass up to the limit that is announced, refusals are sent in the
client's words, and what is malformed is counted and logged like any other refusal."""

import json
import unittest

from queue_proxy import h2_frames as raw
from queue_proxy.case import eventually
from queue_proxy.h2_frames import (CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS,
                                   REQUEST, RST_STREAM, SETTINGS, block, frame)
from queue_proxy.test_h2 import H2Case, answer
from wire import fetch

MAX_HEADER_LIST_SIZE = 6
HUGE = {MAX_HEADER_LIST_SIZE: 4 << 20}
LARGE = [(f'x-large-{n}', 'a' * 5000) for n in range(200)]  # 1.0 MB as RFC 9113 counts
GRPC = [('content-type', 'application/grpc+proto'), ('te', 'trailers')]


def long_request(fields, stream=1):
    """A request whose head continues in as many CONTINUATION frames as it needs."""
    rest = block([*REQUEST, *fields])
    parts = [rest[at:at + 16_384] for at in range(0, len(rest), 16_384)]
    made = b''
    for n, part in enumerate(parts):
        flags = (END_STREAM if n == 0 else 0) | (END_HEADERS if n == len(parts) - 1 else 0)
        made += frame(HEADERS if n == 0 else CONTINUATION, flags, stream, part)
    return made


class HeadsCase(H2Case):
    def raw(self):
        made = raw.RawConnection(self.proxy.serving)
        made.sock.settimeout(20)
        self.addCleanup(made.close)
        return made

    def head_of(self, connection, stream=1):
        got = connection.until(lambda one: one[2] == stream and one[0] in (HEADERS, RST_STREAM) or
                               one[0] == GOAWAY)
        self.assertIsNotNone(got, 'closed without a word')
        self.assertEqual(got[0], HEADERS, got)
        return dict(connection.decoder.decode(got[3]))

    def assert_told(self, head, status, cause):
        self.assertEqual(head[':status'], status)
        self.assertTrue((head['sluice-error'] + ';').startswith(cause + ';'), head)

    def responses(self):
        """The lines of responses by code and cause."""
        text = fetch(self.proxy.addresses['metrics'], '/metrics').body.decode()
        return [line for line in text.splitlines() if line.startswith('sluice_responses_total{')]

    def assert_counted(self, code, cause, times=1):
        eventually(lambda: any(f'"{code}"' in line and f'"{cause}"' in line and
                               line.endswith(f' {times}') for line in self.responses()),
                   f'{times} responses {code} {cause} are counted: {self.responses()}')


class Large(HeadsCase):
    def warm(self, play=answer, **environment):
        """Both sides have received each other's limits."""
        client = self.h2(play, {'settings': HUGE}, {'settings': HUGE}, **environment)
        self.assertEqual(client.get('/first').status, 200)
        client.ping()
        return client

    def test_a_response_head_of_a_megabyte_passes(self):
        client = self.warm()
        self.container.play = lambda connection, stream: connection.answer(stream, headers=LARGE)
        got = client.get()
        self.assertEqual((got.status, got.ended, got.reset), (200, True, None))
        self.assertEqual([(name, got.headers[name]) for name, _ in LARGE], LARGE)

    def test_trailers_of_a_megabyte_pass(self):
        client = self.warm()
        self.container.play = lambda connection, stream: connection.answer(stream, trailers=LARGE)
        got = client.get()
        self.assertEqual((got.status, got.data, got.ended, got.reset), (200, b'ok', True, None))
        self.assertEqual(list(got.trailers.items()), LARGE)

    def test_a_response_head_beyond_the_limit_is_502(self):
        client = self.warm(SLUICE_MAX_HEADER_BYTES='100000')
        self.container.play = lambda connection, stream: connection.answer(stream, headers=LARGE)
        self.assertEqual(client.get().status, 502)
        self.container.play = answer
        self.assertEqual(client.get().status, 200)

    def test_trailers_beyond_the_limit_reset_the_stream(self):
        client = self.warm(SLUICE_MAX_HEADER_BYTES='100000')
        self.container.play = lambda connection, stream: connection.answer(stream, trailers=LARGE)
        self.assertIsNotNone(client.get().reset)

    def test_a_request_head_of_a_megabyte_reaches_the_container(self):
        client = self.warm()
        got = client.get('/large', LARGE)
        self.assertEqual((got.status, got.reset), (200, None))
        seen = self.container.seen[-1].headers
        self.assertEqual([(name, seen[name]) for name, _ in LARGE], LARGE)

    def test_a_request_head_a_little_beyond_the_limit_is_431(self):
        self.warm()
        connection = self.raw()
        connection.send(long_request(LARGE + LARGE[:20]))
        self.assert_told(self.head_of(connection), '431',
                         'too-large; limit=header-bytes')
        connection.request(3)
        self.assertEqual(self.head_of(connection, 3)[':status'], '200')
        self.assert_counted(431, 'too-large')

    def test_a_head_without_an_end_ends_the_connection_with_a_reason(self):
        self.h2()
        connection = self.raw()
        connection.send(frame(HEADERS, 0, 1, block(REQUEST)))
        for _ in range(400):
            if not connection.send(frame(CONTINUATION, 0, 1, block([('x-a', 'b' * 16_000)]))):
                break
        self.assertEqual(connection.ending(), ('goaway', 'ENHANCE_YOUR_CALM'))

    def test_the_limit_is_announced(self):
        self.h2(SLUICE_MAX_HEADER_BYTES='50000')
        settings = self.raw().until(lambda one: one[0] == SETTINGS)[3]
        pairs = [settings[at:at + 6] for at in range(0, len(settings), 6)]
        self.assertIn(b'\0\x06' + (50000).to_bytes(4, 'big'), pairs)


class Refused(HeadsCase):
    def test_more_fields_than_the_limit_are_431(self):
        self.h2(SLUICE_MAX_HEADERS='20')
        connection = self.raw()
        connection.request(1, [*REQUEST, *[(f'x-{n}', 'a') for n in range(19)]])
        self.assertEqual(self.head_of(connection)[':status'], '200')
        connection.request(3, [*REQUEST, *[(f'x-{n}', 'a') for n in range(20)]])
        self.assert_told(self.head_of(connection, 3), '431', 'too-large; limit=header-fields')

    def test_a_target_that_http_1_refuses_is_400_here_too(self):
        self.h2()
        connection = self.raw()
        paths = ['/a#b', '/a b', '/a\tb']
        for n, path in enumerate(paths):
            connection.request(2 * n + 1, [*REQUEST[:2], (':path', path), REQUEST[3]])
        for n, path in enumerate(paths):
            with self.subTest(path):
                got = connection.until(lambda one: one[2] == 2 * n + 1 and
                                       one[0] in (HEADERS, RST_STREAM))
                if got[0] == HEADERS:
                    self.assert_told(dict(connection.decoder.decode(got[3])), '400',
                                     'bad-request; reason=target')
        self.assertEqual(self.container.seen, [])
        self.assert_counted(400, 'bad-request', 3)

    def test_a_malformed_request_is_counted_and_logged_once(self):
        self.h2(OBSERVABILITY_CONFIG=json.dumps({'enableRequestLog': True}))
        connection = self.raw()
        for n in range(3):
            connection.request(2 * n + 1, [*REQUEST, ('X-Upper', '1')])
        connection.request(7)
        self.assertEqual(self.head_of_last(connection), '200')
        self.assert_counted(400, 'bad-request', 3)
        eventually(lambda: len(self.proxy.output().splitlines()) == 4, 'four lines in the log')

    def head_of_last(self, connection):
        got = connection.until(lambda one: one[0] == HEADERS and one[2] == 7)
        return dict(connection.decoder.decode(got[3]))[':status']

    def test_a_body_that_breaks_its_length_is_a_bad_request(self):
        self.h2(lambda connection, stream: connection.body(stream), CONTAINER_CONCURRENCY='1')
        connection = self.raw()
        connection.request(1, [(':method', 'POST'), *REQUEST[1:], ('content-length', '2')], end=False)
        connection.send(frame(DATA, END_STREAM, 1, b'four'))
        self.assertIsNotNone(connection.until(lambda one: one[0] == RST_STREAM and one[2] == 1))
        self.assert_counted(400, 'bad-request')
        self.container.play = answer
        connection.request(3)
        self.assertEqual(self.head_of(connection, 3)[':status'], '200')


class GrpcRefusals(HeadsCase):
    """Refusals of gRPC calls: one block that is head and trailers, status 200 (Trailers-Only)."""

    def assert_refused(self, stream, status, message, cause):
        self.assertTrue(stream.ended)
        self.assertEqual((stream.status, stream.data, stream.trailers), (200, b'', None))
        self.assertEqual(stream.headers['content-type'], 'application/grpc')
        self.assertEqual((stream.headers['grpc-status'], stream.headers['grpc-message']),
                         (status, message))
        self.assertTrue(stream.headers['sluice-error'].startswith(cause), stream.headers)

    def call(self, client):
        return client.over(client.request('/app.Echo/Say', GRPC, 'POST'))

    def test_a_full_queue_is_unavailable(self):
        gate = self.h2_gate()
        client = self.h2(gate, CONTAINER_CONCURRENCY='1', SLUICE_QUEUE_DEPTH='1')
        held = [client.request(f'/{n}') for n in range(2)]
        eventually(lambda: gate.inside, 'one is inside')
        got = self.call(client)
        self.assert_refused(got, '14', 'pending request queue full', 'queue-full')
        self.assertEqual(got.headers['retry-after'], '1')
        self.assert_counted(503, 'queue-full')
        gate.open(self.container)
        self.assertEqual([client.over(stream).status for stream in held], [200, 200])

    def test_the_time_is_deadline_exceeded(self):
        client = self.h2(lambda connection, stream: connection.wait(
            lambda: stream.reset is not None or connection.closed, 'the reset'),
            REVISION_TIMEOUT_SECONDS='1')
        self.assert_refused(self.call(client), '4', 'request timeout', 'timeout')
        self.assert_counted(504, 'timeout-max')

    def test_a_container_that_is_not_there_is_unavailable(self):
        client = self.h2()
        self.container.close()
        got = self.call(client)
        self.assert_refused(got, '14', got.headers['grpc-message'], 'upstream')
        self.assertIn('connection refused', got.headers['grpc-message'])


if __name__ == '__main__':
    unittest.main()
