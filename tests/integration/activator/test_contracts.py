"""Requests of Knative's revisions follow the contract of the Knative that is installed (queue-proxy.md 15.19)."""

import threading
import unittest

from activator.case import ActivatorCase, eventually, sidecar_play
from activator.fake_cluster import FakeKnative
from queue_proxy import websocket
from queue_proxy.websocket import CLOSE, TEXT, frame, read_frame
from wire import Reader, fetch, request_bytes

NAMED = [('Knative-Serving-Namespace', 'default'), ('Knative-Serving-Revision', 'app')]
HEAD = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nfoo\r\n'


def slow(exchange):
    """Begins at once and ends after more than a second."""
    exchange.send(HEAD)
    threading.Event().wait(1.5)
    exchange.send(b'3\r\nbar\r\n0\r\n\r\n')


class ContractCase(ActivatorCase):
    def beside(self, release, play, environment=None, **spec):
        """An activator beside a Knative of that release; its revision is served by `play`."""
        pod = self.played(sidecar_play(play))
        cluster = FakeKnative(release, pod.address, **spec)
        self.addCleanup(cluster.close)
        return self.activator(SLUICE_PLATFORM='kubernetes', SLUICE_KUBECONFIG=cluster.kubeconfig,
                              **(environment or {}))

    def whole(self, activator):
        """Whether a response that lasts longer than timeoutSeconds arrives whole."""
        sock = activator.connect()
        self.addCleanup(sock.close)
        sock.sendall(request_bytes('GET', '/', 'app', NAMED))
        reader = Reader(sock)
        self.assertEqual(reader.head()[0], 200)
        return until_done(reader, sock).endswith(b'0\r\n\r\n')


def until_done(reader, sock):
    """What comes until the last chunk or the end of the connection."""
    got = reader.data
    sock.settimeout(20)
    try:
        while not got.endswith(b'0\r\n\r\n') and (part := sock.recv(65536)):
            got += part
    except ConnectionResetError:
        pass
    return got


class Timeouts(ContractCase):
    def test_beside_an_older_knative_a_response_that_has_begun_continues(self):
        self.assertTrue(self.whole(self.beside('1.15.2', slow, timeoutSeconds=1)))

    def test_beside_a_newer_one_it_is_broken_off(self):
        self.assertFalse(self.whole(self.beside('1.19.0', slow, timeoutSeconds=1)))

    def test_the_setting_decides_over_the_label(self):
        older = {'SLUICE_KNATIVE_CONTRACT': '1.18'}
        self.assertTrue(self.whole(self.beside('1.19.0', slow, older, timeoutSeconds=1)))
        newer = {'SLUICE_KNATIVE_CONTRACT': 'v1.19.1'}
        self.assertFalse(self.whole(self.beside('1.15.2', slow, newer, timeoutSeconds=1)))

    def test_where_the_label_may_not_be_read_the_log_names_what_to_set(self):
        door = self.beside(None, slow, timeoutSeconds=1)
        self.assertFalse(self.whole(door))
        eventually(lambda: 'SLUICE_KNATIVE_CONTRACT' in door.errors(), 'the setting is named')

    def test_a_pod_that_is_silent_is_504_under_both(self):
        for release in ('1.15.2', '1.19.0'):
            door = self.beside(release, lambda exchange: exchange.reader.more(), timeoutSeconds=1)
            self.assert_answer(door.get(), 504, b'activator request timeout')

    def test_a_websocket_without_a_message_in_time_is_ended_beside_an_older_knative(self):
        def listen(exchange):
            websocket.accept(exchange)
            while exchange.reader.more():
                pass

        for release, ended in (('1.15.2', True), ('1.19.0', False)):
            door = self.beside(release, listen, timeoutSeconds=60, responseStartTimeoutSeconds=1)
            sock = door.connect(3)
            self.addCleanup(sock.close)
            handshake = websocket.handshake().replace(
                b'Host: app\r\n', b'Host: app\r\n' + b''.join(
                    f'{name}: {value}\r\n'.encode() for name, value in NAMED))
            sock.sendall(handshake)
            reader = Reader(sock)
            self.assertEqual(reader.head()[0], 101)
            sock.sendall(frame(TEXT, b'hello'))
            if ended:
                self.assertEqual(read_frame(reader)[0], CLOSE)
            else:
                with self.assertRaises(TimeoutError):
                    read_frame(reader)


class Metrics(ContractCase):
    def names(self, door):
        text = fetch(door.addresses['metrics'], '/metrics').body.decode()
        return {line.split('{')[0].split(' ')[0] for line in text.splitlines()
                if line and not line.startswith('#')}

    def test_a_revision_of_an_older_knative_is_measured_under_the_older_names(self):
        door = self.beside('1.15.2', b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
        self.assert_answer(door.get(), 200, b'ok')
        series = ('activator_request_count{configuration_name="shop",container_name="activator",'
                  'namespace_name="default",pod_name="activator-1",response_code="200",'
                  'response_code_class="2xx",revision_name="app",service_name="shop"}')
        eventually(lambda: door.metrics().get(series) == 1, 'it is counted')
        names = self.names(door)
        self.assertIn('activator_request_latencies_bucket', names)
        self.assertIn('activator_request_concurrency', names)
        self.assertNotIn('http_server_request_duration_seconds_count', names)
        self.assertNotIn('kn_revision_request_concurrency', names)

    def test_one_of_a_newer_knative_under_the_newer(self):
        door = self.beside('1.19.0', b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
        self.assert_answer(door.get(), 200, b'ok')
        eventually(lambda: 'http_server_request_duration_seconds_count' in self.names(door), 'counted')
        self.assertNotIn('activator_request_count', self.names(door))


class RequestLog(ContractCase):
    def test_it_uses_the_variables_of_an_older_knative_where_these_are_given(self):
        door = self.beside('1.15.2', b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
                           {'SERVING_ENABLE_REQUEST_LOG': 'true',
                            'SERVING_REQUEST_METRICS_BACKEND': 'prometheus',
                            'SERVING_REQUEST_LOG_TEMPLATE':
                                '{{.Revision.Name}} {{.Response.Code}} {{.Request.Header.Get "X-Who"}}'})
        self.assert_answer(door.get(headers=[('X-Who', 'me')]), 200, b'ok')
        self.assertEqual(eventually(lambda: '\n' in door.output() and door.output(), 'a line'),
                         'app 200 me\n')


if __name__ == '__main__':
    unittest.main()
