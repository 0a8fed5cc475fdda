"""What the autoscaler got and decided, recorded by `sluice record` and replayed by `sluice simulate`."""

import gzip
import json
import subprocess
import sys
import threading

from clients import Clients
from engine import SLUICE, EngineCase, wait_until
from queue_proxy.case import SANITIZED
from wire import fetch

API = '/_sluice/api/v1/services/default/app/recording'


class Recordings(EngineCase):
    def setUp(self):
        super().setUp()
        self.engine = self.up_app('--target', '2', '--max', '4')
        self.clients = Clients(self.engine, 6, 50)
        self.engine.wait_status(lambda status: status['ready'] >= 2)
        self.clients.stop()

    def record(self, name='app.jsonl', *flags):
        path = self.home.path / name
        done = self.home.run('record', 'app', *flags, '-o', str(path))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, rf'^app-00001 since \S+Z: \d+ decisions in .*{name}\n$')
        return path

    def simulate(self, path, *flags, code=0):
        done = self.home.run('simulate', str(path), *flags)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done

    def lines(self, path):
        return [json.loads(line) for line in path.read_text().splitlines()]

    def rewrite(self, path, change):
        lines = self.lines(path)
        change(lines)
        path.write_text('\n'.join(json.dumps(line) for line in lines) + '\n')

    def test_every_decision_of_a_run_is_decided_again(self):
        for name in ('app.jsonl', 'app.jsonl.gz'):
            done = self.simulate(self.record(name))
            self.assertRegex(done.stdout, r'^[0-9,]+ decisions, all equal\n$')
            self.assertEqual(done.stderr, '')

    def test_a_recording_has_what_happened_and_no_address(self):
        path = self.record()
        head, *lines = self.lines(path)
        self.assertEqual(head['format'], 'sluice-recording/1')
        self.assertEqual((head['service'], head['revision']), ('app', 'app-00001'))
        kinds = {line['type'] for line in lines}
        self.assertLessEqual({'stat', 'eval', 'traffic', 'granted', 'cold_start'}, kinds)
        decision = next(line for line in lines if line['type'] == 'eval' and line['desired'] > 1)
        self.assertIn('ceil(', decision['why'])
        arrivals = sum(line['arrivals'] for line in lines if line['type'] == 'traffic')
        self.assertGreater(arrivals, 6)
        for word in ('127.0.0.1', 'user-agent', 'python', '/?id', self.home.environment['HOME']):
            self.assertNotIn(word, path.read_text().lower())

    def test_each_request_is_counted_while_the_number_of_replicas_changes(self):
        def notes(kind):
            return [line for line in self.lines(self.record())[1:] if line['type'] == kind]

        wait_until(lambda: sum(note['arrivals'] for note in notes('traffic')) == len(self.clients.sent), 10, 'all requests counted')
        replicas = notes('replica')
        self.assertGreaterEqual([note['event'] for note in replicas].count('started'), 2)
        self.assertGreater(min(note['took_ns'] for note in replicas if note['event'] == 'ready'), 0)
        self.assertGreaterEqual(max(note['replicas'] for note in replicas), 2)
        self.assertGreater(sum(count for note in notes('traffic') for _, count in note['wait_ms']), 0)

    def test_the_api_gives_the_same_text(self):
        answer = fetch(self.engine.http, API + '?since=15m', host='localhost')
        self.assertEqual(answer.status, 200)
        self.assertTrue(answer.headers['content-type'].startswith('text/plain'))
        path = self.home.path / 'api.jsonl'
        path.write_bytes(answer.body)
        self.assertIn('all equal', self.simulate(path).stdout)
        self.assertEqual(fetch(self.engine.http, API + '?since=soon', host='localhost').status, 400)

    def test_what_is_to_come_is_recorded_too(self):
        path = self.record('next.jsonl', '--for', '3s')
        head, *lines = self.lines(path)
        times = [line['at_ns'] for line in lines if line['type'] == 'eval']
        self.assertLess((max(times) - min(times)) / 1e9, 5)
        self.assertIn('all equal', self.simulate(path).stdout)

    def test_other_settings_show_both_timelines(self):
        path = self.record()
        done = self.simulate(path, '--set', 'max-scale=1')
        self.assertIn('with max-scale=1', done.stdout)
        self.assertRegex(done.stdout, r'\d+ of \d+ s were saturated')
        rows = json.loads(self.simulate(path, '--set', 'max-scale=1', '-o', 'json').stdout)['rows']
        self.assertGreater(max(row['recorded']['want'] for row in rows), 1)
        self.assertLessEqual(max(row['decided']['want'] for row in rows[1:]), 1)
        spec = self.home.run('get', 'app', '-o', 'yaml').stdout.replace('max-scale: "4"', 'max-scale: "1"')
        done = self.simulate(path, '--spec', self.write('other.yaml', spec), '-o', 'csv')
        self.assertEqual(len(done.stdout.splitlines()), len(rows) + 1)
        self.assertEqual(done.stdout, self.simulate(path, '--set', 'max-scale=1', '-o', 'csv').stdout)

    def test_a_setting_that_is_misspelt_is_suggested(self):
        done = self.simulate(self.record(), '--set', 'windw=30s', code=2)
        self.assertIn('did you mean window?', done.stderr)
        done = self.simulate(self.record(), '--set', 'window=1s', code=2)
        self.assertRegex(done.stderr, '^--set: .* out of range')

    def test_a_decision_edited_by_hand_is_the_first_difference(self):
        path = self.record()

        def change(lines):
            evals = [number for number, line in enumerate(lines) if line.get('type') == 'eval']
            lines[evals[0]]['desired'] += 1
            lines[evals[1]]['why'] = 'so'
        self.rewrite(path, change)
        done = self.simulate(path, code=4)
        self.assertRegex(done.stdout, r'^decision [1] differs, line \d+, at .*\n  desired\n    recorded \d')
        self.assertIn(' decisions, 2 differ\n', done.stdout)

    def test_a_file_that_is_no_recording_is_refused_by_line_and_reason(self):
        path = self.record()
        self.rewrite(path, lambda lines: lines[0].update(format='sluice-recording/2', version='9.9.9'))
        done = self.simulate(path, code=78)
        self.assertIn('sluice-recording/2, which sluice 9.9.9 wrote', done.stderr)
        done = self.simulate(self.write('other.csv', 'time,count\n1,2\n'), code=78)
        self.assertIn('other.csv, line 1: this is not a recording', done.stderr)
        path = self.record()
        self.rewrite(path, lambda lines: lines.insert(5, 'hello'))
        self.assertIn('line 6: ', self.simulate(path, code=78).stderr)
        self.assertIn('cannot be read', self.simulate(self.home.path / 'none', code=78).stderr)
        self.assertIn('is empty', self.simulate(self.write('empty', ''), code=78).stderr)

    def test_a_recording_that_was_cut_is_replayed_up_to_there(self):
        path = self.record()
        whole = path.read_bytes()
        path.write_bytes(whole[:len(whole) * 2 // 3])
        done = self.simulate(path)
        self.assertIn('all equal', done.stdout)
        self.assertRegex(done.stderr, r'ends in the middle of line \d+; what is before it was replayed')
        packed = self.record('app.jsonl.gz')
        whole = packed.read_bytes()
        packed.write_bytes(whole[:len(whole) * 2 // 3])
        done = self.simulate(packed)
        self.assertIn('all equal', done.stdout)
        self.assertIn('ends in the middle of line', done.stderr)

    def test_a_service_that_is_not_there_is_named(self):
        done = self.home.run('record', 'none', '-o', str(self.home.path / 'x'))
        self.assertEqual(done.returncode, 1)
        self.assertIn('no service is named none', done.stderr)
        done = self.home.run('record', 'app', '--last', '1h', '-o', str(self.home.path / 'x'))
        self.assertEqual(done.returncode, 2)
        self.assertIn('1s to 15m', done.stderr)

    def test_a_sleep_lies_between_what_came_before_and_after(self):
        self.assertEqual(self.home.run('sleep', 'app').returncode, 0)
        self.engine.wait_status(lambda status: status['state'] == 'asleep')
        self.assertEqual(self.engine.get('/?id=again').status, 200)
        path = self.record()
        kinds = [line['type'] for line in self.lines(path)[1:]]
        self.assertIn('sleep', kinds)
        self.assertIn('all equal', self.simulate(path).stdout)


class LongRecordings(EngineCase):
    # Goal: memory does not depend on the size. Method: 200 MB, with little of it allowed to be in memory.
    def test_a_long_recording_needs_no_more_memory_than_a_short_one(self):
        engine = self.up_app()
        self.assertEqual(engine.get('/?id=one').status, 200)
        threading.Event().wait(3)
        short = self.home.path / 'short.jsonl'
        self.home.run('record', 'app', '-o', str(short))
        lines = short.read_bytes().splitlines(keepends=True)
        notes = b''.join(line for line in lines if b'"type":"traffic"' in line)
        # A sanitizer is ten times as slow, and its own memory is larger than the bound.
        size, most = (20_000_000, 256) if SANITIZED else (200_000_000, 64)
        path = self.home.path / 'long.jsonl.gz'
        with gzip.open(path, 'wb', compresslevel=1) as file:
            file.writelines(lines)
            for _ in range(size // (64 * len(notes))):
                file.write(notes * 64)
        script = ('import resource,subprocess,sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); '
                  'print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)')
        done = subprocess.run([sys.executable, self.write('most.py', script), SLUICE, 'simulate', str(path)],
                              env=self.home.environment, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(int(done.stdout), most * 1024)
