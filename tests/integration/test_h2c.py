"""A program that speaks HTTP/2 in clear text, behind `sluice up`."""

import pathlib
import subprocess
import sys
import unittest

from engine import BIN, EngineCase, wait_until
from queue_proxy.h2_peers import Client

PEER = BIN.parent / 'tests' / 'grpc_peer'
APP = pathlib.Path(__file__).resolve().parent / 'h2c_app.py'
SPEC = '''apiVersion: serving.knative.dev/v1
kind: Service
metadata:
  name: app
spec:
  template:
    metadata:
      annotations:
        autoscaling.knative.dev/window: "6s"
        autoscaling.knative.dev/initial-scale: "0"
    spec:
      containers:
        - command: {command}
          ports: [{{name: {port}, containerPort: 8080}}]
          {more}
'''


class H2c(EngineCase):
    def up_spec(self, command, port='h2c', more=''):
        return self.up('-f', self.write('app.yaml', SPEC.format(command=command, port=port, more=more)))

    def up_h2c(self):
        """A program with a readiness path, which its sidecar has to probe over HTTP/2."""
        self.journal = self.home.path / 'journal'
        return self.up_spec(f'[{sys.executable}, -B, {APP}]', more='env: [{name: JOURNAL, value: ' + str(self.journal) +
                            '}]\n          readinessProbe: {httpGet: {path: /ready}}')

    def client(self, engine):
        made = Client(engine.http)
        self.addCleanup(made.close)
        return made

    def test_a_request_wakes_the_program_and_reaches_it_as_http_2_with_its_body_and_trailers(self):
        engine = self.up_h2c()
        self.assertEqual(engine.status()['state'], 'asleep')
        client = self.client(engine)
        for path in ('/first', '/second'):
            got = client.get(path, method='POST', body=b'x' * 100_000, authority='app.localhost')
            self.assertEqual(got.status, 200)
            self.assertTrue(got.data.startswith(path.encode()) and got.data.endswith(b'x' * 100_000))
            self.assertEqual(got.trailers, {'x-sum': '7'})
        lines = self.journal.read_text().split('\n')
        self.assertIn('GET /ready', lines)
        self.assertEqual([line for line in lines if line.startswith('POST')], ['POST /first', 'POST /second'])
        engine.wait_status(lambda status: status['state'] == 'asleep')

    def test_a_client_of_http_1_gets_502_when_the_program_only_supports_http_2(self):
        engine = self.up_h2c()
        answer = engine.get()
        self.assertEqual(answer.status, 502)
        self.assertTrue(answer.headers['sluice-error'].startswith('upstream'), answer.headers)
        self.assertIn('at=queue-proxy', answer.headers['sluice-error'])

    def test_another_protocol_is_another_revision(self):
        engine = self.up_h2c()
        first = engine.status()['revision']
        path = self.home.path / 'app.yaml'
        path.write_text(path.read_text().replace('name: h2c', 'name: http1'))
        wait_until(lambda: engine.status()['revision'] != first, 30, 'the next revision')


class Grpc(EngineCase):
    def test_a_real_client_calls_a_real_server_that_sleeps_at_first(self):
        engine = self.up('-f', self.write('app.yaml', SPEC.format(
            command=f'[{PEER}, server, "$PORT"]', port='h2c', more='')))
        for case in ('unary', 'large', 'metadata', 'failure', 'server_stream', 'client_stream',
                     'both_streams', 'deadline', 'cancellation', 'many'):
            done = subprocess.run([PEER, 'client', engine.http, case], capture_output=True, timeout=60)
            self.assertEqual(done.returncode, 0, (case, done.stderr[-1500:], engine.log_text()[-1500:]))


if __name__ == '__main__':
    unittest.main()
