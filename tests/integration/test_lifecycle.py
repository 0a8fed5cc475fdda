"""Real, unmodified programs wake, scale and sleep; engines start, are found and stop."""

import os
import pathlib
import signal
import socket
import subprocess
import unittest

from engine import APP, SLUICE, EngineCase, alive, wait_until
from screen import Screen
from wire import Reader, connect, request_bytes

WINDOW = ('--window', '6s')
# nginx gets its port from the shell line that starts it, and stays in the foreground.
NGINX = r'''dir=$(mktemp -d); printf 'daemon off; master_process off; pid %s/pid; error_log stderr;
events {} http { access_log off; client_body_temp_path %s; proxy_temp_path %s; fastcgi_temp_path %s;
uwsgi_temp_path %s; scgi_temp_path %s; server { listen 127.0.0.1:%s; return 200 "nginx\n"; } }' \
"$dir" "$dir" "$dir" "$dir" "$dir" "$dir" "$PORT" > "$dir/conf"
exec "$(command -v nginx || echo /usr/sbin/nginx)" -c "$dir/conf" -e stderr'''

GHOST = '''apiVersion: serving.knative.dev/v1
kind: Service
metadata:
  name: ghost
spec:
  template:
    metadata:
      annotations:
        autoscaling.knative.dev/target: "1"
        autoscaling.knative.dev/max-scale: "4"
        autoscaling.knative.dev/window: "6s"
    spec:
      containers:
        - command: ["python3", "{app}"]
'''


class RealPrograms(EngineCase):
    def wakes_and_sleeps(self, engine, body):
        self.assertEqual(engine.status()['state'], 'asleep')
        answer = engine.get()
        self.assertEqual(answer.status, 200)
        self.assertIn(body, answer.body)
        cold = engine.wait_event('cold_start')
        phases = cold['phases_ms']
        self.assertEqual(set(phases), {'queue', 'decide', 'create', 'start', 'ready', 'first_byte'})
        replica = engine.wait_event('replica', state='ready')
        engine.wait_status(lambda status: status['state'] == 'asleep', 60)
        wait_until(lambda: not alive(replica['pid']), 15, 'the program of a sleeping service ended')
        self.assertEqual(engine.get().status, 200)
        self.assertEqual(engine.stop(), 0)

    def test_python_http_server_wakes_sleeps_and_wakes_again(self):
        self.home.path.joinpath('index.html').write_text('hello from a file')
        engine = self.up(*WINDOW, '--', 'python3', '-m', 'http.server', '$PORT')
        self.wakes_and_sleeps(engine, b'hello from a file')

    def test_nginx_through_a_shell_line_wakes_sleeps_and_wakes_again(self):
        engine = self.up(*WINDOW, '--', 'sh', '-c', NGINX)
        self.wakes_and_sleeps(engine, b'nginx')

    def test_an_app_on_a_fixed_port_has_one_replica(self):
        with socket.create_server(('127.0.0.1', 0)) as free:
            port = free.getsockname()[1]
        engine = self.up(*WINDOW, '--port', str(port), '--',
                         'python3', '-m', 'http.server', str(port))
        self.assertEqual(engine.get().status, 200)
        self.assertEqual(engine.status()['ready'], 1)

    def test_one_start_is_reported_once_however_many_requests_waited_for_it(self):
        engine = self.up_app()
        waiting = []
        for _ in range(5):
            sock = connect(engine.http)
            self.addCleanup(sock.close)
            sock.sendall(request_bytes('GET', '/', 'app.localhost'))
            waiting.append(sock)
        for sock in waiting:
            self.assertIn(b' 200 ', sock.recv(4096))
        self.assertEqual(engine.stop(), 0)
        while engine.drain(5):
            pass
        told = [event for event in engine.events if event.get('type') == 'cold_start']
        came = [event for event in engine.events
                if event.get('type') == 'replica' and event.get('state') == 'ready']
        self.assertEqual((len(told), len(came)), (1, 1), engine.events)

    def test_the_demo_app_answers(self):
        engine = self.up('--demo', *WINDOW)
        for path in ('/', '/sleep?ms=20', '/burn?ms=5'):
            self.assertEqual(engine.get(path, host='localhost').status, 200)


class Removed(EngineCase):
    def ask_for(self, engine, seconds):
        """A request in flight for that long; the connection is closed after the test."""
        sock = connect(engine.http)
        self.addCleanup(sock.close)
        sock.sendall(request_bytes('GET', f'/?ms={seconds * 1000}', 'ghost.localhost'))

    def explained(self, engine):
        return engine.get('/_sluice/api/v1/services/default/ghost/explain', host='localhost').json()

    def test_a_service_that_is_added_again_is_not_scaled_by_draining_replicas(self):
        engine = self.up_app()
        document = self.write('ghost.yaml', GHOST.format(app=APP))
        self.assertEqual(self.home.run('apply', '-f', document).returncode, 0)
        for _ in range(4):
            self.ask_for(engine, 120)
        engine.wait_status(lambda status: status['ready'] == 4, service='ghost')
        self.assertEqual(self.home.run('delete', 'ghost').returncode, 0)
        self.assertEqual(self.home.run('apply', '-f', document).returncode, 0)
        self.assertEqual(engine.status('ghost')['revision'], 'ghost-00002')
        evaluated = set()

        def three_evaluations():
            decision = self.explained(engine)
            self.assertEqual((decision['revision'], decision['stable'], decision['panic']),
                             ('ghost-00002', 0, 0))
            evaluated.add(decision['time'])
            return len(evaluated) >= 3

        wait_until(three_evaluations, 30, 'three evaluations')
        self.assertLessEqual(engine.status('ghost')['desired'], 1)
        self.assertEqual(self.home.run('delete', 'ghost').returncode, 0)

    def test_a_request_that_waits_for_a_revision_that_is_replaced_is_served_by_the_next_one(self):
        engine = self.up_app()
        silent = GHOST.format(app=APP).replace(f'["python3", "{APP}"]', '["sleep", "600"]')
        self.assertEqual(self.home.run('apply', '-f', self.write('silent.yaml', silent)).returncode, 0)
        waiting = connect(engine.http)
        self.addCleanup(waiting.close)
        waiting.sendall(request_bytes('GET', '/?id=held', 'ghost.localhost'))
        engine.wait_status(lambda status: status['queued'] == 1, service='ghost')

        self.assertEqual(self.home.run('apply', '-f', self.write('ghost.yaml', GHOST.format(app=APP))).returncode, 0)

        answer = Reader(waiting).answer()
        self.assertEqual((answer.status, answer.body.split()[0]), (200, b'held'))
        self.assertEqual(self.home.run('delete', 'ghost').returncode, 0)


    def test_a_fixed_port_rolls_over_and_no_request_is_lost(self):
        engine = self.up_app()
        with socket.create_server(('127.0.0.1', 0)) as free:
            port = free.getsockname()[1]
        first = GHOST.format(app=APP).replace('        autoscaling', f'        sluice.dev/port: "{port}"\n        autoscaling', 1)
        second = first + '          env: [{name: VERSION, value: "2"}]\n'
        self.assertEqual(self.home.run('apply', '-f', self.write('first.yaml', first)).returncode, 0)
        self.assertEqual(engine.get(host='ghost.localhost').status, 200)
        mark = engine.mark()

        def ask(path):
            sock = connect(engine.http)
            self.addCleanup(sock.close)
            sock.sendall(request_bytes('GET', path, 'ghost.localhost'))
            return sock

        slow = ask('/?id=slow&ms=2000')
        engine.wait_status(lambda status: status['in_flight'] == 1, service='ghost')
        self.assertEqual(self.home.run('apply', '-f', self.write('second.yaml', second)).returncode, 0)
        held = ask('/?id=held')

        for sock, name in ((slow, b'slow'), (held, b'held')):
            answer = Reader(sock).answer()
            self.assertEqual((answer.status, answer.body.split()[0]), (200, name))
        self.assertEqual(engine.status('ghost')['revision'], 'ghost-00002')
        self.assertEqual([event for event in engine.events[mark:engine.mark()] if event['type'] in ('warning', 'error')], [])
        self.assertEqual(self.home.run('delete', 'ghost').returncode, 0)


class Engines(EngineCase):
    def test_sleep_holds_until_the_next_request(self):
        engine = self.up_app()
        self.assertEqual(engine.get().status, 200)
        mark = engine.mark()
        self.assertEqual(self.home.run('sleep', 'app').returncode, 0)
        engine.wait_event('replica', state='stopped', after=mark)
        mark = engine.mark()
        engine.drain(5)
        self.assertEqual(engine.status()['state'], 'asleep')
        self.assertEqual(engine.get().status, 200)

    def test_metrics_of_a_revision_are_those_of_a_cluster(self):
        engine = self.up_app()
        owner = '{k8s_namespace_name="default",kn_service_name="app",kn_revision_name="app-00001"}'

        def page():
            return engine.get('/_sluice/metrics', host='localhost').body.decode()

        self.assertIn(f'kn_revision_pods_count{owner} 0\n', page())
        self.assertNotIn(f'kn_revision_pods_desired{owner}', page())
        self.assertEqual(engine.get().status, 200)
        wait_until(lambda: 'kn_autoscaler_scrape_duration_seconds_count' in page(), 15, 'a scrape')
        text = page()
        for series in ('pods_count', 'pods_desired', 'pods_requested', 'pods_granted'):
            self.assertIn(f'kn_revision_{series}{owner} 1\n', text)
        for series in ('pods_not_ready_count', 'request_queued', 'request_active', 'panic_mode'):
            self.assertIn(f'kn_revision_{series}{owner} 0\n', text)
        self.assertEqual(text.count('# TYPE kn_revision_pods_count gauge\n'), 1)

    def test_verbs_find_the_engine_by_themselves(self):
        engine = self.up_app('--name', 'shop')
        self.assertIn('shop', self.home.run('get').stdout)
        self.assertEqual(self.home.run('wake', 'shop', timeout=60).returncode, 0)
        explained = self.home.run('explain', 'shop').stdout
        self.assertIn('wanted, ', explained)
        self.assertIn('by hand', explained)
        self.assertEqual(self.home.run('scale', 'shop', '--min', '1').returncode, 0)
        self.assertEqual(engine.get(host='shop.localhost').status, 200)
        self.assertIn('awake because', self.home.run('explain', 'shop').stdout)
        woken = self.home.run('history', 'shop').stdout.splitlines()[-1]
        past = self.home.run('explain', 'shop', '--at', woken.split()[0]).stdout
        self.assertIn(woken.split()[0], past)
        self.assertNotIn('awake because', past)
        self.assertIn('kind: Service', self.home.run('get', 'shop', '-o', 'yaml').stdout)
        self.assertEqual(self.home.run('down').returncode, 0)

    def test_settings_hold_for_a_command_and_its_flags_win(self):
        config = self.write('config.yaml', '''autoscaler:
  stable-window: 20s
  container-concurrency-target-percentage: 50
  container-concurrency-target-default: 40
  max-scale: 5
  min-scale: 1
defaults: {container-concurrency: 60, timeout-seconds: 7}
''')
        engine = self.up('--config', config, '--', 'python3', APP)
        for name, flags in (('flags', ('--target', '8', '--max', '2', '--min', '0', '--window', '30s',
                                       '--concurrency', '9')), ('unlimited', ('--concurrency', '0'))):
            done = self.home.run('up', '-d', '--name', name, *flags, '--', 'python3', APP, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)

        def decided(service):
            path = f'/_sluice/api/v1/services/default/{service}/explain'
            return engine.get(path, host='localhost').json()

        for service, limit, *expected in (('app', 60, 30, 20, 1, 5), ('flags', 9, 4, 30, 0, 2),
                                          ('unlimited', 0, 20, 20, 1, 5)):
            self.assertEqual(engine.get(host=f'{service}.localhost').status, 200)
            wait_until(lambda service=service: decided(service)['valid'], 10, 'a decision')
            last = decided(service)
            inputs = last['inputs']
            self.assertEqual([last['target'], inputs['stable_window_s'], inputs['min'], inputs['max']], expected)
            spec = self.home.run('get', service, '-o', 'yaml').stdout
            self.assertIn(f'containerConcurrency: {limit}\n', spec)
            self.assertIn('timeoutSeconds: 7\n', spec)

    def test_no_engine_is_69_and_names_how_to_start_one(self):
        self.assert_refuses(69, 'no engine is running', 'sluice up', arguments=['get'])

    def test_a_stopped_engine_leaves_no_process_and_exits_0(self):
        engine = self.up_app('--min', '2')
        engine.wait_status(lambda status: status['ready'] == 2)
        pids = [replica['pid'] for replica in engine.status()['replicas']]
        self.assertEqual(engine.stop(), 0)
        for pid in pids:
            wait_until(lambda pid=pid: not alive(pid), 10, f'{pid} ended with its engine')

    def test_a_second_signal_kills_at_once(self):
        engine = self.up_app()
        engine.get('/?id=warm')
        with connect(engine.http) as busy:
            busy.sendall(request_bytes('GET', '/?ms=60000', 'app.localhost'))
            engine.wait_status(lambda status: status['in_flight'] >= 1)
            engine.process.send_signal(signal.SIGTERM)
            # The first signal has been taken once the door is closed.
            wait_until(lambda: self.refused(engine), 10, 'the door closed')
            engine.process.send_signal(signal.SIGTERM)
            self.assertEqual(engine.process.wait(8), 128 + signal.SIGTERM)

    def test_a_service_of_the_longest_name_answers(self):
        name = 'n' * 63
        engine = self.up_app('--engine', 'e', '--name', name)
        self.assertEqual(engine.get(host=f'{name}.localhost').status, 200)

    def test_a_closed_terminal_ends_the_engine(self):
        screen = Screen(self.home, 'up', '--name', 'app', '--http', '127.0.0.1:0', '--min', '1', '--', 'python3', APP)
        self.addCleanup(screen.process.kill)
        screen.wait(lambda lines: any('app' in line for line in lines))
        os.close(screen.master)
        self.assertEqual(screen.process.wait(30), 0)

    def test_what_cannot_be_printed_is_1_and_not_silent(self):
        self.up_app()
        for verb in (['get', 'app'], ['get', 'app', '-o', 'yaml'], ['explain', 'app'], ['config'], ['help']):
            with open('/dev/full', 'w', encoding='utf-8') as full:
                done = subprocess.run([SLUICE, *verb], env=self.home.environment, stdout=full,
                                      stderr=subprocess.PIPE, text=True, check=False, timeout=30)
            self.assertEqual(done.returncode, 1, verb)
            self.assertIn('standard output cannot be written', done.stderr)

    def test_without_standard_streams_no_file_gets_what_is_printed(self):
        done = self.home.run('up', '-d', '--name', 'app', '--http', '127.0.0.1:0', '--', 'python3', APP)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.addCleanup(self.home.run, 'down', 'app')
        closed = subprocess.Popen(
            ['sh', '-c', 'exec "$0" up --engine other --http 127.0.0.1:0 -- python3 "$1" >&- 2>&- <&-', SLUICE, APP],
            env=self.home.environment)
        self.addCleanup(closed.wait, 30)
        self.addCleanup(closed.terminate)
        lock = pathlib.Path(self.home.environment['XDG_RUNTIME_DIR']) / 'sluice' / 'other' / 'lock'
        wait_until(lambda: self.home.run('get', '--engine', 'other').returncode == 0, 30, 'the engine runs')
        self.assertEqual(lock.read_text(encoding='utf-8'), f'{closed.pid}\n')

    def refused(self, engine):
        try:
            connect(engine.http, 1).close()
        except OSError:
            return True
        return False

    def test_unknown_hosts_are_404_with_the_cause(self):
        engine = self.up_app()
        answer = engine.get(host='missing.localhost')
        self.assertEqual(answer.status, 404)
        self.assertTrue(answer.headers['sluice-error'].startswith('no-route'))


if __name__ == '__main__':
    unittest.main()
