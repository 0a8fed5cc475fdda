"""An activator as the autoscaler sees one in a cluster: a stream, an endpoint, and ports that it stands for."""

import http.server
import threading
import time

from autoscaler.fake_activator import FakeActivator
from h2.exceptions import ProtocolError

SLICES = '/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices'


class Quiet(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def answer(self, body, kind='text/plain'):
        self.send_response(200)
        self.send_header('Content-Type', kind)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Serving:
    """An HTTP server on a thread of its own."""

    def __init__(self, address, handler):
        self.server = http.server.ThreadingHTTPServer(address, handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Probed(Quiet):
    def do_GET(self):
        self.server.seen += 1
        self.answer(b'activator' if self.headers.get('K-Network-Probe') == 'activator' else b'')


class Activator:
    """Ready at `ip` in the namespace of our programs, with a stream to the autoscaler that is always read."""

    def __init__(self, api, system, stream, ip='10.99.250.1'):
        self.api = api
        self.ip = ip
        self.path = SLICES.format(system)
        self.name = f'activator-{ip.replace(".", "-")}'
        self.ports = {}
        self.told = 0.0
        self.said = 0
        self.stream = FakeActivator(stream, name=self.name)
        self.closed = threading.Event()
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()
        self.api.post(self.path, {
            'metadata': {'name': self.name, 'labels': {'kubernetes.io/service-name': 'activator'}},
            'addressType': 'IPv4', 'ports': [{'name': 'http', 'port': 8012}],
            'endpoints': [{'addresses': [ip], 'conditions': {'ready': True}}]})

    def listen(self):
        """The autoscaler closes a stream that answers no pings, whatever a test is busy with."""
        try:
            while not self.closed.is_set() and self.stream.read(0.2):
                pass
        except (OSError, ProtocolError):  # the other end is gone
            pass

    def stand_for(self, port):
        if port not in self.ports:
            self.ports[port] = Serving((self.ip, port), Probed)
            self.ports[port].server.seen = 0
        return self

    def hold(self, name, space, requests=0):
        """Reports the load of a revision each half second; the caller repeats the call."""
        if time.monotonic() - self.told > 0.5:
            self.told = time.monotonic()
            self.said += 1
            self.stream.report((name, requests, requests, space))
        self.stream.read(0.05)
        return True

    def leave(self):
        self.api.delete(f'{self.path}/{self.name}')

    def close(self):
        self.closed.set()
        self.thread.join()
        self.stream.close()
        for served in self.ports.values():
            served.close()


class Scraped(Quiet):
    def do_GET(self):
        body = self.server.stat(self.connection.getsockname()[0])
        self.server.scrapes += 1
        self.answer(body, 'application/protobuf')


class Sidecars:
    """Port 9090 of every fake pod: each reports the load that a test sets for its address."""

    def __init__(self, stat):
        self.load = {}
        self.served = Serving(('0.0.0.0', 9090), Scraped)
        self.served.server.scrapes = 0
        self.served.server.stat = lambda ip: stat(ip, self.load.get(ip, 0.0))

    @property
    def scrapes(self):
        return self.served.server.scrapes

    def close(self):
        self.served.close()
