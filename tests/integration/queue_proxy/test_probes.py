"""How the sidecar probes whether its container is ready: every kind of probe, kubelet's rules."""

import concurrent.futures
import contextlib
import json
import socket
import ssl
import subprocess
import tempfile
import threading

from queue_proxy.case import KUBELET, PATIENCE, QUEUE, SidecarCase, eventually, free_port
from queue_proxy.h2_peers import Container, ContainerConnection
from sidecar import OK, Upstream
from wire import Reader

SERVING = b'\x00\x00\x00\x00\x02\x08\x01'  # a HealthCheckResponse in gRPC's frame
NOT_SERVING = b'\x00\x00\x00\x00\x02\x08\x02'
H2_PREFACE = 'PRI * HTTP/2.0'
ONCE = {'periodSeconds': 1, 'timeoutSeconds': 5}  # one attempt


def respond(status, *headers):
    lines = [f'HTTP/1.1 {status} x', *headers, 'Content-Length: 0']
    return ('\r\n'.join(lines) + '\r\n\r\n').encode()


class ProbeCase(SidecarCase):
    def ready(self, probe, user_port=None, **environment):
        """The sidecar's answer to kubelet when its container is to be probed by `probe`."""
        self.proxy = self.sidecar_for(user_port or free_port(),
                                      SERVING_READINESS_PROBE=json.dumps(probe), **environment)
        return self.ask_again()

    def ask_again(self):
        return self.proxy.get(headers=[KUBELET, QUEUE]).status == 200

    def container(self, play):
        self.upstream = Upstream(play)
        self.addCleanup(self.upstream.close)
        return self.upstream.port

    def http(self, port, probe=ONCE, **action):
        return {'httpGet': {'host': '127.0.0.1', 'port': port, **action}, **probe}

    def h2_container(self, play):
        made = Container(play)
        self.addCleanup(made.close)
        return made


class Http(ProbeCase):
    def answered(self, status):
        port = self.container(lambda exchange: exchange.send(respond(status)))
        return self.ready(self.http(port))

    def test_row_12_not_ready_is_503_without_a_body(self):
        self.assertFalse(self.ready(self.http(free_port())))
        answer = self.proxy.get(headers=[KUBELET, QUEUE])
        self.assert_answer(answer, 503, b'')
        self.assert_cause(answer, 'not-ready')

    def test_row_60_399_is_ready_400_is_not(self):
        self.assertTrue(self.answered(200))
        self.assertTrue(self.answered(399))
        self.assertFalse(self.answered(400))
        self.assertFalse(self.answered(199 + 301))

    def test_row_58_as_many_requests_as_required_successes_are_sent(self):
        port = self.container(lambda exchange: exchange.send(respond(200)))

        self.assertTrue(self.ready(self.http(port, {'successThreshold': 3})))

        self.assertEqual(len(self.upstream.seen), 3)

    def test_row_57_ready_soon_after_the_port_opened(self):
        port = free_port()
        proxy = self.sidecar_for(port, SERVING_READINESS_PROBE=json.dumps(self.http(port, {})))
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            asked = pool.submit(proxy.get, headers=[KUBELET, QUEUE])
            with socket.create_server(('127.0.0.1', port)) as listener:
                served, _ = listener.accept()
                served.recv(65536)
                served.sendall(respond(200))
                self.assert_answer(asked.result(PATIENCE), 200, b'queue')
                served.close()

    def test_row_59_parallel_callers_share_one_request(self):
        release = threading.Event()
        self.addCleanup(release.set)

        def play(exchange):
            release.wait(PATIENCE)
            exchange.send(OK)

        port = self.container(play)
        probe = self.http(port, {'periodSeconds': 1, 'timeoutSeconds': PATIENCE})
        proxy = self.sidecar_for(port, SERVING_READINESS_PROBE=json.dumps(probe))
        socks = [self.ask(proxy, b'GET / HTTP/1.1\r\nHost: a\r\nUser-Agent: kube-probe/1\r\n'
                                 b'K-Network-Probe: queue\r\n\r\n') for _ in range(20)]
        eventually(lambda: self.upstream.seen, 'the probe arrives')
        ports = {sock.getsockname()[1] for sock, _ in socks}
        eventually(lambda: len(self.all_read(proxy) & ports) == len(ports), 'the requests are read')
        self.assertEqual(proxy.get(headers=[KUBELET]).status, 400)  # and acted upon: one thread
        release.set()
        for _, reader in socks:
            self.assertEqual(reader.answer().status, 200)
        self.assertEqual(len(self.upstream.seen), 1)

    @staticmethod
    def all_read(proxy):
        """The client ports of whose bytes none waits in a socket of the sidecar."""
        own = f":{int(proxy.serving.rsplit(':', 1)[1]):04X}"
        with open('/proc/net/tcp', encoding='ascii') as table:
            lines = [line.split() for line in table][1:]
        return {int(remote.split(':')[1], 16) for _, local, remote, state, queues, *_ in lines
                if local.endswith(own) and state == '01' and queues.endswith(':00000000')}

    def test_a_run_outlives_the_caller_that_began_it(self):
        release = threading.Event()
        self.addCleanup(release.set)

        def play(exchange):
            release.wait(PATIENCE)
            exchange.send(OK)

        port = self.container(play)
        probe = self.http(port, {'periodSeconds': 1, 'timeoutSeconds': PATIENCE})
        proxy = self.sidecar_for(port, SERVING_READINESS_PROBE=json.dumps(probe))
        request = b'GET / HTTP/1.1\r\nHost: a\r\nUser-Agent: kube-probe/1\r\nK-Network-Probe: queue\r\n\r\n'
        first, _ = self.ask(proxy, request)
        eventually(lambda: self.upstream.seen, 'the probe arrives')
        first.close()
        _, reader = self.ask(proxy, request)
        release.set()
        self.assertEqual(reader.answer().status, 200)

    def test_headers_are_sent_and_the_host_is_honoured(self):
        port = self.container(lambda exchange: exchange.send(OK))
        headers = [{'name': 'Host', 'value': 'shop.example'}, {'name': 'X-Probe', 'value': 'yes'},
                   {'name': 'Content-Length', 'value': '7'}]
        self.assertTrue(self.ready(self.http(port, path='/a b?c', httpHeaders=headers)))
        seen = self.seen()
        self.assertEqual(seen['host'], 'shop.example')
        self.assertEqual(seen['x-probe'], 'yes')
        self.assertEqual(seen['user-agent'], 'kube-probe//')
        self.assertNotIn('content-length', seen)
        self.assertEqual(self.paths(), ['/a%20b?c'])

    def test_a_port_may_be_a_text_and_the_scheme_absent(self):
        port = self.container(lambda exchange: exchange.send(OK))
        self.assertTrue(self.ready({'httpGet': {'port': str(port)}, **ONCE}))

    def test_an_endless_body_does_not_matter(self):
        def play(exchange):
            exchange.send(b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n')
            while True:
                exchange.send(b'data: x\n\n' * 1000)

        self.assertTrue(self.ready(self.http(self.container(play))))

    def test_a_long_error_page_is_still_an_error(self):
        body = b'x' * 300_000
        head = f'HTTP/1.1 500 x\r\nContent-Length: {len(body)}\r\n\r\n'.encode()
        self.assertFalse(self.ready(self.http(self.container(
            lambda exchange: exchange.send(head + body)))))

    def test_the_failures_of_an_aggressive_run_are_one_line(self):
        port = self.container(lambda exchange: exchange.send(respond(500)))
        self.assertFalse(self.ready(self.http(port, {})))
        self.assertRegex(self.proxy.errors(), r'aggressive probe error \(failed \d+ times\): '
                                              r'HTTP probe did not respond Ready, got status code: 500')


class Redirects(ProbeCase):
    def led(self, *locations, final=200):
        """Ready when `/` leads through the locations, one per path `/0`, `/1`, ..."""
        def play(exchange):
            step = int(exchange.path.strip('/') or 0)
            if step < len(locations):
                exchange.send(respond(302, f'Location: {locations[step]}'))
            else:
                exchange.send(respond(final))

        return self.ready(self.http(self.container(play), path='/0'))

    def test_a_redirect_on_the_same_host_is_followed(self):
        self.assertTrue(self.led('/1'))
        self.assertEqual(self.paths(), ['/0', '/1'])
        self.assertFalse(self.led('1', final=404))

    def test_an_absolute_redirect_to_another_port_of_the_host_is_followed(self):
        other = Upstream(lambda exchange: exchange.send(respond(503)))
        self.addCleanup(other.close)
        self.assertFalse(self.led(f'http://127.0.0.1:{other.port}/there'))
        self.assertEqual(other.seen[0].path, '/there')
        self.assertEqual(other.seen[0].headers['host'], f'127.0.0.1:{other.port}')

    def test_a_redirect_to_another_host_counts_as_ready(self):
        self.assertTrue(self.led('https://elsewhere.example/'))
        self.assertEqual(self.paths(), ['/0'])
        self.assertIn('redirected to another host', self.proxy.errors())

    def test_only_ten_redirects_are_followed(self):
        self.assertTrue(self.led(*[f'/{step + 1}' for step in range(10)]))
        self.assertFalse(self.led(*[f'/{step + 1}' for step in range(11)]))


class Secure(ProbeCase):
    def secure_port(self, answer):
        folder = self.enterContext_(tempfile.TemporaryDirectory())
        pair = f'{folder}/pair.pem'
        subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt',
                        'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=unused', '-days', '1',
                        '-keyout', pair, '-out', f'{folder}/own.pem'],
                       check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f'{folder}/own.pem', pair)
        listener = socket.create_server(('127.0.0.1', 0))
        self.addCleanup(listener.close)

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    sock, _ = listener.accept()
                    with contextlib.suppress(OSError), context.wrap_socket(sock, True) as secure:
                        secure.recv(65536)
                        secure.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        return listener.getsockname()[1]

    def enterContext_(self, context):
        value = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return value

    def test_a_self_signed_certificate_is_accepted(self):
        self.assertTrue(self.ready(self.http(self.secure_port(respond(204)), scheme='HTTPS')))
        self.assertFalse(self.ready(self.http(self.secure_port(respond(500)), scheme='HTTPS')))

    def test_a_redirect_leads_into_tls(self):
        secure = self.secure_port(respond(200))
        plain = self.container(lambda exchange: exchange.send(
            respond(301, f'Location: https://127.0.0.1:{secure}/')))
        self.assertTrue(self.ready(self.http(plain)))

    def test_a_container_without_tls_is_not_ready(self):
        port = self.container(lambda exchange: exchange.send(OK))
        self.assertFalse(self.ready(self.http(port, scheme='HTTPS')))


class Detection(ProbeCase):
    def detect(self, port, probe=ONCE):
        headers = [{'name': 'X-Probe', 'value': 'yes'}]
        return self.ready(self.http(port, probe, path='/h', httpHeaders=headers),
                          ENABLE_HTTP2_AUTO_DETECTION='true')

    def test_row_61_an_http1_container_decides_by_http1_without_headers(self):
        def play(exchange):
            if exchange.head.startswith(H2_PREFACE):
                exchange.send(respond(503))
                exchange.sock.close()
            else:
                exchange.send(respond(200))

        self.assertTrue(self.detect(self.container(play)))
        asked = [one for one in self.upstream.seen if one.head.startswith('GET')]
        self.assertEqual([one.path for one in asked], ['/h'])
        self.assertNotIn('x-probe', asked[0].headers)

    def test_row_61_http2_503_and_http1_200_is_ready(self):
        def accept():
            with contextlib.suppress(OSError):
                while True:
                    sock, _ = self.listener.accept()
                    if sock.recv(3, socket.MSG_PEEK | socket.MSG_WAITALL) == b'PRI':
                        made.connections.append(ContainerConnection(sock, made))
                        continue
                    with sock:
                        Reader(sock).until(b'\r\n\r\n')
                        sock.sendall(respond(200))

        made = self.h2_container(lambda peer, stream: peer.answer(stream, status=503))
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.addCleanup(self.listener.close)
        threading.Thread(target=accept, daemon=True).start()
        self.assertTrue(self.detect(self.listener.getsockname()[1]))
        self.assertEqual(len(made.seen), 1)

    def test_row_61_an_http2_container_is_probed_again_with_headers(self):
        made = self.h2_container(lambda peer, stream: peer.answer(stream))
        self.assertTrue(self.detect(made.port))
        self.assertEqual([stream.headers.get('x-probe') for stream in made.seen], [None, 'yes'])

    def test_row_61_the_request_with_headers_decides(self):
        made = self.h2_container(lambda peer, stream: peer.answer(
            stream, status=500 if 'x-probe' in stream.headers else 200))
        self.assertFalse(self.detect(made.port))

    def test_row_61_a_container_silent_at_the_preface_is_still_found_ready(self):
        def play(exchange):
            if exchange.head.startswith(H2_PREFACE):
                exchange.sock.recv(65536)  # until the sidecar gives up
                exchange.reader.until(b'never')
            else:
                exchange.send(respond(200))

        self.assertTrue(self.detect(self.container(play), {}))

    def test_the_detected_protocol_is_not_remembered(self):
        made = self.h2_container(lambda peer, stream: peer.answer(stream))
        self.assertTrue(self.detect(made.port))
        self.assertTrue(self.ask_again())
        self.assertEqual(len(made.seen), 4)


class Grpc(ProbeCase):
    def health(self, answer, probe=ONCE, service=''):
        def play(peer, stream):
            self.asked = (stream.headers, peer.body(stream))
            answer(peer, stream)

        self.made = self.h2_container(play)
        return self.ready({'grpc': {'port': self.made.port, 'service': service}, **probe})

    @staticmethod
    def call(body, status='0'):
        return lambda peer, stream: peer.answer(
            stream, body, headers=[('content-type', 'application/grpc')],
            trailers=[('grpc-status', status)])

    def test_only_serving_is_ready(self):
        self.assertTrue(self.health(self.call(SERVING), service='shop'))
        headers, body = self.asked
        self.assertEqual(headers[':path'], '/grpc.health.v1.Health/Check')
        self.assertEqual(headers['content-type'], 'application/grpc')
        self.assertEqual(headers['te'], 'trailers')
        self.assertEqual(body, b'\x00\x00\x00\x00\x06\x0a\x04shop')
        self.assertFalse(self.health(self.call(NOT_SERVING)))
        self.assertFalse(self.health(self.call(SERVING, status='5')))
        self.assertFalse(self.health(self.call(b'\x00\x00\x00\x00\x05\x08')))

    def test_a_server_without_the_service_is_not_ready_and_is_logged(self):
        self.assertFalse(self.health(lambda peer, stream: peer.send_headers(
            stream.number, [(':status', '200'), ('content-type', 'application/grpc'),
                            ('grpc-status', '12')], end=True)))
        self.assertIn('does not implement grpc.health.v1.Health', self.proxy.errors())

    def test_a_period_without_a_timeout_fails_at_once(self):
        self.assertFalse(self.health(self.call(SERVING), {'periodSeconds': 1}))
        self.assertEqual(self.made.seen, [])

    def test_an_aggressive_probe_waits_for_serving(self):
        answers = iter([NOT_SERVING, NOT_SERVING, SERVING])
        self.assertTrue(self.health(lambda peer, stream: self.call(next(answers))(peer, stream), {}))
        self.assertEqual(len(self.made.seen), 3)

    def test_a_container_without_http2_is_not_ready(self):
        port = self.container(lambda exchange: exchange.send(respond(200)))
        self.assertFalse(self.ready({'grpc': {'port': port}, **ONCE}))


class Several(ProbeCase):
    def many(self, *probes):
        return self.ready(list(probes), ENABLE_MULTI_CONTAINER_PROBES='true')

    def test_row_62_one_failing_probe_of_several_is_not_ready(self):
        good = self.container(lambda exchange: exchange.send(OK))
        tcp = {'tcpSocket': {'port': good}, **ONCE}
        self.assertTrue(self.many(self.http(good), tcp))
        bad = self.container(lambda exchange: exchange.send(respond(500)))
        self.assertFalse(self.many(tcp, self.http(bad), self.http(good)))

    def test_row_63_exec_is_not_ready_and_names_the_reason(self):
        self.assertFalse(self.ready({'exec': {'command': ['true']}}))
        self.assertIn('exec probe not supported', self.proxy.errors())
        self.assertFalse(self.ready({'periodSeconds': 1}))
        self.assertIn('no probe found', self.proxy.errors())

    def test_row_56_an_empty_array_sends_no_probe(self):
        self.assertTrue(self.many())

    def test_bad_json_ends_the_start(self):
        for setting in ('{', '[]', '{"tcpSocket":{"port":0}}'):
            with self.assertRaisesRegex(AssertionError, 'SERVING_READINESS_PROBE'):
                self.sidecar_for(free_port(), SERVING_READINESS_PROBE=setting)
