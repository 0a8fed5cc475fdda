"""Documents of a cluster whose containers are images."""

import unittest

from images.case import IMAGE, Images

CONFIG = {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'settings'},
          'data': {'app.conf': 'greeting = hello\n', 'COLOUR': 'blue'}}
SECRET = {'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'keys'}, 'stringData': {'token': 'hunter2'}}


class Documents(Images):
    def test_config_maps_secrets_and_volumes_are_mounted(self):
        engine = self.up_documents(CONFIG, SECRET, self.document(
            {'image': IMAGE, 'workingDir': '/tmp',
             'env': [{'name': 'COLOUR', 'valueFrom': {'configMapKeyRef': {'name': 'settings', 'key': 'COLOUR'}}}],
             'volumeMounts': [{'name': 'settings', 'mountPath': '/etc/app'}, {'name': 'keys', 'mountPath': '/keys'},
                              {'name': 'work', 'mountPath': '/made'}]},
            volumes=[{'name': 'settings', 'configMap': {'name': 'settings'}},
                     {'name': 'keys', 'secret': {'secretName': 'keys', 'defaultMode': 0o440}},
                     {'name': 'work', 'emptyDir': {}}]))
        self.assertIn('COLOUR=blue\n', self.ask(engine, '/cgi-bin/env'))
        self.assertIn('greeting = hello\n', self.ask(engine, '/cgi-bin/read?/etc/app/app.conf'))
        secret = self.ask(engine, '/cgi-bin/read?/keys/token')
        self.assertTrue(secret.startswith('hunter2') and '-r--r-----' in secret, secret)
        self.assertIn('refused', self.ask(engine, '/cgi-bin/write?/etc/app/new'))
        self.assertIn('written', self.ask(engine, '/cgi-bin/write?/made/new'))
        self.assertEqual([event for event in engine.events if event['type'] == 'warning'], [])
        self.sleeps(engine)

    def test_init_containers_run_before_each_with_its_own_image(self):
        engine = self.up_documents(self.document(
            {'image': IMAGE, 'volumeMounts': [{'name': 'work', 'mountPath': '/www/made'}]},
            initContainers=[{'name': 'make', 'image': IMAGE, 'args': ['/bin/sh', '-c', 'echo made >/made/page'],
                             'volumeMounts': [{'name': 'work', 'mountPath': '/made'}]}],
            volumes=[{'name': 'work', 'emptyDir': {}}]))
        self.assertEqual(self.ask(engine, '/made/page'), 'made\n')
        self.sleeps(engine)

    def test_an_init_container_that_fails_is_the_cause(self):
        engine = self.up_documents(self.document(
            {'image': IMAGE},
            initContainers=[{'name': 'make', 'image': IMAGE, 'args': ['/bin/sh', '-c', 'echo no database >&2; exit 3']}]))
        self.assertIn('init container make ended with exit code 3', self.refused(engine))
        self.assertIn('init container make ended with exit code 3: no database', self.printed('explain', 'app'))

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
