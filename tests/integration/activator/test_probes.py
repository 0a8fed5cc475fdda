"""Health, probes of the network and probes of pods (activator.md 3, 6, 14.4)."""

import threading
import unittest

from activator.autoscalers import KnativeAutoscaler
from activator.case import KUBELET, ActivatorCase, eventually, requests_of, sidecar_play
from queue_proxy.case import free_port
from wire import fetch

NOT_YET = b'connection has not yet been established\n'
NO_HASH = b'a probe request must contain a non-empty "K-Network-Hash" header\n'


class Answered(ActivatorCase):
    def probe(self, door, value, *headers, method='GET'):
        return door.get('/any', revision=None, method=method,
                        headers=[('K-Network-Probe', value), *headers])

    def test_row_7_an_activator_probe_is_answered_whatever_the_method(self):
        door = self.serving()
        for method in ('GET', 'POST'):
            self.assert_answer(self.probe(door, 'activator', method=method), 200, b'activator')
        self.assertEqual([one.path for one in self.only.seen if one.path == '/any'], [])

    def test_row_8_another_probe_is_refused_with_its_value(self):
        door = self.activator()
        self.assert_answer(self.probe(door, 'queue'), 400,
                           b'unexpected probe header value: "queue"\n')
        self.assert_answer(self.probe(door, '<b>'), 400,
                           b'unexpected probe header value: "&lt;b&gt;"\n')

    def test_row_9_an_empty_probe_header_is_ordinary_traffic(self):
        door = self.serving()
        self.assert_answer(door.get(headers=[('K-Network-Probe', '')]), 200, b'ok')

    def test_row_12_a_network_probe_needs_a_hash_and_echoes_it(self):
        door = self.activator()
        self.assert_answer(self.probe(door, 'probe'), 400, NO_HASH)
        answer = self.probe(door, 'probe', ('K-Network-Hash', 'abc'))
        self.assert_answer(answer, 200, b'')
        self.assertEqual(answer.headers['k-network-hash'], 'abc')

    def test_rows_10_and_11_it_is_unready_until_an_autoscaler_is_reached_and_still_serves(self):
        autoscaler = KnativeAutoscaler()
        self.addCleanup(autoscaler.close)
        autoscaler.close()
        pod = self.pod()
        self.platform.revision(pods=[pod.entry])
        door = self.activator(SLUICE_STATS_TARGET=autoscaler.address)
        for headers in ([KUBELET], [('K-Kubelet-Probe', 'yes')]):
            self.assert_answer(door.get(revision=None, headers=headers), 500, NOT_YET)
        self.assert_answer(door.get('/livez', revision=None, headers=[KUBELET]), 200, b'')
        self.assert_answer(door.get(), 200, b'ok')
        back = KnativeAutoscaler(autoscaler.port)
        self.addCleanup(back.close)
        ready = lambda: door.get(revision=None, headers=[KUBELET]).status == 200
        eventually(ready, 'ready')
        back.close()
        eventually(lambda: door.metrics()['kn_activator_stats_conn_reachable{peer="autoscaler"}']
                   == 0, 'link lost')
        self.assertTrue(ready(), 'a link lost later does not make it unready')

    def test_a_sigterm_makes_it_unready_at_once_and_keeps_it_live(self):
        door = self.serving(environment={'SLUICE_DRAIN_QUIET': '1h'})
        door.terminate()
        eventually(lambda: door.get(revision=None, headers=[KUBELET]).body
                   == b'received SIGTERM from kubelet\n', 'unready')
        self.assertEqual(door.get('/livez', revision=None, headers=[KUBELET]).status, 200)
        self.assert_answer(door.get(revision=None, headers=[('K-Network-Probe', 'probe'),
                                                            ('K-Network-Hash', 'h')]), 200, b'')
        self.assert_answer(door.get(), 200, b'ok')

    def test_the_status_door_shows_what_readiness_depends_on(self):
        door = self.activator()
        self.assertEqual(fetch(door.metrics_address, '/livez', host='x').status, 200)
        answer = fetch(door.metrics_address, '/readyz?verbose', host='x')
        self.assertEqual(answer.status, 503)
        self.assertIn(b'[-]autoscaler', answer.body)
        self.assertEqual(fetch(door.metrics_address, '/other', host='x').status, 404)


class OfPods(ActivatorCase):
    def test_a_pod_is_probed_as_knative_probes_and_its_connection_is_reused(self):
        pod = self.played()
        self.platform.revision(pods=[('p', pod.address)])
        door = self.activator()
        self.assert_answer(door.get(), 200, b'ok')
        probe = pod.seen[0]
        self.assertEqual(probe.path, '/healthz')
        self.assertEqual(probe.headers['k-network-probe'], 'queue')
        self.assertEqual(probe.headers['user-agent'], 'Knative-Activator-Probe')
        self.assertEqual(requests_of(pod)[0].sock, probe.sock)

    def test_connections_are_kept_idle_up_to_a_limit_for_all_pods(self):
        first, second = self.played(), self.played()
        self.platform.revision('one', pods=[('p', first.address)])
        self.platform.revision('two', pods=[('q', second.address)])
        door = self.activator(MAX_IDLE_PROXY_CONNS='1')
        self.assert_answer(door.get(revision='one'), 200, b'ok')
        self.assert_answer(door.get(revision='two'), 200, b'ok')
        # Which of them is kept depends on who was probed first.
        eventually(lambda: len({one.sock for one in first.seen + second.seen})
                   - first.closed - second.closed == 1, 'one connection is left')

    def test_a_pod_without_a_sidecar_is_never_used(self):
        pod = self.played(sidecar_play(probe=b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi'))
        self.platform.revision(pods=[('p', pod.address)])
        door = self.activator(PROBE_FREQUENCY='10ms')
        asked = self.ask(door)
        eventually(lambda: len(pod.seen) > 3, 'asked again')
        self.assertEqual(requests_of(pod), [])
        self.platform.forget()
        self.assertEqual(asked.result().status, 500)

    def test_a_pod_that_refuses_connections_is_probed_until_it_listens(self):
        port = free_port()
        self.platform.revision(pods=[('p', f'127.0.0.1:{port}')])
        door = self.activator(PROBE_FREQUENCY='20ms')
        asked = self.ask(door)
        self.wait_for_waiting(door, 1)
        silent = 'sluice_activator_pod_probes_total{result="silent"}'
        eventually(lambda: door.metrics()[silent] >= 3, 'probed without an answer')
        pod = self.pod(QUEUE_SERVING_PORT=f'127.0.0.1:{port}')
        self.assert_answer(asked.result(), 200, b'ok')
        self.assertEqual(len(pod.seen), 1)

    def test_a_sidecar_that_holds_the_probe_is_waited_for(self):
        ready = threading.Event()

        def hold(_):
            ready.wait(20)
            return b'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nqueue'

        pod = self.played(sidecar_play(probe=hold))
        self.addCleanup(ready.set)
        self.platform.revision(pods=[('p', pod.address)])
        door = self.activator(PROBE_TIMEOUT='50ms', PROBE_FREQUENCY='20ms')
        asked = self.ask(door)
        self.wait_for_waiting(door, 1)
        eventually(lambda: pod.seen, 'asked')
        ready.set()
        self.assert_answer(asked.result(), 200, b'ok')

    def test_one_pod_that_fails_its_probe_keeps_no_request_from_the_others(self):
        bad = self.played(sidecar_play(probe=b'HTTP/1.1 503 S\r\nContent-Length: 0\r\n\r\n'))
        good = self.played()
        self.platform.revision(pods=[('a', bad.address), ('b', good.address)])
        door = self.activator()
        for _ in range(5):
            self.assert_answer(door.get(), 200, b'ok')
        self.assertEqual((len(requests_of(bad)), len(requests_of(good))), (0, 5))


if __name__ == '__main__':
    unittest.main()
