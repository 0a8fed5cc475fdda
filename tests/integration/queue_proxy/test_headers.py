"""What the container sees of a request's head, and the client of a response's: rows 18 to 31."""

import json
import unittest

from queue_proxy.case import KUBELET, QUEUE, SidecarCase
from sidecar import OK
from wire import request_bytes

UNEXPECTED = b'unexpected probe header value: '


class Probes(SidecarCase):
    def test_row_10_a_kubelet_without_probe_header_is_recognized(self):
        proxy = self.sidecar()
        answer = proxy.get(headers=[KUBELET])
        self.assert_answer(answer, 400, UNEXPECTED + b'\n')
        self.assert_cause(answer, 'bad-request')
        self.assertEqual(self.upstream.seen, [])

    def test_row_11_a_ready_container_answers_queue(self):
        proxy = self.sidecar()
        for agent in ('kube-probe/1.29', 'Knative-Activator-Probe', 'Knative-Autoscaling-Probe'):
            answer = proxy.get('/healthz', headers=[('User-Agent', agent), QUEUE])
            self.assert_answer(answer, 200, b'queue')
        self.assertEqual(self.upstream.seen, [])

    def test_row_13_another_probe_value_is_repeated_in_the_answer(self):
        proxy = self.sidecar()
        answer = proxy.get(headers=[KUBELET, ('K-Network-Probe', 'test-probe')])
        self.assert_answer(answer, 400, UNEXPECTED + b'test-probe\n')
        self.assertEqual(answer.headers['content-type'], 'text/plain; charset=utf-8')
        self.assertEqual(answer.headers['x-content-type-options'], 'nosniff')

    def test_row_14_a_network_probe_gets_its_hash_back(self):
        proxy = self.sidecar()
        answer = proxy.get(headers=[('K-Network-Probe', 'probe'), ('K-Network-Hash', 'abc')])
        self.assert_answer(answer, 200, b'')
        self.assertEqual(answer.headers['k-network-hash'], 'abc')
        self.assertEqual(self.upstream.seen, [])

    def test_row_15_a_network_probe_without_hash_is_refused(self):
        answer = self.sidecar().get(headers=[('K-Network-Probe', 'probe')])
        self.assert_answer(answer, 400, b'a probe request must contain a non-empty '
                                        b'"K-Network-Hash" header\n')
        self.assertEqual(self.upstream.seen, [])

    def test_row_18_a_queue_probe_of_another_component_is_ordinary_traffic(self):
        proxy = self.sidecar()
        self.assert_answer(proxy.get(headers=[('User-Agent', 'curl/8'), QUEUE]), 200, b'ok')
        self.assertEqual(self.seen()['k-network-probe'], 'queue')

    def test_row_19_a_marked_probe_keeps_its_original_host(self):
        proxy = self.sidecar()
        answer = proxy.get(headers=[('User-Agent', 'curl/8'), ('K-Kubelet-Probe', 'x'),
                                    ('K-Original-Host', 'a.b')])
        self.assert_answer(answer, 200, b'ok')
        self.assertEqual(self.seen()['k-original-host'], 'a.b')
        self.assertEqual(self.seen()['host'], 'app')

    def test_row_56_no_probe_setting_means_always_ready(self):
        proxy = self.sidecar(SERVING_READINESS_PROBE='')
        self.assert_answer(proxy.get(headers=[KUBELET, QUEUE]), 200, b'queue')


class Headers(SidecarCase):
    def forwarded(self, *headers):
        proxy = self.sidecar()
        self.assert_answer(proxy.get(headers=headers), 200, b'ok')
        return self.seen()

    def test_row_21_the_original_host_is_restored(self):
        seen = self.forwarded(('K-Original-Host', 'a.b'))
        self.assertEqual(seen['host'], 'a.b')
        self.assertNotIn('k-original-host', seen)

    def test_row_22_revision_and_namespace_are_dropped(self):
        seen = self.forwarded(('Knative-Serving-Revision', 'r'), ('Knative-Serving-Namespace', 'n'),
                              ('Knative-Serving-Tag', 't'), ('K-Passthrough-Lb', '1'))
        self.assertNotIn('knative-serving-revision', seen)
        self.assertNotIn('knative-serving-namespace', seen)
        self.assertEqual((seen['knative-serving-tag'], seen['k-passthrough-lb']), ('t', '1'))

    def test_row_23_no_user_agent_is_invented(self):
        seen = self.forwarded()
        for name in ('user-agent', 'accept-encoding', 'x-forwarded-host', 'x-forwarded-proto'):
            self.assertNotIn(name, seen)

    def check_forwarded(self, headers, want):
        self.assertEqual(self.forwarded(*headers).get('forwarded'), want)

    def test_row_24_forwarded_is_made_from_the_older_headers(self):
        self.check_forwarded([('X-Forwarded-For', '127.0.0.1, ::1'), ('X-Forwarded-Host', 'h'),
                              ('X-Forwarded-Proto', 'p')],
                             'for=127.0.0.1;host=h;proto=p, for="[::1]"')

    def test_row_25_forwarded_without_nodes(self):
        self.check_forwarded([('X-Forwarded-Host', 'h'), ('X-Forwarded-Proto', 'p')],
                             'host=h;proto=p')

    def test_row_26_forwarded_of_empty_nodes(self):
        self.check_forwarded([('X-Forwarded-For', ',,,')], 'for=, for=, for=')

    def test_row_27_forwarded_that_is_there_stays(self):
        self.check_forwarded([('Forwarded', 'for=me'), ('X-Forwarded-For', '1.2.3.4')], 'for=me')

    def test_an_empty_forwarded_is_replaced(self):
        seen = self.forwarded(('Forwarded', ''), ('X-Forwarded-Proto', 'https'))
        self.assertEqual(seen['forwarded'], 'proto=https')
        self.assertEqual(self.upstream.seen[-1].head.lower().count('\nforwarded:'), 1)

    def test_an_original_host_that_is_malformed_is_refused(self):
        proxy = self.sidecar()
        answer = proxy.get(headers=[('K-Original-Host', 'a b/c')])
        self.assert_answer(answer, 400, b'bad request\n')
        self.assertIn('field=K-Original-Host', answer.headers['sluice-error'])
        self.assertEqual(self.paths(), [])

    def test_row_28_nothing_makes_no_forwarded(self):
        self.check_forwarded([], None)

    def test_row_29_the_peer_is_appended_to_forwarded_for(self):
        self.assertEqual(self.forwarded(('X-Forwarded-For', '1.2.3.4'))['x-forwarded-for'],
                         '1.2.3.4, 127.0.0.1')

    def test_row_30_fields_that_connection_names_are_dropped(self):
        proxy = self.sidecar()
        _, reader = self.ask(proxy, b'GET / HTTP/1.1\r\nHost: app\r\nConnection: close, X-Foo\r\n'
                                    b'X-Foo: 1\r\nKeep-Alive: 5\r\nProxy-Authorization: a\r\n'
                                    b'Proxy-Connection: b\r\nX-Bar: 2\r\n\r\n')
        self.assert_answer(reader.answer(), 200, b'ok')
        for name in ('x-foo', 'keep-alive', 'proxy-authorization', 'proxy-connection'):
            self.assertNotIn(name, self.seen())
        self.assertEqual(self.seen()['x-bar'], '2')

    def test_row_31_of_te_only_trailers_is_passed_on(self):
        proxy = self.sidecar()
        for sent, want in (('trailers, gzip;q=0.5', 'trailers'), ('gzip', None)):
            self.assertEqual(proxy.get(headers=[('TE', sent)]).status, 200)
            self.assertEqual(self.seen().get('te'), want)

    def test_the_target_is_forwarded_unchanged(self):
        proxy = self.sidecar()
        for target in ('/a%2Fb/../c?x=%zz&&=;a', '/?', '//double', '/%00', '/a?b=http://c:80/'):
            _, reader = self.ask(proxy, request_bytes('GET', target, 'app'))
            self.assertEqual(reader.answer().status, 200)
            self.assertEqual(self.upstream.seen[-1].path, target)

    def test_a_header_sent_twice_arrives_twice_and_in_order(self):
        proxy = self.sidecar()
        self.assertEqual(proxy.get(headers=[('X-A', '1'), ('X-B', '2'), ('x-a', '3')]).status, 200)
        lines = self.upstream.seen[-1].head.split('\r\n')
        self.assertEqual([line for line in lines if line.lower().startswith(('x-a', 'x-b'))],
                         ['X-A: 1', 'X-B: 2', 'x-a: 3'])

    def test_trace_context_is_forwarded_unchanged(self):
        trace = {'traceparent': '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
                 'tracestate': 'a=1,b=2', 'baggage': 'k=v', 'x-b3-traceid': 'abc'}
        seen = self.forwarded(*trace.items())
        self.assertEqual({name: seen[name] for name in trace}, trace)

    def test_a_response_keeps_its_fields_and_gains_none(self):
        proxy = self.sidecar(lambda exchange: exchange.send(
            b'HTTP/1.1 299 Own Words\r\nX-Up: 1\r\nConnection: X-Up, keep-alive\r\nX-Stays: a\r\n'
            b'Keep-Alive: timeout=5\r\nProxy-Authenticate: b\r\nSet-Cookie: c=1\r\n'
            b'Set-Cookie: d=2\r\nContent-Length: 2\r\n\r\nok'))
        _, reader = self.ask(proxy, request_bytes('GET', '/', 'app'))
        head = reader.until(b'\r\n\r\n').decode().split('\r\n')
        self.assertEqual(head[0], 'HTTP/1.1 299 Own Words')
        self.assertEqual(sorted(head[1:]), ['Content-Length: 2', 'Set-Cookie: c=1',
                                            'Set-Cookie: d=2', 'X-Stays: a'])

    def test_an_error_of_another_sluice_that_the_container_passes_on_is_marked_as_its_answer(self):
        proxy = self.sidecar(lambda exchange: exchange.send(
            b'HTTP/1.1 503 Service Unavailable\r\nSluice-Error: draining; at=queue-proxy\r\n'
            b'Content-Length: 0\r\n\r\n'))
        answer = proxy.get()
        self.assert_answer(answer, 503, b'')
        self.assertEqual((answer.headers['sluice-error'], answer.headers['sluice-error-from']),
                         ('draining; at=queue-proxy', 'application'))

    def test_an_own_error_is_problem_json_for_clients_that_accept_it(self):
        proxy = self.sidecar(lambda exchange: exchange.sock.close())
        answer = proxy.get(headers=[('Accept', 'application/problem+json')])
        self.assertEqual(answer.status, 502)
        self.assertEqual(answer.headers['content-type'], 'application/problem+json')
        self.assertEqual(json.loads(answer.body)['status'], 502)


class Upstreams(SidecarCase):
    def test_row_43_a_closed_port_is_502_at_once(self):
        proxy = self.sidecar()
        self.assert_answer(proxy.get(), 200, b'ok')
        closed = self.upstream.port
        self.upstream.close()
        proxy = self.sidecar_for(closed)
        answer = proxy.get()
        self.assert_answer(
            answer, 502, f'dial tcp 127.0.0.1:{closed}: connect: connection refused\n'.encode())
        self.assert_cause(answer, 'upstream')

    def test_row_44_connect_is_405_and_never_forwarded(self):
        proxy = self.sidecar()
        _, reader = self.ask(proxy, b'CONNECT a.b:80 HTTP/1.1\r\nHost: a.b:80\r\n\r\n')
        answer = reader.answer()
        self.assertEqual(answer.status, 405)
        self.assert_cause(answer, 'bad-request')
        self.assertEqual(self.upstream.seen, [])

    def test_a_malformed_response_is_502(self):
        for response in (b'nonsense\r\n\r\n', b'HTTP/1.1 abc\r\n\r\n', b'HTTP/1.1 200 OK\r\nBad\r\n\r\n',
                         b'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
                         b'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n'):
            with self.subTest(response=response):
                def answer_so(exchange, response=response):
                    exchange.send(response)
                    exchange.sock.close()
                answer = self.sidecar(answer_so).get()
                self.assertEqual(answer.status, 502)
                self.assert_cause(answer, 'upstream')

    def test_a_get_on_a_stale_connection_is_repeated_once_and_a_post_never(self):
        # Goal: a pooled connection the container closed costs an idempotent request nothing, and
        # a POST whose bytes may have arrived is never sent twice.
        # Method: the container answers the first request of a connection and closes it on reading
        # the head of the second, so that the close cannot have been seen before.
        def fickle(exchange):
            connection = [one for one in self.upstream.seen if one.sock is exchange.sock]
            if len(connection) > 1:
                exchange.sock.close()
            else:
                exchange.body()
                exchange.send(OK)

        proxy = self.sidecar(fickle)
        self.assertEqual(proxy.get('/first').status, 200)
        self.assertEqual(proxy.get('/again').status, 200)
        self.assertEqual(self.paths(), ['/first', '/again', '/again'])
        answer = proxy.get('/post', method='POST', body=b'x')
        self.assertEqual(answer.status, 502)
        self.assertEqual(self.paths().count('/post'), 1)

    def test_a_connection_the_container_closed_is_not_handed_out(self):
        def close_after(exchange):
            exchange.body()
            exchange.send(OK)
            exchange.sock.close()

        proxy = self.sidecar(close_after)
        for turn in range(20):
            answer = proxy.get(f'/{turn}', method='POST', body=b'x')
            self.assert_answer(answer, 200, b'ok')
            self.upstream.wait_for_closed(turn + 1)
        self.assertEqual(len(self.upstream.seen), 20)


if __name__ == '__main__':
    unittest.main()
