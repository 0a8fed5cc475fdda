"""What a group of the machine has for itself: one that eats its CPU slows no other."""

import pathlib
import statistics
import threading
import unittest

from places import PlacesCase
from wire import fetch

ROUNDS = 8
WORKS = 8   # in each part of a round
# The last has a limit that the machine cannot reach.
GROUPS = '''groups:
  - {name: calm, cpu: "1"}
  - {name: limited, cpu: 400m}
  - {name: open, cpu: "64"}
'''
# POST /burn keeps eight processes busy for a second and says how many cores they had. GET / does a fixed amount of
# work and says how long that took beside the CPU that it had: 1.0 is a core of its own.
WORKING = '''
import os, subprocess, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer

BURN = 'import time\\nend = time.monotonic() + 1\\nwhile time.monotonic() < end: pass'

class Working(BaseHTTPRequestHandler):
    def answer(self, text):
        body = text.encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        wall, own = time.perf_counter(), time.thread_time()
        sum(range(2_000_000))
        self.answer(str((time.perf_counter() - wall) / (time.thread_time() - own)))

    def do_POST(self):
        before = os.times()
        for each in [subprocess.Popen([sys.executable, '-c', BURN]) for _ in range(8)]:
            each.wait()
        after = os.times()
        cpu = after.children_user - before.children_user
        self.answer(str(cpu / (after.elapsed - before.elapsed)))

    def log_message(self, *arguments):
        pass

HTTPServer(('127.0.0.1', int(os.environ['PORT'])), Working).serve_forever()
'''


class Cpu(PlacesCase):
    def working(self, name):
        """A service with one replica in the group of its name."""
        return self.document(name, 1, keys=[('placement.sluice.dev/pin', name)], program=self.program)

    def prefer(self, pid):
        """Other work of the machine is not what is tested: all groups together come before it."""
        for line in pathlib.Path(f'/proc/{pid}/cgroup').read_text(encoding='utf-8').splitlines():
            _, controllers, path = line.split(':', 2)
            for root, weight, most in (('/sys/fs/cgroup/cpu', 'cpu.shares', '262144'),
                                       ('/sys/fs/cgroup', 'cpu.weight', '10000')):
                tree = pathlib.Path(root + path).parents[1]
                if 'place.calm' in path and controllers in ('', 'cpu', 'cpu,cpuacct') and (tree / weight).exists():
                    (tree / weight).write_text(most, encoding='ascii')

    def work(self, engine, during=None):
        """How much longer the work of `calm` takes than its CPU while `during` burns, and the cores that this had."""
        burned = []
        burning = threading.Thread(target=lambda: burned.append(
            float(fetch(engine.http, '/burn', f'{during}.localhost', method='POST', timeout=60).body)))
        if during:
            burning.start()
        times = [float(fetch(engine.http, '/', 'calm.localhost', timeout=60).body) for _ in range(WORKS)]
        while burning.is_alive():
            times.append(float(fetch(engine.http, '/', 'calm.localhost', timeout=60).body))
        return statistics.mean(times), *burned

    def test_a_group_that_eats_its_cpu_slows_no_other(self):
        if not self.can_limit('cpu'):
            print('no control groups for CPU on this machine', flush=True)
            return
        self.program = self.write('working.py', WORKING)
        engine = self.up_with(GROUPS, *(self.working(name) for name in ('calm', 'limited', 'open')))
        self.wait_ready(engine, calm=1, limited=1, open=1)
        self.prefer(engine.status('calm')['replicas'][0]['pid'])
        alone, limited, unlimited, cores = [], [], [], []
        for _ in range(ROUNDS):
            alone.append(self.work(engine)[0])
            slowed, used = self.work(engine, during='limited')
            limited.append(slowed)
            cores.append(used)
            unlimited.append(self.work(engine, during='open')[0])
        ratio, without = (statistics.median(times) / statistics.median(alone) for times in (limited, unlimited))
        print(f'\nthe work of one group takes {ratio:.2f} x as long beside one that eats its 0.4 cores '
              f'({statistics.median(cores):.2f} used), {without:.2f} x beside one with more than there are', flush=True)
        self.assertLessEqual(statistics.median(cores), 0.5)
        self.assertLessEqual(ratio, 1.3)
        self.assertLess(ratio, without)


if __name__ == '__main__':
    unittest.main()
