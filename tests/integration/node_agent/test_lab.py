"""The laboratory itself, and the facts about runtime and kernel that the agent is built on."""

import pathlib
import subprocess
import sys
import threading
import time

from node_agent import cgroup, sweep
from node_agent.case import LabCase, close_lab
from node_agent.cri import EXITED, RUNNING
from node_agent.lab import MIB
from wire import eventually

ROOT = pathlib.Path(__file__).resolve().parents[1]
# A run that is killed without warning, with a container in its node.
ABANDONED = '''
import os, sys
sys.path.insert(0, sys.argv[1])
from node_agent.lab import Lab
lab = Lab().__enter__()
node = lab.node(memory=64 << 20)
lab.pod(node, 'left').run('left', ['spin'], memory=16 << 20).update(1000)
os.write(1, b'up')
os.kill(os.getpid(), 9)
'''


def cores_used(group, seconds=3):
    """CPU time per second: other load on the machine does not show in it, as it would in loops."""
    before, began = group.cpu_seconds(), time.monotonic()
    threading.Event().wait(seconds)
    return (group.cpu_seconds() - before) / (time.monotonic() - began)


class Throttling(LabCase):
    NODE = {'memory': 128 * MIB}

    def setUp(self):
        super().setUp()
        self.spinner = self.pod().run('spin', ['spin'], memory=16 * MIB)

    def test_ten_millicores_by_a_runtime_call_are_ten_millicores(self):
        self.spinner.update(1000)

        self.assertEqual(self.spinner.quota(), (1000, 100_000))
        cores = cores_used(self.spinner.group)
        self.assertTrue(0.008 <= cores <= 0.013, cores)

    def test_minus_one_releases_and_zero_does_not(self):
        self.spinner.update(1000)

        self.spinner.update(0)
        self.assertEqual(self.spinner.quota(), (1000, 100_000))

        self.spinner.update(-1)
        self.assertEqual(self.spinner.quota(), (-1, 100_000))
        self.assertGreater(cores_used(self.spinner.group, 1), 0.05)

    def test_a_throttle_outlives_the_runtime(self):
        self.spinner.update(1000)

        self.lab.stop_runtime()
        self.assertEqual(self.spinner.quota(), (1000, 100_000))
        self.lab.start_runtime()

        self.assertEqual(self.spinner.quota(), (1000, 100_000))
        self.assertEqual(self.spinner.status().resources.linux.cpu_quota, 1000)

    def test_a_child_may_not_have_more_than_its_parent(self):
        self.spinner.update(30_000)

        with self.assertRaises(OSError):
            self.node.set_quota(20_000)


class Memory(LabCase):
    NODE = {'memory': 96 * MIB}

    def test_the_kernel_kills_inside_the_small_node_only(self):
        other = self.lab.node(memory=64 * MIB)
        apart = self.lab.pod(other, 'apart').run('apart', ['grow', 20], memory=32 * MIB)
        pod = self.pod()
        hogs = [pod.run(f'hog-{number}', ['grow', 40], memory=64 * MIB) for number in range(3)]

        eventually(lambda: sum(hog.status().state == EXITED for hog in hogs) >= 1, 'one is killed')

        ended = [hog.status() for hog in hogs if hog.status().state == EXITED]
        self.assertEqual({one.exit_code for one in ended}, {137})
        self.assertLess(len(ended), 3)
        self.assertEqual(apart.status().state, RUNNING)
        self.assertLessEqual(self.node.memory_peak(), 96 * MIB)

    def test_unused_files_are_not_in_the_working_set(self):
        self.pod().run('files', ['cache', '/tmp/file', 60])

        eventually(lambda: self.node.memory_usage() > 60 * MIB, 'the file is in the page cache')
        self.assertLess(self.node.working_set(), 20 * MIB)


class Sweeping(LabCase):
    """The laboratory is closed in the test: what comes after is another run's."""

    def test_leftovers_of_a_killed_run_are_removed_by_the_next(self):
        close_lab()
        left = subprocess.run([sys.executable, '-B', '-c', ABANDONED, str(ROOT)], check=False,
                              capture_output=True, timeout=120)
        self.assertEqual((left.returncode, left.stdout), (-9, b'up'), left.stderr)
        self.assertTrue(list(sweep.inhabitants()))

        with type(self.lab)() as lab:
            self.assertEqual(list(sweep.inhabitants()), [])
            self.assertEqual(len(list(sweep.BASE.iterdir())), 1, 'only the folder of this run')
            self.assertEqual(list(lab.cri.call('ListPodSandbox').items), [])

        self.assertEqual(list(sweep.runtimes()), [])
        self.assertEqual([root for root in cgroup.mounts().values() if (root / cgroup.TREE).exists()], [])
        self.assertFalse(sweep.BASE.exists())

    def setUp(self):
        self.node = None  # remove_pods of LabCase would ask a runtime that is gone
