"""The doors beside the stream: WebSocket stats, the API, health and metrics."""

import json
import pathlib
import struct
import tempfile

from protowire import wire_stat, wire_stats
from queue_proxy.websocket import BINARY, CLOSE, PING, PONG, TEXT, frame, handshake, read_frame
from wire import Reader, connect, eventually, fetch

from .case import AutoscalerTest


class StatDoor(AutoscalerTest):
    def setUp(self):
        super().setUp()
        self.platform.put('config-autoscaler.json', {'allow-zero-initial-scale': 'true'})
        self.platform.revision('app', annotations={'autoscaling.knative.dev/initial-scale': '0'})
        self.running = self.start()
        self.sock = connect(self.running.addresses['stats'])
        self.addCleanup(self.sock.close)
        self.reader = Reader(self.sock)

    def upgrade(self):
        self.sock.sendall(handshake('/any/path'))
        self.assertEqual(self.reader.answer().status, 101)

    def send(self, opcode, payload):
        self.sock.sendall(frame(opcode, payload))

    def pushed(self):
        self.send(BINARY, wire_stats(wire_stat('app', 1, 1)))
        self.platform.wait_for_scale('app', lambda order: order['replicas'] == 1)

    def test_stats_wake_a_revision(self):
        self.assertEqual(self.platform.scale('app')['replicas'], 0)
        self.upgrade()

        self.pushed()

        self.assertIn('1 on a WebSocket', self.running.health('/readyz?verbose').body.decode(),
                   'the wrong file is named')

    def test_a_malformed_stat_is_dropped_and_the_connection_stays(self):
        self.upgrade()
        self.send(TEXT, b'{"not": "binary"}')
        self.send(BINARY, b'\xff\xff\xff\xff')
        self.send(BINARY, wire_stats(b'', wire_stat('missing', 1, 1)))
        self.send(PING, b'still there?')
        self.assertEqual(read_frame(self.reader)[:2], (PONG, b'still there?'))

        self.pushed()

        metrics = self.running.health('/metrics').body.decode()
        self.assertIn('sluice_autoscaler_frames_total{kind="undecodable"} 1', metrics)
        self.assertIn('sluice_autoscaler_frames_total{kind="text"} 1', metrics)
        self.assertIn('sluice_autoscaler_stats_total{outcome="unknown_revision"} 1', metrics)

    def test_a_message_above_the_limit_ends_the_connection(self):
        self.upgrade()
        # Only its head: the size it announces is enough.
        self.sock.sendall(bytes([0x80 | BINARY, 0x80 | 127]) + struct.pack('>Q', 5 << 20) + b'\0' * 4)

        opcode, payload, _ = read_frame(self.reader)

        self.assertEqual((opcode, struct.unpack('>H', payload[:2])[0]), (CLOSE, 1009))

    def test_senders_are_asked_to_reconnect_at_the_end(self):
        self.upgrade()

        self.running.terminate()

        opcode, payload, _ = read_frame(self.reader)
        self.assertEqual((opcode, struct.unpack('>H', payload[:2])[0]), (CLOSE, 1012))
        self.send(CLOSE, payload)
        self.assertEqual(self.running.process.wait(20), 0)

    def test_a_sender_that_does_not_answer_delays_nothing(self):
        self.upgrade()

        self.assertEqual(self.running.leave(), 0)

    def test_kubelet_probes_are_answered(self):
        address = self.running.addresses['stats']

        self.assertEqual(fetch(address, headers=[('User-Agent', 'kube-probe/1.30')]).status, 200)
        self.assertEqual(fetch(address, headers=[('K-Kubelet-Probe', 'yes')]).status, 200)

    def test_a_request_that_is_not_a_websocket_is_refused(self):
        answer = fetch(self.running.addresses['stats'])

        self.assertEqual(answer.status, 426)
        self.assertIn(b'WebSocket', answer.body)

    def test_the_bucket_of_another_replica_is_not_accepted(self):
        self.sock.sendall(handshake().replace(
            b'Host: app', b'Host: autoscaler-bucket-01-of-02.knative-serving.svc.cluster.local'))

        self.assertEqual(self.sock.recv(1), b'')


class Api(AutoscalerTest):
    def test_a_service_and_its_decisions_are_shown(self):
        pod = self.pod('app-00001-1', concurrency=3)
        self.platform.revision('app-00001', [pod.entry()], service='app', container_concurrency=10)
        running = self.start()
        eventually(lambda: running.api('/services/default/app/explain').json()['valid'], 'a decision')

        status = running.api('/services/default/app').json()
        self.assertEqual(status['state'], 'awake')
        self.assertEqual(status['revision'], 'app-00001')
        self.assertEqual(status['url'], 'http://app-00001.example')
        self.assertEqual((status['ready'], status['desired'], status['target']), (1, 1, 7.0))
        self.assertEqual(status['replicas'][0]['in_flight'], 3)
        self.assertEqual(running.api('/services/default/app-00001').json()['name'], 'app')
        explained = running.api('/services/default/app/explain').json()
        self.assertEqual(explained['wanted_stable'], 1)
        self.assertEqual(explained['inputs']['stable_window_s'], 60)
        self.assertEqual(explained['keeps_awake'][0]['client'], 'app-00001-1')
        history = running.api('/services/default/app/history?since=1h').json()['items']
        self.assertEqual(history[-1]['service'], 'app')
        past = running.api('/services/default/app/explain?at=' + history[-1]['time']).json()
        self.assertEqual(past['why'], history[-1]['why'])

    def test_what_was_decided_is_recorded(self):
        pod = self.pod('app-00001-1', concurrency=3)
        self.platform.revision('app-00001', [pod.entry()], service='app', container_concurrency=10)
        running = self.start()
        eventually(lambda: running.api('/services/default/app/explain').json()['valid'], 'a decision')

        answer = running.api('/services/default/app/recording?since=1m')
        self.assertEqual(answer.status, 200)
        head, *lines = [json.loads(line) for line in answer.body.splitlines()]
        self.assertEqual((head['format'], head['service']), ('sluice-recording/1', 'app'))
        self.assertEqual(head['given']['container_concurrency'], 10)
        scraped = next(line for line in lines if line['type'] == 'stat')
        self.assertEqual((scraped['door'], scraped['average_concurrency']), ('scrape', 3))
        self.assertIn('eval', {line['type'] for line in lines})
        self.problem(running.api('/services/default/none/recording'), 404)

    def test_lists_are_returned_in_pages(self):
        for number in range(5):
            self.platform.revision(f'app-{number}')
        running = self.start()

        first = running.api('/services?limit=2').json()
        last = running.api('/services?limit=2&next=4').json()

        self.assertEqual([each['name'] for each in first['items']], ['app-0', 'app-1'])
        self.assertEqual(first['next'], '2')
        self.assertEqual([each['name'] for each in last['items']], ['app-4'])
        self.assertNotIn('next', last)

    def problem(self, answer, status):
        self.assertEqual(answer.status, status)
        self.assertEqual(answer.headers['content-type'], 'application/problem+json')
        self.assertTrue(answer.json()['fix'])
        return answer.json()

    def test_refusals_name_the_fix(self):
        self.platform.revision('app')
        running = self.start()

        self.assertIn('default/app', self.problem(running.api('/services/default/ap'), 404)['fix'])
        self.problem(running.api('/nothing'), 404)
        self.problem(running.api('/services?limit=0'), 400)
        self.problem(running.api('/services/default/app/history?since=ages'), 400)
        self.problem(running.api('/services/default/app/explain?at=never'), 400)
        self.problem(running.api('/services/%zz/app'), 400)
        refused = running.api('/services/default/app', method='DELETE')
        self.problem(refused, 405)
        self.assertEqual(refused.headers['allow'], 'GET, HEAD')

    def test_version_shows_connected_activators(self):
        running = self.start(POD_NAME='autoscaler-7')

        version = running.api('/version').json()

        self.assertEqual(version['name'], 'autoscaler-7')
        self.assertEqual(version['activators'], [])
        self.assertEqual(version['platform'], f'dir:{self.platform.path}')

    def test_metrics_have_their_documented_names(self):
        pod = self.pod('pod-1', concurrency=2)
        self.platform.revision('app', [pod.entry()])
        running = self.start()
        labels = '{k8s_namespace_name="default",kn_service_name="app",kn_revision_name="app"}'

        text = eventually(lambda: (page := running.health('/metrics').body.decode()) and
                          f'kn_revision_concurrency_panic{labels} 2' in page and page,
                          'the panic window in the metrics')

        self.assertIn(f'kn_revision_pods_desired{labels} 1', text)
        self.assertIn(f'kn_revision_pods_requested{labels} 1', text)
        self.assertIn(f'kn_revision_pods_count{labels} 1', text)
        self.assertIn(f'kn_revision_panic_mode{labels} 0', text)
        self.assertIn('kn_autoscaler_scrape_duration_seconds_count', text)
        self.assertNotIn('kn_revision_rps_stable{', text)

    def test_health_is_reported(self):
        running = self.start()

        self.assertEqual(running.health('/livez').body, b'ok\n')
        self.assertEqual(running.health('/readyz').body, b'ok\n')
        self.assertIn(b'[+]activators ok: 0 on a stream', running.health('/readyz?verbose').body)

    def test_every_door_may_be_a_unix_socket(self):
        with tempfile.TemporaryDirectory(prefix='sluice-') as folder:
            place = pathlib.Path(folder)
            running = self.start(**{f'SLUICE_{name.upper()}_ADDRESS': f'unix:{place / name}'
                                    for name in ('stats', 'grpc', 'api', 'metrics')})

            self.assertEqual(running.api('/version').status, 200)
            self.assertEqual(running.health('/livez').status, 200)
            self.assertEqual(fetch(running.addresses['stats'],
                                   headers=[('K-Kubelet-Probe', '1')]).status, 200)
            self.assertTrue((place / 'grpc').is_socket())
