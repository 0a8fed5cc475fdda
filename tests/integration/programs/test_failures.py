"""Starts that fail: each has one cause, the same in `get`, `explain`, `logs`, `apply --wait` and `up -d`."""

import os
import re
import signal
import unittest

from engine import EngineCase
from programs.case import Apps, group_is_alive
from queue_proxy.case import free_port
from wire import eventually

NOT_READY = 3
BAD_CONFIGURATION = 78


class Cause(Apps):
    """The claims, for a class with a `command`, its `cause`, and what of it the client may read as `refusal`."""

    command = ()
    cause = refusal = ''

    def assert_cause(self, text, where):
        self.assertRegex(text, self.cause, where)

    def test_the_client_gets_503_with_the_cause_and_every_verb_prints_it(self):
        engine = self.up('--', *self.command)
        answer = engine.get(timeout=60)
        self.assertEqual(answer.status, 503)
        self.assertTrue(answer.headers['sluice-error'].startswith('start-failed'), answer.headers)
        self.assertRegex(answer.body.decode(), self.refusal or self.cause)
        for verb in (('get',), ('explain', 'app'), ('logs', 'app')):
            self.assert_cause(self.printed(*verb), verb)
        self.assert_cause(engine.wait_event('replica', state='exited')['why'], 'events')


class NeverReady(Cause):
    """The claims of verbs that wait until a service is ready."""

    def test_apply_that_waits_ends_with_3_and_the_cause(self):
        self.up('--name', 'other', '--', 'python3', '-m', 'http.server', '$PORT')
        done = self.home.run('apply', '--wait', '-f', self.document(
            self.command, **{'autoscaling.knative.dev/min-scale': '1'}), timeout=90)
        self.assertEqual(done.returncode, NOT_READY, done.stdout + done.stderr)
        self.assert_cause(done.stdout + done.stderr, 'apply')

    def test_up_that_detaches_ends_with_3_and_the_cause(self):
        self.addCleanup(self.home.run, 'down', 'app')
        done = self.home.run('up', '-d', '--http', '127.0.0.1:0', '--min', '1', '--', *self.command, timeout=90)
        self.assertEqual(done.returncode, NOT_READY, done.stdout + done.stderr)
        self.assert_cause(done.stdout + done.stderr, 'up')


class ExitCode(NeverReady, EngineCase):
    command = ('sh', '-c', 'echo no database >&2; exit 3')
    cause = 'exit code 3: no database'
    refusal = 'exit code 3'


class EmptyPort(NeverReady, EngineCase):
    """What is left of a $PORT that a shell has replaced inside double quotes."""

    command = ('python3', '-m', 'http.server', '')
    cause = r"exit code 2: .*invalid int value: ''"
    refusal = 'exit code 2'


class MissingInShell(NeverReady, EngineCase):
    command = ('sh', '-c', 'exec no-such-program $PORT')
    cause = 'exit code 127: .*no-such-program'
    refusal = 'exit code 127'


class Daemon(NeverReady, EngineCase):
    command = ('sh', '-c', 'setsid python3 -m http.server $PORT & exit 0')
    cause = 'put itself into the background'


class NginxDaemon(Apps, EngineCase):
    """nginx as it comes: it listens, forks into a session of its own, and the started process ends. It is ready for
    a moment then, so that a request may be answered."""

    COMMAND = ('env', 'DAEMON=on', 'sh', 'nginx.sh')
    CAUSE = 'put itself into the background'

    def setUp(self):
        super().setUp()
        self.addCleanup(self.end_daemons)

    def daemons(self):
        """Process groups that the starts so far have left."""
        files = self.home.path.glob('nginx-*/nginx.pid')
        return [pid for pid in (int(path.read_text() or 0) for path in files) if pid and group_is_alive(pid)]

    def end_daemons(self):
        for pid in self.daemons():
            os.killpg(pid, signal.SIGKILL)

    def start(self):
        """An engine in which it has been started, and has ended."""
        engine = self.up('--', *self.COMMAND)
        engine.get(timeout=60)
        self.exited = engine.wait_event('replica', state='exited')
        return engine

    def test_the_cause_is_in_the_event_and_every_verb_prints_it(self):
        self.start()
        self.assertIn(self.CAUSE, self.exited['why'])
        for verb in (('get',), ('explain', 'app'), ('logs', 'app')):
            eventually(lambda verb=verb: self.CAUSE in self.printed(*verb), f'the cause in {verb}')

    def test_no_process_is_left_of_a_start_that_failed(self):
        self.start()
        eventually(lambda: not self.daemons(), 'each daemon ended with its start')

    def test_no_process_is_left_when_its_engine_has_stopped(self):
        self.assertEqual(self.start().stop(), 0)
        eventually(lambda: not self.daemons(), 'each daemon ended with its engine')


class OtherPort(NeverReady, EngineCase):
    """As when a shell has replaced an unquoted $PORT with nothing, and the program takes a port of its own."""

    def setUp(self):
        super().setUp()
        port = free_port()
        self.command = ('python3', '-m', 'http.server', str(port))
        self.cause = rf'it listens on {port}, not on \$PORT \(\d+\); use --port {port}'

    def test_the_client_gets_503_with_the_cause_and_every_verb_prints_it(self):
        engine = self.up('--', *self.command)
        # The cause is printed long before a client gets it.
        with self.assertRaises(TimeoutError):
            engine.get(timeout=3)
        for verb in (('get',), ('explain', 'app'), ('logs', 'app')):
            eventually(lambda verb=verb: re.search(self.cause, self.printed(*verb)), f'the cause in {verb}', 5)
        answer = engine.get(timeout=90)
        self.assertEqual(answer.status, 503)
        self.assert_cause(answer.body.decode(), '503')


class Missing(Apps, EngineCase):
    COMMAND = ('pyhton3', '-m', 'http.server')
    CAUSE = 'command not found: pyhton3; looked in PATH; fix the name or give a full path'

    def test_up_refuses_a_program_that_does_not_exist(self):
        for form in (('--', *self.COMMAND), ('-f', self.document(self.COMMAND))):
            for detached in ((), ('-d',)):
                self.assert_refuses(BAD_CONFIGURATION, self.CAUSE,
                                    arguments=['up', *detached, '--http', '127.0.0.1:0', *form])

    def test_apply_refuses_a_program_that_does_not_exist_and_changes_nothing(self):
        self.up('--name', 'other', '--', 'python3', '-m', 'http.server', '$PORT')
        before = self.printed('get')
        self.assert_refuses(BAD_CONFIGURATION, self.CAUSE,
                            arguments=['apply', '-f', self.document(self.COMMAND)])
        self.assertEqual(self.printed('get'), before)


if __name__ == '__main__':
    unittest.main()
