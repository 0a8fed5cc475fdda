"""Documents of a cluster whose containers are images."""

import unittest

from images.case import IMAGE, START_SECONDS, Images
from queue_proxy.h2_peers import Client
from wire import eventually

CONFIG = {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'settings'},
          'data': {'app.conf': 'greeting = hello\n', 'COLOUR': 'blue'}}
SECRET = {'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'keys'}, 'stringData': {'token': 'hunter2'}}


SPLIT = [{'revisionName': 'app-00001', 'percent': 90, 'tag': 'stable'}, {'latestRevision': True, 'percent': 10}]


class FiveDocuments(Images):
    """Each wakes, scales, logs and sleeps (assert_lives), has what it asks for, and fails with one line."""

    def assert_refused(self, engine, cause, *documents):
        """No engine starts with them; `engine` is stopped before."""
        engine.stop()
        file = self.written(*documents)
        self.assert_refuses(78, f'{file}:', cause, arguments=('up', '--http', '127.0.0.1:0', '-f', file))

    def test_an_image_only(self):
        engine = self.up_documents(self.document({'image': IMAGE}, target='1'))
        self.assert_lives(engine)
        self.assertEqual(self.ask(engine), 'hello from a container\n')
        self.assertEqual(engine.stop(), 0)
        self.assertEqual(self.podman.names(), [])
        self.assert_cause(self.up_documents(self.document({'image': 'localhost/nope:1'})),
                          'podman could not run localhost/nope:1: Error: ', 'its program could not be run')

    def test_variables_and_volumes_of_a_config_map_and_a_secret(self):
        service = self.document(
            {'image': IMAGE, 'workingDir': '/tmp',
             'env': [{'name': 'COLOUR', 'valueFrom': {'configMapKeyRef': {'name': 'settings', 'key': 'COLOUR'}}},
                     {'name': 'TOKEN', 'valueFrom': {'secretKeyRef': {'name': 'keys', 'key': 'token'}}}],
             'volumeMounts': [{'name': 'settings', 'mountPath': '/etc/app'}, {'name': 'keys', 'mountPath': '/keys'},
                              {'name': 'work', 'mountPath': '/made'}]}, target='1',
            volumes=[{'name': 'settings', 'configMap': {'name': 'settings'}},
                     {'name': 'keys', 'secret': {'secretName': 'keys', 'defaultMode': 0o440}},
                     {'name': 'work', 'emptyDir': {}}])
        engine = self.up_documents(CONFIG, SECRET, service)
        self.assert_lives(engine)
        variables = self.ask(engine, '/cgi-bin/env')
        self.assertIn('COLOUR=blue\n', variables)
        self.assertIn('TOKEN=hunter2\n', variables)
        self.assertIn('greeting = hello\n', self.ask(engine, '/cgi-bin/read?/etc/app/app.conf'))
        secret = self.ask(engine, '/cgi-bin/read?/keys/token')
        self.assertTrue(secret.startswith('hunter2') and '-r--r-----' in secret, secret)
        self.assertIn('refused', self.ask(engine, '/cgi-bin/write?/etc/app/new'))
        self.assertIn('written', self.ask(engine, '/cgi-bin/write?/made/new'))
        self.assertEqual([event for event in engine.events if event['type'] == 'warning'], [])
        self.assert_refused(engine, 'Secret keys has no key `token`', CONFIG, {**SECRET, 'stringData': {}}, service)

    def test_resources_probes_and_timeouts(self):
        limits = {'limits': {'cpu': '500m', 'memory': '64Mi'}}
        engine = self.up_documents(self.document(
            {'image': IMAGE, 'resources': limits, 'readinessProbe': {'httpGet': {'path': '/index.html'}},
             'startupProbe': {'exec': {'command': ['test', '-e', '/www/index.html']}},
             'livenessProbe': {'httpGet': {'path': '/index.html'}, 'periodSeconds': 1}}, target='1', timeoutSeconds=10))
        self.assert_lives(engine)
        first = self.podman.names()[0]
        found = self.podman.inspected(first)['HostConfig']
        self.assertEqual((found['Memory'], found['NanoCpus']), (64 << 20, 500_000_000))
        self.assertEqual(engine.get('/cgi-bin/stuck', timeout=START_SECONDS).status, 504)
        engine.stop()
        eater = ['/bin/sh', '-c', 'exec dd if=/dev/zero of=/dev/null bs=100M count=10']
        engine = self.up_documents(self.document({'image': IMAGE, 'args': eater, 'resources': {'limits': {'memory': '20Mi'}}}))
        self.assert_cause(engine, 'out of memory (limit 20Mi)')
        self.assertEqual(engine.wait_event('replica', state='exited')['cause'], 'out_of_memory')

    def test_traffic_of_two_revisions_with_a_tag(self):
        self.podman.run('tag', IMAGE, 'localhost/web:2')
        first = self.document({'image': IMAGE}, target='1')
        second = self.document({'image': 'localhost/web:2', 'env': [{'name': 'VERSION', 'value': 'two'}]}, target='1')
        second['spec']['traffic'] = SPLIT
        engine = self.up_documents(first)
        self.written(second)
        eventually(lambda: 'app-00002' in self.printed('revisions', 'app') and '90 %' in self.printed('revisions', 'app'),
                   'the traffic is in force')
        self.assert_lives(engine)
        for host, twos in (('app.localhost', 10), ('stable-app.localhost', 0)):
            answers = [engine.get('/cgi-bin/env', host=host, timeout=START_SECONDS).body for _ in range(100)]
            self.assertEqual([sum(word in each for each in answers) for word in (b'K_REVISION=app-00002', b'VERSION=two')],
                             [twos, twos])
        second['spec']['traffic'] = [{**SPLIT[0], 'percent': 95}, SPLIT[1]]
        self.assert_refused(engine, 'the percentages of `traffic` add up to 105, not to 100', second)

    def test_an_init_container_and_http_2(self):
        def made(script):
            return self.document(
                {'image': IMAGE, 'args': ['/bin/h2c', '/made/page'], 'ports': [{'name': 'h2c', 'containerPort': 9000}],
                 'volumeMounts': [{'name': 'work', 'mountPath': '/made'}]}, target='1',
                initContainers=[{'name': 'make', 'image': IMAGE, 'args': ['/bin/sh', '-c', script],
                                 'volumeMounts': [{'name': 'work', 'mountPath': '/made'}]}],
                volumes=[{'name': 'work', 'emptyDir': {}}])

        engine = self.up_documents(made('echo made >/made/page'))

        def ask():
            client = Client(engine.http)
            try:
                stream = client.request('/', authority='app.localhost')
                client.wait(lambda: stream.ended or stream.reset is not None or client.closed, 'the answer', START_SECONDS)
                return stream.data.decode()
            finally:
                client.close()

        self.assert_lives(engine, ask, 'made\n', 'serving HTTP/2 on 9000')
        engine.stop()
        self.assert_cause(self.up_documents(made('echo no database >&2; exit 3')),
                          'init container make ended with exit code 3: no database',
                          'init container make ended with exit code 3')


class Documents(Images):
    def test_probes_of_commands_run_inside(self):
        start = 'httpd -p $PORT -h /www; sleep 2; touch /tmp/started; sleep 1; touch /tmp/ready; while :; do sleep 1; done'
        exists = {'exec': {'command': ['test', '-e', '/tmp/ready']}}
        engine = self.up_documents(self.document(
            {'image': IMAGE, 'args': ['/bin/sh', '-c', start], 'readinessProbe': exists,
             'startupProbe': {'exec': {'command': ['test', '-e', '/tmp/started']}, 'failureThreshold': 30},
             'livenessProbe': {**exists, 'periodSeconds': 1, 'failureThreshold': 1}}))
        self.ask(engine)
        ready = engine.wait_event('replica', state='ready')
        self.podman.run('exec', f'sluice-app-{ready["id"]}', 'test', '-e', '/tmp/ready')
        self.podman.run('exec', f'sluice-app-{ready["id"]}', '/bin/busybox', 'rm', '/tmp/ready')
        ended = engine.wait_event('replica', state='exited')
        self.assertIn('liveness probe failed: test ended with exit code 1', ended['why'])

    def test_a_spec_in_yaml_is_what_was_written(self):
        engine = self.up_image('/bin/sh', '-c', 'exec httpd -f -p $PORT -h /www', flags=('--port', '9000'))
        written = self.printed('get', 'app', '-o', 'yaml')
        self.assertIn('image: "localhost/web:1"', written)
        self.assertIn('containerPort: 9000', written)
        self.assertNotIn('workingDir', written)
        applied = self.home.run('apply', '--dry-run', '-f', self.write('again.yaml', written))
        self.assertEqual(applied.returncode, 0, applied.stderr)
        self.assertIn('unchanged', applied.stdout)
        self.ask(engine)


if __name__ == '__main__':
    unittest.main()
