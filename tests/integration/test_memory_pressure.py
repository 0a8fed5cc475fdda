"""Memory pressure on one machine: the start gate, throttling, and what goes first.

The machine is a file: `proc/meminfo` in a folder of the test, which the engine reads. What
replicas hold and the CPU quotas are real.
"""

import os
import pathlib
import subprocess
import threading
import unittest

from clients import Clients
from engine import APP, CPU_QUOTA, SLUICE, EngineCase, limit_of, wait_until
from wire import Deadline

TOTAL_MIB = 1024
DOCUMENT = '''apiVersion: serving.knative.dev/v1
kind: Service
metadata:
  name: {name}
spec:
  template:
    metadata:
      annotations:
        autoscaling.knative.dev/initial-scale: "{initial}"
        autoscaling.knative.dev/min-scale: "{initial}"
    spec:
      containers:
        - command: ["python3", "{app}"]
'''


# Closes a connection that idles for 1.6 s: longer than it takes until a replica is held.
HASTY = '''
import asyncio, os

async def serve(reader, writer):
    loop = asyncio.get_running_loop()
    while True:
        timer = loop.call_later(1.6, writer.close)
        head = await reader.readuntil(b'\\r\\n\\r\\n')
        timer.cancel()
        length = [line for line in head.lower().split(b'\\r\\n') if line.startswith(b'content-length:')]
        if length:
            await reader.readexactly(int(length[0].split(b':')[1]))
        writer.write(b'HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\n\\r\\nok')
        await writer.drain()

async def main():
    server = await asyncio.start_server(serve, '127.0.0.1', int(os.environ['PORT']))
    await server.serve_forever()

asyncio.run(main())
'''


class Machine:
    """A machine of 1 GiB whose free memory the test decides."""

    def __init__(self, home, available):
        self.folder = home.path / 'machine'
        (self.folder / 'proc').mkdir(parents=True)
        self.file = self.folder / 'proc' / 'meminfo'
        self.file.touch()
        self.available(available)
        home.environment['SLUICE_MEMORY_SOURCE'] = f'files:{self.folder}'

    def available(self, mebibytes):
        """Written in place and in one piece: the engine keeps the file open."""
        lines = (f'MemTotal: {TOTAL_MIB * 1024:12} kB\nMemAvailable: {mebibytes * 1024:12} kB\n'
                 f'SwapTotal: {0:12} kB\nSwapFree: {0:12} kB\n')
        fd = os.open(self.file, os.O_WRONLY)
        os.pwrite(fd, lines.encode(), 0)
        os.close(fd)


def state_of(pid):
    """`S`, `T` …; empty once it is gone."""
    try:
        return pathlib.Path(f'/proc/{pid}/stat').read_text(encoding='utf-8').rpartition(')')[2].split()[0].strip('Z')
    except OSError:
        return ''


class MemoryPressure(EngineCase):
    def machine(self, available=900):
        return Machine(self.home, available)

    def metric(self, engine, name):
        answer = engine.get('/_sluice/metrics', host='localhost')
        for line in answer.body.decode().splitlines():
            if line.split('{')[0].split(' ')[0] == name:
                return float(line.rsplit(' ', 1)[1])
        self.fail(f'no metric {name}')

    def fill(self, machine, engine):
        """Leaves 10 MiB, and waits until the engine has seen it."""
        machine.available(10)
        wait_until(lambda: self.metric(engine, 'sluice_memory_pressure') > 0, 30, 'pressure')

    def test_a_replica_that_does_not_fit_is_not_started_until_memory_comes_back(self):
        machine = self.machine(available=200)
        engine = self.up_app('--memory', '256Mi', '--min', '2', '--max', '4')
        status = engine.wait_status(lambda s: s['ready'] == 1 and 'no memory' in s['why'])
        self.assertEqual((status['desired'], status['granted']), (2, 1))
        self.assertRegex(status['why'], r'no memory: \d+ MiB free, needs 256 MiB$')
        said = engine.wait_event('decision', bound_by='capacity')
        self.assertEqual((said['bounded'], said['granted']), (2, 1))
        explained = self.home.run('explain', 'app').stdout
        self.assertIn('2 replicas wanted, 1 granted', explained)
        self.assertIn('needs 256 MiB', explained)
        self.assertEqual(engine.get('/?id=one').status, 200)
        self.assertGreater(self.metric(engine, 'sluice_starts_refused_total'), 0)

        machine.available(900)
        status = engine.wait_status(lambda s: s['ready'] == 2)
        self.assertEqual(status['granted'], 2)
        self.assertNotIn('no memory', status['why'])
        self.assertEqual(engine.stop(), 0)

    def test_a_replica_that_no_room_will_ever_do_for_is_named_everywhere_and_refused_at_once(self):
        self.machine()
        engine = self.up_app('--min', '1')
        engine.wait_status(lambda status: status['ready'] == 1)
        sentence = 'it needs 99999Gi of memory, and this machine has 1.0Gi'
        done = self.home.run('up', '-d', '--name', 'vast', '--memory', '99999Gi', '--min', '1', '--', 'python3', APP)
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn(f'service vast is not ready: {sentence}; lower its memory limit', done.stderr)
        for verb in (('get',), ('top',), ('explain', 'vast')):
            self.assertIn(sentence, self.home.run(*verb).stdout)
        answer = engine.get(host='vast.localhost')
        self.assertEqual((answer.status, answer.body.decode()), (503, f'{sentence}\n'))
        document = DOCUMENT.format(name='huge', initial=1, app=APP).rstrip() + (
            '\n          resources: {limits: {memory: 99999Gi}}\n')
        done = self.home.run('apply', '--wait', '-f', self.write('huge.yaml', document))
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn(f'service huge is not ready: {sentence}', done.stderr)

    def test_a_service_beyond_the_replicas_of_the_engine_is_refused_with_that(self):
        self.machine()
        config = self.write('config.yaml', 'max-replicas: 1\n')
        engine = self.up_app('--config', config, '--min', '1')
        engine.wait_status(lambda status: status['ready'] == 1)
        self.assertEqual(self.home.run('apply', '-f', self.write('d.yaml', DOCUMENT.format(
            name='d', initial=0, app=APP))).returncode, 0)
        answer = engine.get(host='d.localhost')
        sentence = 'max-replicas 1 reached'
        self.assertEqual((answer.status, answer.body.decode()), (503, f'{sentence}\n'))
        done = self.home.run('wake', 'd', '--timeout', '1s')
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn(sentence, done.stderr)
        for verb in (('get',), ('top',), ('explain', 'd')):
            self.assertIn(sentence, self.home.run(*verb).stdout)
        self.assertEqual(self.home.run('scale', 'app', '--min', '3').stdout,
                         'service app: bounds 3..8 until a changed spec is applied\n')
        engine.wait_status(lambda status: status['desired'] == 3 and status['not_ready'])
        for verb in ('get', 'explain'):
            self.assertIn(f'app-00001 has fewer replicas than it wants: {sentence}', self.home.run(verb, 'app').stdout)

    def test_the_first_replica_starts_on_a_full_machine(self):
        self.machine(available=3)
        engine = self.up_app()
        self.assertEqual(engine.get('/?id=one').status, 200)
        self.assertEqual(engine.stop(), 0)

    def two_services(self):
        text = '---\n'.join(DOCUMENT.format(name=name, initial=initial, app=APP)
                            for name, initial in (('busy', 1), ('idle', 0)))
        engine = self.up('-f', self.write('all.yaml', text))
        engine.wait_status(lambda status: status['ready'] == 1, service='busy')
        return engine

    def test_a_sleeping_service_on_a_full_machine_refuses_with_the_cause(self):
        machine = self.machine()
        engine = self.two_services()
        self.fill(machine, engine)
        deadline = Deadline(30)
        answer = engine.get('/?id=one', host='idle.localhost', timeout=40)
        self.assertFalse(deadline.passed())
        self.assertEqual(answer.status, 503)
        self.assertIn('cannot-scale', answer.headers['sluice-error'])
        self.assertIn('reason=node-pressure', answer.headers['sluice-error'])
        self.assertIn(b'no memory: ', answer.body)
        self.assertGreaterEqual(int(answer.headers['retry-after']), 1)
        self.assertEqual(engine.get('/?id=two', host='busy.localhost').status, 200)

        machine.available(900)
        wait_until(lambda: engine.get('/', host='idle.localhost', timeout=40).status == 200, 30,
                   'served again')
        self.assertEqual(engine.stop(), 0)

    def test_a_request_that_waits_for_memory_is_served_when_it_comes(self):
        machine = self.machine()
        engine = self.two_services()
        self.fill(machine, engine)
        answers = []
        client = threading.Thread(target=lambda: answers.append(
            engine.get('/?id=one', host='idle.localhost', timeout=40)))
        client.start()
        engine.wait_status(lambda status: 'no memory' in status['why'], service='idle')
        machine.available(900)
        client.join(40)
        self.assertEqual([answer.status for answer in answers], [200])
        self.assertEqual(engine.stop(), 0)

    def test_a_throttled_replica_gets_no_new_requests_and_its_cpu_back_exactly(self):
        machine = self.machine()
        writable = self.can_limit('cpu')
        engine = self.up_app('--min', '2', '--max', '2')
        engine.wait_status(lambda status: status['ready'] == 2)
        clients = Clients(engine, 4, 50)  # or both would be held
        machine.available(70)
        if not writable:
            warning = engine.wait_event('warning')
            clients.stop()
            self.assertIn('no writable cgroup', warning['message'])
            return
        status = engine.wait_status(lambda s: any(each['throttled'] for each in s['replicas']))
        slow, = [each for each in status['replicas'] if each['throttled']]
        self.assertEqual(status['ready'], 1)
        said = engine.wait_event('replica', throttled=True)
        self.assertEqual(said['id'], slow['id'])
        self.assertIn('usage', said['why'])
        self.assertIn('(throttled)', self.home.run('get', '-o', 'wide').stdout)
        self.assertEqual(limit_of(slow['pid'], *CPU_QUOTA), '10003')
        served = {engine.get(f'/?id={n}').body.split()[1] for n in range(40)}
        self.assertNotIn(str(slow['pid']).encode(), served)
        refused = [each for each in engine.events if each['type'] == 'warning']
        self.assertEqual(refused, [])

        machine.available(900)
        engine.wait_status(lambda s: s['ready'] == 2)
        clients.stop()
        self.assertEqual(clients.lost, {})
        self.assertIn(limit_of(slow['pid'], *CPU_QUOTA), ('-1', 'max'))
        self.assertEqual(engine.stop(), 0)

    def held(self, engine):
        """Both replicas of an engine of two, once they are held."""
        status = engine.wait_status(lambda s: [each.get('held') for each in s['replicas']] == [True, True])
        return status['replicas']

    def test_replicas_without_requests_are_held_and_run_on_before_their_next_request(self):
        machine = self.machine()
        engine = self.up_app('--min', '2', '--max', '2')
        engine.wait_status(lambda status: status['ready'] == 2)
        machine.available(70)
        replicas = self.held(engine)
        self.assertEqual({state_of(each['pid']) for each in replicas}, {'T'})
        self.assertIn('(held)', self.home.run('get', '-o', 'wide').stdout)
        self.assertEqual(self.metric(engine, 'sluice_holds_total'), 2)

        served = engine.get('/?id=one')
        self.assertEqual(served.status, 200)
        pid = int(served.body.split()[1])
        self.assertNotEqual(state_of(pid), 'T')
        self.assertEqual(engine.get('/?id=two').status, 200)
        self.held(engine)  # again, when no more requests come

        machine.available(900)
        engine.wait_status(lambda s: not any(each.get('held') for each in s['replicas']))
        self.assertEqual(engine.stop(), 0)

    def test_the_request_after_a_hold_finds_no_connection_that_the_app_closes_meanwhile(self):
        machine = self.machine(available=70)
        engine = self.up('--min', '1', '--max', '1', '--name', 'app', '--', 'python3', self.write('app.py', HASTY))
        engine.wait_status(lambda status: status['ready'] == 1)
        for number in range(10):
            answered = Deadline(2)
            self.assertEqual(engine.get('/', method='POST', body=b'x' * 10).status, 200, number)
            engine.wait_status(lambda s: bool(s['replicas'][0].get('held')))
            wait_until(answered.passed, 5, 'the app would have closed the connection')
        machine.available(900)
        self.assertEqual(engine.stop(), 0)

    def two_held(self):
        machine = self.machine()
        engine = self.up_app('--min', '2', '--max', '2')
        engine.wait_status(lambda status: status['ready'] == 2)
        machine.available(70)
        return engine, [each['pid'] for each in self.held(engine)]

    def test_held_replicas_end_in_peace_with_their_engine(self):
        engine, pids = self.two_held()
        begun = Deadline(8)  # of 10 s from SIGTERM to SIGKILL
        self.assertEqual(engine.stop(), 0)
        self.assertFalse(begun.passed())
        self.assertEqual([state_of(pid) for pid in pids], ['', ''])

    def test_held_replicas_end_with_an_engine_that_is_killed(self):
        engine, pids = self.two_held()
        engine.kill()
        wait_until(lambda: not any(state_of(pid) for pid in pids), 20, 'they are gone')

    def test_a_service_that_opted_out_is_not_held(self):
        machine = self.machine()
        text = '---\n'.join(DOCUMENT.format(name=name, initial=1, app=APP) for name in ('works', 'waits'))
        text = text.replace(
            '      annotations:\n', '      annotations:\n        sluice.dev/throttle: never\n', 1)
        engine = self.up('-f', self.write('all.yaml', text))
        for name in ('works', 'waits'):
            engine.wait_status(lambda status: status['ready'] == 1, service=name)
        machine.available(70)
        engine.wait_status(lambda s: s['replicas'][0].get('held'), service='waits')
        status = engine.wait_status(lambda s: s['ready'] == 1, service='works')
        self.assertNotIn('held', status['replicas'][0])
        self.assertEqual(engine.stop(), 0)

    def test_replicas_without_load_go_first(self):
        machine = self.machine()
        text = DOCUMENT.format(name='app', initial=0, app=APP).replace(
            'min-scale: "0"', 'min-scale: "0"\n        autoscaling.knative.dev/window: "6s"\n'
            '        autoscaling.knative.dev/scale-down-delay: "10m"\n'
            '        autoscaling.knative.dev/target: "1"\n'
            '        autoscaling.knative.dev/max-scale: "4"')
        engine = self.up('-f', self.write('app.yaml', text))
        clients = Clients(engine, 4, 50)
        engine.wait_status(lambda status: status['ready'] >= 3)
        clients.stop()
        held = engine.wait_status(lambda status: status['stable'] < 0.5)
        self.assertGreaterEqual(held['ready'], 3, 'kept by the delay')

        machine.available(70)
        status = engine.wait_status(lambda s: s['ready'] + s['draining'] <= 1)
        self.assertGreaterEqual(status['desired'], 3)
        self.assertLess(status['granted'], status['desired'])
        self.assertIn('memory is short', status['why'])
        self.assertEqual(clients.lost, {})
        self.assertEqual(engine.stop(), 0)

    def test_without_a_cgroup_it_warns_once_and_continues(self):
        machine = self.machine(available=200)
        wrapper = ()
        if os.getuid() == 0:
            wrapper = ('setpriv', '--reuid=65534', '--regid=65534', '--clear-groups')
            subprocess.run(['chown', '-R', '65534:65534', str(self.home.path)], check=True)
        doctor = subprocess.run([*wrapper, SLUICE, 'doctor'], env=self.home.environment,
                                capture_output=True, text=True, timeout=30)
        if 'no writable cgroup' not in doctor.stdout:
            return  # this user was given one
        engine = self.up_app('--min', '2', '--max', '2', wrapper=wrapper)
        engine.wait_status(lambda status: status['ready'] == 2)
        for available in (20, 900, 20):
            machine.available(available)
            wait_until(lambda: (self.metric(engine, 'sluice_memory_pressure') > 0)
                       == (available < 100), 30, 'the pressure that goes with it')
        engine.mark()
        warnings = [each for each in engine.events if each['type'] == 'warning']
        self.assertEqual(len(warnings), 1, warnings)
        self.assertIn('no writable cgroup', warnings[0]['message'])
        self.assertIn('systemd-run', warnings[0]['fix'])
        self.assertEqual(engine.get('/?id=one').status, 200)
        self.assertEqual(engine.stop(), 0)

    def test_a_source_that_is_not_there_ends_the_start(self):
        self.home.environment['SLUICE_MEMORY_SOURCE'] = 'files:/nowhere'
        self.assert_refuses(78, 'SLUICE_MEMORY_SOURCE=files:/nowhere', 'proc/meminfo',
                            arguments=['up', '--demo', '--http', '127.0.0.1:0'])


if __name__ == '__main__':
    unittest.main()
