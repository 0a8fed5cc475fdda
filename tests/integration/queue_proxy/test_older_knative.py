"""Beside a Knative before OBSERVABILITY_CONFIG (15.19): recognised by its environment, and followed."""

import json
import re
import threading
import unittest

from queue_proxy import websocket
from queue_proxy.case import KUBELET, PATIENCE, QUEUE, SidecarCase, eventually, until_closed
from queue_proxy.h2_peers import Client, Container
from queue_proxy.websocket import CLOSE, TEXT, frame, read_frame
from wire import fetch, request_bytes

# As Knative 1.15 sets it.
OLDER = {'SERVING_REQUEST_METRICS_BACKEND': 'prometheus',
         'SERVING_REQUEST_METRICS_REPORTING_PERIOD_SECONDS': '0',
         'SERVING_ENABLE_REQUEST_LOG': 'false', 'SERVING_REQUEST_LOG_TEMPLATE': '',
         'SERVING_ENABLE_PROBE_REQUEST_LOG': 'false', 'TRACING_CONFIG_BACKEND': 'none',
         'TRACING_CONFIG_DEBUG': 'false', 'TRACING_CONFIG_SAMPLE_RATE': '0.1',
         'METRICS_COLLECTOR_ADDRESS': ''}
CHUNKED = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'


class OlderCase(SidecarCase):
    def older(self, *arguments, **environment):
        return self.sidecar(*arguments, **{**OLDER, **environment})


def silent(exchange):
    exchange.reader.more()


class Timeouts(OlderCase):
    def test_a_response_that_has_begun_outlives_the_timeout(self):
        def slow(exchange):
            exchange.send(CHUNKED + b'3\r\nfoo\r\n')
            threading.Event().wait(1.5)
            exchange.send(b'3\r\nbar\r\n0\r\n\r\n')

        proxy = self.older(slow, REVISION_TIMEOUT_SECONDS='1')
        self.assert_answer(proxy.get(), 200, b'foobar')

    def test_with_observability_config_the_same_response_is_cut(self):
        def slow(exchange):
            exchange.send(CHUNKED + b'3\r\nfoo\r\n')
            exchange.reader.more()

        proxy = self.older(slow, REVISION_TIMEOUT_SECONDS='1', OBSERVABILITY_CONFIG='{}')
        sock, reader = self.ask(proxy, request_bytes('GET', '/', 'app'))
        self.assertEqual(reader.head()[0], 200)
        self.assertEqual(reader.data + until_closed(sock), b'3\r\nfoo\r\n')

    def test_a_silent_container_is_still_504(self):
        proxy = self.older(silent, REVISION_TIMEOUT_SECONDS='1')
        self.assert_answer(proxy.get(), 504, b'request timeout')

    def test_a_container_that_sends_only_continue_is_504(self):
        def promise(exchange):
            exchange.send(b'HTTP/1.1 100 Continue\r\n\r\n')
            while exchange.reader.more():
                pass

        proxy = self.older(promise, REVISION_TIMEOUT_SECONDS='1')
        _, reader = self.ask(proxy, b'POST / HTTP/1.1\r\nHost: app\r\nExpect: 100-continue\r\n'
                                    b'Content-Length: 4\r\n\r\n')
        self.assertEqual(reader.head()[0], 100)
        self.assert_answer(reader.answer(), 504, b'request timeout')

    def test_a_stream_of_http_2_that_has_begun_outlives_the_timeout(self):
        def slow(connection, stream):
            connection.body(stream)
            connection.send_headers(stream.number, [(':status', '200'), ('content-type', 'application/grpc')])
            connection.send_data(stream.number, b'foo')
            threading.Event().wait(1.5)
            connection.send_data(stream.number, b'bar', end=True)

        container = Container(slow)
        self.addCleanup(container.close)
        proxy = self.sidecar_for(container.port, **{**OLDER, 'REVISION_TIMEOUT_SECONDS': '1'})
        client = Client(proxy.serving)
        self.addCleanup(client.close)
        got = client.get()
        self.assertEqual((got.status, got.data, got.ended, got.reset), (200, b'foobar', True, None))

    def test_idleness_still_aborts_a_response(self):
        def one(exchange):
            exchange.send(CHUNKED + b'3\r\nfoo\r\n')
            exchange.reader.more()

        proxy = self.older(one, REVISION_IDLE_TIMEOUT_SECONDS='1')
        sock, reader = self.ask(proxy, request_bytes('GET', '/', 'app'))
        self.assertEqual(reader.head()[0], 200)
        self.assertEqual(reader.data + until_closed(sock), b'3\r\nfoo\r\n')


class WebSockets(OlderCase):
    def opened(self, play, **environment):
        proxy = self.older(play, **environment)
        sock, reader = self.ask(proxy, websocket.handshake())
        self.assertEqual(reader.head()[0], 101)
        return sock, reader

    def assert_ended(self, sock, reader):
        got = read_frame(reader)
        self.assertIsNotNone(got, 'the tunnel was cut without a close frame')
        self.assertEqual((got[0], got[1][:2]), (CLOSE, b'\x03\xe9'))
        sock.sendall(frame(CLOSE, b'\x03\xe9'))
        self.assertEqual(until_closed(sock), b'')

    def test_one_whose_first_message_is_late_is_ended(self):
        # A client that speaks all the while changes nothing: it is the service's message that counts.
        def listen(exchange):
            websocket.accept(exchange)
            while exchange.reader.more():
                pass

        for timer in ('REVISION_RESPONSE_START_TIMEOUT_SECONDS', 'REVISION_TIMEOUT_SECONDS'):
            sock, reader = self.opened(listen, **{timer: '1'})
            sock.sendall(frame(TEXT, b'hello'))
            self.assert_ended(sock, reader)

    def test_one_that_has_had_a_message_in_time_continues(self):
        sock, reader = self.opened(websocket.echo, REVISION_RESPONSE_START_TIMEOUT_SECONDS='1',
                                   REVISION_TIMEOUT_SECONDS='1')
        for _ in range(3):
            sock.sendall(frame(TEXT, b'busy'))
            self.assertEqual(read_frame(reader), (TEXT, b'busy', True))
            threading.Event().wait(0.6)
        sock.sendall(frame(TEXT, b'still'))
        self.assertEqual(read_frame(reader), (TEXT, b'still', True))

    def test_with_observability_config_the_switch_itself_is_the_response(self):
        sock, reader = self.opened(websocket.echo, REVISION_RESPONSE_START_TIMEOUT_SECONDS='1',
                                   OBSERVABILITY_CONFIG='{}')
        threading.Event().wait(1.3)
        sock.sendall(frame(TEXT, b'late'))
        self.assertEqual(read_frame(reader), (TEXT, b'late', True))


class RequestLog(OlderCase):
    def output(self, proxy, lines=1):
        return eventually(lambda: proxy.output().count('\n') >= lines and proxy.output(), 'a line')

    def test_it_is_written_by_the_template_of_the_environment(self):
        proxy = self.older(SERVING_ENABLE_REQUEST_LOG='true', SERVING_REQUEST_LOG_TEMPLATE=(
            '{{.Request.RequestURI}} {{.Response.Code}} {{index .Request.Header "X-B3-Traceid"}} '
            '{{.Request.Header.Get "X-Who"}}'))
        proxy.get('/path', headers=[('X-B3-TraceId', 'b3'), ('X-Who', 'me')])
        self.assertEqual(self.output(proxy), '/path 200 [b3] me\n')

    def test_knatives_own_template_makes_json(self):
        template = ('{"httpRequest": {"requestMethod": "{{.Request.Method}}", "requestUrl": '
                    '"{{js .Request.RequestURI}}", "status": {{.Response.Code}}, "latency": '
                    '"{{.Response.Latency}}s"}, "traceId": "{{index .Request.Header "X-B3-Traceid"}}"}')
        proxy = self.older(SERVING_ENABLE_REQUEST_LOG='true', SERVING_REQUEST_LOG_TEMPLATE=template)
        proxy.get('/path?q=1', headers=[('X-B3-Traceid', 'abc')])
        line = json.loads(self.output(proxy))
        self.assertEqual((line['httpRequest']['status'], line['traceId']), (200, '[abc]'))

    def test_it_is_off_unless_the_environment_enables_it(self):
        proxy = self.older(SERVING_REQUEST_LOG_TEMPLATE='{{.Response.Code}}', SLUICE_DRAIN_QUIET='0')
        self.assertEqual(proxy.get().status, 200)
        proxy.terminate()
        self.assertEqual(proxy.process.wait(PATIENCE), 0)
        self.assertEqual(proxy.output(), '')

    def test_probes_are_in_it_when_the_environment_enables_them(self):
        for probes, want in (('false', '/path\n'), ('true', '/probe\n/path\n')):
            proxy = self.older(SERVING_ENABLE_REQUEST_LOG='true',
                               SERVING_REQUEST_LOG_TEMPLATE='{{.Request.RequestURI}}',
                               SERVING_ENABLE_PROBE_REQUEST_LOG=probes)
            proxy.get('/probe', headers=[KUBELET, QUEUE])
            proxy.get('/path')
            self.assertEqual(self.output(proxy, want.count('\n')), want)


class Metrics(OlderCase):
    def text(self, proxy):
        answer = fetch(proxy.addresses['metrics'], '/metrics')
        self.assertEqual(answer.status, 200)
        return answer.body.decode()

    def test_they_have_the_older_names_and_not_the_newer(self):
        proxy = self.older(CONTAINER_CONCURRENCY='1', SERVING_SERVICE='app')
        for _ in range(2):
            self.assertEqual(proxy.get().status, 200)
        text = eventually(lambda: (now := self.text(proxy)) and 'revision_request_count{' in now and now,
                          'the requests are counted')
        labels = ('configuration_name="app",container_name="queue-proxy",namespace_name="default",'
                  'pod_name="app-00001-1",response_code="200",response_code_class="2xx",'
                  'revision_name="app-00001",')
        for line in (f'revision_request_count{{{labels}route_tag="DISABLED",service_name="app"}} 2',
                     f'revision_app_request_count{{{labels}service_name="app"}} 2',
                     f'revision_request_latencies_count{{{labels}route_tag="DISABLED",service_name="app"}} 2',
                     f'revision_app_request_latencies_count{{{labels}service_name="app"}} 2'):
            self.assertIn(line + '\n', text)
        self.assertRegex(text, r'(?m)^revision_queue_depth\{.*\} 0$')
        names = set(re.findall(r'^# TYPE (\w+)', text, re.MULTILINE))
        self.assertFalse([name for name in names if name.startswith(('kn_', 'http_', 'target_'))], names)
        self.assertIn('sluice_responses_total', names)

    def test_there_are_none_where_the_environment_names_no_backend(self):
        for backend in ('', 'none', 'opencensus'):
            proxy = self.sidecar(**{**OLDER, 'SERVING_REQUEST_METRICS_BACKEND': backend})
            self.assertNotIn('metrics', proxy.addresses, backend)
            self.assert_serves(proxy)


if __name__ == '__main__':
    unittest.main()
