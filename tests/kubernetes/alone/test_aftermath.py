"""What is left of a cluster when its tests have ended, one way or another: nothing. These start their own.

As much of one as the machine can have: with a real node there are most things to leave behind.
"""

import os
import pathlib
import signal
import subprocess
import sys
import unittest

from wire import eventually

from lab.api import Api
from lab.cluster import TIERS, reason_against
from lab.control_plane import ADMIN_TOKEN, API_URL
from lab.keeper import Keeper, locked
from lab.place import BASE, NETWORK_FILE, STUBBORN, in_network
from lab.sweep import leftovers

RUN = pathlib.Path(__file__).resolve().parents[1] / 'run.py'
SECONDS = 60


class Aftermath(unittest.TestCase):
    def setUp(self):
        self.tier = max(tier for tier in TIERS if not reason_against(tier))
        self.stubborn = self.present()
        self.runner = None
        self.addCleanup(self.end_runner)

    def start(self, *words):
        self.runner = subprocess.Popen(
            [sys.executable, '-B', str(RUN), os.environ['SLUICE_BIN'], *words], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)

    def hold(self):
        self.start('--hold', str(self.tier))
        self.assertIn('is up', self.runner.stdout.readline())
        if self.tier == 3:
            with in_network():
                self.start_pod()

    def end_runner(self):
        self.runner.kill()
        self.runner.wait(10)
        self.runner.stdout.close()
        Keeper().end()

    @staticmethod
    def present():
        return {place: os.listdir(place) for place in STUBBORN if os.path.isdir(place)}

    def start_pod(self):
        api = Api(API_URL, str(BASE / 'pki' / 'ca.crt'), ADMIN_TOKEN)
        pods = '/api/v1/namespaces/default/pods'
        eventually(lambda: api.find('/api/v1/namespaces/default/serviceaccounts/default'), 'pods may be made')
        api.post(pods, {'metadata': {'name': 'left'}, 'spec': {
            'dnsPolicy': 'Default', 'containers': [{'name': 'app', 'image': 'localhost/app:1'}]}})
        eventually(lambda: api.get(f'{pods}/left')['status'].get('phase') == 'Running', 'it runs', SECONDS)

    def assert_nothing_left(self):
        # Under the lock: the keeper has done its work by then, and no other run has begun.
        with locked():
            self.assertEqual(leftovers(), [])
        with_content = {place: names for place, names in self.present().items() if names}
        self.assertEqual(with_content, {place: names for place, names in self.stubborn.items() if names})

    def test_an_interrupt_leaves_nothing(self):
        self.hold()

        self.runner.send_signal(signal.SIGINT)

        self.assertEqual(self.runner.wait(SECONDS), 0)
        self.assert_nothing_left()

    def test_a_killed_holder_leaves_nothing(self):
        self.hold()

        self.runner.kill()
        self.runner.wait(10)

        self.assert_nothing_left()

    def test_a_runner_killed_amid_its_tests_leaves_nothing(self):
        self.start('--tier', '1', 'Restart')
        eventually(NETWORK_FILE.exists, 'the cluster of its tests begins')

        self.runner.kill()
        self.runner.wait(10)

        self.assert_nothing_left()

    def test_leftovers_of_a_killed_keeper_are_removed_by_the_next_run(self):
        self.hold()
        children = pathlib.Path(f'/proc/{self.runner.pid}/task/{self.runner.pid}/children')
        keeper = next(pid for pid in children.read_text(encoding='ascii').split()
                      if 'keeper.py' in pathlib.Path(f'/proc/{pid}/cmdline').read_text(encoding='utf-8'))
        os.kill(int(keeper), signal.SIGKILL)
        self.runner.kill()
        self.runner.wait(10)
        self.assertTrue(leftovers())

        Keeper().end()

        self.assert_nothing_left()
