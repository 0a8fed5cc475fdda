"""`sluice load` over TLS: the protocol that the server chooses, and certificates that clients show."""

import http.server
import json
import ssl
import sys
import threading
import unittest

from engine import EngineCase, Home
from queue_proxy.test_tls import make_pair
from test_h2c import APP, SPEC


def loaded(home, url, *flags, status=0):
    report = home.path / 'run.json'
    done = home.run('load', url, '--json', str(report), *flags, timeout=60)
    assert done.returncode == status, done.stdout + done.stderr
    return json.loads(report.read_text()), done.stdout + done.stderr


class ByAlpn(EngineCase):
    def setUp(self):
        super().setUp()
        make_pair(self.home.path / 'certs', 'app')
        self.journal = self.home.path / 'journal'
        self.engine = self.up('--tls', 'certs/tls.crt', 'certs/tls.key', '-f', self.write('app.yaml', SPEC.format(
            command=f'[{sys.executable}, -B, {APP}]', port='h2c', more='env: [{name: JOURNAL, value: ' + str(self.journal) + '}]')))
        self.url = f'https://app.localhost:{self.engine.http.rsplit(":", 1)[1]}'

    def received(self, path):
        return self.journal.read_text().split('\n').count(f'GET {path}')

    def test_where_the_server_chooses_http_2_each_request_of_a_closed_loop_arrives_once(self):
        report, _ = loaded(self.home, f'{self.url}/closed', '-k', '-c', '4', '-n', '100')
        self.assertEqual(report['status'], {'200': 100})
        self.assertEqual(self.received('/closed'), 100)

    def test_a_first_burst_that_waits_for_the_choice_arrives_once_and_whole(self):
        report, _ = loaded(self.home, f'{self.url}/open', '-k', '--rate', '2000', '-n', '100')
        self.assertEqual((report['requests']['sent'], report['status']), (100, {'200': 100}))
        self.assertEqual(self.received('/open'), 100)

    def test_a_program_of_http_2_alone_is_not_asked_in_http_1_1_unless_that_is_ordered(self):
        report, _ = loaded(self.home, f'{self.url}/old', '-k', '--protocol', 'http1', '-c', '1', '-n', '1', status=69)
        self.assertEqual(report['status'], {'502': 1})


class Hello(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        self.send_response(200)
        self.send_header('Content-Length', '2')
        self.end_headers()
        self.wfile.write(b'ok')

    def log_message(self, *words):
        pass


class ClientCertificates(unittest.TestCase):
    def setUp(self):
        self.home = Home()
        self.addCleanup(self.home.close)
        for name in ('server', 'client'):
            make_pair(self.home.path / name, name)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.home.path / 'server/tls.crt', self.home.path / 'server/tls.key')
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(self.home.path / 'client/tls.crt')
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Hello)
        server.handle_error = lambda request, address: None
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.url = f'https://127.0.0.1:{server.server_address[1]}/'

    def own(self, name):
        return '--cert', str(self.home.path / name / 'tls.crt'), '--key', str(self.home.path / name / 'tls.key')

    def test_a_server_that_asks_for_a_certificate_is_shown_ours(self):
        report, _ = loaded(self.home, self.url, '-k', *self.own('client'), '-c', '2', '-n', '20')
        self.assertEqual(report['status'], {'200': 20})

    def test_without_one_or_with_another_nothing_is_answered_and_the_reason_is_of_tls(self):
        for flags, alert in (((), 'certificate required'), (self.own('server'), 'unknown ca')):
            report, said = loaded(self.home, self.url, '-k', *flags, '-c', '1', '-n', '1', status=69)
            self.assertEqual(report['requests']['answered'], 0)
            self.assertRegex(said, f'receive: TLS: .*{alert}')


if __name__ == '__main__':
    unittest.main()
