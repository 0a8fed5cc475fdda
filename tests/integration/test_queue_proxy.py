"""The sidecar's contract, against the real program: rows of queue-proxy.md 13 by their number."""

import concurrent.futures
import json
import socket
import threading
import unittest

from sidecar import OK, Sidecar, Upstream
from wire import Reader, fetch, request_bytes

KUBELET = ('User-Agent', 'kube-probe/1.29')
QUEUE = ('K-Network-Probe', 'queue')


class SidecarCase(unittest.TestCase):
    def sidecar(self, play=lambda exchange: exchange.send(OK), **environment):
        self.upstream = Upstream(play)
        self.addCleanup(self.upstream.close)
        made = Sidecar(self.upstream.port, **environment)
        self.addCleanup(made.close)
        return made

    def seen(self):
        return self.upstream.seen[-1].headers

    def assert_answer(self, answer, status, body):
        self.assertIsNotNone(answer, 'the connection was closed without a response')
        self.assertEqual((answer.status, answer.body), (status, body))


class Admission(SidecarCase):
    def test_row_1_the_twelfth_request_is_refused_with_retry_after(self):
        release = threading.Event()
        self.addCleanup(release.set)

        def slow(exchange):
            release.wait(20)
            exchange.send(OK)

        proxy = self.sidecar(slow, CONTAINER_CONCURRENCY='1')
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            asked = [pool.submit(proxy.get) for _ in range(12)]
            first = next(concurrent.futures.as_completed(asked, timeout=20)).result()
            self.assert_answer(first, 503, b'pending request queue full\n')
            self.assertEqual(first.headers['retry-after'], '1')
            self.assertTrue(first.headers['sluice-error'].startswith('queue-full'))
            release.set()
            statuses = sorted(one.result().status for one in asked)
        self.assertEqual(statuses, [200] * 11 + [503])

    def test_row_5_no_limit_without_container_concurrency(self):
        everybody = threading.Barrier(40, timeout=20)

        def together(exchange):
            everybody.wait()
            exchange.send(OK)

        for concurrency in ('0', '-1'):
            proxy = self.sidecar(together, CONTAINER_CONCURRENCY=concurrency)
            with concurrent.futures.ThreadPoolExecutor(40) as pool:
                answers = list(pool.map(lambda _: proxy.get(), range(40)))
            self.assertEqual({answer.status for answer in answers}, {200})

    def leaves_the_queue(self, request):
        running = threading.Event()
        release = threading.Event()
        self.addCleanup(release.set)

        def slow(exchange):
            running.set()
            release.wait(20)
            exchange.send(OK)

        proxy = self.sidecar(slow, CONTAINER_CONCURRENCY='1', SLUICE_QUEUE_DEPTH='1')
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            first = pool.submit(proxy.get)
            self.assertTrue(running.wait(10))
            leaver = proxy.connect()
            leaver.sendall(request)
            # The place is taken once somebody else is refused.
            while proxy.get().status != 503:
                pass
            leaver.close()
            # Free again: now one may wait, instead of being refused.
            second = pool.submit(self.until_not_refused, proxy)
            release.set()
            self.assertEqual(first.result(20).status, 200)
            self.assertEqual(second.result(20).status, 200)
        paths = [exchange.head.split()[1] for exchange in self.upstream.seen]
        self.assertNotIn('/left', paths)

    def until_not_refused(self, proxy):
        while (answer := proxy.get()).status == 503:
            pass
        return answer

    def test_row_71_a_queued_get_whose_client_closes_leaves_at_once(self):
        self.leaves_the_queue(request_bytes('GET', '/left', 'app'))

    def test_row_72_a_queued_post_with_unread_body_leaves_at_once(self):
        head = b'POST /left HTTP/1.1\r\nHost: app\r\nContent-Length: 100000\r\n\r\nfirst bytes'
        self.leaves_the_queue(head)


class Probes(SidecarCase):
    def test_rows_10_to_15_classify_probes(self):
        proxy = self.sidecar()
        unexpected = b'unexpected probe header value: '
        self.assert_answer(proxy.get(headers=[KUBELET]), 400, unexpected + b'\n')
        self.assert_answer(proxy.get(headers=[KUBELET, QUEUE]), 200, b'queue')
        test_probe = ('K-Network-Probe', 'test-probe')
        self.assert_answer(proxy.get(headers=[KUBELET, test_probe]), 400, unexpected + b'test-probe\n')
        network = ('K-Network-Probe', 'probe')
        answer = proxy.get(headers=[network, ('K-Network-Hash', 'abc')])
        self.assert_answer(answer, 200, b'')
        self.assertEqual(answer.headers['k-network-hash'], 'abc')
        answer = proxy.get(headers=[network])
        self.assert_answer(answer, 400, b'a probe request must contain a non-empty '
                                        b'"K-Network-Hash" header\n')
        self.assertEqual(self.upstream.seen, [])

    def test_row_12_not_ready_while_nobody_listens(self):
        with socket.create_server(('127.0.0.1', 0)) as taken:
            port = taken.getsockname()[1]
        probe = json.dumps({'tcpSocket': {'host': '127.0.0.1', 'port': port}, 'periodSeconds': 1,
                            'timeoutSeconds': 1, 'successThreshold': 1})
        proxy = Sidecar(port, SERVING_READINESS_PROBE=probe)
        self.addCleanup(proxy.close)
        self.assert_answer(proxy.get(headers=[KUBELET, QUEUE]), 503, b'')

    def test_rows_16_and_17_draining_fails_probes_and_serves_requests(self):
        proxy = self.sidecar(SLUICE_DRAIN_QUIET='3s')
        proxy.terminate()
        # A connection that is idle when the drain begins is closed; the next one is answered.
        for _ in range(100_000):
            answer = proxy.get(headers=[KUBELET, QUEUE])
            if answer is not None and answer.status == 503:
                break
        self.assert_answer(answer, 503, b'shutting down\n')
        self.assert_answer(proxy.get(), 200, b'ok')
        self.assertEqual(proxy.process.wait(20), 0)

    def test_rows_18_and_19_probe_headers_of_others_are_forwarded(self):
        proxy = self.sidecar()
        curl = ('User-Agent', 'curl/8')
        self.assert_answer(proxy.get(headers=[curl, QUEUE]), 200, b'ok')
        headers = [curl, ('K-Kubelet-Probe', 'x'), ('K-Original-Host', 'a.b')]
        self.assert_answer(proxy.get(headers=headers), 200, b'ok')
        self.assertEqual(self.seen()['k-original-host'], 'a.b')

    def http_probe(self, **fields):
        return {'httpGet': {'host': '127.0.0.1', 'port': self.upstream.port, 'path': '/healthz'},
                'successThreshold': 1, 'timeoutSeconds': 1, **fields}

    def readiness(self, status, **fields):
        """The sidecar's readiness when the container answers its probe with `status`."""
        probe = Upstream(lambda exchange: exchange.send(
            f'HTTP/1.1 {status} x\r\nContent-Length: 0\r\n\r\n'.encode()))
        self.upstream = probe
        self.addCleanup(probe.close)
        made = Sidecar(probe.port, SERVING_READINESS_PROBE=json.dumps(self.http_probe(**fields)))
        self.addCleanup(made.close)
        return made.get(headers=[KUBELET, QUEUE]).status

    def test_row_60_statuses_below_400_are_ready(self):
        self.assertEqual(self.readiness(399, periodSeconds=1), 200)
        self.assertEqual(self.readiness(400, periodSeconds=1), 503)

    def test_row_58_success_threshold_asks_that_often(self):
        self.assertEqual(self.readiness(200, periodSeconds=0, successThreshold=3), 200)
        self.assertGreaterEqual(len(self.upstream.seen), 3)

    def test_row_59_parallel_readiness_calls_share_one_probe(self):
        release = threading.Event()

        def slow(exchange):
            release.wait(20)
            exchange.send(OK)

        self.upstream = Upstream(slow)
        self.addCleanup(self.upstream.close)
        proxy = Sidecar(self.upstream.port, SERVING_READINESS_PROBE=json.dumps(
            self.http_probe(periodSeconds=1, timeoutSeconds=20)))
        self.addCleanup(proxy.close)
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            asked = [pool.submit(proxy.get, headers=[KUBELET, QUEUE]) for _ in range(20)]
            release.set()
            self.assertEqual({one.result(20).status for one in asked}, {200})
        self.assertLessEqual(len(self.upstream.seen), 20)


class Headers(SidecarCase):
    def forwarded(self, *headers):
        proxy = self.sidecar()
        self.assert_answer(proxy.get(headers=headers), 200, b'ok')
        return self.seen()

    def test_rows_21_to_23_routing_headers_stop_here(self):
        seen = self.forwarded(('K-Original-Host', 'a.b'), ('Knative-Serving-Revision', 'r'),
                              ('Knative-Serving-Namespace', 'n'))
        self.assertEqual(seen['host'], 'a.b')
        for name in ('k-original-host', 'knative-serving-revision', 'knative-serving-namespace',
                     'user-agent'):
            self.assertNotIn(name, seen)

    def test_rows_24_to_28_the_forwarded_header_is_made_from_its_elders(self):
        rows = [([('X-Forwarded-For', '127.0.0.1, ::1'), ('X-Forwarded-Host', 'h'),
                  ('X-Forwarded-Proto', 'p')],
                 'for=127.0.0.1;host=h;proto=p, for="[::1]"'),
                ([('X-Forwarded-Host', 'h'), ('X-Forwarded-Proto', 'p')], 'host=h;proto=p'),
                ([('X-Forwarded-For', ',,,')], 'for=, for=, for='),
                ([('Forwarded', 'for=me'), ('X-Forwarded-For', '1.2.3.4')], 'for=me'),
                ([], None)]
        proxy = self.sidecar()
        for headers, want in rows:
            with self.subTest(headers=headers):
                self.assertEqual(proxy.get(headers=headers).status, 200)
                self.assertEqual(self.seen().get('forwarded'), want)

    def test_row_29_the_peer_is_appended_to_forwarded_for(self):
        self.assertEqual(self.forwarded(('X-Forwarded-For', '1.2.3.4'))['x-forwarded-for'],
                         '1.2.3.4, 127.0.0.1')

    def test_rows_30_and_31_hop_by_hop_headers_stop_here(self):
        proxy = self.sidecar()
        with proxy.connect() as sock:
            sock.sendall(b'GET / HTTP/1.1\r\nHost: app\r\nConnection: close, X-Foo\r\nX-Foo: 1\r\n'
                         b'TE: trailers, gzip\r\nX-Bar: 2\r\n\r\n')
            self.assert_answer(Reader(sock).answer(), 200, b'ok')
        self.assertNotIn('x-foo', self.seen())
        self.assertEqual(self.seen()['te'], 'trailers')
        self.assertEqual(self.seen()['x-bar'], '2')


class Timers(SidecarCase):
    def silent(self, exchange):
        exchange.reader.more()

    def test_rows_32_and_38_a_silent_container_is_504(self):
        for name in ('REVISION_TIMEOUT_SECONDS', 'REVISION_RESPONSE_START_TIMEOUT_SECONDS',
                     'REVISION_IDLE_TIMEOUT_SECONDS'):
            with self.subTest(timer=name):
                proxy = self.sidecar(self.silent, **{name: '1'})
                answer = proxy.get()
                self.assert_answer(answer, 504, b'request timeout')
                self.assertTrue(answer.headers['sluice-error'].startswith('timeout'))

    def test_row_33_a_timeout_of_zero_fires_at_once(self):
        proxy = self.sidecar(self.silent, REVISION_TIMEOUT_SECONDS='0')
        self.assert_answer(proxy.get(), 504, b'request timeout')

    def aborted_mid_body(self, **timers):
        def half(exchange):
            exchange.send(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nfoo\r\n')
            exchange.reader.more()

        answer = self.sidecar(half, **timers).get()
        self.assertEqual((answer.status, answer.body, answer.whole), (200, b'foo', False))

    def test_row_34_a_timeout_mid_stream_aborts_it(self):
        self.aborted_mid_body(REVISION_TIMEOUT_SECONDS='1')

    def test_row_37_idleness_mid_stream_aborts_it(self):
        self.aborted_mid_body(REVISION_IDLE_TIMEOUT_SECONDS='1')

    def test_rows_35_and_36_a_stream_that_goes_on_is_left_alone(self):
        def steady(exchange):
            exchange.send(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
            for _ in range(6):
                threading.Event().wait(0.3)
                exchange.send(b'3\r\nfoo\r\n')
            exchange.send(b'0\r\n\r\n')

        proxy = self.sidecar(steady, REVISION_IDLE_TIMEOUT_SECONDS='1',
                             REVISION_RESPONSE_START_TIMEOUT_SECONDS='1')
        self.assert_answer(proxy.get(), 200, b'foo' * 6)


class Upstreams(SidecarCase):
    def test_row_43_a_closed_port_is_502_at_once(self):
        with socket.create_server(('127.0.0.1', 0)) as taken:
            port = taken.getsockname()[1]
        proxy = Sidecar(port)
        self.addCleanup(proxy.close)
        self.assert_answer(proxy.get(), 502,
                           f'dial tcp 127.0.0.1:{port}: connect: connection refused\n'.encode())

    def test_row_44_connect_is_405_and_never_forwarded(self):
        proxy = self.sidecar()
        with proxy.connect() as sock:
            sock.sendall(b'CONNECT a.b:80 HTTP/1.1\r\nHost: a.b:80\r\n\r\n')
            answer = Reader(sock).answer()
        self.assertEqual(answer.status, 405)
        self.assertTrue(answer.headers['sluice-error'].startswith('bad-request'))
        self.assertEqual(self.upstream.seen, [])

    def test_row_45_an_interim_response_keeps_the_final_status(self):
        proxy = self.sidecar(lambda exchange: exchange.send(
            b'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'
            b'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n'))
        with proxy.connect() as sock:
            sock.sendall(request_bytes('GET', '/', 'app'))
            reader = Reader(sock)
            self.assertEqual(reader.head()[0], 103)
            self.assertEqual(reader.head()[0], 404)

    def expect(self, play):
        proxy = self.sidecar(play)
        sock = proxy.connect()
        self.addCleanup(sock.close)
        sock.sendall(b'POST / HTTP/1.1\r\nHost: app\r\nExpect: 100-continue\r\n'
                     b'Content-Length: 4\r\n\r\n')
        return sock, Reader(sock)

    def test_row_46_continue_then_201(self):
        def play(exchange):
            exchange.send(b'HTTP/1.1 100 Continue\r\n\r\n')
            exchange.body()
            exchange.send(b'HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n')

        sock, reader = self.expect(play)
        self.assertEqual(reader.head()[0], 100)
        sock.sendall(b'body')
        self.assertEqual(reader.head()[0], 201)

    def test_row_47_a_direct_413_comes_without_continue(self):
        _, reader = self.expect(lambda exchange: exchange.send(
            b'HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'))
        self.assertEqual(reader.head()[0], 413)

    def test_row_48_a_chunked_upload_stays_chunked(self):
        bodies = []

        def play(exchange):
            bodies.append(exchange.body())
            exchange.send(OK)

        proxy = self.sidecar(play)
        with proxy.connect() as sock:
            sock.sendall(b'POST / HTTP/1.1\r\nHost: app\r\nTransfer-Encoding: chunked\r\n\r\n'
                         b'3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n')
            self.assert_answer(Reader(sock).answer(), 200, b'ok')
        self.assertEqual(self.seen()['transfer-encoding'], 'chunked')
        self.assertEqual(bodies, [b'abcde'])

    def test_a_connection_survives_large_bodies_both_ways_and_serves_the_next_request(self):
        # Goal: buffers that grow for a body and shrink after it never move under a waiting read.
        # Method: echo bodies larger than any buffer, in both framings, again and again on one
        # connection, each compared whole, with a small request between them.
        def echo(exchange):
            body = exchange.body()
            exchange.send(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % len(body) + body)

        proxy = self.sidecar(echo)
        body = bytes(range(256)) * 8192
        chunks = b''.join(b'%x\r\n%s\r\n' % (len(part), part)
                          for part in (body[i:i + 70_001] for i in range(0, len(body), 70_001)))
        head = b'POST / HTTP/1.1\r\nHost: app\r\n'
        uploads = [head + b'Content-Length: %d\r\n\r\n' % len(body) + body,
                   head + b'Transfer-Encoding: chunked\r\n\r\n' + chunks + b'0\r\n\r\n',
                   head + b'Content-Length: 3\r\n\r\nabc']
        with proxy.connect() as sock:
            reader = Reader(sock)
            for upload, expected in zip(uploads * 3, [body, body, b'abc'] * 3):
                sender = threading.Thread(target=sock.sendall, args=(upload,), daemon=True)
                sender.start()
                self.assert_answer(reader.answer(), 200, expected)
                sender.join(20)
        self.assertIsNone(proxy.process.poll(), 'the sidecar has died')

    def test_row_74_a_container_that_dies_mid_body_closes_the_client(self):
        def die(exchange):
            exchange.send(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789')
            exchange.sock.shutdown(socket.SHUT_RDWR)

        answer = self.sidecar(die).get()
        self.assertFalse(answer is not None and answer.whole)


class Statistics(SidecarCase):
    def test_rows_49_and_50_the_scrape_is_protobuf_whatever_is_accepted(self):
        proxy = self.sidecar()
        answer = fetch(proxy.stats, '/metrics', headers=[('Accept', 'text/plain')])
        self.assertEqual(answer.headers['content-type'], 'application/protobuf')
        name = b'app-00001-1'
        self.assertTrue(answer.body.startswith(b'\x0a' + bytes([len(name)]) + name))

    def test_row_64_wait_for_drain_without_sigterm_leaves_it_healthy(self):
        proxy = self.sidecar()
        self.assertEqual(fetch(proxy.admin, '/wait-for-drain').status, 200)
        self.assert_answer(proxy.get(headers=[KUBELET, QUEUE]), 200, b'queue')


if __name__ == '__main__':
    unittest.main()
