"""A second `sluice up` adds to the engine that runs; --engine starts another one."""

import json
import os
import shutil
import signal
import subprocess
import unittest

from engine import APP, BIN, SLUICE, EngineCase, wait_until
from test_resume import service


class Session:
    """A further `sluice up -o json`; its lines are read one by one."""

    def __init__(self, case, *arguments, environment=None):
        self.process = subprocess.Popen(
            [SLUICE, 'up', '-o', 'json', *arguments], env={**case.home.environment, **(environment or {})},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=case.home.path, text=True)
        case.addCleanup(self.close)

    def joined(self):
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.stderr.read())
        event = json.loads(line)
        if event.get('event') != 'joined':
            raise AssertionError(event)
        return event

    def names(self):
        return [service['name'] for service in self.joined()['services']]

    def end(self, number=signal.SIGINT):
        """The exit status, the rest of the output and the errors."""
        self.process.send_signal(number)
        out, errors = self.process.communicate(timeout=30)
        return self.process.returncode, out, errors

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate(timeout=30)


class Sessions(EngineCase):
    def services(self):
        return sorted(service['name'] for service in json.loads(self.home.run('get', '-o', 'json').stdout))

    def test_a_second_command_is_a_service_of_the_same_front_door(self):
        engine = self.up_app()

        session = Session(self, '--', 'python3', APP)
        joined = session.joined()

        self.assertEqual((joined['engine'], joined['http'], joined['pid']), ('app', engine.http, engine.pid))
        self.assertEqual([each['name'] for each in joined['services']], ['python3'])
        self.assertEqual(engine.get('/?id=second', host='python3.localhost').body.split()[0], b'second')
        self.assertEqual(engine.get('/?id=first').status, 200)

    def test_names_are_counted_on_and_never_replaced(self):
        self.up_app()
        for expected in ('python3', 'python3-2', 'python3-3'):
            self.assertEqual(Session(self, '--', 'python3', APP).names(), [expected])
        self.assertEqual(Session(self, '--name', 'shop', '--', 'python3', APP).names(), ['shop'])
        self.assert_refuses(1, 'service shop is in engine app already', '--name',
                            arguments=['up', '--name', 'shop', '--', 'python3', APP])

    def test_a_service_called_app_is_free_in_an_engine_of_another_name(self):
        self.up_app('--name', 'shop')
        self.assertEqual(Session(self, '--', 'python3', APP).names(), ['app'])

    def test_an_interrupt_ends_the_service_and_leaves_the_engine(self):
        engine = self.up_app()
        session = Session(self, '--', 'python3', APP)
        session.joined()
        self.assertEqual(engine.get(host='python3.localhost').status, 200)

        code, out, _ = session.end()

        self.assertEqual(code, 0)
        self.assertIn('service python3 removed; engine app keeps running', out)
        self.assertEqual(self.services(), ['app'])
        self.assertEqual(engine.get(host='python3.localhost').status, 404)
        self.assertEqual(engine.get().status, 200)

    def test_a_killed_session_takes_its_service_along(self):
        self.up_app()
        session = Session(self, '--', 'python3', APP)
        session.joined()
        session.process.kill()
        wait_until(lambda: self.services() == ['app'], 10, 'the service of a killed session went')

    def test_a_session_ends_with_its_engine_and_with_its_service(self):
        engine = self.up_app()
        removed = Session(self, '--name', 'one', '--', 'python3', APP)
        left = Session(self, '--name', 'two', '--', 'python3', APP)
        self.assertEqual((removed.names(), left.names()), (['one'], ['two']))

        self.assertEqual(self.home.run('delete', 'one').returncode, 0)
        self.assertEqual(removed.process.wait(30), 0)
        self.assertEqual(engine.stop(), 0)
        _, errors = left.process.communicate(timeout=30)
        self.assertEqual(left.process.returncode, 0, errors)
        self.assertIn('engine app has ended, and service two with it', errors)

    def test_a_detached_command_stays(self):
        engine = self.up_app()
        done = self.home.run('up', '-d', '--', 'python3', APP)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('http://python3.localhost:', done.stdout)
        self.assertIn('added to engine app', done.stdout)
        self.assertEqual(engine.get(host='python3.localhost').status, 200)

    def test_a_command_runs_with_the_environment_of_its_own_terminal(self):
        engine = self.up_app()
        journal = self.home.path / 'journal'
        session = Session(self, '--', 'python3', APP, environment={'JOURNAL': str(journal)})
        session.joined()
        engine.get('/?id=mine', host='python3.localhost')
        self.assertIn('start mine', journal.read_text())
        self.assertNotIn('JOURNAL', self.home.run('get', 'python3', '-o', 'yaml').stdout)

    def test_a_missing_program_is_78_and_adds_nothing(self):
        self.up_app()
        self.assert_refuses(78, 'command not found: pyhton3', arguments=['up', '--', 'pyhton3'])
        self.assertEqual(self.services(), ['app'])

    def test_files_are_watched_for_as_long_as_their_session(self):
        engine = self.up_app()
        path = self.write('shop.yaml', service('shop'))
        session = Session(self, '-f', path)
        self.assertEqual(session.names(), ['shop'])
        self.assert_refuses(1, 'watches', path, arguments=['up', '-f', path])

        self.write('shop.yaml', service('shop') + '---\n' + service('cart'))
        wait_until(lambda: self.services() == ['app', 'cart', 'shop'], 10, 'a changed file was read')
        self.assertEqual(engine.get(host='cart.localhost').status, 200)

        self.assertEqual(session.end()[0], 0)
        wait_until(lambda: self.services() == ['app'], 10, 'the services of the file went')

    def test_a_bad_file_is_named_and_changes_nothing(self):
        self.up_app()
        path = self.write('bad.yaml', service('shop') + '---\nkind: Nothing\n')
        self.assert_refuses(78, 'bad.yaml', arguments=['up', '-f', path])
        path = self.write('app.yaml', service('other') + '---\n' + service('app'))
        self.assert_refuses(78, 'service app', 'runs from a command already', arguments=['up', '-f', path])
        self.assertEqual(self.services(), ['app'])


class Choice(EngineCase):
    def test_another_engine_is_started_by_its_name(self):
        self.up_app()
        other = self.up('--engine', 'other', '--', 'python3', APP)
        self.assertEqual(other.get().status, 200)
        table = self.home.run('get').stdout.splitlines()
        self.assertEqual(table[0].split()[:2], ['ENGINE', 'NAME'])
        self.assertEqual([row.split()[:2] for row in table[1:]], [['app', 'app'], ['other', 'app']])
        self.assertEqual(self.home.run('top').stdout.split()[:2], ['ENGINE', 'SERVICE'])
        self.assertEqual(self.home.run('get', '--engine', 'other').stdout.split()[0], 'NAME')
        self.assert_refuses(2, 'several engines', '--engine', arguments=['explain', 'app'])
        self.assert_refuses(2, 'several engines', '--engine', arguments=['down'])
        self.assert_refuses(2, 'several engines', '--engine', arguments=['up', '--name', 'x', '--', 'python3', APP])
        self.assertEqual(self.home.run('wake', 'app', '--engine', 'other', timeout=60).returncode, 0)
        self.assertEqual(Session(self, '--engine', 'other', '--', 'python3', APP).names(), ['python3'])
        self.assertEqual(self.home.run('down', '--engine', 'other').returncode, 0)

    def test_shells_complete_services_where_services_belong_and_engines_where_engines_do(self):
        self.up('--engine', 'house', '--name', 'shop', '--', 'python3', APP)
        shells = {'bash': 'source <(sluice completion bash); COMP_WORDS=({}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); '
                          '_sluice; printf "%s\\n" "${{COMPREPLY[@]}}"',
                  'fish': "sluice completion fish | source; complete -C '{}'"}
        expected = {'sluice explain ""': 'shop', 'sluice get --engine ""': 'house',
                    'sluice load -o ""': 'text json', 'sluice load --arrivals ""': 'uniform poisson',
                    'sluice install --profile ""': 'small standard ha'}
        environment = {**self.home.environment, 'PATH': f'{BIN}:{os.environ["PATH"]}'}
        for shell, script in shells.items():
            if shutil.which(shell) is None:
                continue
            for line, words in expected.items():
                line = line if shell == 'bash' else line.replace('""', '')
                done = subprocess.run([shell, '-c', script.format(line)], env=environment, capture_output=True,
                                      text=True, timeout=30)
                offered = sorted(each.split('\t')[0] for each in done.stdout.splitlines())
                self.assertEqual(offered, sorted(words.split()), (shell, line, done.stderr))

    def test_flags_of_a_start_are_refused_beside_an_engine_that_has_others(self):
        engine = self.up_app()
        settings = self.write('config.yaml', 'max-replicas: 7\n')
        for flags in (('--http', '127.0.0.1:1'), ('--config', settings), ('--allow-edit',), ('--log-level', 'debug')):
            self.assert_refuses(2, 'engine app', flags[0], '--engine',
                                arguments=['up', *flags, '--', 'python3', APP])
        session = Session(self, '--http', engine.http, '--', 'python3', APP)
        self.assertEqual(session.names(), ['python3'])

    def test_an_init_system_gets_an_engine_of_its_own(self):
        self.up_app()
        environment = dict(self.home.environment)
        self.addCleanup(self.home.environment.update, environment)
        self.home.environment['NOTIFY_SOCKET'] = str(self.home.path / 'notify')
        other = self.up('--name', 'services', '-f', self.write('shop.yaml', service('shop')))
        self.assertEqual(other.get(host='shop.localhost').status, 200)
        self.assert_refuses(69, 'already running', str(other.pid),
                            arguments=['up', '--name', 'services', '-f', 'shop.yaml'])


if __name__ == '__main__':
    unittest.main()
