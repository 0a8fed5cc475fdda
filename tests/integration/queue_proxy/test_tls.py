"""The TLS listener: handshakes, protocols, bodies, settings, and certificates that change (row 65)."""

import contextlib
import os
import pathlib
import socket
import ssl
import subprocess
import tempfile
import unittest

from engine import QUEUE_PROXY
from queue_proxy import h2_peers
from queue_proxy.case import PATIENCE, SidecarCase, eventually, send_all, until_closed
from sidecar import ENVIRONMENT, OK
from wire import Reader, connect, request_bytes

GET = request_bytes('GET', '/', 'app')
HALF_A_HELLO = b'\x16\x03\x01\x02\x00\x01'


def make_pair(folder, name):
    """A self-signed pair in `folder`, its subject `name`."""
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256',
                    '-nodes', '-subj', f'/CN={name}', '-days', '1', '-keyout', folder / 'tls.key',
                    '-out', folder / 'tls.crt'], check=True, capture_output=True)


def trusting(protocols=(), most=ssl.TLSVersion.MAXIMUM_SUPPORTED):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.maximum_version = most
    # A cut must not look like an end to these tests.
    context.options &= ~getattr(ssl, 'OP_IGNORE_UNEXPECTED_EOF', 0)
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context


class TlsCase(SidecarCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.certs = pathlib.Path(folder.name)
        make_pair(self.certs, 'first')

    def secured(self, play=lambda exchange: exchange.send(OK), **environment):
        """A sidecar with a TLS listener."""
        return self.sidecar(play, **self.settings(**environment))

    def settings(self, **environment):
        return {'QUEUE_SERVING_TLS_PORT': '127.0.0.1:0', 'SLUICE_CERTS_DIR': str(self.certs),
                **environment}

    def shake(self, proxy, context=None):
        """A client after its handshake; an end that was not announced is an error to it."""
        sock = connect(proxy.addresses['tls'])
        self.addCleanup(sock.close)
        made = (context or trusting()).wrap_socket(sock, suppress_ragged_eofs=False)
        self.addCleanup(made.close)
        return made

    def ask_securely(self, client, request=GET):
        client.sendall(request)
        return Reader(client).answer()

    def subject(self, client):
        """The common name of the server's certificate."""
        shown = subprocess.run(['openssl', 'x509', '-inform', 'DER', '-noout', '-subject', '-nameopt',
                                'multiline'], input=client.getpeercert(binary_form=True), check=True,
                               capture_output=True).stdout.decode()
        return shown.rsplit('=', 1)[1].strip()

    def curl(self, proxy, *arguments, path='/'):
        return subprocess.run(['curl', '-sk', '--max-time', str(PATIENCE), *arguments,
                               f"https://{proxy.addresses['tls']}{path}"],
                              capture_output=True, check=True).stdout

    def refused_start(self, **environment):
        """(exit code, errors) of a sidecar that does not come up."""
        done = subprocess.run([QUEUE_PROXY], capture_output=True, timeout=PATIENCE, env={
            **os.environ, **ENVIRONMENT, 'USER_PORT': '1', **self.settings(**environment)})
        return done.returncode, done.stderr.decode()

    def assert_cut(self, client):
        """The connection ends, and not by a close_notify, which would say that all has come."""
        with self.assertRaises((ssl.SSLError, ConnectionResetError)) as raised:
            while client.recv(65536):
                pass
        if isinstance(raised.exception, ssl.SSLError):
            self.assertIn('EOF', str(raised.exception).upper())


class Crowds(TlsCase):
    def test_slow_handshakes_keep_no_client_out_where_connections_are_few(self):
        # Goal: who begins TLS and goes no further gives its place to others, on both ports.
        proxy = self.secured(SLUICE_MAX_CONNECTIONS='8', SLUICE_HEADER_TIMEOUT='10m')
        for _ in range(20):
            sock = connect(proxy.addresses['tls'])
            self.addCleanup(sock.close)
            sock.sendall(HALF_A_HELLO)
        for _ in range(4):
            self.assertEqual(proxy.get().status, 200)
            self.assertEqual(self.ask_securely(self.shake(proxy)).status, 200)


class Handshakes(TlsCase):
    def test_requests_follow_each_other_on_one_connection(self):
        client = self.shake(self.secured())
        for _ in range(3):
            self.assert_answer(self.ask_securely(client), 200, b'ok')
        self.assertEqual(client.version(), 'TLSv1.3')

    def test_the_container_hears_what_it_hears_without_tls(self):
        proxy = self.secured()
        self.ask_securely(self.shake(proxy), request_bytes('GET', '/', 'app', [('X-A', 'b')]))
        proxy.get(headers=[('X-A', 'b')])
        secure, plain = (one.headers for one in self.upstream.seen)
        plain.pop('connection', None)
        self.assertEqual(secure, plain)

    def test_probes_are_answered_under_tls(self):
        client = self.shake(self.secured())
        answer = self.ask_securely(client, request_bytes(
            'GET', '/', 'app', [('User-Agent', 'kube-probe/1.29'), ('K-Network-Probe', 'queue')]))
        self.assert_answer(answer, 200, b'queue')

    def test_http_1_for_clients_that_ask_for_it_or_for_nothing(self):
        proxy = self.secured()
        for protocols in ((), ('http/1.1',)):
            client = self.shake(proxy, trusting(protocols))
            self.assertEqual(client.selected_alpn_protocol(), 'http/1.1' if protocols else None)
            self.assert_answer(self.ask_securely(client), 200, b'ok')

    def test_http_2_for_clients_that_know_both(self):
        client = self.shake(self.secured(), trusting(('http/1.1', 'h2')))
        self.assertEqual(client.selected_alpn_protocol(), 'h2')

    def test_clients_that_know_neither_are_refused(self):
        proxy = self.secured()
        with self.assertRaises(ssl.SSLError):
            self.shake(proxy, trusting(('h3',)))
        self.assert_answer(self.ask_securely(self.shake(proxy)), 200, b'ok')

    def test_http_2_carries_requests(self):
        body = os.urandom(1 << 20)
        container = h2_peers.Container(
            lambda connection, stream: connection.answer(stream, connection.body(stream)))
        self.addCleanup(container.close)
        proxy = self.sidecar_for(container.port, **self.settings())
        got = subprocess.run(['curl', '-sk', '--http2', '--max-time', str(PATIENCE), '--data-binary',
                              '@-', '-w', '%{stderr}%{http_version}',
                              f"https://{proxy.addresses['tls']}/"],
                             input=body, capture_output=True, check=True)
        self.assertEqual(got.stderr, b'2')
        self.assertTrue(got.stdout == body, 'another body came back')

    def test_a_unix_socket_serves_tls_too(self):
        proxy = self.secured(QUEUE_SERVING_TLS_PORT=f'unix:{self.certs}/tls.sock')
        self.assert_answer(self.ask_securely(self.shake(proxy)), 200, b'ok')

    def test_plain_http_gets_400_with_the_reason(self):
        proxy = self.secured()
        for request in (GET, b'OPTIONS * HTTP/1.1\r\n\r\n', b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
                        request_bytes('POST', '/', 'app', body=b'x' * 100_000)):
            with connect(proxy.addresses['tls']) as sock:
                send_all(sock, request)
                got = until_closed(sock)
            head, _, body = got.partition(b'\r\n\r\n')
            self.assertTrue(head.startswith(b'HTTP/1.0 400 Bad Request\r\nSluice-Error: bad-request'))
            self.assertEqual(body, b'Client sent an HTTP request to an HTTPS server.\n')
        self.assertEqual(self.upstream.seen, [])

    def test_junk_ends_its_own_connection_only(self):
        proxy = self.secured()
        for junk in (b'\0' * 600, b'SSH-2.0-x\r\n', b'\x16\x03\x01\x00\x02zz', os.urandom(5000)):
            with connect(proxy.addresses['tls']) as sock:
                send_all(sock, junk)
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_WR)
                until_closed(sock)
        self.assert_answer(self.ask_securely(self.shake(proxy)), 200, b'ok')

    def test_handshakes_that_hang_end_and_hold_up_no_other(self):
        proxy = self.secured(SLUICE_HEADER_TIMEOUT='2s')
        with contextlib.ExitStack() as open_ones:
            hanging = [open_ones.enter_context(connect(proxy.addresses['tls'])) for _ in range(20)]
            for sock in hanging[::2]:
                sock.sendall(HALF_A_HELLO)
            self.assert_answer(self.ask_securely(self.shake(proxy)), 200, b'ok')
            self.assertEqual([until_closed(sock) for sock in hanging], [b''] * 20)

    def test_silence_after_the_handshake_ends_as_well(self):
        client = self.shake(self.secured(SLUICE_HEADER_TIMEOUT='500ms'))
        client.settimeout(PATIENCE)
        self.assert_cut(client)


class Bodies(TlsCase):
    SIZE = 20 << 20

    def test_large_bodies_pass_both_ways(self):
        half = os.urandom(self.SIZE // 2)

        def play(exchange):
            body = exchange.body()
            exchange.send(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % (2 * len(body)))
            exchange.send(body)
            exchange.send(body)

        proxy = self.secured(play)
        got = subprocess.run(['curl', '-sk', '--http1.1', '--max-time', '60', '-H', 'Expect:',
                              '--data-binary', '@-', f"https://{proxy.addresses['tls']}/"],
                             input=half, capture_output=True, check=True).stdout
        self.assertTrue(got == half + half, f'another body came back, {len(got)} bytes')

    def test_a_slow_reader_slows_the_container_and_costs_no_memory(self):
        def play(exchange):
            exchange.send(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % self.SIZE)
            exchange.send(b'x' * self.SIZE)

        proxy = self.secured(play)
        client = self.shake(proxy)
        before = proxy.memory()
        client.sendall(GET)
        reader = Reader(client)
        self.assertEqual(reader.head()[0], 200)
        self.assertLess(proxy.memory() - before, 8 << 20)
        self.assertEqual(len(reader.exactly(self.SIZE)), self.SIZE)

    def test_a_whole_response_ends_with_a_word(self):
        client = self.shake(self.secured())
        client.sendall(request_bytes('GET', '/', 'app', [('Connection', 'close')]))
        self.assert_answer(Reader(client).answer(), 200, b'ok')
        self.assertEqual(client.recv(1), b'')

    def test_a_cut_response_does_not(self):
        def play(exchange):
            exchange.send(b'HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nten bytes.')
            exchange.sock.shutdown(socket.SHUT_RDWR)

        client = self.shake(self.secured(play))
        client.sendall(GET)
        self.assert_cut(client)

    def test_a_client_that_only_finished_sending_gets_its_answer(self):
        gate = self.gate()
        client = self.shake(self.secured(gate))
        client.sendall(GET)
        eventually(lambda: gate.inside == 1, 'the request is with the container')
        socket.socket.shutdown(client, socket.SHUT_WR)
        gate.open()
        self.assert_answer(Reader(client).answer(), 200, b'ok')

    def test_a_waiting_client_that_leaves_frees_its_place(self):
        gate = self.gate()
        proxy = self.secured(gate, CONTAINER_CONCURRENCY='1')
        running, waiting = self.shake(proxy), self.shake(proxy)
        running.sendall(GET)
        eventually(lambda: gate.inside == 1, 'the first request is with the container')
        waiting.sendall(GET)
        eventually(lambda: self.in_flight(proxy) >= 2, 'the second request waits')
        waiting.close()
        eventually(lambda: 0 < self.in_flight(proxy) <= 1, 'the second request has left')


class Settings(TlsCase):
    def accepts(self, proxy, context):
        try:
            return self.shake(proxy, context)
        except (ssl.SSLError, ConnectionResetError):
            return None

    def test_old_versions_are_refused_unless_allowed(self):
        old = trusting(most=ssl.TLSVersion.TLSv1_2)
        self.assertIsNone(self.accepts(self.secured(), old))
        both = self.secured(QUEUE_PROXY_TLS_MIN_VERSION='1.2')
        self.assertEqual(self.accepts(both, old).version(), 'TLSv1.2')
        self.assertEqual(self.accepts(both, trusting()).version(), 'TLSv1.3')
        capped = self.secured(QUEUE_PROXY_TLS_MIN_VERSION='1.2', QUEUE_PROXY_TLS_MAX_VERSION='1.2')
        self.assertEqual(self.accepts(capped, trusting()).version(), 'TLSv1.2')

    def test_suites_go_by_their_iana_names(self):
        proxy = self.secured(
            QUEUE_PROXY_TLS_MIN_VERSION='1.2',
            QUEUE_PROXY_TLS_CIPHER_SUITES=' TLS_AES_128_GCM_SHA256, '
                                          'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,')
        self.assertEqual(self.accepts(proxy, trusting()).cipher()[0], 'TLS_AES_128_GCM_SHA256')
        old = trusting(most=ssl.TLSVersion.TLSv1_2)
        self.assertEqual(self.accepts(proxy, old).cipher()[0], 'ECDHE-ECDSA-CHACHA20-POLY1305')
        old.set_ciphers('ECDHE-ECDSA-AES128-GCM-SHA256')
        self.assertIsNone(self.accepts(proxy, old))

    def test_a_curve_that_is_missing_here_is_passed_over(self):
        proxy = self.secured(QUEUE_PROXY_TLS_CURVE_PREFERENCES='X25519MLKEM768,CurveP384')
        self.assertIsNotNone(self.accepts(proxy, trusting()))

    def test_what_is_not_understood_is_refused_at_start(self):
        for name, value in {'MIN_VERSION': '1.1', 'MAX_VERSION': 'TLS1.3',
                            'CIPHER_SUITES': 'TLS_RSA_WITH_RC4_128_SHA',
                            'CURVE_PREFERENCES': 'X25519MLKEM768'}.items():
            variable = f'QUEUE_PROXY_TLS_{name}'
            code, errors = self.refused_start(**{variable: value})
            self.assertEqual(code, 1, variable)
            self.assertIn(variable, errors)


class Certificates(TlsCase):
    def mount(self, version):
        """As Kubernetes mounts a secret: files are links through a link that is swapped."""
        make_pair(self.certs / version, version)
        fresh = self.certs / '..fresh'
        fresh.symlink_to(version)
        fresh.replace(self.certs / '..data')
        for name in ('tls.crt', 'tls.key'):
            if not (self.certs / name).is_symlink():
                (self.certs / name).unlink()
                (self.certs / name).symlink_to(f'..data/{name}')

    def served(self, proxy):
        return self.subject(self.shake(proxy))

    def test_row_65_a_rotated_certificate_is_served_to_new_connections(self):
        self.mount('first')
        proxy = self.secured()
        old = self.shake(proxy)
        self.assertEqual(self.subject(old), 'first')
        self.mount('second')
        eventually(lambda: self.served(proxy) == 'second', 'the new certificate is served')
        self.assert_answer(self.ask_securely(old), 200, b'ok')
        self.assertEqual(self.subject(old), 'first')

    def test_row_65_a_certificate_written_in_place_is_served(self):
        proxy = self.secured()
        make_pair(self.certs, 'second')
        eventually(lambda: self.served(proxy) == 'second', 'the new certificate is served')

    def test_row_65_a_corrupt_certificate_keeps_the_old(self):
        proxy = self.secured()
        written = len(proxy.errors())
        (self.certs / 'tls.crt').write_text('corrupt')
        # A log line about it shows that it was checked.
        eventually(lambda: len(proxy.errors()) > written, 'the corrupt file is seen')
        self.assertEqual(self.served(proxy), 'first')
        make_pair(self.certs, 'second')
        eventually(lambda: self.served(proxy) == 'second', 'a sound certificate is served again')

    def test_row_65_a_key_of_another_certificate_keeps_the_old(self):
        make_pair(self.certs / 'other', 'other')
        proxy = self.secured()
        written = len(proxy.errors())
        (self.certs / 'other' / 'tls.key').replace(self.certs / 'tls.key')
        eventually(lambda: len(proxy.errors()) > written, 'the wrong key is seen')
        self.assertEqual(self.served(proxy), 'first')

    def test_without_a_port_there_is_no_listener(self):
        self.assertNotIn('tls', self.secured(QUEUE_SERVING_TLS_PORT='').addresses)

    def test_without_both_files_there_is_no_listener(self):
        self.assertIn('tls', self.secured().addresses)
        (self.certs / 'tls.key').unlink()
        self.assertNotIn('tls', self.secured().addresses)
        self.assertNotIn('tls', self.secured(SLUICE_CERTS_DIR=f'{self.certs}/none').addresses)

    def test_files_that_cannot_be_looked_for_stop_the_start(self):
        code, errors = self.refused_start(SLUICE_CERTS_DIR=f'{self.certs}/tls.crt')
        self.assertEqual(code, 1)
        self.assertIn('tls.crt/tls.crt', errors)

    def test_a_bad_pair_stops_the_start(self):
        (self.certs / 'tls.key').write_text('corrupt')
        code, errors = self.refused_start()
        self.assertEqual(code, 1)
        self.assertIn(str(self.certs / 'tls.crt'), errors)


if __name__ == '__main__':
    unittest.main()
