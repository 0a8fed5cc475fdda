"""Where there is no browser: said with the reason, and no success. Needs none itself."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

RUN = pathlib.Path(__file__).resolve().parent / 'run.py'


class Run(unittest.TestCase):
    def run_with(self, programs, *names):
        """What is printed, and the exit status, where these programs alone are installed."""
        with tempfile.TemporaryDirectory() as folder:
            for name in programs:
                pathlib.Path(folder, name).symlink_to('/bin/false')
            done = subprocess.run([sys.executable, '-B', RUN, *names], env={**os.environ, 'PATH': folder}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, timeout=60, check=False)
        return done.returncode, done.stdout

    def test_without_a_browser_tests_are_skipped_with_the_reason_and_have_not_passed(self):
        for programs, reason in (((), 'chromium is not installed'), (('chromium',), 'chromedriver is not installed'), (('chromium', 'chromedriver'), 'chromedriver did not start')):
            status, text = self.run_with(programs, 'test_size.Size.test_each_module_is_short', 'test_edits')
            self.assertEqual(status, 77, text)
            self.assertEqual(text.splitlines()[-1], f'browser: SKIPPED, no browser tests on this machine: {reason}')
            self.assertIn('Ran 1 test', text)

    def test_what_needs_no_browser_passes_without_one(self):
        status, text = self.run_with((), 'test_size.Size.test_each_module_is_short')
        self.assertEqual(status, 0, text)
        self.assertNotIn('SKIPPED', text)

    def test_a_failure_is_none_that_was_skipped(self):
        status, text = self.run_with((), 'test_size.NoSuchTest', 'test_edits')
        self.assertEqual(status, 1, text)
        self.assertNotIn('SKIPPED', text)


if __name__ == '__main__':
    unittest.main()
