"""HTTP/2 in clear text: rows 42 and 73, and the sidecar's contract on streams instead of connections."""

import os
import signal
import socket
import threading
import unittest

from queue_proxy import h2_frames as raw
from queue_proxy.case import KUBELET, PATIENCE, QUEUE, SidecarCase, eventually
from queue_proxy.h2_peers import Client, Container
from sidecar import OK, Upstream

CANCEL = 8
REFUSED_STREAM = 7
SETTINGS_MAX_CONCURRENT_STREAMS = 3


def answer(connection, stream):
    connection.body(stream)
    connection.answer(stream)


class H2Case(SidecarCase):
    def h2(self, play=answer, container_options=None, client_options=None, **environment):
        """A sidecar between an HTTP/2 client and an HTTP/2 container."""
        self.container = Container(play, **(container_options or {}))
        self.addCleanup(self.container.close)
        self.proxy = self.sidecar_for(self.container.port, **environment)
        return self.client(**(client_options or {}))

    def client(self, **options):
        made = Client(self.proxy.serving, **options)
        self.addCleanup(made.close)
        return made

    def h2_gate(self):
        """A play that waits; `inside` is how many do."""
        class Waiting:
            def __init__(self):
                self.opened = threading.Event()
                self.lock = threading.Lock()
                self.inside = self.most = 0

            def __call__(self, connection, stream):
                with self.lock:
                    self.inside += 1
                    self.most = max(self.most, self.inside)
                connection.wait(lambda: self.opened.is_set() or stream.reset is not None or
                                connection.closed, 'the gate opens')
                with self.lock:
                    self.inside -= 1
                if stream.reset is None:
                    connection.answer(stream)

            def open(self, container):
                self.opened.set()
                for connection in container.connections:
                    with connection.changed:
                        connection.changed.notify_all()

        made = Waiting()
        self.addCleanup(lambda: made.open(self.container))
        return made

    def assert_own(self, stream, status, body, cause):
        self.assertEqual((stream.status, stream.data), (status, body))
        self.assertTrue(stream.headers.get('sluice-error', '').startswith(cause), stream.headers)

    def request_headers(self):
        return self.container.seen[-1].headers


class Passing(H2Case):
    def test_a_request_arrives_as_http_2_with_its_headers_ruled(self):
        client = self.h2()
        got = client.get('/a?b', [('x-forwarded-for', '1.2.3.4'), ('k-original-host', 'a.b'),
                                  ('knative-serving-revision', 'r'), ('te', 'trailers'),
                                  ('cookie', 'a=1'), ('cookie', 'b=2')])
        self.assertEqual((got.status, got.data), (200, b'ok'))
        seen = self.request_headers()
        self.assertEqual((seen[':method'], seen[':path'], seen[':authority']), ('GET', '/a?b', 'a.b'))
        self.assertEqual(seen['x-forwarded-for'], '1.2.3.4, 127.0.0.1')
        self.assertEqual(seen['te'], 'trailers')
        for name in ('k-original-host', 'knative-serving-revision', 'user-agent', 'host'):
            self.assertNotIn(name, seen)
        self.assertEqual(set(got.headers), {':status'})

    def test_bodies_and_trailers_pass_both_ways(self):
        def echo(connection, stream):
            body = connection.body(stream)
            connection.answer(stream, body, headers=[('content-type', 'x/y')],
                              trailers=[('x-sum', stream.trailers['x-sum'])])

        client = self.h2(echo)
        body = bytes(range(256)) * 4096
        stream = client.request('/', [('content-type', 'a/b')], 'POST', body, end=False)
        client.send_headers(stream.number, [('x-sum', '7')], end=True)
        client.over(stream)
        self.assertEqual((stream.status, stream.data), (200, body))
        self.assertEqual(stream.trailers, {'x-sum': '7'})
        self.assertEqual(stream.headers['content-type'], 'x/y')

    def test_interim_responses_keep_the_final_status(self):
        def hint(connection, stream):
            connection.send_headers(stream.number, [(':status', '103'), ('link', '</a>')])
            connection.answer(stream, status=404)

        got = self.h2(hint).get()
        self.assertEqual([one[':status'] for one in got.interim], ['103'])
        self.assertEqual(got.status, 404)

    def test_head_and_204_have_no_body(self):
        def empty(connection, stream):
            status = '204' if stream.headers[':path'] == '/204' else '200'
            connection.send_headers(stream.number, [(':status', status)], end=True)

        client = self.h2(empty)
        for path, method, status in (('/', 'HEAD', 200), ('/204', 'GET', 204)):
            got = client.get(path, method=method)
            self.assertEqual((got.status, got.data, got.ended), (status, b'', True))

    def test_both_directions_flow_at_once(self):
        def echo(connection, stream):
            connection.send_headers(stream.number, [(':status', '200')])
            sent = 0
            while not stream.ended:
                connection.wait(lambda: len(stream.data) > sent or stream.ended, 'more to echo')
                part = stream.data[sent:]
                sent += len(part)
                if part:
                    connection.send_data(stream.number, part)
            connection.send_data(stream.number, b'', end=True)

        client = self.h2(echo)
        stream = client.request(method='POST', end=False)
        expected = b''
        for n in range(100):
            expected += b'%d,' % n
            client.send_data(stream.number, b'%d,' % n)
            client.wait(lambda: stream.data == expected, 'the echo of what was sent so far')
        client.send_data(stream.number, b'', end=True)
        self.assertTrue(client.over(stream).ended)

    def test_an_early_answer_ends_an_upload(self):
        def refuse(connection, stream):
            connection.answer(stream, b'no', 413)
            connection.reset(stream.number, 0)

        client = self.h2(refuse)
        stream = client.request(method='POST', body=b'begin', end=False)
        client.over(stream)
        self.assertEqual((stream.status, stream.data), (413, b'no'))
        self.assertIn(stream.reset, (None, 0))
        self.container.play = answer
        self.assertEqual(client.get().status, 200)

    def test_streams_share_one_connection_to_the_container(self):
        gate = self.h2_gate()
        client = self.h2(gate)
        streams = [client.request(f'/{n}') for n in range(50)]
        eventually(lambda: gate.inside == 50, 'all are in the container at once')
        gate.open(self.container)
        self.assertEqual({client.over(stream).status for stream in streams}, {200})
        self.assertEqual(len(self.container.connections), 1)

    def test_a_container_that_allows_few_streams_gets_more_connections(self):
        gate = self.h2_gate()
        client = self.h2(gate, {'settings': {SETTINGS_MAX_CONCURRENT_STREAMS: 2}})
        self.container.play = answer
        self.assertEqual(client.get().status, 200)  # the container's settings are known now
        self.container.play = gate
        streams = [client.request(f'/{n}') for n in range(6)]
        eventually(lambda: gate.inside == 6, 'all six are in the container at once')
        gate.open(self.container)
        self.assertEqual({client.over(stream).status for stream in streams}, {200})

    def test_streams_that_a_late_limit_keeps_back_go_to_more_connections(self):
        gate = self.h2_gate()
        client = self.h2(gate, {'settings': {SETTINGS_MAX_CONCURRENT_STREAMS: 2}, 'mute': True})
        streams = [client.request('/first')]
        eventually(lambda: gate.inside == 1 and self.container.connections, 'one is in the container')
        # It meets more requests and the container's limit in one turn, in this order.
        os.kill(self.proxy.pid, signal.SIGSTOP)
        streams += [client.request(f'/{n}') for n in range(5)]
        self.container.options['mute'] = False
        self.container.connections[0].speak()
        os.kill(self.proxy.pid, signal.SIGCONT)
        eventually(lambda: gate.inside == 6, 'all six are in the container at once')
        gate.open(self.container)
        self.assertEqual({client.over(stream).status for stream in streams}, {200})

    def test_probes_are_answered_without_the_container(self):
        client = self.h2()
        agent, probe = (KUBELET[0].lower(), KUBELET[1]), (QUEUE[0].lower(), QUEUE[1])
        got = client.get('/healthz', [agent, probe])
        self.assertEqual((got.status, got.data), (200, b'queue'))
        got = client.get('/healthz', [('k-network-probe', 'probe'), ('k-network-hash', 'abc')])
        self.assertEqual((got.status, got.headers['k-network-hash']), (200, 'abc'))
        self.assertEqual(self.container.seen, [])

    def test_http_1_still_passes_on_the_same_listener(self):
        proxy = self.sidecar()
        self.assert_serves(proxy)
        client = Client(proxy.serving)
        self.addCleanup(client.close)
        client.ping()

    def test_row_44_connect_is_405(self):
        self.h2()
        connection = raw.RawConnection(self.proxy.serving)
        self.addCleanup(connection.close)
        connection.request(1, ((':method', 'CONNECT'), (':authority', 'a.b:80')))
        got = connection.until(lambda one: one[0] in (raw.HEADERS, raw.RST_STREAM) and one[2] == 1)
        self.assertEqual(got[0], raw.HEADERS)
        self.assertEqual(dict(connection.decoder.decode(got[3]))[':status'], '405')
        self.assertEqual(self.container.seen, [])


class Upstreams(H2Case):
    def test_row_42_a_container_with_only_http_1_is_502(self):
        for play in (lambda exchange: exchange.send(b'HTTP/1.1 400 Bad Request\r\n'
                                                    b'Content-Length: 0\r\n\r\n'),
                     lambda exchange: exchange.sock.close()):
            proxy = self.sidecar(play)
            client = Client(proxy.serving)
            self.addCleanup(client.close)
            got = client.get()
            self.assertEqual(got.status, 502)
            self.assertTrue(got.headers['sluice-error'].startswith('upstream'))
            self.assertIn(b'h2c', got.data)

    def test_a_container_that_exited_is_reported_as_such(self):
        # One that has spoken HTTP/2 once, and then ends without a word.
        client = self.h2()
        self.assertEqual(client.get().status, 200)
        port = self.container.port
        self.container.close()
        dying = Upstream(lambda exchange: exchange.sock.shutdown(socket.SHUT_RDWR), port=port)
        self.addCleanup(dying.close)
        got = client.get()
        self.assert_own(got, 502, b'EOF\n', 'upstream')

    def test_half_a_settings_frame_is_not_taken_for_another_protocol(self):
        def play(exchange):
            exchange.send(b'\0\0\x06\x04')
            exchange.sock.shutdown(socket.SHUT_RDWR)

        client = Client(self.sidecar(play).serving)
        self.addCleanup(client.close)
        self.assert_own(client.get(), 502, b'EOF\n', 'upstream')

    def test_a_container_that_sent_nothing_may_have_exited(self):
        client = Client(self.sidecar(lambda exchange: exchange.sock.shutdown(socket.SHUT_RDWR)).serving)
        self.addCleanup(client.close)
        got = client.get()
        self.assertEqual(got.status, 502)
        self.assertTrue(got.data.startswith(b'the service closed the connection before it sent anything'))

    def test_a_closed_port_is_502(self):
        client = self.h2()
        self.container.close()
        got = client.get()
        self.assert_own(got, 502, f'dial tcp 127.0.0.1:{self.container.port}: connect: '
                                  f'connection refused\n'.encode(), 'upstream')

    def test_a_container_that_resets_mid_body_resets_the_client(self):
        def break_off(connection, stream):
            connection.send_headers(stream.number, [(':status', '200')])
            connection.send_data(stream.number, b'half')
            connection.ping()
            connection.reset(stream.number, 2)

        client = self.h2(break_off)
        got = client.get()
        self.assertEqual((got.status, got.ended), (200, False))
        self.assertIsNotNone(got.reset)
        self.container.play = answer
        self.assertEqual(client.get().status, 200)

    def test_a_container_that_exits_mid_body_resets_the_client(self):
        def die(connection, stream):
            connection.send_headers(stream.number, [(':status', '200')])
            connection.send_data(stream.number, b'half')
            connection.close()

        client = self.h2(die)
        got = client.get()
        self.assertEqual((got.status, got.ended, got.data), (200, False, b'half'))
        self.assertIsNotNone(got.reset)
        self.container.play = answer
        self.assertEqual(client.get().status, 200)

    def test_a_container_that_sends_goaway_gets_new_streams_on_a_new_connection(self):
        client = self.h2()
        self.assertEqual(client.get().status, 200)
        first = self.container.connections[0]
        with first.changed:
            first.h2.close_connection()
            first.flush()
        for _ in range(3):
            self.assertEqual(client.get().status, 200)
        self.assertEqual(len(self.container.connections), 2)

    def test_a_stream_the_container_refused_unseen_is_sent_again(self):
        # REFUSED_STREAM promises that nothing was done with it (RFC 9113 8.7).
        refused = []

        def refuse_once(connection, stream):
            if not refused:
                refused.append(stream)
                connection.reset(stream.number, REFUSED_STREAM)
            else:
                connection.answer(stream)

        got = self.h2(refuse_once).get()
        self.assertIn(got.status, (200, 502))


class Limits(H2Case):
    def test_row_1_streams_queue_and_the_twelfth_is_refused(self):
        gate = self.h2_gate()
        client = self.h2(gate, CONTAINER_CONCURRENCY='1')
        streams = [client.request(f'/{n}') for n in range(12)]
        last = client.over(streams[-1])
        self.assert_own(last, 503, b'pending request queue full\n', 'queue-full')
        self.assertEqual(last.headers['retry-after'], '1')
        gate.open(self.container)
        self.assertEqual({client.over(stream).status for stream in streams[:-1]}, {200})
        self.assertEqual(gate.most, 1)

    def test_row_4_a_queued_stream_that_is_reset_frees_its_place_at_once(self):
        gate = self.h2_gate()
        client = self.h2(gate, CONTAINER_CONCURRENCY='1', SLUICE_QUEUE_DEPTH='1')
        running = client.request('/running')
        waiting = client.request('/left', method='POST', end=False)
        self.assertEqual(client.get('/refused').status, 503)
        client.reset(waiting.number)
        stays = client.request('/stays')
        client.ping()
        self.assertIsNone(stays.status)
        gate.open(self.container)
        self.assertEqual([client.over(one).status for one in (running, stays)], [200, 200])
        self.assertEqual([one.headers[':path'] for one in self.container.seen],
                         ['/running', '/stays'])

    def test_a_connection_that_closes_frees_all_its_places(self):
        gate = self.h2_gate()
        client = self.h2(gate, CONTAINER_CONCURRENCY='1', SLUICE_QUEUE_DEPTH='3')
        for n in range(4):
            client.request(f'/{n}')
        eventually(lambda: gate.inside == 1 and self.container.connections, 'one is in the container')
        client.ping()
        client.close()
        self.container.play = answer
        other = self.client()
        self.assertEqual(other.get('/next').status, 200)
        self.assertEqual([one.headers[':path'] for one in self.container.seen], ['/0', '/next'])

    def test_no_more_than_250_streams_on_a_connection(self):
        gate = self.h2_gate()
        client = self.h2(gate)
        client.ping()
        self.assertEqual(client.h2.remote_settings.max_concurrent_streams, 250)
        connection = raw.RawConnection(self.proxy.serving)
        self.addCleanup(connection.close)
        for n in range(251):
            connection.request(2 * n + 1)
        kind, code = connection.ending()
        self.assertIn((kind, code), [('reset', 'REFUSED_STREAM'), ('goaway', 'PROTOCOL_ERROR')])
        self.assertEqual(client.h2.remote_settings.max_concurrent_streams, 250)


class Timers(H2Case):
    def silent(self, connection, stream):
        connection.wait(lambda: stream.reset is not None or connection.closed, 'it is reset')
        self.resets.append(stream.reset)

    def begun(self, connection, stream):
        kind = stream.headers.get('content-type', 'text/plain')
        connection.send_headers(stream.number, [(':status', '200'), ('content-type', kind)])
        connection.send_data(stream.number, b'foo')
        self.silent(connection, stream)

    def setUp(self):
        self.resets = []

    def test_row_32_a_silent_container_is_504_and_its_stream_is_reset(self):
        client = self.h2(self.silent, REVISION_TIMEOUT_SECONDS='1')
        self.assert_own(client.get(), 504, b'request timeout', 'timeout')
        eventually(lambda: self.resets, "the container's stream is reset")
        self.assertEqual(self.resets, [CANCEL])

    def test_row_34_after_the_first_byte_the_stream_is_reset_with_cancel(self):
        for timer in ('REVISION_TIMEOUT_SECONDS', 'REVISION_IDLE_TIMEOUT_SECONDS'):
            with self.subTest(timer):
                got = self.h2(self.begun, **{timer: '1'}).get()
                self.assertEqual((got.status, got.data, got.ended), (200, b'foo', False))
                self.assertEqual(got.reset, CANCEL)

    def test_grpc_gets_trailers_that_report_its_passed_deadline(self):
        client = self.h2(self.begun, REVISION_TIMEOUT_SECONDS='1')
        got = client.get(headers=[('content-type', 'application/grpc+proto')])
        self.assertEqual((got.status, got.data), (200, b'foo'))
        self.assertEqual(got.trailers['grpc-status'], '4')
        self.assertTrue(got.ended)
        eventually(lambda: self.resets, "the container's stream is reset")

    def test_row_33_a_timeout_of_zero_fires_at_once(self):
        client = self.h2(self.silent, REVISION_TIMEOUT_SECONDS='0')
        self.assert_own(client.get(), 504, b'request timeout', 'timeout')

    def test_a_client_that_resets_resets_the_container(self):
        client = self.h2(self.silent)
        stream = client.request()
        eventually(lambda: self.container.seen, 'the request reached the container')
        client.reset(stream.number)
        eventually(lambda: self.resets, "the container's stream is reset")
        self.assertEqual(self.resets, [CANCEL])


class Drain(H2Case):
    # In raw frames: Debian's h2 takes every GOAWAY for the end of the connection.
    def status_of(self, connection, stream):
        got = connection.until(lambda one: one[0] == raw.HEADERS and one[2] == stream)
        self.assertIsNotNone(got, f'stream {stream} was never answered')
        return dict(connection.decoder.decode(got[3]))[':status']

    def test_goaway_is_sent_at_the_start_and_running_streams_finish(self):
        gate = self.h2_gate()
        self.h2(gate, SLUICE_DRAIN_QUIET='1s')
        running = raw.RawConnection(self.proxy.serving)
        self.addCleanup(running.close)
        running.request(1)
        eventually(lambda: gate.inside, 'the request reached the container')
        self.proxy.terminate()
        goaway = running.until(lambda one: one[0] == raw.GOAWAY)
        self.assertEqual(goaway[3][4:8], b'\0\0\0\0')
        self.container.play = answer
        other = raw.RawConnection(self.proxy.serving)
        self.addCleanup(other.close)
        other.request(1)
        self.assertEqual(self.status_of(other, 1), '200')
        gate.open(self.container)
        self.assertEqual(self.status_of(running, 1), '200')
        self.assertIsNotNone(running.until(lambda one: one[0] == raw.DATA and one[1] & 1))
        self.assertEqual(self.proxy.process.wait(PATIENCE), 0)

    def test_a_request_that_crosses_the_goaway_is_answered(self):
        self.h2(SLUICE_DRAIN_QUIET='1s')
        crossing = raw.RawConnection(self.proxy.serving)
        self.addCleanup(crossing.close)
        crossing.request(1)
        self.assertEqual(self.status_of(crossing, 1), '200')
        self.proxy.terminate()
        # Sent before the client can have read the announcement, as on a network with delay.
        crossing.until(lambda one: one[0] == raw.GOAWAY)
        last = int.from_bytes(crossing.frames[-1][3][:4], 'big')
        crossing.request(3)
        got = crossing.until(lambda one: one[0] == raw.HEADERS and one[2] == 3)
        self.assertTrue(got is not None or last < 3, 'a stream within the announcement was dropped')
