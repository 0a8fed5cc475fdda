"""Which service a request to the front door is for, and which host its program sees (queue-proxy.md
15.21)."""

import unittest

from engine import EngineCase
from wire import Reader, connect, request_bytes

# Answers with the request line and the Host it saw, and its service.
ECHO = '''
import os
from http.server import BaseHTTPRequestHandler, HTTPServer
class Echo(BaseHTTPRequestHandler):
    def do_GET(self):
        body = (self.requestline + "|" + ",".join(self.headers.get_all("Host", []))
                + "|" + str(self.headers.get("K-Original-Host")) + "|" + os.environ["K_SERVICE"]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words):
        pass
HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Echo).serve_forever()
'''


class Hosts(EngineCase):
    def setUp(self):
        super().setUp()
        self.engine = self.up('--name', 'app', '--', 'python3', self.write('echo.py', ECHO))

    def seen(self, data):
        """[request line, hosts, K-Original-Host] as the program saw them, and its service."""
        with connect(self.engine.http) as sock:
            sock.sendall(data)
            answer = Reader(sock).answer()
        self.assertEqual(answer.status, 200, answer.body)
        return answer.body.decode().split('|')

    def test_an_original_host_of_a_client_is_dropped(self):
        for headers in ([], [('Connection', 'K-Original-Host')], [('K-Proxy-Request', 'activator')]):
            _, host, original, _ = self.seen(request_bytes(
                'GET', '/', 'app.localhost', [('K-Original-Host', 'admin.example'), *headers]))
            self.assertEqual((host, original), ('app.localhost', 'None'))

    def test_an_absolute_target_decides_the_service_and_its_host(self):
        self.assertEqual(
            self.seen(b'GET http://app.localhost/a?b HTTP/1.1\r\nHost: other.localhost\r\n\r\n')[:2],
            ['GET /a?b HTTP/1.1', 'app.localhost'])
        with connect(self.engine.http) as sock:
            sock.sendall(b'GET http://other.localhost/ HTTP/1.1\r\nHost: app.localhost\r\n\r\n')
            self.assertEqual(Reader(sock).answer().status, 404)

    def test_localhost_in_capitals_is_localhost(self):
        self.assertEqual(self.seen(request_bytes('GET', '/', 'LOCALHOST'))[1], 'LOCALHOST')
        with connect(self.engine.http) as sock:
            sock.sendall(request_bytes('GET', '/_sluice/api/v1/services/default/app', 'LOCALHOST'))
            self.assertEqual(Reader(sock).answer().json()['name'], 'app')

    def test_http_1_0_without_host_reaches_the_only_service(self):
        line, host, *_ = self.seen(b'GET /a HTTP/1.0\r\n\r\n')
        self.assertEqual(line, 'GET /a HTTP/1.1')
        self.assertNotEqual(host, '')


SLEEPER = '''apiVersion: serving.knative.dev/v1
kind: Service
metadata:
  name: s{number:02}
spec:
  template:
    metadata:
      annotations: {{autoscaling.knative.dev/initial-scale: "0"}}
    spec:
      containers: [{{command: [sleep, "600"]}}]
'''


SHOP = '''apiVersion: serving.knative.dev/v1
kind: Service
metadata:
  name: {name}
  annotations: {{sluice.dev/hosts: "{hosts}"}}
spec:
  template:
    spec:
      containers: [{{command: [python3, {echo}]}}]
'''


class PathPrefixes(EngineCase):
    def test_the_longest_prefix_names_the_service_and_stays_in_the_path(self):
        echo = self.write('echo.py', ECHO)
        engine = self.up('-f', self.write('shop.yaml', '---\n'.join(
            SHOP.format(name=name, hosts=hosts, echo=echo)
            for name, hosts in (('shop', 'shop.test'), ('cart', 'shop.test/cart, other.test/a')))))
        for path, service in (('/', 'shop'), ('/cart', 'cart'), ('/cart/7?x=1', 'cart'), ('/cartoon', 'shop')):
            answer = engine.get(path, host='shop.test')
            line, *_, seen = answer.body.decode().split('|')
            self.assertEqual((line, seen), (f'GET {path} HTTP/1.1', service))
        self.assertEqual(engine.get('/b', host='other.test').status, 404)


class ManyHosts(EngineCase):
    def test_an_unknown_host_is_answered_with_twenty_hosts_and_how_many_more_there_are(self):
        text = '---\n'.join(SLEEPER.format(number=number) for number in range(23))
        engine = self.up('-f', self.write('services.yaml', text))
        answer = engine.get('/', host='other.localhost')
        self.assertEqual(answer.status, 404)
        text = answer.body.decode()
        self.assertIn('s00.localhost', text)
        self.assertIn('s19.localhost and 3 more', text)
        self.assertNotIn('s20.localhost', text)


if __name__ == '__main__':
    unittest.main()
