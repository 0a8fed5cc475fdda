"""The scenarios of bench/scenarios, and what runs them."""

import gzip
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from engine import BIN, Home

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCENARIOS = ROOT / 'bench' / 'scenarios'
RUNNER = ROOT / 'bench' / 'compare' / 'load_scenarios.py'
SERVICE = '''apiVersion: serving.knative.dev/v1
kind: Service
metadata: {{name: small}}
spec:
  template:
    spec:
      containers:
        - command: [sluice, demo-app]
          env: [{{name: RELEASE, value: {release}}}]
'''
PLAN = '''name: {name}
arrivals: uniform
targets:
  small: {{url: "http://small.localhost:8080/"}}
phases:
  - {{name: only, for: 3s, rate: 10}}
assert:
  - {assertion}
'''


class Shipped(unittest.TestCase):
    def setUp(self):
        self.home = Home()
        self.addCleanup(self.home.close)

    def test_there_are_the_counterparts_of_the_performance_tests_of_knative(self):
        names = {plan.parent.name for plan in SCENARIOS.glob('*/plan.yaml')}
        self.assertEqual(names, {'scale-from-zero', 'steady', 'step', 'spike', 'real-traffic', 'rollout', 'overload', 'many-services',
                                 'quiet-day', 'memory-short'})

    def test_each_plan_is_valid_and_called_as_its_folder(self):
        for plan in SCENARIOS.glob('*/plan.yaml'):
            with self.subTest(plan.parent.name):
                done = self.home.run('load', '--file', str(plan), '--check')
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(done.stdout.startswith(f'{plan.parent.name}: '), done.stdout)

    def test_the_targets_of_each_plan_are_its_services(self):
        for plan in SCENARIOS.glob('*/plan.yaml'):
            with self.subTest(plan.parent.name):
                hosts = set(re.findall(r'"http://([^.]+)\.localhost:8080/', plan.read_text()))
                services = set(re.findall(r'^metadata: {name: (.*)}$', (plan.parent / 'services.yaml').read_text(), re.MULTILINE))
                self.assertTrue(hosts)
                self.assertEqual(hosts, services)


class Runner(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='sluice-scenarios-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def scenario(self, name, assertion, **more):
        place = self.folder / name
        place.mkdir()
        (place / 'plan.yaml').write_text(PLAN.format(name=name, assertion=assertion))
        (place / 'services.yaml').write_text(SERVICE.format(release='first'))
        for file, text in more.items():
            (place / file).write_text(text)

    def run_all(self, *names):
        return subprocess.run([sys.executable, '-B', RUNNER, '--bin', BIN, '--scenarios', self.folder, '--reports', self.folder / 'reports', *names],
                              capture_output=True, text=True, timeout=120, check=False)

    def test_a_revision_comes_while_the_load_runs_and_the_report_stays(self):
        self.scenario('rolls', 'errors == 0', **{'after-1s.yaml': SERVICE.format(release='second')})

        done = self.run_all()

        self.assertIn('errors == 0: 0', done.stdout)
        self.assertIn(done.returncode, (0, 1), done.stderr)   # 1: the generator was late
        self.assertEqual(done.stderr, '')
        self.assertTrue((self.folder / 'reports' / 'rolls.json').exists())

    def test_an_assertion_that_does_not_hold_is_exit_1_and_named_in_the_last_lines(self):
        self.scenario('holds', 'errors == 0')
        self.scenario('short', 'replicas.max >= 9')

        done = self.run_all()

        self.assertEqual(done.returncode, 1, done.stderr)
        holds, short = done.stdout.splitlines()[-2:]
        self.assertNotIn('errors', holds)
        self.assertRegex(short, r'^short .* SHORT: replicas\.max >= 9')

    def test_a_file_that_makes_no_revision_is_an_error(self):
        self.scenario('stays', 'errors == 0', **{'after-1s.yaml': SERVICE.format(release='first')})

        done = self.run_all('stays')

        self.assertEqual(done.returncode, 1)
        self.assertIn('bench load: stays: the latest revision is small-00001, not …-00002', done.stderr)

    def test_a_run_is_compared_with_the_baseline_that_was_written(self):
        self.scenario('twice', 'errors == 0')
        baseline = self.folder / 'twice' / 'baseline.json.gz'

        self.run_all('--write')
        report = json.loads((self.folder / 'reports' / 'twice.json').read_text())
        second = self.run_all()

        self.assertEqual(json.loads(gzip.decompress(baseline.read_bytes())), report)
        self.assertRegex(second.stdout, r'twice: (the same|better|unclear|worse)')
        self.assertEqual('worse than its baseline' in second.stdout, 'twice: worse' in second.stdout)

    def test_a_baseline_of_another_plan_is_an_error(self):
        self.scenario('changed', 'errors == 0')
        self.run_all('--write')
        plan = self.folder / 'changed' / 'plan.yaml'
        plan.write_text(plan.read_text().replace('rate: 10', 'rate: 20'))

        done = self.run_all()

        self.assertEqual(done.returncode, 1)
        self.assertIn('bench load: changed: it cannot be compared with its baseline; write that again with --write', done.stderr)

    def test_an_unknown_name_is_refused_with_those_that_there_are(self):
        self.scenario('holds', 'errors == 0')

        done = self.run_all('hold')

        self.assertEqual((done.returncode, done.stderr), (1, "bench load: no scenario is called 'hold'; there are: holds\n"))


if __name__ == '__main__':
    unittest.main()
