"""The life of a container under `sluice up --image`."""

import contextlib
import os
import pathlib
import signal
import unittest

from images.case import FIRST, START_SECONDS, Images
from wire import eventually


class Life(Images):
    def test_its_port_environment_limits_and_arguments_are_those_asked_for(self):
        engine = self.up_image('/bin/sh', '-c', 'FROM_ARGUMENT=$0; export FROM_ARGUMENT; exec httpd -f -p $PORT -h /www',
                               '$K_SERVICE-$PORT', flags=('--port', '9000', '--max', '3', '--env', 'TOKEN=hunter2 "x"',
                                                          '--env', 'LINES=a\nb', '--cpu', '0.5', '--memory', '64Mi'))
        shown = self.ask(engine, '/cgi-bin/env')
        for line in ('PORT=9000', 'K_SERVICE=app', 'K_REVISION=app-00001', 'TOKEN=hunter2 "x"', 'LINES=a\nb',
                     'FROM_ARGUMENT=app-9000', 'FROM_IMAGE=kept'):
            self.assertIn(line + '\n', shown)
        self.assertNotIn(self.home.environment['XDG_STATE_HOME'], shown)
        limits = self.podman.inspected(FIRST)['HostConfig']
        self.assertEqual((limits['Memory'], limits['NanoCpus']), (64 << 20, 500_000_000))
        replica = engine.wait_event('replica', state='ready')
        words = pathlib.Path(f'/proc/{replica["pid"]}/cmdline').read_text()
        self.assertIn(f'127.0.0.1:{replica["port"]}:9000', words)
        self.assertNotIn('hunter2', words)
        # Not that of the runtime, which is much more than a shell's.
        engine.wait_status(lambda status: any(0 < each['memory_bytes'] < 8 << 20 for each in status['replicas']))

    def test_a_program_that_ignores_the_signal_is_killed_after_its_grace(self):
        document = self.document({'image': 'localhost/web:1', 'args': [
            '/bin/sh', '-c', 'trap "echo asked to end" TERM; httpd -p $PORT -h /www; while :; do sleep 1; done']})
        document['spec']['template']['metadata']['annotations']['sluice.dev/stop-grace'] = '2s'
        engine = self.up_documents(document)
        self.ask(engine)
        self.sleeps(engine)
        self.assertIn('asked to end', self.printed('logs', 'app'))

    def test_a_second_up_adds_an_image_to_the_engine_that_runs(self):
        engine = self.up_image()
        added = self.home.run('up', '-d', '--image', 'localhost/web:1')
        self.assertEqual(added.returncode, 0, added.stderr)
        self.assertIn('http://web.localhost', added.stdout)
        self.assertEqual(engine.get(host='web.localhost', timeout=START_SECONDS).body, b'hello from a container\n')

    def test_a_changed_image_rolls_over(self):
        self.podman.run('tag', 'localhost/web:1', 'localhost/web:2')
        engine = self.up_documents(self.document({'image': 'localhost/web:1'}))
        self.ask(engine)
        self.write('app.yaml', pathlib.Path(self.home.path / 'app.yaml').read_text().replace('web:1', 'web:2'))
        engine.wait_status(lambda status: status['revision'] == 'app-00002' and status['draining'] == 0)
        self.ask(engine)
        eventually(lambda: self.podman.names() == ['sluice-app-app-00002-1'], 'the first container is removed')


class Ends(Images):
    def kill(self, engine, *others):
        for pid in (*others, engine.pid):
            os.kill(pid, signal.SIGKILL)
        engine.process.wait(START_SECONDS)

    def guards(self):
        """The processes that wait for the end of this engine."""
        found = []
        for path in pathlib.Path('/proc').glob('[0-9]*/cmdline'):
            with contextlib.suppress(OSError):  # it has ended
                if f'\0container-guard\0{self.home.path}/'.encode() in path.read_bytes():
                    found.append(int(path.parent.name))
        return found

    def test_containers_end_with_an_engine_that_is_killed(self):
        engine = self.shell('trap "" TERM; httpd -p $PORT -h /www; while :; do sleep 1; done', flags=('--min', '2'))
        engine.wait_status(lambda status: status['ready'] == 2)
        self.assertEqual(len(self.guards()), 1)
        self.kill(engine)
        eventually(lambda: not self.podman.names(), 'all containers are removed')
        eventually(lambda: not self.guards(), 'nothing waits any more')

    def test_an_engine_started_at_once_after_a_sigkill_serves_with_containers_of_its_own(self):
        engine = self.up_image()
        self.ask(engine)
        self.kill(engine)
        again = self.up_image()
        self.assertEqual(self.podman.names(), [])
        self.assertEqual(self.ask(again), 'hello from a container\n')
        self.assertEqual(self.podman.names(), [FIRST])
        self.assertEqual(again.stop(), 0)
        eventually(lambda: not self.guards(), 'nothing waits any more')

    def test_what_a_sigkill_of_all_processes_leaves_is_removed_at_the_next_start(self):
        engine = self.up_image()
        self.ask(engine)
        self.kill(engine, *self.guards())
        self.assertEqual(self.podman.names(), [FIRST])
        again = self.up_image()
        self.assertEqual(self.podman.names(), [])
        again.wait_event('warning', message=f'removed container {FIRST}, left behind by an engine that crashed')

    def test_a_second_signal_leaves_nothing(self):
        engine = self.shell('trap "" TERM; httpd -p $PORT -h /www; while :; do sleep 1; done')
        self.ask(engine)
        engine.process.send_signal(signal.SIGINT)
        engine.wait_event('engine', event='stopping')
        engine.process.send_signal(signal.SIGINT)
        self.assertEqual(engine.process.wait(START_SECONDS), 128 + signal.SIGINT)
        self.assertEqual(self.podman.names(), [])

    def test_a_stop_while_containers_are_made_leaves_nothing(self):
        for replicas in ('1', '2', '4'):
            engine = self.up_image(flags=('--min', replicas))
            engine.wait_event('replica', state='starting')
            self.assertEqual(engine.stop(), 0)
            self.assertEqual(self.podman.names(), [])

    def test_a_container_that_ends_is_replaced(self):
        engine = self.up_image(flags=('--min', '1'))
        self.ask(engine)
        mark = engine.mark()
        self.podman.run('kill', FIRST)
        self.assertIn('killed by signal 9', engine.wait_event('replica', after=mark, state='exited')['why'])
        engine.wait_event('replica', after=mark, state='ready')
        self.ask(engine)


if __name__ == '__main__':
    unittest.main()
