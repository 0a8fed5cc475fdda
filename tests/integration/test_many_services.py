"""Hundreds of services in one engine: applying them, and starting them beside requests."""

import os
import pathlib
import tempfile
import time
import unittest

from engine import EngineCase, wait_until

QUICK_APP = os.environ.get('SLUICE_QUICK_APP', '')
# A disk that other programs keep busy is not what is measured.
MEMORY = pathlib.Path('/dev/shm')
CHANGED = 500
STARTED = 300
REPEATS = 4
DOCUMENT = '''apiVersion: serving.knative.dev/v1
kind: Service
metadata: {{name: {name}}}
spec:
  template:
    metadata: {{annotations: {{autoscaling.knative.dev/initial-scale: "{initial}"}}}}
    spec:
      containers:
        - command: [{program}]
          env: [{{name: ROUND, value: "{round}"}}]
'''


def documents(count, initial, program, number=0):
    return '---\n'.join(DOCUMENT.format(name=f's{i:03}', initial=initial, program=program, round=number)
                        for i in range(count))


class ManyServices(EngineCase):
    def seconds(self, *verb):
        """How long a verb takes."""
        began = time.monotonic()
        done = self.home.run(*verb, timeout=300)
        took = time.monotonic() - began
        self.assertEqual(done.returncode, 0, done.stderr)
        return took

    def test_an_apply_that_changes_them_takes_at_most_twice_a_start_with_them(self):
        if MEMORY.is_dir():
            state = tempfile.TemporaryDirectory(prefix='sluice-test-', dir=MEMORY)
            self.addCleanup(state.cleanup)
            self.home.environment['XDG_STATE_HOME'] = state.name
        self.seconds('up', '-d', '--engine', 'one', '--http', '127.0.0.1:0', '--', 'sleep', '600')
        self.addCleanup(self.home.run, 'down', 'one')
        starts = []
        applies = []
        for number in range(REPEATS):
            file = self.write('all.yaml', documents(CHANGED, 0, '"true"', number))
            starts.append(self.seconds('up', '-d', '--engine', 'two', '--http', '127.0.0.1:0', '-f', file))
            self.seconds('down', 'two')
            applies.append(self.seconds('apply', '--engine', 'one', '-f', file))
        # The first one of each has no state to change.
        self.assertLessEqual(min(applies[1:]), 2 * min(starts[1:]), (applies, starts))

    def test_each_is_changed_and_has_its_line(self):
        self.up('--name', 'one', '--', 'sleep', '600')
        for number, result in ((1, 'created, revision {}-00001'), (2, 'configured, revision {}-00002')):
            done = self.home.run('apply', '-f', self.write('all.yaml', documents(120, 0, '"true"', number)))
            self.assertEqual(done.returncode, 0, done.stderr)
            lines = done.stdout.splitlines()
            self.assertEqual([line.startswith(f's{i:03} {result.format(f"s{i:03}")}')
                              for i, line in enumerate(line for line in lines if not line.startswith(' '))],
                             [True] * 120, lines[:4])

    def test_of_many_services_some_are_named_where_one_is_missing(self):
        self.up('--name', 'one', '-f', self.write('all.yaml', documents(120, 0, '"true"')))
        done = self.home.run('logs', 'other')
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn('services of engine one: s000, s001', done.stderr)
        self.assertIn('s019 and 100 more', done.stderr)
        self.assertNotIn('s020', done.stderr)

    def test_a_document_that_is_refused_is_named_with_its_line_and_nothing_beside_it_changes(self):
        self.up('--name', 'one', '--', 'sleep', '600')
        text = documents(3, 0, '"true"') + '---\n' + DOCUMENT.format(
            name='bad', initial=0, program='no-such-program', round=0)
        done = self.home.run('apply', '-f', self.write('all.yaml', text))
        self.assertEqual((done.returncode, done.stdout), (78, ''))
        self.assertIn('all.yaml: command not found: no-such-program', done.stderr)
        self.assertNotIn('s000', self.home.run('get').stdout)

    def starting(self):
        """An engine that begins with hundreds of services that start at once, and one more, web."""
        config = self.write('config.yaml', 'max-replicas: 400\n')
        web = DOCUMENT.format(name='web', initial=0, program=QUICK_APP, round=0)
        file = self.write('all.yaml', documents(STARTED, 1, QUICK_APP) + '---\n' + web)
        return self.up('--config', config, '-f', file)

    def begun(self, engine, state='starting'):
        """How many of them have begun to start so far."""
        while engine.drain(0):
            pass
        return len({event['service'] for event in engine.events
                    if event.get('type') == 'replica' and event['state'] == state} - {'web'})

    def test_a_request_is_answered_long_before_all_of_them_have_begun_to_start(self):
        engine = self.starting()
        self.assertEqual(engine.get(host='web.localhost').status, 200)
        self.assertLess(self.begun(engine), STARTED // 2)
        wait_until(lambda: self.begun(engine, 'ready') == STARTED, 120, 'every service is ready')

    def test_another_service_answers_between_their_starts(self):
        engine = self.starting()
        seen = set()

        def all_begun():
            self.assertEqual(engine.get(host='web.localhost').status, 200)
            seen.add(self.begun(engine))
            return max(seen) == STARTED

        wait_until(all_begun, 120, 'every service has begun to start')
        self.assertGreater(len(seen), 5, sorted(seen))

    def test_the_one_that_a_request_waits_for_starts_before_those_in_front_of_it(self):
        engine = self.starting()
        self.assertEqual(engine.get(host=f's{STARTED - 1:03}.localhost').status, 200)
        self.assertLess(self.begun(engine), STARTED)


if __name__ == '__main__':
    unittest.main()
