"""Documents of a cluster on one machine: ConfigMaps and Secrets, volumes, init containers, probes."""

import json
import pathlib
import socket
import stat
import sys
import unittest
from urllib.parse import quote

from engine import CPU_QUOTA, MEMORY_LIMIT, EngineCase, limit_of, wait_until
from queue_proxy.h2_peers import Client

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = f'{sys.executable}, -B, {HERE / "config_app.py"}'
CONFIG = '''apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data:
  COLOUR: blue
  app.yaml: |
    greeting: hello
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
data: {token: aHVudGVyMg==}
---
'''
SERVICE = '''apiVersion: serving.knative.dev/v1
kind: Service
metadata: {name: app}
spec:
  template:
    metadata:
      annotations: {autoscaling.knative.dev/window: "6s", sluice.dev/start-timeout: 20s}
    spec:
'''


def service(spec):
    return SERVICE + '\n'.join('      ' + line for line in spec.strip('\n').split('\n')) + '\n'


class Documents(EngineCase):
    def up_documents(self, text):
        self.file = self.write('app.yaml', text)
        return self.up('-f', self.file)

    def shown(self, engine, path):
        answer = engine.get(path)
        return answer.body.decode() if answer.status == 200 else None


class ConfigMapsAndSecrets(Documents):
    SPEC = f'''
containers:
  - command: [{PROGRAM}, --config=/etc/app/app.yaml]
    env:
      - {{name: COLOUR, valueFrom: {{configMapKeyRef: {{name: settings, key: COLOUR}}}}}}
      - {{name: TOKEN, valueFrom: {{secretKeyRef: {{name: keys, key: token}}}}}}
      - {{name: NONE, valueFrom: {{secretKeyRef: {{name: none, key: x, optional: true}}}}}}
      - {{name: WORK, value: /scratch/cache}}
    envFrom:
      - {{prefix: SET_, configMapRef: {{name: settings}}}}
    volumeMounts:
      - {{name: all, mountPath: /etc/app}}
      - {{name: work, mountPath: /scratch}}
volumes:
  - name: all
    projected:
      sources: [{{configMap: {{name: settings}}}}, {{secret: {{name: keys}}}}]
  - {{name: work, emptyDir: {{}}}}
'''

    def test_reach_the_program_as_variables_and_as_files(self):
        engine = self.up_documents(CONFIG + service(self.SPEC))
        self.assertEqual(self.shown(engine, '/env?name=COLOUR'), 'blue')
        self.assertEqual(self.shown(engine, '/env?name=TOKEN'), 'hunter2')
        self.assertEqual(self.shown(engine, '/env?name=SET_COLOUR'), 'blue')
        self.assertIsNone(self.shown(engine, '/env?name=NONE'))
        option = json.loads(self.shown(engine, '/args'))[0]
        path = pathlib.Path(option.removeprefix('--config='))
        self.assertEqual(self.shown(engine, f'/file?path={quote(str(path))}'), 'greeting: hello\n')
        self.assertEqual((path.parent / 'token').read_text(), 'hunter2')
        self.assertEqual(stat.S_IMODE((path.parent / 'token').stat().st_mode), 0o400)
        self.assertEqual(stat.S_IMODE(path.parent.parent.stat().st_mode), 0o700)
        work = pathlib.Path(self.shown(engine, '/env?name=WORK'))
        self.assertEqual(work.name, 'cache')
        self.assertTrue(work.parent.is_dir())
        warning = engine.wait_event('warning')
        self.assertIn('`/etc/app` is not mounted on one machine', warning['message'])
        self.assertIn('app.yaml:', warning['message'])
        engine.wait_status(lambda status: status['state'] == 'asleep')
        wait_until(lambda: not path.parent.parent.exists(), 10, 'the volumes are gone')

    def test_a_changed_one_is_another_revision(self):
        engine = self.up_documents(CONFIG + service(self.SPEC))
        self.assertEqual(self.shown(engine, '/env?name=COLOUR'), 'blue')
        first = engine.status()['revision']
        pathlib.Path(self.file).write_text(CONFIG.replace('blue', 'red') + service(self.SPEC))
        engine.wait_status(lambda status: status['revision'] != first)
        self.assertEqual(self.shown(engine, '/env?name=COLOUR'), 'red')

    def test_apply_sends_them_with_their_service_and_keeps_them_for_its_owner_only(self):
        engine = self.up('--name', 'one', '--', sys.executable, '-B', str(HERE / 'config_app.py'))
        file = self.write('other.yaml', CONFIG + service(self.SPEC))
        done = self.home.run('apply', '-f', str(file))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(engine.get('/env?name=TOKEN', host='app.localhost').body, b'hunter2')
        shown = self.home.run('get', 'app', '-o', 'yaml').stdout
        self.assertIn('hunter2', shown)
        self.assertIn('secretKeyRef', shown)
        kept = [path for path in (self.home.path / 'xdg_state_home').rglob('*')
                if path.is_file() and b'hunter2' in path.read_bytes()]
        self.assertEqual([path.name for path in kept], ['app.yaml'])
        self.assertEqual(stat.S_IMODE(kept[0].stat().st_mode), 0o600)
        again = self.write('again.yaml', shown)
        done = self.home.run('apply', '-f', str(again))
        self.assertTrue(done.stdout.startswith('app unchanged'), done.stdout + done.stderr)

    def test_what_is_missing_and_what_has_no_effect_come_together_with_their_lines(self):
        text = service('''
serviceAccountName: me
containers:
  - command: [x]
    env: [{name: A, valueFrom: {configMapKeyRef: {name: none, key: a}}}]
    comand: [y]
''')
        done = self.home.run('up', '-f', str(self.write('app.yaml', text)))
        self.assertEqual(done.returncode, 78)
        for expected in ('app.yaml:9: `serviceAccountName` has no effect',
                         'app.yaml:12: ConfigMap none is not in this file',
                         'app.yaml:13: unknown key `comand`'):
            self.assertIn(expected, done.stderr)


class InitContainers(Documents):
    def test_run_in_their_order_before_a_program_of_http_2(self):
        engine = self.up_documents(service(f'''
initContainers:
  - name: first
    command: [sh, -c, 'echo one of $K_REVISION; echo first > /data/order']
    volumeMounts: [{{name: data, mountPath: /data}}]
  - name: second
    command: [sh, -c, 'echo second >> /data/order']
    volumeMounts: [{{name: data, mountPath: /data}}]
containers:
  - command: [sh, -c, 'cp /data/order "$0" && exec {sys.executable} -B {HERE / "h2c_app.py"}', {self.home.path}/seen]
    ports: [{{name: h2c, containerPort: 8080}}]
    volumeMounts: [{{name: data, mountPath: /data}}]
volumes: [{{name: data, emptyDir: {{}}}}]
'''))
        client = Client(engine.http)
        self.addCleanup(client.close)
        got = client.get('/x', method='POST', body=b'abc', authority='app.localhost')
        self.assertEqual(got.status, 200)
        self.assertEqual((self.home.path / 'seen').read_text(), 'first\nsecond\n')
        self.assertIn('one of app-00001', self.home.run('logs', 'app').stdout)

    def test_one_that_fails_is_a_failed_start_with_its_cause(self):
        engine = self.up_documents(service(f'''
initContainers: [{{name: migrate, command: [sh, -c, 'echo no database >&2; exit 3']}}]
containers: [{{command: [{PROGRAM}]}}]
'''))
        answer = engine.get(timeout=30)
        self.assertEqual(answer.status, 503)
        ended = engine.wait_event('replica', state='exited')
        self.assertTrue(ended['before_ready'])
        self.assertIn('init container migrate ended with exit code 3: no database', ended['why'])

    def test_one_that_lasts_ends_with_the_start_timeout(self):
        engine = self.up_documents(service(f'''
initContainers: [{{name: wait, command: [sleep, '100']}}]
containers: [{{command: [{PROGRAM}]}}]
''').replace('start-timeout: 20s', 'start-timeout: 1s'))
        engine.home.run('wake', 'app', '--timeout', '1s')
        ended = engine.wait_event('replica', state='exited')
        self.assertIn('init container wait did not end within 1s', ended['why'])

    def test_a_program_that_is_missing_is_refused_at_the_start(self):
        text = service('initContainers: [{command: [no-such-program]}]\ncontainers: [{command: [sh]}]')
        done = self.home.run('up', '-f', str(self.write('app.yaml', text)))
        self.assertIn('command not found: no-such-program', done.stderr)


class Resources(Documents):
    def test_limits_are_those_of_the_control_group_of_the_program(self):
        engine = self.up_documents(service(f'''
containers:
  - command: [{PROGRAM}]
    resources: {{limits: {{cpu: 500m, memory: 256Mi}}}}
'''))
        self.assertEqual(engine.get().status, 200)
        program = engine.wait_event('replica', state='ready')['pid']
        for limit, value in ((CPU_QUOTA, '50000'), (MEMORY_LIMIT, str(256 << 20))):
            if self.can_limit(limit[0]):
                self.assertEqual(limit_of(program, *limit), value)
            else:
                self.assertIn('accounted', engine.wait_event('warning')['message'])


class HealthProbes(Documents):
    def test_a_liveness_probe_that_fails_restarts_the_replica_with_its_cause(self):
        sick = self.home.path / 'sick'
        engine = self.up_documents(service(f'''
timeoutSeconds: 20
containers:
  - command: [{PROGRAM}]
    env: [{{name: SICK, value: {sick}}}]
    resources: {{limits: {{cpu: 500m, memory: 256Mi}}}}
    readinessProbe: {{httpGet: {{path: /}}}}
    livenessProbe: {{httpGet: {{path: /live}}, periodSeconds: 1, failureThreshold: 2}}
'''))
        self.assertEqual(engine.get().status, 200)
        self.home.run('scale', 'app', '--min', '1')
        ready = engine.wait_event('replica', state='ready')
        sick.touch()
        ended = engine.wait_event('replica', state='exited')
        self.assertIn('liveness probe failed: GET /live gave 503, 2 times in a row', ended['why'])
        sick.unlink()
        again = engine.wait_event('replica', after=engine.mark(), state='ready')
        self.assertNotEqual(again['pid'], ready['pid'])
        self.assertEqual(engine.get().status, 200)

    def test_a_startup_probe_holds_requests_until_it_passes(self):
        engine = self.up_documents(service(f'''
containers:
  - command: [{PROGRAM}]
    env: [{{name: LATE, value: "2"}}]
    startupProbe: {{httpGet: {{path: /started}}, periodSeconds: 1, failureThreshold: 15}}
'''))
        self.assertEqual(engine.get('/started').status, 200)

    def test_a_startup_probe_that_never_passes_is_a_failed_start(self):
        engine = self.up_documents(service(f'''
containers:
  - command: [{PROGRAM}]
    env: [{{name: LATE, value: "1000"}}]
    startupProbe: {{httpGet: {{path: /started}}, periodSeconds: 1, failureThreshold: 1}}
'''))
        self.home.run('wake', 'app', '--timeout', '1s')
        ended = engine.wait_event('replica', state='exited')
        self.assertTrue(ended['before_ready'])
        self.assertIn('startup probe failed: GET /started gave 503', ended['why'])


    def test_probes_may_be_commands_with_the_environment_of_the_program(self):
        mark = self.home.path / 'mark'
        engine = self.up_documents(service(f'''
containers:
  - command: [{PROGRAM}]
    env: [{{name: MARK, value: {mark}}}]
    readinessProbe: {{exec: {{command: [sh, -c, 'test -e "$MARK" && echo "asked at $PORT" >>"$MARK"']}}}}
    livenessProbe: {{exec: {{command: [sh, -c, 'test -s "$MARK" || {{ echo no mark >&2; exit 3; }}']}}, periodSeconds: 1}}
'''))
        self.home.run('scale', 'app', '--min', '1')
        starting = engine.wait_status(lambda status: status['starting'] == 1)
        self.assertEqual(starting['ready'], 0)
        mark.touch()
        self.assertEqual(engine.get().status, 200)
        ready = engine.wait_event('replica', state='ready')
        self.assertIn(f'asked at {ready["port"]}', mark.read_text())
        mark.unlink()
        ended = engine.wait_event('replica', state='exited')
        self.assertIn('liveness probe failed: sh ended with exit code 3: no mark, 3 times in a row', ended['why'])

    def test_a_readiness_command_that_does_not_pass_is_named_with_its_last_answer(self):
        for command, answer in (('[test, -e, /nowhere]', 'test ended with exit code 1'),
                                ('[nosuchprog]', r'nosuchprog did not run to its end: command not found.*')):
            with self.subTest(command):
                engine = self.up_documents(service(f'''
containers:
  - command: [{PROGRAM}]
    readinessProbe: {{exec: {{command: {command}}}}}
''').replace('start-timeout: 20s', 'start-timeout: 5s'))
                self.home.run('wake', 'app', '--timeout', '1s')
                ended = engine.wait_event('replica', state='exited')
                self.assertRegex(ended['why'], r'it listens on \d+, and its readiness probe did not pass within 5s: '
                                 + answer + '; check the command of the probe$')
                engine.stop()

    def test_a_command_that_does_not_end_is_a_no_after_its_timeout(self):
        engine = self.up_documents(service(f'''
containers:
  - command: [{PROGRAM}]
    startupProbe: {{exec: {{command: [sleep, "1000"]}}, periodSeconds: 1, failureThreshold: 1}}
'''))
        self.home.run('wake', 'app', '--timeout', '1s')
        ended = engine.wait_event('replica', state='exited')
        self.assertIn('startup probe failed: sleep did not end in time', ended['why'])

    def test_probes_may_use_the_health_service_of_grpc(self):
        sick = self.home.path / 'sick'
        engine = self.up_documents(service(f'''
containers:
  - command: [{sys.executable}, -B, {HERE / "h2c_app.py"}]
    ports: [{{name: h2c}}]
    env: [{{name: SICK, value: {sick}}}]
    readinessProbe: {{grpc: {{port: 8080}}}}
    startupProbe: {{grpc: {{port: 8080}}}}
    livenessProbe: {{grpc: {{port: 8080}}, periodSeconds: 1, failureThreshold: 1}}
'''))
        self.home.run('scale', 'app', '--min', '1')
        engine.wait_event('replica', state='ready')
        sick.touch()
        ended = engine.wait_event('replica', state='exited')
        self.assertIn('liveness probe failed: gRPC probe failed', ended['why'])


class ContainerPort(Documents):
    def test_a_program_that_listens_there_is_found_and_served_there_by_one_replica(self):
        with socket.socket() as taken:
            taken.bind(('127.0.0.1', 0))
            port = taken.getsockname()[1]
        engine = self.up_documents(service(f'''
containers:
  - command: [sh, -c, 'PORT={port} exec {sys.executable} -B {HERE / "config_app.py"}']
    ports: [{{containerPort: {port}}}]
'''))
        self.assertEqual(engine.get().status, 200)
        warning = engine.wait_event('warning', message=f'app-00001 listens on its containerPort {port}, not on '
                                    '$PORT: it is served there, by one replica at most')
        self.assertIn('$PORT', warning['fix'])
        ready = engine.wait_event('replica', state='ready')
        self.assertEqual(ready['port'], port)
        engine.wait_status(lambda status: status['state'] == 'asleep')
        again = engine.mark()
        self.assertEqual(engine.get().status, 200)
        ready = engine.wait_event('replica', after=again, state='ready')
        self.assertEqual((ready['port'], engine.status()['revision']), (port, 'app-00001'))


if __name__ == '__main__':
    unittest.main()
