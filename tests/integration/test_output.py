"""What replicas print and what was decided: how it is kept, bounded, read, and named when lost."""

import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import unittest
import urllib.parse

from engine import EngineCase, SLUICE, wait_until
from wire import fetch

APP = str(pathlib.Path(__file__).resolve().parent / 'printing_app.py')
LINE = re.compile(r'(\d\d:\d\d:\d\d\.\d{3}) (\S+)#(\d+) \| (.*)')
MIB = 1 << 20

SERVICE = """
apiVersion: serving.knative.dev/v1
kind: Service
metadata: {{name: shop}}
spec: {{template: {{spec: {{containers: [{{command: [python3, {app}]}}]}}}}}}
"""


class OutputCase(EngineCase):
    def up_printing(self, *flags):
        return self.up(*flags, '--', 'python3', APP)

    def print_text(self, engine, text, host='app.localhost'):
        answer = engine.get('/?print=' + urllib.parse.quote(text), host=host)
        self.assertEqual(answer.status, 200)

    def state(self, engine='app'):
        return pathlib.Path(self.home.environment['XDG_STATE_HOME'], 'sluice', engine)

    def lines(self, *arguments):
        """What `sluice logs` prints, as (time, replica, start, text)."""
        done = self.home.run('logs', *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = [LINE.fullmatch(line) for line in done.stdout.splitlines()]
        return [match.groups() for match in found if match]

    def texts(self, *arguments):
        return [line[3] for line in self.lines(*arguments)]

    def wait_text(self, text, *arguments):
        wait_until(lambda: text in self.texts(*arguments), 20, f'{text} in the log')


class Logs(OutputCase):
    def test_lines_have_a_time_and_the_number_of_their_replicas_start(self):
        engine = self.up_printing()
        self.print_text(engine, 'one')
        first = engine.status()['replicas'][0]['pid']
        os.kill(first, signal.SIGKILL)
        engine.wait_event('replica', state='exited')
        self.print_text(engine, 'two')
        self.wait_text('two', 'app')
        told = [line[1:] for line in self.lines('app')]
        self.assertIn(('app-00001-1', '1', 'one'), told)
        self.assertIn('2', [start for _, start, text in told if text == 'two'])
        previous = self.texts('app', '--previous')
        self.assertIn('one', previous)
        self.assertNotIn('two', previous)
        replica = engine.status()['replicas'][0]['id']
        self.assert_refuses(1, 'named nope', f'replicas there now: {replica}',
                            arguments=['logs', 'app', '--replica', 'nope'])

    def test_lines_of_the_sidecar_are_in_the_log_of_the_engine_alone(self):
        engine = self.up_printing('--log-level', 'debug')
        self.assertEqual(engine.get('/?close=1').status, 502)
        self.print_text(engine, 'after')
        self.wait_text('after', 'app')
        wait_until(lambda: 'cannot reach the container' in engine.log_text(), 20, 'the line')
        self.assertEqual([text for text in self.texts('app') if 'cannot' in text or 'failed' in text], [])

    def test_since_chooses_lines_by_time(self):
        engine = self.up_printing()
        self.print_text(engine, 'one')
        self.wait_text('one', 'app')
        self.assertIn('one', self.texts('app', '--since', '1h'))
        self.assertEqual(self.texts('app', '--since', '2100-01-01T00:00:00Z'), [])
        self.assert_refuses(2, '--since: soon', arguments=['logs', 'app', '--since', 'soon'])

    def test_output_is_read_when_the_engine_is_gone(self):
        engine = self.up_printing()
        self.print_text(engine, 'one')
        self.wait_text('one', 'app')
        self.assertEqual(engine.stop(), 0)
        done = self.home.run('logs', 'app')
        self.assertEqual((done.returncode, done.stderr),
                         (0, 'app is not running; this is what engine app kept\n'))
        self.assertIn('app-00001-1#1 | one\n', done.stdout)
        self.assertIn('one', self.texts('app/app', '-f'))
        again = self.up_printing()
        self.print_text(again, 'two')
        self.wait_text('two', 'app')
        starts = {text: int(start) for _, _, start, text in self.lines('app')}
        self.assertLess(starts['one'], starts['two'])
        self.assert_refuses(1, 'no service is named other', arguments=['logs', 'other'])

    def test_output_of_a_deleted_service_is_read(self):
        engine = self.up('--', 'sleep', '600')
        path = self.write('shop.yaml', SERVICE.format(app=APP))
        self.assertEqual(self.home.run('apply', '-f', path).returncode, 0)
        self.print_text(engine, 'one', host='shop.localhost')
        self.wait_text('one', 'shop')
        self.assertEqual(self.home.run('delete', 'shop').returncode, 0)
        self.assertIn('one', self.texts('shop'))

    def test_a_log_that_several_engines_kept_is_chosen_by_its_engine(self):
        path = self.write('shop.yaml', SERVICE.format(app=APP))
        for name in ('one', 'two'):
            engine = self.up('--name', name, '-f', path)
            self.print_text(engine, f'by {name}', host='shop.localhost')
            self.wait_text(f'by {name}', 'shop')
            self.assertEqual(engine.stop(), 0)
        self.assert_refuses(2, 'one/shop, two/shop', arguments=['logs', 'shop'])
        self.assertEqual([text for text in self.texts('one/shop') if text.startswith('by')],
                         ['by one'])
        self.assert_refuses(69, 'no engine', arguments=['logs', 'three/shop'])

    def test_escape_sequences_are_removed_as_a_whole(self):
        engine = self.up_printing()
        self.print_text(engine, '\x1b[1;31mred\x1b[0m \x1b]8;;http://a.example\x1b\\link\x1b]8;;\x07 end')
        event = engine.wait_event('log')
        self.assertEqual((event['text'], event['start']), ('red link end', 1))
        self.wait_text('red link end', 'app')
        self.assertNotIn(b'\x1b', (self.state() / 'logs/app.log').read_bytes())

    def test_new_lines_follow_with_time_and_start(self):
        engine = self.up_printing()
        self.print_text(engine, 'one')
        self.wait_text('one', 'app')
        for name in ('app', 'app-00001'):
            with subprocess.Popen([SLUICE, 'logs', name, '-f'], env=self.home.environment, text=True,
                                  stdout=subprocess.PIPE) as follower:
                self.addCleanup(follower.kill)
                while not follower.stdout.readline().endswith('| one\n'):
                    pass
                self.print_text(engine, f'two\x07{name}')
                while not (line := follower.stdout.readline()).endswith(f'two?{name}\n'):
                    pass
                line = LINE.fullmatch(line.rstrip('\n'))
                self.assertEqual(line.groups()[1:], ('app-00001-1', '1', f'two?{name}'))
                follower.kill()


class FullDisk(OutputCase):
    """The limit of file sizes of the engine's process stands in for a full disk."""

    def limit(self, engine, size):
        _, hard = resource.prlimit(engine.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(engine.pid, resource.RLIMIT_FSIZE, (size, hard))

    def warnings(self, engine, words):
        engine.mark()
        return [event['message'] for event in engine.events
                if event['type'] == 'warning' and words in event['message']]

    def test_a_full_disk_is_one_warning_each_and_what_is_missing_is_named(self):
        engine = self.up_printing()
        self.print_text(engine, 'kept')
        self.wait_text('kept', 'app')
        self.limit(engine, 0)
        for count in range(20):
            self.print_text(engine, f'lost {count}')
        for _ in range(3):
            self.assertEqual(self.home.run('sleep', 'app').returncode, 0)
            engine.wait_status(lambda status: not status['replicas'])
            self.assertEqual(self.home.run('wake', 'app', timeout=60).returncode, 0)
        wait_until(lambda: self.warnings(engine, 'history is not kept'), 20, 'the warning')
        self.assertEqual(len(self.warnings(engine, 'history is not kept')), 1)
        self.assertEqual(len(self.warnings(engine, 'cannot write')), 1)
        told = self.home.run('history', 'app').stdout
        self.assertRegex(told, r'decisions since \d\d:\d\d:\d\d are not kept: file too large\n')
        self.assertNotIn('nothing changed', told)
        told = self.home.run('logs', 'app').stdout
        self.assertRegex(told, r'- \| 2\d lines since then not kept: file too large\n')
        self.assertNotIn('lost', told.replace('not kept', ''))

        self.limit(engine, resource.RLIM_INFINITY)
        wait_until(lambda: 'were not kept' in self.home.run('history', 'app').stdout, 20,
                   'the loss in the history, without another decision')
        self.print_text(engine, 'there is space')
        self.wait_text('there is space', 'app')
        self.assertEqual(self.home.run('sleep', 'app').returncode, 0)
        wait_until(lambda: 'put to sleep' in self.home.run('history', 'app').stdout, 20,
                   'the history')
        self.assertRegex(self.home.run('history', 'app').stdout,
                         r'decisions from \S+ to \S+ were not kept: file too large\n')

    def test_what_cannot_be_kept_is_refused_and_changes_nothing(self):
        engine = self.up_printing()
        path = self.write('shop.yaml', SERVICE.format(app=APP))
        changes = (('spec of shop', ('apply', '-f', path)), ('spec of late', ('up', '-d', '--name', 'late', '--', 'python3', APP)),
                   ('traffic of app', ('traffic', 'app', '--tag', 'app-00001=stable')))
        self.limit(engine, 0)
        for what, arguments in changes:
            self.assert_refuses(1, f'cannot keep the {what}: ', 'File too large; make the directory writable',
                                arguments=arguments)
        self.assertEqual([each['name'] for each in json.loads(self.home.run('get', '-o', 'json').stdout)], ['app'])
        self.assertEqual(json.loads(self.home.run('revisions', 'app', '-o', 'json').stdout)[0]['tags'], [])

        self.limit(engine, resource.RLIM_INFINITY)
        for _, arguments in changes:
            done = self.home.run(*arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(engine.stop(), 0)
        self.up('--name', 'app')
        self.assertEqual(len(json.loads(self.home.run('get', '-o', 'json').stdout)), 3)
        self.assertEqual(json.loads(self.home.run('revisions', 'app', '-o', 'json').stdout)[0]['tags'], ['stable'])

    def test_what_a_start_could_not_keep_is_kept_once_there_is_space(self):
        # The engine's own limit would keep it from starting: directories are in the way of the files.
        in_the_way = (self.state() / 'ran' / 'app.yaml', self.state() / 'start.json')
        for place in in_the_way:
            place.mkdir(parents=True)
        engine = self.up_printing()
        self.print_text(engine, 'it runs all the same')
        self.assertEqual(len(self.warnings(engine, 'cannot keep')), 1)

        for place in in_the_way:
            place.rmdir()
        wait_until(lambda: self.warnings(engine, 'is kept now'), 20, 'the line')
        self.assertEqual(engine.stop(), 0)
        self.assertEqual(len(self.warnings(engine, 'is kept now')), 1)
        self.up('--name', 'app')
        self.assertEqual([each['name'] for each in json.loads(self.home.run('get', '-o', 'json').stdout)], ['app'])

    def test_the_log_of_a_detached_engine_is_bounded(self):
        done = self.home.run('up', '-d', '--http', '127.0.0.1:0', '--', 'python3', APP)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.addCleanup(self.home.run, 'down')
        door = re.search(r'http://app\.localhost:(\d+)', done.stdout).group(1)
        for _ in range(3):
            answer = fetch(f'127.0.0.1:{door}', '/?lines=700&size=8000', host='app.localhost')
            self.assertEqual(answer.status, 200)
        older = self.state() / 'engine.log.1'
        wait_until(older.exists, 60, 'a second file')
        answer = fetch(f'127.0.0.1:{door}', '/?print=after', host='app.localhost')
        log = self.state() / 'engine.log'
        wait_until(lambda: log.read_text().endswith('app-00001-1 | after\n'), 60, 'the last line')
        for file in (*self.state().glob('engine.log*'), *self.state().glob('logs/*')):
            self.assertLessEqual(file.stat().st_size, 10 * MIB, file)
        log.unlink()
        fetch(f'127.0.0.1:{door}', '/?print=again', host='app.localhost')
        wait_until(lambda: log.exists() and 'again' in log.read_text(), 20, 'the file made again')


if __name__ == '__main__':
    unittest.main()
