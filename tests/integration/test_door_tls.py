"""The front door over TLS, and which scheme the program is given (one-machine.md 1 and 4)."""

import json
import subprocess
import unittest

from engine import EngineCase
from queue_proxy.test_tls import make_pair, trusting
from wire import Reader, connect, eventually, request_bytes

# Answers with the scheme that it was given.
ECHO = '''
import os
from http.server import BaseHTTPRequestHandler, HTTPServer
class Echo(BaseHTTPRequestHandler):
    def do_GET(self):
        body = ",".join(self.headers.get_all("X-Forwarded-Proto", [])).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words):
        pass
HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Echo).serve_forever()
'''


def answered(sock, headers=()):
    sock.sendall(request_bytes('GET', '/', 'app.localhost', list(headers)))
    return Reader(sock).answer()


class OverTls(EngineCase):
    def setUp(self):
        super().setUp()
        self.certs = self.home.path / 'certs'
        make_pair(self.certs, 'first')
        self.engine = self.up('--tls', 'certs/tls.crt', 'certs/tls.key', '--', 'python3',
                              self.write('echo.py', ECHO))

    def secured(self):
        sock = trusting().wrap_socket(connect(self.engine.http))
        self.addCleanup(sock.close)
        return sock

    def curl(self, host, *options):
        port = self.engine.http.rsplit(':', 1)[1]
        return subprocess.run(['curl', '-sk', '--http2', '--max-time', '20', '--resolve',
                               f'{host}:{port}:127.0.0.1', '-w', '%{stderr}%{http_version}',
                               *options, f'https://{host}:{port}/'], capture_output=True, check=True)

    def test_a_request_over_tls_is_served_and_its_program_is_given_https(self):
        self.assertEqual(answered(self.secured()).body, b'https')

    def test_what_a_proxy_in_front_has_set_is_kept(self):
        self.assertEqual(answered(self.secured(), [('X-Forwarded-Proto', 'http')]).body, b'http')

    def test_a_client_that_offers_http_2_gets_http_1_1_as_its_program_speaks_no_other(self):
        got = self.curl('app.localhost')
        self.assertEqual((got.stdout, got.stderr), (b'https', b'1.1'))

    def test_a_connection_for_another_host_is_misdirected(self):
        grpc = {'containers': [{'command': ['sleep', '600'], 'ports': [{'name': 'h2c'}]}]}
        applied = self.home.run('apply', '-f', '-', stdin=json.dumps({
            'apiVersion': 'serving.knative.dev/v1', 'kind': 'Service', 'metadata': {'name': 'other'},
            'spec': {'template': {'spec': grpc}}}))
        self.assertEqual(applied.returncode, 0, applied.stderr)
        got = self.curl('other.localhost', '-H', 'Host: app.localhost', '-w',
                        '%{stderr}%{http_version} %{response_code}')
        self.assertEqual(got.stderr, b'2 421')

    def test_a_changed_pair_is_used_for_new_connections(self):
        before = self.secured().getpeercert(binary_form=True)
        make_pair(self.certs, 'second')
        eventually(lambda: self.secured().getpeercert(binary_form=True) != before,
                   'another certificate is shown')
        self.assertEqual(answered(self.secured()).status, 200)

    def test_urls_are_shown_with_https(self):
        self.assertIn('https://app.localhost:', self.home.run('get').stdout)

    def test_the_next_step_names_the_certificate(self):
        added = self.home.run('up', '-d', '--name', 'web', '--', 'sleep', '9')
        self.assertRegex(added.stdout, r'next +curl --cacert \S*certs/tls\.crt https://web\.localhost')

    def test_a_further_up_with_another_certificate_is_refused(self):
        refused = self.home.run('up', '--tls', 'a.crt', 'a.key', '--', 'sleep', '9')
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn('leave out --tls', refused.stderr)

    def test_what_is_resumed_takes_tls_again(self):
        self.assertEqual(self.engine.stop(), 0)
        self.engine = self.up('--name', 'app')
        self.assertEqual(answered(self.secured()).body, b'https')

    def test_a_request_in_clear_text_is_refused(self):
        with connect(self.engine.http) as sock:
            self.assertEqual(answered(sock).status, 400)


class InClearText(EngineCase):
    def test_its_program_is_given_http(self):
        engine = self.up('--', 'python3', self.write('echo.py', ECHO))
        with connect(engine.http) as sock:
            self.assertEqual(answered(sock).body, b'http')


class WithoutAPair(EngineCase):
    def test_a_missing_file_is_named_and_nothing_starts(self):
        ended = self.home.run('up', '--tls', 'none.crt', 'none.key', '--', 'sleep', '9')
        self.assertEqual(ended.returncode, 78)
        self.assertIn('none.crt', ended.stderr)

    def test_a_pair_whose_halves_do_not_belong_together_is_refused(self):
        make_pair(self.home.path / 'a', 'a')
        make_pair(self.home.path / 'b', 'b')
        ended = self.home.run('up', '--tls', 'a/tls.crt', 'b/tls.key', '--', 'sleep', '9')
        self.assertEqual(ended.returncode, 78)
        self.assertIn('do not match', ended.stderr)


if __name__ == '__main__':
    unittest.main()
