"""Programs that do not start or do not stay: one cause, in the same words, wherever it is shown."""

import json
import os
import pathlib
import signal
import socket
import threading
import unittest

from engine import APP, EngineCase
from wire import eventually

SERVE = ('import http.server, os\n'
         'http.server.test(http.server.SimpleHTTPRequestHandler, port=int(os.environ["{port}"]), '
         'bind="127.0.0.1")\n')
# The parent ends once the child runs its program, which closes the pipe.
DAEMON = ('import os, sys\n'
          'end, kept = os.pipe()\n'
          'if os.fork():\n'
          ' os.close(kept)\n'
          ' os.read(end, 1)\n'
          ' sys.exit(0)\n'
          '{session}'
          'os.execvp("sleep", ["daemon-of-mine", "600"])\n')
EAT = ('held = []\n'
       'while True: held.append(bytearray(1 << 20))\n')
SLOW = ('import os, sys, threading\n'
        'threading.Event().wait(3)\n'
        'sys.argv = ["app.py"]\nexec(open(os.environ["APP"]).read())\n')
DOCUMENT = '''apiVersion: serving.knative.dev/v1
kind: Service
metadata:
  name: {name}
spec:
  template:
    metadata:
      annotations:
        autoscaling.knative.dev/min-scale: "{min}"
        autoscaling.knative.dev/initial-scale: "{min}"
    spec:
      containers:
        - command: {command}
'''


# The first five starts find that another program has their port already.
ROBBED = ('import os, pathlib, subprocess, sys\n'
          'starts = pathlib.Path("starts")\n'
          'number = len(starts.read_text()) + 1 if starts.exists() else 1\n'
          'starts.write_text("." * number)\n'
          'if number > 5: os.execvp("python3", ["python3", os.environ["APP"]])\n'
          'thief = ("import os, signal, socket\\nsignal.alarm(30)\\n"\n'
          '         "s = socket.create_server((\'127.0.0.1\', int(os.environ[\'PORT\'])))\\nsignal.pause()")\n'
          'subprocess.Popen([sys.executable, "-c", thief], start_new_session=True)\n'
          'import signal; signal.pause()\n')


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as free:
        return free.getsockname()[1]


class Case(EngineCase):
    def python(self, source, *flags, env=()):
        pairs = [part for pair in (f'APP={APP}', *env) for part in ('--env', pair)]
        return self.up(*flags, *pairs, '--', 'python3', '-c', source)

    def ask(self, engine, timeout=60):
        """A request in a thread of its own, which wakes the service; its answer comes last."""
        answers = []
        thread = threading.Thread(
            target=lambda: answers.append(engine.get(timeout=timeout)), daemon=True)
        thread.start()
        return thread, answers

    def output(self, *verb):
        done = self.home.run(*verb)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def assert_stands_everywhere(self, engine, sentence):
        """In the status, `get`, `explain`, `top` and the logs."""
        status = engine_status(self, 'app')
        self.assertEqual([each['why'] for each in status['not_ready']], [sentence])
        for verb in (('get',), ('get', '-o', 'wide'), ('explain', 'app'), ('top',),
                     ('logs', 'app')):
            self.assertIn(sentence, self.output(*verb), verb)

    def fails_with(self, engine, sentence, cause, refusal=None):
        """The first request gets the cause once three starts have failed, and it stands everywhere."""
        answer = engine.get(timeout=60)
        self.assertEqual(answer.status, 503)
        self.assertTrue(answer.headers['sluice-error'].startswith('start-failed'))
        self.assertEqual(answer.body.decode(), f'the service fails to start: {refusal or sentence}\n')
        event = engine.wait_event('replica', state='exited')
        self.assertEqual((event['why'], event['cause'], event['before_ready']), (sentence, cause, True))
        self.assertEqual(engine_status(self, 'app')['why'], sentence)
        self.assert_stands_everywhere(engine, sentence)


def engine_status(case, service):
    return json.loads(case.output('get', service, '-o', 'json'))


class Restarts(Case):
    def test_a_service_that_is_awake_shows_that_its_replicas_ended_by_themselves(self):
        crash = 'import sys, threading\nthreading.Timer(1.5, lambda: (print("boom", file=sys.stderr, flush=True), ' \
                'os._exit(7))).start()\n'
        self.python('import os\n' + crash + SERVE.format(port='PORT'), '--min', '1')

        def shown():
            return [each['why'] for each in engine_status(self, 'app')['not_ready'] if each['state'] == 'restarting']

        eventually(lambda: shown() and shown()[0].startswith('2 of'), 'two replicas ended')
        for verb in (('get',), ('explain', 'app'), ('top',)):
            self.assertRegex(self.output(*verb), r'of its replicas ended by themselves, the last \d+ s ago: ', verb)
        self.assertIn('it ended with exit code 7: boom', shown()[0])
        self.assertRegex(self.output('get', '-o', 'wide'), r'RESTARTS')


class Starts(Case):
    def test_another_port_is_named_while_the_first_request_still_waits(self):
        port = free_port()
        engine = self.python(SERVE.format(port='OTHER'), env=[f'OTHER={port}'])
        self.ask(engine)
        warning = engine.wait_event('warning', cause='other_port')
        replica, = engine_status(self, 'app')['replicas']
        sentence = f'it listens on {port}, not on $PORT ({replica["port"]}); use --port {port} ' \
                   '(in YAML: sluice.dev/port)'
        self.assertEqual(warning['message'], f'app-00001-1 is not ready: {sentence}')
        self.assert_stands_everywhere(engine, sentence)
        self.assertEqual(engine_status(self, 'app')['state'], 'starting')

    def test_the_log_has_the_cause_of_a_start_before_the_program(self):
        with socket.create_server(('127.0.0.1', 0)) as taken:
            port = taken.getsockname()[1]
            self.up('--port', str(port), '--min', '1', '--', 'python3', APP)
            cause = f'app-00001-1 | did not start: port {port} is held by'
            eventually(lambda: cause in self.output('logs', 'app'), 'its cause in the log')

    def test_a_program_that_idles_on_another_port_does_not_hold_its_clients(self):
        port = free_port()
        engine = self.python(SERVE.format(port='OTHER'), env=[f'OTHER={port}'])
        answer = engine.get(timeout=50)
        self.assertEqual(answer.status, 503)
        self.assertIn(f'use --port {port}', answer.body.decode())
        self.assertEqual(engine_status(self, 'app')['state'], 'failing')

    def test_a_fixed_port_that_is_not_listened_on_is_named_without_the_variable(self):
        port, other = free_port(), free_port()
        engine = self.python(SERVE.format(port='OTHER'), '--port', str(port), env=[f'OTHER={other}'])
        self.ask(engine)
        warning = engine.wait_event('warning', cause='other_port')
        self.assertIn(f'it listens on {other}, not on {port}; use --port {other}', warning['message'])

    def test_a_dynamic_port_that_another_program_took_is_replaced_until_one_is_free(self):
        engine = self.python(ROBBED)
        self.assertEqual(engine.get(timeout=60).status, 200)
        engine.mark()
        self.assertEqual([event for event in engine.events if 'is held by' in json.dumps(event)
                          and event['type'] in ('warning', 'error', 'replica')], [])
        self.assertNotIn('stop it', json.dumps(engine.events))

    def test_another_address_than_loopback_is_not_called_another_port(self):
        engine = self.python('import os, socket\n'
                             's = socket.create_server(("127.0.0.2", int(os.environ["PORT"])))\n'
                             'while True: s.accept()\n')
        self.ask(engine)
        warning = engine.wait_event('warning', cause='other_address')
        self.assertIn('and not on 127.0.0.1; let it listen on 127.0.0.1 or 0.0.0.0', warning['message'])

    def test_a_slow_start_names_the_port_and_the_time_and_serves_the_request_that_waited(self):
        engine = self.python(SLOW)
        thread, answers = self.ask(engine)
        waiting = engine.wait_status(lambda status: status['not_ready'])
        entry, = waiting['not_ready']
        self.assertEqual((entry['state'], entry['cause']), ('starting', 'starting'))
        port = engine_status(self, 'app')['replicas'][0]['port']
        self.assertRegex(self.output('get'),
                         rf'app-00001 is not ready: still starting, nothing listens on {port} yet '
                         r'\(\d+ s\)')
        thread.join(60)
        self.assertEqual(answers[0].status, 200)
        self.assertEqual(engine_status(self, 'app')['not_ready'], [])

    def test_a_slow_start_that_runs_out_of_time_names_the_limit(self):
        document = DOCUMENT.format(name='app', min=0, command='["sleep", "600"]').replace(
            '        autoscaling.knative.dev/min', '        sluice.dev/start-timeout: "1s"\n'
            '        autoscaling.knative.dev/min', 1)
        engine = self.up('-f', self.write('app.yaml', document))
        self.ask(engine)
        event = engine.wait_event('replica', state='exited')
        self.assertRegex(event['why'], r'nothing listened on \d+ within 1s; raise '
                                       'sluice.dev/start-timeout if it needs longer')

    def test_a_readiness_probe_that_does_not_pass_is_reported_with_its_last_answer(self):
        command = '["python3", "-m", "http.server", "--bind", "127.0.0.1", "$PORT"]'
        document = DOCUMENT.format(name='app', min=1, command=command)
        document += '          readinessProbe: {httpGet: {path: /ready}}\n'
        engine = self.up('-f', self.write('app.yaml', document))
        sentence = r'it listens on \d+, and its readiness probe does not pass yet \(\d+ s\): GET /ready gave 404\n'
        engine.wait_event('warning', cause='probe')
        for verb in (('get',), ('explain', 'app'), ('logs', 'app')):
            self.assertRegex(self.output(*verb), sentence, verb)

    def test_an_exit_has_its_code_and_last_error_line_but_for_strangers(self):
        engine = self.python('import sys\nprint("first", file=sys.stderr)\n'
                             'print("no database", file=sys.stderr)\nsys.exit(3)')
        self.fails_with(engine, 'it ended with exit code 3: no database', 'exited',
                        refusal='it ended with exit code 3')

    def test_a_service_that_failed_is_asleep_once_nothing_is_wanted_of_it(self):
        engine = self.python('import sys; sys.exit("no database")')
        self.assertEqual(engine.get(timeout=60).status, 503)
        self.assertEqual(engine_status(self, 'app')['state'], 'failing')
        self.output('sleep', 'app')
        asleep = engine.wait_status(lambda status: status['state'] == 'asleep')
        self.assertEqual((asleep['failing'], asleep['not_ready']), (False, []))
        for verb in (('get',), ('top',)):
            self.assertNotIn('no database', self.output(*verb))
        self.assertIn('last start     failed: it ended with exit code 1: no database', self.output('explain', 'app'))
        answer = engine.get('/_sluice/api/v1/services/default/app/explain', host='localhost')
        self.assertIn(b'no database', answer.body)

    def test_an_empty_port_is_recognized(self):
        engine = self.up('--', 'python3', '-m', 'http.server', '')
        answer = engine.get(timeout=60)
        self.assertIn('a word of its command is empty: write \'$PORT\' in single quotes',
                      answer.body.decode())
        self.assertIn('invalid int value', engine.wait_event('replica', state='exited')['why'])

    def test_a_daemon_is_named_and_ended(self):
        engine = self.python(DAEMON.format(session='os.setsid()\n'))
        self.fails_with(engine, 'it put itself into the background: the started process ended with '
                        'exit code 0 while sleep ran on; start it in the foreground', 'background')
        eventually(lambda: not running('daemon-of-mine'), 'the daemons are gone')

    def test_a_process_left_in_the_group_is_a_daemon_too(self):
        engine = self.python(DAEMON.format(session=''))
        self.fails_with(engine, 'it put itself into the background: the started process ended with '
                        'exit code 0 while sleep ran on; start it in the foreground', 'background')

    def test_a_signal_has_its_number_and_name(self):
        engine = self.python('import os\nos.kill(os.getpid(), 11)')
        self.fails_with(engine, 'killed by signal 11 (Segmentation fault)', 'signalled')

    def test_a_program_that_is_gone_is_named(self):
        program = self.home.path / 'program'
        program.write_text('#!/bin/sh\nexit 1\n')
        program.chmod(0o755)
        engine = self.up('--', str(program))
        program.unlink()
        self.fails_with(engine, f'cannot start {program}: No such file or directory; check that the '
                        'program and its interpreter exist', 'cannot_start', 'its program could not be run')

    def test_memory_is_the_cause_only_where_its_limit_is_enforced(self):
        enforced = self.can_limit('memory')
        source = EAT if enforced else 'import os\nos.kill(os.getpid(), 9)'
        engine = self.python(source, '--memory', '40Mi')
        self.fails_with(engine, *(('killed: out of memory (limit 40Mi)', 'out_of_memory') if enforced
                                  else ('killed by signal 9 (Killed); its memory limit of 40Mi is only '
                                        'accounted here, and ended nothing', 'signalled')))

    def test_a_replica_that_ends_later_leaves_its_cause_in_event_and_log(self):
        engine = self.up_app()
        self.assertEqual(engine.get().status, 200)
        os.kill(engine.wait_event('replica', state='ready')['pid'], signal.SIGKILL)
        event = engine.wait_event('replica', state='exited')
        self.assertEqual((event['why'], event['cause']), ('killed by signal 9 (Killed)', 'signalled'))
        self.assertIn('app-00001-1#1 | ended: killed by signal 9 (Killed)', self.output('logs', 'app'))


def running(name):
    """Whether a process was started under that name."""
    for entry in os.listdir('/proc'):
        try:
            with open(f'/proc/{entry}/cmdline', 'rb') as file:
                if file.read().split(b'\0')[0] == name.encode():
                    return True
        except (OSError, ValueError):
            continue
    return False


class Detached(Case):
    def up_detached(self, *arguments):
        done = self.home.run('up', '-d', '--http', '127.0.0.1:0', *arguments, timeout=90)
        self.addCleanup(self.home.run, 'down', 'app')
        return done

    def test_it_waits_for_what_starts_at_once(self):
        done = self.up_detached('--min', '1', '--', 'python3', APP)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotRegex(done.stdout, r'[1-9]\d* replicas? running')
        self.assertIn('1 of 1 service is ready', done.stdout)
        self.assertEqual(engine_status(self, 'app')['ready'], 1)

    def test_a_service_that_starts_at_zero_is_not_waited_for(self):
        done = self.up_detached('--', 'sleep', '600')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('0 replicas running', done.stdout)

    def test_it_ends_with_3_and_the_cause_when_nothing_becomes_ready(self):
        done = self.up_detached('--min', '1', '--', 'python3', '-c', 'import sys; sys.exit("no database")')
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn('service app is not ready: it ended with exit code 1: '
                      'no database; see: sluice logs app', done.stderr)
        self.assertIn('engine app keeps running', done.stderr)

    def test_it_ends_with_3_when_one_of_them_does_not_become_ready_and_names_each(self):
        good = self.write('good.yaml', DOCUMENT.format(name='good', min=1, command=f'["python3", "{APP}"]'))
        bad = self.write('bad.yaml', DOCUMENT.format(name='bad', min=1, command='["false"]'))
        worse = self.write('worse.yaml', DOCUMENT.format(name='worse', min=1, command='["sh", "-c", "exit 3"]'))

        def check(done):
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn('1 of 3 services are ready', done.stdout)
            for name, code in (('bad', 1), ('worse', 3)):
                self.assertIn(f'service {name} is not ready: it ended with exit code {code}; see: sluice logs {name}',
                              done.stderr)
            self.assertIn('engine app keeps running', done.stderr)

        check(self.up_detached('--name', 'app', '-f', good, '-f', bad, '-f', worse))
        self.assertEqual(self.home.run('down', 'app').returncode, 0)
        check(self.home.run('up', '-d', '--name', 'app', timeout=90))

    def test_what_it_adds_to_an_engine_that_runs_is_waited_for_too(self):
        self.up_app()
        done = self.home.run('up', '-d', '--name', 'one', '--min', '1', '--', 'python3', APP, timeout=90)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('added to engine app', done.stdout)
        self.assertTrue(done.stdout.endswith('1 of 1 service is ready\n'), done.stdout)
        self.assertEqual(engine_status(self, 'one')['ready'], 1)

    def test_what_it_adds_and_does_not_become_ready_is_3_with_the_cause(self):
        self.up('--min', '1', '--', 'sleep', '600')
        document = DOCUMENT.format(name='two', min=1, command='["sh", "-c", "exit 3"]').replace(
            '        autoscaling.knative.dev/min-scale: "1"\n', '')
        for name, flags in (('one', ('--name', 'one', '--min', '1', '--', 'sh', '-c', 'exit 3')),
                            ('two', ('-f', self.write('two.yaml', document)))):
            done = self.home.run('up', '-d', *flags, timeout=90)
            self.assertEqual(done.returncode, 3, done.stdout)
            self.assertIn('0 of 1 service is ready', done.stdout)
            self.assertIn(f'service {name} is not ready: it ended with exit code 3; see: sluice logs {name}', done.stderr)
            self.assertIn('what was added stays in engine app', done.stderr)

    def test_what_it_adds_and_starts_at_zero_is_not_waited_for(self):
        self.up('--min', '1', '--', 'sleep', '600')
        done = self.home.run('up', '-d', '--name', 'one', '--', 'sleep', '600')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertIn('0 replicas running', done.stdout)


class Waiting(Case):
    """`apply --wait`."""

    FAILS = '["python3", "-c", "import sys; sys.exit(\'no database\')"]'

    def applied(self, *services, flags=()):
        """Of (name, least, command)."""
        documents = [DOCUMENT.format(name=name, min=least, command=command) for name, least, command in services]
        return self.home.run('apply', '--wait', *flags, '-f', self.write('all.yaml', '---\n'.join(documents)),
                             timeout=90)

    def test_it_ends_when_each_service_is_ready_or_asleep(self):
        self.up_app()
        done = self.applied(('one', 1, f'["python3", "{APP}"]'), ('two', 0, '["sleep", "600"]'))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('two created, revision two-00001, asleep', done.stdout)
        self.assertTrue(done.stdout.endswith('1 of 2 services are ready, 1 asleep\n'), done.stdout)
        self.assertEqual(engine_status(self, 'one')['ready'], 1)

    def test_it_ends_with_3_and_the_cause_when_one_of_them_does_not_become_ready(self):
        self.up_app()
        done = self.applied(('one', 1, f'["python3", "{APP}"]'), ('bad', 1, self.FAILS))
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn('1 of 2 services are ready', done.stdout)
        self.assertIn('service bad is not ready: it ended with exit code 1: no database; see: sluice logs bad',
                      done.stderr)

    def test_a_revision_that_is_given_up_is_3_though_the_one_before_it_serves(self):
        engine = self.up_app()
        self.assertEqual(self.applied(('one', 1, f'["python3", "{APP}"]')).returncode, 0)
        done = self.applied(('one', 1, self.FAILS))
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn('one-00002 did not start: it ended with exit code 1: no database; one-00001 serves', done.stderr)
        self.assertEqual(engine.get(host='one.localhost').status, 200)

    def test_the_newest_is_waited_for_where_the_traffic_is_pinned_and_the_one_with_it_is_named(self):
        self.up_app()
        good = f'["python3", "{APP}"]'
        pinned = '  traffic: [{revisionName: one-00001, percent: 100}]\n'

        def applied(least, command):
            document = DOCUMENT.format(name='one', min=0, command=command).replace(
                'initial-scale: "0"', f'initial-scale: "{least}"') + pinned
            return self.home.run('apply', '--wait', '-f', self.write('one.yaml', document), timeout=90)

        self.assertEqual(applied(0, good).returncode, 0)
        self.assertEqual(applied(0, self.FAILS).returncode, 0)
        self.assertEqual(self.home.run('wake', 'one', timeout=60).returncode, 3)
        self.assertEqual(engine_status(self, 'one')['state'], 'failing')

        done = applied(1, good.replace('"python3"', '"python3", "-B"'))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('one-00003, starting, without requests: the traffic is one-00001=100', done.stdout)
        self.assertTrue(done.stdout.endswith('1 of 1 service is ready\n'), done.stdout)

        done = applied(1, self.FAILS.replace('no database', 'no disk'))
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn('one-00004 did not start: it ended with exit code 1: no disk; one-00001 serves; see', done.stderr)

    def test_a_program_that_is_found_at_its_container_port_is_ready(self):
        port = free_port()
        self.up_app()
        command = f'["sh", "-c", "PORT={port} exec python3 {APP}"]\n          ports: [{{containerPort: {port}}}]'
        done = self.applied(('one', 2, command))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.endswith('1 of 1 service is ready\n'), done.stdout)
        reason = f'one replica at most can listen on port {port}'
        eventually(lambda: reason in self.home.run('explain', 'one').stdout, 'the reason in explain')

    def test_what_still_starts_at_the_timeout_is_3(self):
        self.up_app()
        done = self.applied(('slow', 1, '["sleep", "600"]'), flags=('--timeout', '1s'))
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertRegex(done.stderr, r'service slow is not ready: still starting, nothing listens on \d+ yet')

    def test_services_that_it_has_not_applied_are_not_waited_for(self):
        self.up('--min', '1', '--', 'sleep', '600')
        self.assertEqual(self.applied(('one', 1, f'["python3", "{APP}"]')).returncode, 0)

    def test_flags_that_make_no_sense_are_refused(self):
        self.up_app()
        for flags, message in ((('--dry-run',), '--wait: a dry run starts nothing'),
                               (('--timeout', 'soon'), '--timeout: ')):
            done = self.applied(('one', 0, '["sleep", "600"]'), flags=flags)
            self.assertEqual((done.returncode, message in done.stderr), (2, True), done.stderr)


class Revisions(Case):
    def document(self, command, least=1):
        return self.write('shop.yaml', DOCUMENT.format(name='shop', min=least, command=command))

    def apply(self, command, least=1):
        return self.output('apply', '-f', self.document(command, least))

    def test_apply_prints_what_is_true_now(self):
        self.up_app()
        good = f'["python3", "{APP}"]'
        self.assertIn('shop created, revision shop-00001, starting', self.apply(good))
        eventually(lambda: engine_status(self, 'shop')['ready'] == 1, 'the first revision is ready')
        self.assertIn('shop configured, revision shop-00002, starting; shop-00001 serves until it is '
                      'ready', self.apply(good.replace(']', ', "x"]')))

    def test_apply_of_a_service_with_a_minimum_prints_that_it_starts(self):
        self.up_app()
        document = pathlib.Path(self.document(f'["python3", "{APP}"]'))
        kept = [line for line in document.read_text(encoding='utf-8').splitlines() if 'initial-scale' not in line]
        document.write_text('\n'.join(kept), encoding='utf-8')
        self.assertIn('shop created, revision shop-00001, starting', self.output('apply', '-f', str(document)))

    def test_apply_of_a_service_that_starts_at_zero_prints_that_it_sleeps(self):
        self.up_app()
        self.assertIn('shop created, revision shop-00001, asleep: the next request starts it',
                      self.apply('["sleep", "600"]', 0))

    def test_a_revision_that_does_not_start_is_listed_beside_the_serving_one(self):
        engine = self.up_app()
        self.apply(f'["python3", "{APP}"]')
        eventually(lambda: engine_status(self, 'shop')['ready'] == 1, 'the first revision is ready')
        self.apply('["python3", "-c", "import sys; sys.exit(\'no database\')"]')
        line = 'shop-00002 did not start: it ended with exit code 1: no database; shop-00001 serves'
        eventually(lambda: line in self.output('get'), 'the cause in get')
        self.assertIn(line, self.output('explain', 'shop'))
        self.assertIn(line, self.output('top'))
        self.assertIn('it ended with exit code 1: no database',
                      engine.wait_event('error', service='shop')['message'])
        self.assertEqual(engine.get(host='shop.localhost').status, 200)

    def test_wake_ends_with_3_and_the_cause(self):
        self.python('import sys; sys.exit("no database")')
        done = self.home.run('wake', 'app', timeout=60)
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn('service app is not ready: it ended with exit code 1: '
                      'no database', done.stderr)


if __name__ == '__main__':
    unittest.main()
