"""A service under a load in virtual time: `sluice simulate --shape` and `--traffic`."""

import csv
import gzip
import io
import json
import pathlib
import statistics

from engine import EngineCase

RECORDINGS = pathlib.Path(__file__).parents[1] / 'recordings'

LOAD = ('--shape', 'step 5:1m, 40:2m, pause 4m', '--concurrency', '4', '--service-time', 'lognormal:100ms,0.5')
STEP = (*LOAD, '--start', '800ms')


RUNS = ('step', 'spike', 'saturation', 'zero_and_back', 'live_spec', 'bounds', 'no_memory', 'killed_replica', 'clock_step', 'rps')
# After its stop hundreds of requests come in the same milliseconds as the first look of the autoscaler.
MAY_DIFFER = {'clock_step'}


def middle(figures, name):
    return statistics.median(each[name] for each in figures)


class Simulations(EngineCase):
    def simulate(self, *flags, code=0):
        done = self.home.run('simulate', *flags)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done

    def figures(self, *flags):
        return json.loads(self.simulate(*flags, '-o', 'json').stdout)['figures']

    def test_a_shape_gives_a_timeline_and_figures(self):
        done = self.simulate(*STEP)
        self.assertRegex(done.stdout, r'^ +at +ready +waiting +want\n')
        self.assertRegex(done.stdout, r'\n +\d+\.\d s +\d+ +\d+ +\d+ panic\n')
        self.assertRegex(done.stdout, r'\nrequests +[0-9,]+ answered, 0 refused in \d+\.\d s\n'
                                      r'wait +p50 \d+\.\d ms, p99 \d+\.\d ms\n'
                                      r'replicas +\d+\.\d replica-seconds, \d+ replicas at most\n'
                                      r'cold starts +1\npanics +[1-9]\d*\n$')
        self.assertEqual(done.stderr, '')

    def test_one_seed_gives_the_same_bytes_and_another_does_not(self):
        for form in ('text', 'json', 'csv'):
            first = self.simulate(*STEP, '-o', form).stdout
            self.assertEqual(first, self.simulate(*STEP, '-o', form).stdout)
            self.assertNotEqual(first, self.simulate(*STEP, '-o', form, '--seed', '2').stdout)

    def test_a_function_of_a_trace_steers_no_terminal_and_breaks_no_table(self):
        trace = self.write('invocations_per_function.csv', 'HashOwner,HashApp,HashFunction,Trigger,1,2\n'
                           'o,a,\x1b[31m"red",http,3,0\no,a,' + 'long' * 500 + ',http,2,0\n')
        for form in ('text', 'csv'):
            shown = self.simulate('--traffic', str(trace), '-o', form).stdout
            self.assertNotIn('\x1b', shown)
        self.assertTrue(shown.splitlines()[1].startswith('"?[31m""red""",3,'), shown)
        self.assertLess(max(map(len, self.simulate('--traffic', str(trace)).stdout.splitlines())), 200)

    def test_every_decision_is_in_csv_and_json(self):
        rows = json.loads(self.simulate(*STEP, '-o', 'json').stdout)['rows']
        lines = list(csv.DictReader(io.StringIO(self.simulate(*STEP, '-o', 'csv').stdout)))
        self.assertEqual([row['want'] for row in rows], [int(line['want']) for line in lines])
        self.assertGreater(len(rows), 100)
        self.assertEqual(rows[-1]['want'], 0)

    def test_settings_are_those_of_the_run(self):
        free = self.figures(*STEP)
        self.assertEqual(free['requests'], free['answered'])
        self.assertGreater(free['most_replicas'], 1)
        self.assertEqual(self.figures(*STEP, '--set', 'max-scale=1')['most_replicas'], 1)
        awake = json.loads(self.simulate(*STEP, '--set', 'min-scale=2', '-o', 'json').stdout)
        self.assertEqual({row['want'] for row in awake['rows']} & {0, 1}, set())
        slow = self.figures(*LOAD, '--start', '10s')
        self.assertGreaterEqual(slow['wait_ms']['max'], 10_000)
        self.assertGreater(self.figures(*STEP, '--set', 'max-scale=1', '--queue-depth', '5')['refused'], 0)

    def test_a_sweep_is_a_run_for_each_combination(self):
        flags = (*STEP, '--sweep', 'target=1,4', '--sweep', 'window=30s,60s')
        runs = json.loads(self.simulate(*flags, '-o', 'json').stdout)['runs']
        self.assertEqual([run['settings'] for run in runs], [
            {'target': target, 'window': window} for target in '14' for window in ('30s', '60s')])
        alone = self.figures(*STEP, '--set', 'target=4', '--set', 'window=30s')
        self.assertEqual(runs[2]['replica_seconds'], alone['replica_seconds'])
        self.assertIn(True, [run['unbeaten'] for run in runs])
        self.assertLess(runs[2]['replica_seconds'], runs[0]['replica_seconds'])

    def test_a_goal_names_the_cheapest_run_that_reaches_it(self):
        flags = (*STEP, '--sweep', 'target=1,2,4')
        done = self.simulate(*flags, '--goal', 'wait.max < 1h')
        self.assertIn('\ncheapest with wait.max < 1h: target=4\n', done.stdout)
        done = self.simulate(*flags, '--goal', 'cold_starts == 0', code=4)
        self.assertIn('\nno run has cold_starts == 0\n', done.stdout)

    def test_a_service_like_a_recorded_one_has_its_settings_and_times(self):
        recording = RECORDINGS / 'step.jsonl.gz'
        trace = self.write('step.jsonl', gzip.decompress(recording.read_bytes()).decode())
        played = ('--traffic', str(trace), '--like', str(recording))
        most = max(row['recorded']['want'] for row in json.loads(
            self.simulate(str(recording), '-o', 'json').stdout)['rows'])
        self.assertLessEqual(abs(self.figures(*played)['most_replicas'] - most), 1)
        self.assertEqual(self.figures(*played, '--set', 'max-scale=1')['most_replicas'], 1)

    def test_recorded_runs_come_to_what_they_came_to(self):
        other = {}
        for name in RUNS:
            recording = RECORDINGS / f'{name}.jsonl.gz'
            trace = self.write(f'{name}.jsonl', gzip.decompress(recording.read_bytes()).decode())
            runs = [json.loads(self.simulate('--traffic', str(trace), '--like', str(recording), '--seed', seed, '-o', 'json').stdout)
                    for seed in '12345']
            recorded, figures = runs[0]['recorded'], [run['figures'] for run in runs]
            waits = [each['wait_ms']['p99'] for each in figures]
            here = {key: middle(figures, key) for key in ('replica_seconds', 'most_replicas', 'cold_starts', 'panics')}
            wait, wait_recorded = statistics.median(waits), recorded['wait_ms']['p99']
            if not (abs(here['replica_seconds'] - recorded['replica_seconds']) <= 0.1 * recorded['replica_seconds']
                    and abs(here['most_replicas'] - recorded['most_replicas']) <= 1
                    and (here['cold_starts'], here['panics']) == (recorded['cold_starts'], recorded['panics'])
                    and abs(wait - wait_recorded) <= max(50, 0.3 * wait_recorded)):
                other[name] = (recorded, here, wait)
        self.assertLessEqual(other.keys(), MAY_DIFFER, other)

    def test_a_recorded_run_is_simulated_with_other_settings(self):
        recording = RECORDINGS / 'live_spec.jsonl.gz'
        trace = self.write('live.jsonl', gzip.decompress(recording.read_bytes()).decode())
        played = ('--traffic', str(trace), '--like', str(recording))
        done = self.simulate(*played, '--set', 'max-scale=2')
        self.assertRegex(done.stdout, r'\nrecorded +\d+\.\d replica-seconds, \d+ replicas at most, cold starts 1, panics ')
        self.assertEqual(self.figures(*played, '--set', 'max-scale=2')['most_replicas'], 2)
        self.assertNotIn('recorded', json.loads(self.simulate('--shape', '5:10s', '--like', str(recording), '-o', 'json').stdout))

    def test_each_function_of_a_day_is_a_service(self):
        minutes = ','.join(str(minute) for minute in range(1, 1441))
        trace = self.write('invocations_per_function.csv', f'HashOwner,HashApp,HashFunction,Trigger,{minutes}\n' + ''.join(
            f'o,a,{name},http,' + ','.join('1' if minute % every == 0 else '0' for minute in range(1440)) + '\n'
            for name, every in (('rare', 720), ('often', 1))))
        traffic = ('--traffic', str(trace), '--service-time', '100ms')
        done = self.simulate(*traffic)
        self.assertRegex(done.stdout, r'^replica-seconds .*\n +\d{5}\.\d .* often\n +\d+\.\d .* rare\n\nrequests +1442 answered')
        day = json.loads(self.simulate(*traffic, '-o', 'json').stdout)
        rare, often = day['functions']
        self.assertEqual((rare['function'], rare['requests'], rare['cold_starts']), ('rare', 2, 2))
        self.assertEqual(day['figures']['requests'], 1442)
        self.assertAlmostEqual(day['figures']['replica_seconds'], rare['replica_seconds'] + often['replica_seconds'], places=3)
        self.assertEqual(len(self.simulate(*traffic, '-o', 'csv').stdout.splitlines()), 3)
        self.assertEqual(self.figures(*traffic, '--service', 'rare')['requests'], 2)
        # What stays awake does so for the whole day.
        awake = self.figures(*traffic, '--set', 'min-scale=1')
        self.assertAlmostEqual(awake['replica_seconds'], 2 * 86400, delta=200)

    def test_the_page_is_one_file_with_the_run_in_it(self):
        recording = str(RECORDINGS / 'step.jsonl.gz')
        for flags, text in ((STEP, 'cold starts'), ((*STEP, '--sweep', 'target=1,4'), 'replica-seconds'),
                            ((recording, '--set', 'target=50'), 'saturated')):
            page = self.home.path / 'run.html'
            self.simulate(*flags, '--html', str(page))
            content = page.read_text()
            self.assertIn(text, content)
            self.assertNotIn(' src=', content)
            self.assertLess(len(content), 300_000)
        nowhere = self.simulate(*STEP, '--html', '/nowhere/run.html', code=1)
        self.assertIn('/nowhere', nowhere.stderr)

    def test_a_trace_is_played_with_the_times_it_has(self):
        trace = self.write('trace.csv', 'at_s,service,duration_ms\n' + ''.join(
            f'{second}.000,{"ab"[second % 2]},500\n' for second in range(1, 41)))
        figures = self.figures('--traffic', str(trace), '--concurrency', '1', '--start', '1s')
        self.assertEqual((figures['answered'], figures['cold_starts']), (40, 1))
        self.assertEqual(figures['wait_ms']['max'], 1000)
        self.assertEqual(self.figures('--traffic', f'{trace}:csv', '--service', 'a')['requests'], 20)

    def test_what_is_wrong_is_named(self):
        for flags, code, text in (
                ((), 2, 'give one of RECORDING, --shape and --traffic'),
                (('x.jsonl', '--shape', '5:1m'), 2, 'give one of RECORDING, --shape and --traffic'),
                (('x.jsonl', '--seed', '2'), 2, '--seed needs --shape or --traffic'),
                (('--shape', '5'), 2, '--shape'),
                (('--shape', '5:1m', '--goal', 'refused == 0'), 2, '--goal needs --sweep'),
                (('--shape', '5:1m', '--sweep', 'target'), 2, '--sweep: target is not KEY=VALUE'),
                (('--shape', '5:1m', '--sweep', 'targt=1'), 2, 'target'),
                (('--shape', '5:1m', '--sweep', 'target=1', '--goal', 'p99 < 1s'), 2, "unknown figure 'p99'"),
                (('--shape', '5:1m', '--start', 'soon'), 2, '--start: soon is no rule for times'),
                (('--shape', '5:1m', '--set', 'windw=30s'), 2, 'window'),
                (('--shape', '5:1m', '--set', 'target=nan'), 2, '--set: target=nan is no finite number'),
                (('--shape', '5:1m', '--sweep', 'target=5,inf'), 2, '--sweep: target=inf is no finite number'),
                (('--shape', '5:1m', '--sweep', 'window=1s,30s'), 2, '--sweep: '),
                (('--shape', '5:1m', '--sweep', 'target=1,2', '--set', 'target=3'), 2, '--set, --sweep: target is in both'),
                (('--shape', '5:1m', '--html', '-'), 2, '--html writes a file'),
                (('--shape', '5:1m', '--html', ''), 2, '--html: it is empty'),
                (('--shape', '5:1m', '--seed', '-1'), 2, "--seed: '-1' is not a whole number from 0 to"),
                (('--shape', '5:1m', '--seed', '99999999999999999999'), 2, '--seed: '),
                (('--shape', '5:1m', '--set', 'window=1s'), 2, '--set: '),
                (('--traffic', 'none.csv'), 78, 'none.csv')):
            self.assertIn(text, self.simulate(*flags, code=code).stderr)
