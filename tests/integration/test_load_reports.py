"""Every form of the report of `sluice load`, read back by programs that others wrote."""

import csv
import io
import json
import os
import subprocess
import sys
import unittest
import xml.etree.ElementTree
from pathlib import Path

import jsonschema

from engine import EngineCase

SCHEMA = Path(__file__).parents[2] / 'docs' / 'reference' / 'load-report.schema.json'
HDR_PACKAGE = 'hdrhistogram==0.10.8'
# Prints, of a log, for each tag and for all the percentiles in nanoseconds; of stdin one histogram.
READ_HDR = '''
import json, sys
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
percents = [50, 75, 90, 95, 99, 99.9, 99.99]
total = HdrHistogram(1, 3600 * 10 ** 9, 3)
tags, lines = [], 0
if sys.argv[1] == '-':
    total = HdrHistogram.decode(sys.stdin.read().strip())
else:
    reader = HistogramLogReader(sys.argv[1], HdrHistogram(1, 3600 * 10 ** 9, 3))
    while True:
        one = reader.get_next_interval_histogram()
        if one is None:
            break
        lines += 1
        tags.append(one.get_tag())
        total.add(one)
print(json.dumps({'count': total.get_total_count(), 'max': total.get_max_value(), 'lines': lines, 'tags': tags,
                  'values': {str(p): total.get_value_at_percentile(p) for p in percents}}))
'''


def percentile_names(report):
    times = report['latency_ms']
    return {'50': times['p50'], '75': times['p75'], '90': times['p90'], '95': times['p95'], '99': times['p99'],
            '99.9': times['p99_9'], '99.99': times['p99_99']}


def reader_of_hdr():
    """A Python that has HdrHistogram, in the cache of this user."""
    cache = Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache') / 'sluice' / HDR_PACKAGE.replace('==', '-')
    python = cache / 'bin' / 'python'
    if not (cache / 'whole').exists():
        subprocess.run([sys.executable, '-m', 'venv', str(cache)], check=True, timeout=120, capture_output=True)
        subprocess.run([str(python), '-m', 'pip', 'install', '--quiet', HDR_PACKAGE], check=True, timeout=300,
                       capture_output=True)
        (cache / 'whole').write_text('')
    return python


def read_hdr(path, stdin=None):
    done = subprocess.run([str(reader_of_hdr()), '-c', READ_HDR, str(path)], input=stdin, text=True,
                          capture_output=True, timeout=60, check=False)
    if done.returncode:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


class Reports(EngineCase):
    def setUp(self):
        super().setUp()
        self.schema = json.loads(SCHEMA.read_text())

    def load(self, engine, *flags):
        return self.home.run('load', f'http://app.localhost:{engine.http.rpartition(":")[2]}/', *flags, timeout=60)

    def check(self, report):
        jsonschema.Draft7Validator.check_schema(self.schema)
        jsonschema.validate(report, self.schema)
        errors = report['errors']
        kinds = ('connect_refused', 'connect_timeout', 'no_local_port', 'tls', 'reset', 'timeout', 'invalid', 'h2', 'grpc', 'ws')
        requests = report['requests']
        self.assertEqual(requests['answered'] + requests['cut'] + sum(errors[kind] for kind in kinds), requests['sent'])
        for column in ('sent', 'answered', 'not_sent'):
            self.assertEqual(sum(row[column] for row in report['seconds']), requests[column], column)

    def test_every_form_of_one_run_has_the_same_figures(self):
        engine = self.up_app('--max', '2')
        names = {'json': 'run.json', 'csv': 'run.csv', 'junit': 'run.xml', 'markdown': 'pull-request', 'hdr': 'run.hlog'}
        flags = [part for form, name in names.items() for part in (f'--{form}', str(self.home.path / name))]
        done = self.load(engine, '--rate', '100', '--duration', '3s', '--name', 'front|door', '--hdr',
                         str(self.home.path / 'run.hgrm'), '--fail-if', 'p99 > 1h', '--fail-if', 'rate > 1', *flags)
        self.assertEqual(done.returncode, 4, done.stderr)
        report = json.loads((self.home.path / 'run.json').read_text())
        self.check(report)
        self.assertEqual(report['name'], 'front|door')
        self.assertEqual(report['scaling']['service'], 'app')
        self.assertTrue(report['scaling']['cold_starts'][0]['phases_ms'])
        self.assertTrue(any(one['to'] >= 1 and one['why'] for one in report['scaling']['decisions']))
        self.assertTrue(any(row[1] and row[8] is not None for row in report['scaling']['rows']), 'live figures')

        rows = list(csv.DictReader(io.StringIO((self.home.path / 'run.csv').read_text())))
        self.assertEqual([int(row['sent']) for row in rows], [row['sent'] for row in report['seconds']])
        self.assertEqual({float(row['rate_planned']) for row in rows[:3]}, {100.0})

        suite = xml.etree.ElementTree.parse(self.home.path / 'run.xml').getroot().find('testsuite')
        self.assertEqual((suite.get('tests'), suite.get('failures'), suite.get('errors')), ('2', '1', '0'))
        failed, = [case for case in suite.iter('testcase') if case.find('failure') is not None]
        self.assertIn(failed.find('failure').get('message'), done.stdout)

        markdown = (self.home.path / 'pull-request').read_text()
        self.assertIn('### front\\|door: failed', markdown)
        self.assertIn('| **failed** | fail if rate \\> 1 |', markdown)

        log = read_hdr(self.home.path / 'run.hlog')
        whole = read_hdr('-', stdin=report['hdr'])
        for hdr in (log, whole):
            self.assertEqual(hdr['count'], report['requests']['answered'])
            for percent, ms in percentile_names(report).items():
                self.assertAlmostEqual(hdr['values'][percent] / 1e6, ms, delta=ms * 0.001 + 0.001, msg=percent)
        lines = (self.home.path / 'run.hgrm').read_text().splitlines()
        table = [line.split() for line in lines[2:] if line and not line.startswith('#')]
        self.assertAlmostEqual(float(table[-1][0]), report['latency_ms']['max'], delta=0.002)
        self.assertEqual(int(table[-1][2]), report['requests']['answered'])
        median, = [float(row[0]) for row in table if row[1] == '0.500000000000']
        self.assertAlmostEqual(median, report['latency_ms']['p50'], delta=0.002)

    def test_a_scenario_has_rows_of_each_target_and_tags_in_the_log(self):
        engine = self.up_app('--max', '2')
        url = f'http://app.localhost:{engine.http.rpartition(":")[2]}'
        plan = self.home.path / 'plan.yaml'
        plan.write_text(f'name: two\ntargets:\n  one: {{url: "{url}/?id=1"}}\n  other: {{url: "{url}/?id=2"}}\n'
                        'phases:\n  - {name: low, for: 2s, rate: 30, mix: {one: 2, other: 1}}\n'
                        '  - {name: high, for: 2s, rate: {ramp: [30, 60]}}\n')
        out = self.home.path / 'two.hlog'
        done = self.home.run('load', '--file', str(plan), '--json', '-', '--hdr', str(out), timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.check(report)
        self.assertEqual({(row['target'], row['phase']) for row in report['seconds'] if row['at_s'] < 4},
                         {(target, phase) for target in ('one', 'other') for phase in ('low', 'high')})
        self.assertEqual([row['rate_planned'] for row in report['seconds'][:4]], [20, 10, 20, 10])
        self.assertEqual([row['rate_planned'] for row in report['seconds'][4:8]], [18.75, 18.75, 26.25, 26.25])
        self.assertEqual(set(read_hdr(out)['tags']), {'one', 'other'})

    def test_runs_without_an_engine_and_without_an_answer_are_reports_too(self):
        done = self.home.run('load', 'http://127.0.0.1:9/', '-c', '2', '-n', '4', '-o', 'json', timeout=60)
        self.assertEqual(done.returncode, 69)
        report = json.loads(done.stdout)
        self.check(report)
        self.assertEqual(report['errors']['connect_refused'], 4)
        self.assertIn('refused', report['errors']['samples'][0]['text'])
        self.assertIsNone(report['scaling'])

    def test_a_report_that_cannot_be_written_leaves_the_text_and_exit_1(self):
        engine = self.up_app()
        for form in ('json', 'csv', 'junit', 'markdown', 'hdr'):
            with self.subTest(form):
                done = self.load(engine, '-c', '1', '-n', '3', f'--{form}', '/dev/full')
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn('3 sent, 3 answered', done.stdout)
                self.assertIn("cannot write all of '/dev/full': No space left on device", done.stderr)

    def test_places_that_cannot_be_written_are_named_before_the_run(self):
        missing = str(self.home.path / 'none' / 'run')
        for flags, said in ((['--junit', missing], 'give --junit a path that can be written'),
                            (['--csv', '-', '--json', '-'], "write to the same place, '-'"),
                            (['--csv', str(self.home.path / 'a'), '--hdr', str(self.home.path / 'a')], 'a file of its own'),
                            (['--markdown', ''], '--markdown'), (['--name', 'x' * 101], '--name')):
            with self.subTest(flags):
                done = self.home.run('load', 'http://127.0.0.1:9/', '-n', '1', *flags, timeout=30)
                self.assertEqual((done.returncode, done.stdout), (2, ''), done.stderr)
                self.assertIn(said, done.stderr)


if __name__ == '__main__':
    unittest.main()
