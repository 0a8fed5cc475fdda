"""Other users of the machine, and other machines, at the front door: real processes of another user,
and real connections from another address than the loopback's."""

import json
import os
import socket
import sys
import traceback
import unittest

from test_dashboard_verb import ClusterCase
from test_doors import API, CHANGES, ONE, PASSWORD, READS, DoorCase, port_of, problem, token_file, token_in
from wire import Answer, fetch

# ctest reports SKIPPED where it reads this.
NOBODY_ELSE = 'no second user or address on this machine'
OTHER_USER = 65533
OWN_ONLY = (f'{ONE}/logs', f'{ONE}/logs?follow=1', f'{ONE}/spec',
            '/_sluice//api/v1/services//default/%61pp/spec')


def other_address():
    """An IPv4 address of this machine that is not on the loopback, or None."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect(('192.0.2.1', 9))  # sends nothing
        except OSError:
            return None
        address = sock.getsockname()[0]
    return None if address.startswith('127.') else address


def as_other_user(ask):
    """What `ask()` returns in a process of another user; JSON must be able to hold it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            os.setgroups([])
            os.setgid(OTHER_USER)
            os.setuid(OTHER_USER)
            os.write(writing, json.dumps(ask()).encode())
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    os.close(writing)
    with open(reading, 'rb') as pipe:
        told = pipe.read()
    if os.waitpid(child, 0)[1] != 0:
        raise AssertionError('the process of the other user failed')
    return json.loads(told)


def fetch_as_other(address, path, host='localhost', **options):
    def ask():
        answer = fetch(address, path, host=host, **options)
        return [answer.status, answer.headers, answer.body.decode('latin-1')]

    status, headers, body = as_other_user(ask)
    return Answer(status, headers, body.encode('latin-1'), True)


class OtherUsers(DoorCase):
    def test_they_see_what_runs_without_its_output_settings_or_callers(self):
        engine = self.up_app(env=[f'DB_PASSWORD={PASSWORD}'])
        self.assertEqual(engine.get('/?id=seen').status, 200)
        engine.wait_event('cold_start')
        for path in READS:
            if path not in OWN_ONLY:
                answer = fetch_as_other(engine.http, path)
                self.assertEqual(answer.status, 200, path)
                self.assertNotIn(PASSWORD.encode(), answer.body)
        for path in OWN_ONLY:
            answer = fetch_as_other(engine.http, path)
            self.assertEqual(problem(answer), (403, 'own-user-only'), path)
            self.assert_fields(answer, path)
        explained = fetch_as_other(engine.http, f'{ONE}/explain').json()
        self.assertNotIn('keeps_awake', explained)
        self.assertNotIn('last_failure', explained)
        self.assertIn('keeps_awake', self.ask(engine, f'{ONE}/explain').json())

    def test_their_stream_of_events_has_no_line_of_a_replica(self):
        engine = self.up('--', 'sh', '-c', f'echo {PASSWORD}; echo {PASSWORD} >&2; exit 3')
        self.assertEqual(engine.get().status, 503)
        told = as_other_user(lambda: self.events(
            engine, lambda text: b'"exited"' in text).decode())
        self.assertIn('"exit_code":3', told)
        self.assertNotIn(PASSWORD, told)
        own = self.events(engine, lambda text: b'"exited"' in text).decode()
        self.assertIn(PASSWORD, own)

    def test_they_do_not_see_which_file_did_not_start(self):
        program = self.home.path / f'{PASSWORD}-program'
        program.write_text('#!/no/such/interpreter\n')
        program.chmod(0o755)
        engine = self.up('--name', 'app', '--', str(program))
        self.assertEqual(engine.get().status, 503)
        for path in (f'{API}/services', ONE):
            self.assertIn(str(program), self.ask(engine, path).body.decode())
            told = fetch_as_other(engine.http, path).body.decode()
            self.assertIn('replicas fail to start', told)
            self.assertNotIn(PASSWORD, told)
        told = as_other_user(lambda: self.events(
            engine, lambda text: b'"failing":true' in text and b'"exited"' in text).decode())
        self.assertNotIn(PASSWORD, told)

    def test_they_are_distinguished_on_every_family(self):
        engine = self.up_app(http='[::]:0')
        for host in ('127.0.0.1', '127.0.0.9', '::1', '::ffff:127.0.0.1'):
            address = f'{host}:{port_of(engine)}'
            self.assertEqual(fetch(address, f'{ONE}/spec', host='localhost').status, 200, host)
            self.assertEqual(fetch_as_other(address, f'{ONE}/spec').status, 403, host)

    def test_they_change_nothing_and_cannot_read_the_token(self):
        engine = self.up_app('--allow-edit')
        place = str(token_file(engine.home))
        for method, path, body in CHANGES:
            answer = fetch_as_other(engine.http, path, method=method, body=body)
            self.assertEqual(problem(answer), (403, 'token-required'), path)

        def read():
            try:
                with open(place, encoding='utf-8') as file:
                    return file.read()
            except PermissionError:
                return 'refused'

        self.assertEqual(as_other_user(read), 'refused')


class ClustersOfOthers(ClusterCase):
    def test_a_page_with_the_rights_of_one_user_is_for_no_other(self):
        served = self.cluster()
        for path in ('/', '/api/v1/overview'):
            self.assertEqual(problem(fetch_as_other(served.address, path, host=served.address)),
                             (403, 'own-user-only'), path)
            self.assertEqual(served.get(path).status, 200, path)


class OtherMachines(DoorCase):
    def test_they_reach_services_only(self):
        engine = self.up_app('--allow-edit', http='0.0.0.0:0')
        address = f'{other_address()}:{port_of(engine)}'
        token = ('Sluice-Edit', token_in(engine))
        self.assertEqual(fetch(address, '/?id=served', host='app.localhost').status, 200)
        self.assertEqual(fetch(address, '/?id=served', host=address).status, 200)
        for host in (address, 'localhost', '127.0.0.1', 'sluice.localhost', 'other.example'):
            for path in READS:
                answer = fetch(address, path, host=host)
                self.assertEqual(problem(answer), (404, 'no-such-path'), f'{host} {path}')
                self.assert_fields(answer, path)
            for method, path, body in CHANGES:
                answer = fetch(address, path, host=host, method=method, body=body, headers=[token])
                self.assertEqual(problem(answer), (404, 'no-such-path'), f'{host} {method} {path}')
        self.assertEqual(fetch(f'127.0.0.1:{port_of(engine)}', '/_sluice/metrics',
                               host='localhost').status, 200)

    def test_admitted_by_the_settings_they_show_the_token_and_have_no_proof(self):
        config = self.write('config.yaml', 'dashboard: {peers: any, hosts: [box.example]}\n')
        engine = self.up_app('--config', config, '--allow-edit', http='0.0.0.0:0')
        address = f'{other_address()}:{port_of(engine)}'
        token = [('Sluice-Edit', token_in(engine))]

        def status(path, host='box.example', headers=(), **options):
            return fetch(address, path, host=host, headers=list(headers), **options).status

        self.assertEqual(status(f'{API}/services'), 403)
        self.assertEqual(status('/_sluice/'), 200)
        self.assertEqual(status('/_sluice/', host='localhost.example'), 403)
        self.assertEqual(status(f'{API}/services', headers=token), 200)
        self.assertEqual(status(f'{API}/services', host=address, headers=token), 403)
        self.assertEqual(status(f'{ONE}/logs', headers=token), 403)
        self.assertEqual(status(f'{ONE}/spec', headers=token), 403)
        self.assertEqual(status(f'{ONE}/wake', headers=token, method='POST'), 202)
        self.assertEqual(status(ONE, headers=token, method='DELETE'), 403)


def load_tests(loader, tests, pattern):
    if os.geteuid() == 0 and other_address() is not None:
        return tests
    print(f'{NOBODY_ELSE}: this needs root, and an interface beside the loopback')
    sys.stdout.flush()
    return unittest.TestSuite()
