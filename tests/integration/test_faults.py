"""Programs that misbehave, replicas and engines that die, a machine that runs out of something."""

import os
import signal
import subprocess
import unittest

from engine import APP, SLUICE, EngineCase, alive, wait_until

LISTEN_ELSEWHERE = ('import socket, sys\nwith socket.create_server(("127.0.0.1", 0)) as s:\n'
                    ' while True: s.accept()\n')
IGNORE_TERM = ('import os, signal, sys\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n'
               'sys.argv = ["app.py"]\nexec(open(os.environ["APP"]).read())\n')
FORK = ('import os, sys\n'
        'if os.fork() == 0:\n'
        ' open(os.environ["CHILD"], "w").write(str(os.getpid()))\n'
        ' os.execvp("sleep", ["sleep", "600"])\n'
        'sys.argv = ["app.py"]\nexec(open(os.environ["APP"]).read())\n')


class Programs(EngineCase):
    def python(self, source, *flags, env=()):
        pairs = [part for pair in (f'APP={APP}', *env) for part in ('--env', pair)]
        return self.up(*flags, *pairs, '--', 'python3', '-c', source)

    def test_a_program_that_exits_at_once_fails_its_requests_with_the_reason(self):
        engine = self.python('import sys; sys.exit("no database")')
        answer = engine.get(timeout=30)
        self.assertEqual(answer.status, 503)
        self.assertTrue(answer.headers['sluice-error'].startswith('start-failed'))
        self.assertGreaterEqual(int(answer.headers['retry-after']), 1)
        exited = engine.wait_event('replica', state='exited')
        self.assertTrue(exited['before_ready'])
        self.assertEqual(exited['exit_code'], 1)
        self.assertIn('no database', exited['stderr_tail'])
        engine.wait_status(lambda status: status['state'] == 'failing')

    def test_a_program_that_never_listens_is_warned_about_and_stops_with_its_engine(self):
        engine = self.up('--', 'sleep', '600')
        with self.assertRaises(TimeoutError):
            engine.get(timeout=11)
        engine.wait_event('warning', 20)
        self.assertEqual(engine.stop(), 0)

    def test_a_program_on_another_port_is_reported_with_that_port(self):
        engine = self.python(LISTEN_ELSEWHERE)
        self.assertEqual(engine.get(timeout=60).status, 503)
        warning = str(engine.wait_event('warning', 20))
        self.assertIn('--port', warning)

    def test_a_program_that_ignores_sigterm_is_killed(self):
        engine = self.python(IGNORE_TERM)
        self.assertEqual(engine.get().status, 200)
        pid = engine.wait_event('replica', state='ready')['pid']
        self.assertEqual(engine.stop(), 0)
        wait_until(lambda: not alive(pid), 5, 'the stubborn program is gone')

    def test_grandchildren_end_with_their_replica(self):
        child = self.home.path / 'child'
        engine = self.python(FORK, env=[f'CHILD={child}'])
        self.assertEqual(engine.get().status, 200)
        wait_until(lambda: child.exists() and child.read_text(), 10, 'the grandchild started')
        grandchild = int(child.read_text())
        self.assertTrue(alive(grandchild))
        self.assertEqual(engine.stop(), 0)
        wait_until(lambda: not alive(grandchild), 10, 'the grandchild is gone')


class KilledProcesses(EngineCase):
    def test_a_killed_replica_is_replaced_at_once(self):
        engine = self.up_app('--min', '1')
        first = engine.wait_event('replica', state='ready')
        mark = engine.mark()
        os.kill(first['pid'], signal.SIGKILL)
        exited = engine.wait_event('replica', after=mark, state='exited')
        self.assertFalse(exited['before_ready'])
        engine.wait_event('replica', after=mark, state='ready')
        self.assertEqual(engine.get().status, 200)

    def test_a_killed_engine_leaves_no_orphan_and_the_next_one_starts(self):
        engine = self.up_app('--min', '2', '--name', 'phoenix')
        status = engine.wait_status(lambda seen: seen['ready'] == 2, service='phoenix')
        pids = [replica['pid'] for replica in status['replicas']]
        engine.process.kill()
        for pid in pids:
            wait_until(lambda pid=pid: not alive(pid), 10, f'replica {pid} died with its engine')
        again = self.up_app('--name', 'phoenix')
        self.assertEqual(again.get(host='phoenix.localhost').status, 200)


class Scarcity(EngineCase):
    def test_sixty_four_open_files_refuse_but_never_hang(self):
        engine = self.up_app(wrapper=('sh', '-c', 'ulimit -Hn 64; ulimit -n 64; exec "$@"', 'sh'))
        answer = engine.get(timeout=30)
        self.assertIsNotNone(answer)
        self.assertEqual(engine.stop(), 0)

    def test_a_full_disk_under_the_state_directory_stops_no_request(self):
        state = self.home.environment['XDG_STATE_HOME']
        full = ['unshare', '-m', 'sh', '-c',
                f'mount -t tmpfs -o size=256k none {state} && '
                f'(head -c 1m /dev/zero > {state}/full || true) && exec "$@"', 'sh']
        # Where mounts are forbidden the same is said by a directory that takes no files.
        allowed = subprocess.run([*full, 'true'], capture_output=True, check=False).returncode == 0
        if not allowed:
            os.rmdir(state)
            os.symlink('/dev/full', state)
            done = self.home.run('up', '--http', '127.0.0.1:0', '--', 'sleep', '60', timeout=30)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(state, done.stderr)
            return
        command = [*full, SLUICE, 'up', '--http', '127.0.0.1:0', '-o', 'json', '--', 'sleep', '60']
        with self.subTest('an engine either starts or names the directory'):
            process = subprocess.Popen(command, env=self.home.environment, text=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.addCleanup(process.kill)
            first = process.stdout.readline()
            if '"ready"' not in first:
                self.assertIn(state, process.communicate(timeout=20)[1])
            else:
                process.terminate()
                process.communicate(timeout=40)


if __name__ == '__main__':
    unittest.main()
