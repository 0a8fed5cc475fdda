"""What CI runs, `.ci/run`, with a ./dev that each test scripts: which parts run, and what is printed of them."""

import pathlib
import shutil
import subprocess
import tempfile
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Records how it is called. What a test puts into `answers` decides what it prints and how it ends.
DEV = textwrap.dedent('''\
    #!/usr/bin/env bash
    printf '%s\\n' "$*" >>calls
    source ./answers
    ''')
SECONDS = 60


class Run(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.root = pathlib.Path(place.name)
        (self.root / '.ci').mkdir()
        shutil.copy(ROOT / '.ci' / 'run', self.root / '.ci')
        self.program('dev', DEV)
        self.program('tests/kubernetes/tools', '#!/bin/sh\necho tools >>calls\n')

    def program(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding='utf-8')
        path.chmod(0o755)

    def run_ci(self, *words, answers=''):
        """(exit status, {part: result} of the table in its order, calls of ./dev)"""
        (self.root / 'answers').write_text(answers, encoding='utf-8')
        (self.root / 'calls').write_text('', encoding='utf-8')
        done = subprocess.run([str(self.root / '.ci' / 'run'), *words], text=True, capture_output=True, check=False,
                              timeout=SECONDS)
        _, _, table = done.stdout.partition('part                seconds  result\n')
        rows = [line.split(None, 2) for line in table.splitlines() if line and not line.startswith('ci: ')]
        calls = (self.root / 'calls').read_text(encoding='utf-8').splitlines()
        return done.returncode, {part: result for part, _, result in rows}, calls

    def test_all_parts_run_and_pass_in_a_table_that_ends_with_their_number(self):
        code, rows, calls = self.run_ci()
        self.assertEqual(code, 0)
        self.assertEqual(list(rows)[:4], ['packages', 'build-release', 'format', 'release'])
        self.assertEqual(rows.pop('total'), f'{len(rows)} of {len(rows)} passed')
        self.assertEqual(set(rows.values()), {'passed'})
        self.assertTrue({'build release', 'test release', 'test kubernetes-seams', 'tools'} <= set(calls), calls)

    def test_a_part_that_fails_does_not_stop_the_next_and_fails_the_run(self):
        code, rows, calls = self.run_ci(answers='if [[ "$*" == "test h2spec" ]]; then exit 3; fi')
        self.assertEqual(code, 1)
        self.assertEqual(rows['h2spec'], 'failed, exit 3')
        self.assertEqual(rows['soak'], 'passed')
        self.assertIn('test soak', calls)

    def test_a_part_that_skips_a_test_fails_the_run(self):
        for line in ('4/9 Test #4: lab ........***Skipped 0.1 sec', '[  SKIPPED ] A.B', 'tier 3: SKIPPED, no root'):
            code, rows, _ = self.run_ci(answers=f'if [[ "$*" == "test release" ]]; then echo "{line}"; fi')
            self.assertEqual((code, rows['release'], rows['soak']), (1, 'skipped tests', 'passed'), line)

    def test_from_a_part_only_packages_and_what_follows_run(self):
        code, rows, calls = self.run_ci('--from', 'fuzz')
        self.assertEqual((code, list(rows)), (0, ['packages', 'fuzz', 'tidy-changed', 'soak', 'total']))
        self.assertEqual(calls[1:], ['test fuzz', 'test tidy-changed', 'test soak'])

    def test_full_has_parts_of_its_own(self):
        code, rows, calls = self.run_ci('full', '--from', 'tsan')
        self.assertEqual((code, list(rows)), (0, ['packages', 'tsan', 'soak-10000', 'total']))
        self.assertEqual(calls[1:], ['test tsan', 'test soak-10000'])

    def test_an_unknown_argument_is_refused_before_anything_runs(self):
        for words in (['--from', 'nothing'], ['--from'], ['fuzz'], ['full', '--from', 'soak']):
            code, rows, calls = self.run_ci(*words)
            self.assertEqual((code, rows, calls), (2, {}, []), words)

    def test_every_part_is_a_suite_or_a_build_of_the_real_dev(self):
        builds, suites = self.names('dev', 'build', 'nothing'), self.names('dev', 'packages', 'nothing')
        self.assertIn('release', suites)
        for words in (['nothing'], ['full', 'nothing']):
            for part in self.names('.ci/run', *words):
                known = [f'build-{name}' for name in builds] + suites + ['packages']
                self.assertIn(part, known)

    def names(self, program, *words):
        """What a program of the tree lists as valid, when it gets an unknown name."""
        done = subprocess.run([str(ROOT / program), *words], text=True, capture_output=True, check=False,
                              timeout=SECONDS)
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr.rpartition(': ')[2].split()


if __name__ == '__main__':
    unittest.main()
