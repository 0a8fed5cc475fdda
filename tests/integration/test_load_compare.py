"""Reports of real runs beside each other: sluice load compare."""

import gzip
import json
import unittest

from engine import EngineCase


class Comparisons(EngineCase):
    def measure(self, engine, name, *flags):
        """Runs 2 s at 100/s, and returns the path of the report."""
        path = self.home.path / name
        done = self.home.run('load', f'http://{engine.http}/', '-H', 'Host: app.localhost', '--rate', '100',
                             '--duration', '2s', '--timeout', '1s', '--json', str(path), *flags, timeout=60)
        self.assertTrue(path.exists(), done.stderr)
        return str(path)

    def compare(self, *arguments):
        return self.home.run('load', 'compare', *arguments, timeout=60)

    def test_a_run_is_the_same_as_itself(self):
        report = self.measure(self.up_app(), 'a.json')
        done = self.compare(report, report, '-o', 'json')
        self.assertEqual(done.returncode, 0, done.stderr)
        compared = json.loads(done.stdout)
        self.assertEqual(compared['verdict'], 'same')
        figures = compared['comparisons'][0]['figures']
        self.assertIn('p99', [figure['figure'] for figure in figures])
        self.assertEqual({figure['verdict'] for figure in figures}, {'same'})

    def test_a_run_without_answers_is_worse_and_ends_with_4(self):
        engine = self.up_app()
        good = self.measure(engine, 'good.json')
        again = self.measure(engine, 'again.json')
        self.assertEqual(self.home.run('down', timeout=60).returncode, 0)
        bad = self.measure(engine, 'bad.json')

        done = self.compare(good, bad)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn('worse than', done.stdout)
        self.assertRegex(done.stdout, r'error rate +0 % +100 % .* worse')
        self.assertEqual(self.compare(bad, good).returncode, 0)
        # Both behind the first have one name, so they are repeats of each other.
        both = json.loads(self.compare(good, again, bad, '-o', 'json').stdout)
        self.assertEqual([len(one['runs']) for one in both['comparisons']], [2])

    def test_runs_of_other_plans_are_refused_but_anyway(self):
        engine = self.up_app()
        one = self.measure(engine, 'one.json')
        other = self.measure(engine, 'other.json', '--seed', '2')
        done = self.compare(one, other)
        self.assertEqual(done.returncode, 78)
        self.assertIn('plan.seed is 2, it was 1', done.stderr)
        self.assertIn(self.compare(one, other, '--anyway').returncode, (0, 4))

    def test_a_report_that_was_cut_is_named_and_a_packed_one_read(self):
        report = self.measure(self.up_app(), 'a.json')
        packed = self.home.path / 'a.json.gz'
        with open(report, 'rb') as file:
            text = file.read()
        packed.write_bytes(gzip.compress(text))
        self.assertEqual(self.compare(report, str(packed)).returncode, 0)
        cut = self.home.path / 'cut.json'
        cut.write_bytes(text[:len(text) // 2])
        done = self.compare(report, str(cut))
        self.assertEqual(done.returncode, 78)
        self.assertIn(f"'{cut}': it ends in the middle", done.stderr)


if __name__ == '__main__':
    unittest.main()
