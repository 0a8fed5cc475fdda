"""Metrics and the request log: rows 5, 54, 55 and 66 to 69, and which part is reported as failed."""

import json
import re
import socket
import unittest

from queue_proxy.case import KUBELET, QUEUE, SidecarCase, eventually, until_closed
from sidecar import OK
from wire import fetch, request_bytes

DURATION = 'http_server_request_duration_seconds_count'
APP = 'kn_serving_invocation_duration_seconds_count'


class Metrics(SidecarCase):
    def samples(self, proxy):
        """{name: [(labels, value)]} of the Prometheus text."""
        answer = fetch(proxy.addresses['metrics'], '/metrics')
        self.assertEqual(answer.status, 200)
        self.assertTrue(answer.headers['content-type'].startswith('text/plain; version=0.0.4'))
        made = {}
        for line in answer.body.decode().splitlines():
            if line and not line.startswith('#'):
                name, labels, value = re.fullmatch(r'([\w:]+)(?:\{(.*)\})? (\S+)', line).groups()
                pairs = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or ''))
                made.setdefault(name, []).append((pairs, float(value)))
        return made

    def count(self, proxy, name, **labels):
        return sum(value for pairs, value in self.samples(proxy).get(name, [])
                   if labels.items() <= pairs.items())

    def test_row_5_without_a_breaker_there_is_no_queue_depth(self):
        for concurrency, there in (('0', False), ('-1', False), ('1', True)):
            proxy = self.sidecar(CONTAINER_CONCURRENCY=concurrency)
            self.assertEqual(proxy.get().status, 200)
            self.assertEqual('kn_serving_queue_depth' in self.samples(proxy), there, concurrency)

    def test_the_queue_depth_falls_again(self):
        gate = self.gate()
        proxy = self.sidecar(gate, CONTAINER_CONCURRENCY='1')
        asked = [self.ask(proxy, request_bytes('GET', f'/{n}', 'app'))[1] for n in range(3)]
        eventually(lambda: self.count(proxy, 'kn_serving_queue_depth') == 3, 'three are inside')
        gate.open()
        for reader in asked:
            self.assert_answer(reader.answer(), 200, b'ok')
        eventually(lambda: self.count(proxy, 'kn_serving_queue_depth') == 0, 'nobody is inside')

    def route_of(self, *headers):
        proxy = self.sidecar()
        self.assertEqual(proxy.get(headers=headers).status, 200)
        self.assertEqual(self.count(proxy, DURATION), 1)
        return [labels['kn_route_tag'] for labels, value in self.samples(proxy)[DURATION] if value]

    def test_row_54_a_tag_on_the_default_route_is_undefined(self):
        self.assertEqual(self.route_of(('Knative-Serving-Tag', 't'),
                                       ('Knative-Serving-Default-Route', 'true')), ['kn:undefined'])

    def test_row_55_no_tag_and_a_default_route_of_false_is_default(self):
        self.assertEqual(self.route_of(('Knative-Serving-Default-Route', 'false')), ['kn:default'])
        self.assertEqual(self.route_of(), ['kn:disabled'])
        self.assertEqual(self.route_of(('Knative-Serving-Tag', 't')), ['t'])

    def test_row_69_an_answer_the_container_broke_off_counts_as_500(self):
        def die(exchange):
            exchange.send(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789')
            exchange.sock.shutdown(socket.SHUT_RDWR)

        proxy = self.sidecar(die)
        until_closed(self.ask(proxy, request_bytes('GET', '/', 'app'))[0])
        for name in (DURATION, APP):
            eventually(lambda name=name: self.count(proxy, name,
                                                    http_response_status_code='500') == 1, name)

    def test_a_client_that_leaves_is_not_counted_as_a_failure(self):
        gate = self.gate()
        proxy = self.sidecar(gate)
        sock, _ = self.ask(proxy, request_bytes('GET', '/', 'app'))
        eventually(lambda: gate.inside, 'the request reached the container')
        sock.close()
        eventually(lambda: self.count(proxy, DURATION, http_response_status_code='499') == 1, '499')

    def test_probes_are_not_among_the_requests(self):
        proxy = self.sidecar()
        self.assertEqual(proxy.get(headers=[KUBELET, QUEUE]).status, 200)
        self.assertEqual(proxy.get(headers=[('K-Kubelet-Probe', 'x')]).status, 200)
        self.assertEqual(proxy.get().status, 200)
        eventually(lambda: self.count(proxy, DURATION) >= 1, 'the request is counted')
        self.assertEqual((self.count(proxy, DURATION), self.count(proxy, APP)), (1, 1))

    def test_labels_of_a_client_cannot_grow_the_text_without_limit(self):
        proxy = self.sidecar()
        for n in range(60):
            proxy.get(method=f'M{n}', headers=[('Knative-Serving-Tag', f'tag-{n}" \\ \n'.strip())])
        first = len(fetch(proxy.addresses['metrics'], '/metrics').body)
        for n in range(60, 160):
            proxy.get(method=f'M{n}', headers=[('Knative-Serving-Tag', f'tag-{n}')])
        self.assertLess(len(fetch(proxy.addresses['metrics'], '/metrics').body), first * 1.2)

    def test_a_5xx_says_who_made_it(self):
        container = self.sidecar(lambda exchange: exchange.send(
            b'HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n'))
        answer = container.get()
        self.assertEqual(answer.status, 503)
        self.assertNotIn('sluice-error', answer.headers)
        self.assertNotIn('retry-after', answer.headers)
        self.assertEqual(self.count(container, 'sluice_responses_total', source='container',
                                    http_response_status_code='503'), 1)
        ours = self.sidecar(lambda exchange: exchange.sock.close())
        self.assert_cause(ours.get(), 'upstream')
        self.assertEqual(self.count(ours, 'sluice_responses_total', source='queue-proxy',
                                    http_response_status_code='502'), 1)

    def test_a_request_that_cannot_be_read_is_counted_and_explained(self):
        proxy = self.sidecar(SLUICE_HEADER_TIMEOUT='300ms', SLUICE_MAX_HEADER_BYTES='2048')
        for sent, status, cause in (
                (b'GET / HTTP/1.1\r\nHost : a\r\n\r\n', 400, 'bad-request'),
                (b'GET / HTTP/1.1\r\nHost: a\r\nA: ' + b'a' * 3000 + b'\r\n\r\n', 431, 'too-large'),
                (b'GET / HTTP/1.1\r\nHost: a', 408, 'timeout-header'),
                (b'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n', 400,
                 'bad-request')):
            answer = self.ask(proxy, sent)[1].answer()
            self.assertEqual(answer.status, status, sent[:40])
            self.assertTrue(answer.headers['sluice-error'].endswith('; at=queue-proxy'))
            self.assertGreaterEqual(
                self.count(proxy, 'sluice_responses_total', source='queue-proxy', cause=cause,
                           http_response_status_code=str(status)), 1, cause)
        eventually(lambda: self.count(proxy, 'http_server_active_requests') == 0, 'none is left over')

    def test_no_metrics_where_another_protocol_is_configured(self):
        proxy = self.sidecar(OBSERVABILITY_CONFIG=json.dumps(
            {'requestMetrics': {'protocol': 'none'}}))
        self.assertNotIn('metrics', proxy.addresses)
        self.assert_serves(proxy)


class RequestLog(SidecarCase):
    def logged(self, template, *headers, probes=False, requests=1, play=None, **settings):
        """The output after `requests` requests, once a line for each has come."""
        config = {'enableRequestLog': True, 'enableProbeRequestLog': probes, **settings}
        if template is not None:
            config['requestLogTemplate'] = template
        proxy = self.sidecar(play or (lambda exchange: exchange.send(OK)),
                             OBSERVABILITY_CONFIG=json.dumps(config))
        for _ in range(requests):
            proxy.get('/path?q=1', headers=headers)
        self.proxy = proxy
        return proxy

    def output(self, proxy, lines=1):
        return eventually(lambda: proxy.output().count('\n') >= lines and proxy.output(), 'a line')

    def test_row_66_of_two_traces_the_log_uses_traceparent(self):
        proxy = self.logged('{{.TraceID}}', ('traceparent', '00-abc-def-01'), ('X-B3-Traceid', 'b3'))
        self.assertEqual(self.output(proxy), 'abc\n')

    def test_row_67_a_traceparent_of_one_field_falls_back_to_b3_or_nothing(self):
        proxy = self.logged('[{{.TraceID}}]', ('Traceparent', '00'), ('X-B3-Traceid', 'b3'))
        self.assertEqual(self.output(proxy), '[b3]\n')
        proxy = self.logged('[{{.TraceID}}]', ('Traceparent', '00'))
        self.assertEqual(self.output(proxy), '[]\n')

    def test_row_68_a_line_feed_is_added_once(self):
        for template in ('{{.Response.Code}}', '{{.Response.Code}}\n'):
            proxy = self.logged(template, requests=2)
            self.assertEqual(self.output(proxy, 2), '200\n200\n')

    def test_row_68_an_empty_template_disables_the_log(self):
        proxy = self.logged('', requests=3)
        # Nothing may come: the log is written at the end at the latest.
        proxy.terminate()
        self.assertEqual(proxy.process.wait(20), 0)
        self.assertEqual(proxy.output(), '')

    def test_row_69_an_answer_the_container_broke_off_is_logged_as_500(self):
        def die(exchange):
            exchange.send(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789')
            exchange.sock.shutdown(socket.SHUT_RDWR)

        proxy = self.logged('{{.Response.Code}}', play=die)
        self.assertEqual(self.output(proxy), '500\n')

    def test_the_default_line_is_json(self):
        proxy = self.logged(None, ('User-Agent', 'a "quoted" agent'), ('Referer', 'http://r/'))
        line = json.loads(self.output(proxy))
        request = line['httpRequest']
        self.assertEqual((request['requestMethod'], request['requestUrl'], request['status']),
                         ('GET', '/path?q=1', 200))
        self.assertEqual((request['userAgent'], request['referer'], request['protocol']),
                         ('a "quoted" agent', 'http://r/', 'HTTP/1.1'))
        self.assertEqual(request['responseSize'], '2')
        self.assertRegex(request['latency'], r'^[0-9.e-]+s$')
        self.assertIn('traceId', line)

    def test_probes_are_logged_only_when_asked(self):
        for probes, want in ((False, '/path?q=1 \n'), (True, '/probe kube-probe/1.29\n/path?q=1 \n')):
            proxy = self.sidecar(OBSERVABILITY_CONFIG=json.dumps(
                {'enableRequestLog': True, 'enableProbeRequestLog': probes,
                 'requestLogTemplate': '{{.Request.RequestURI}} {{.Request.UserAgent}}'}))
            proxy.get('/probe', headers=[KUBELET, QUEUE])
            proxy.get('/path?q=1')
            self.assertEqual(self.output(proxy, want.count('\n')), want)

    def test_an_action_it_does_not_know_means_the_default_line(self):
        proxy = self.logged('{{if .Request}}yes{{end}}')
        self.assertEqual(json.loads(self.output(proxy))['httpRequest']['status'], 200)

    def test_a_client_cannot_steer_the_terminal_of_who_reads_the_log(self):
        proxy = self.sidecar(OBSERVABILITY_CONFIG=json.dumps(
            {'enableRequestLog': True,
             'requestLogTemplate': '{{.Request.URL.Path}} {{.Request.UserAgent}}'}))
        proxy.get('/a%C2%9B31m%E2%80%AEb%E2%80%8B', headers=[('User-Agent', 'c\x9bd\xc2\x9be')])
        self.assertEqual(self.output(proxy), '/a?31m?b? c?d?e\n')

    def test_a_client_cannot_write_lines_of_its_own(self):
        proxy = self.logged(None, ('User-Agent', 'x","status":"418"} \\ \xff \u00e9'))
        lines = self.output(proxy).splitlines()
        self.assertEqual(len(lines), 1)
        self.assertEqual(json.loads(lines[0])['httpRequest']['status'], 200)


if __name__ == '__main__':
    unittest.main()
