"""What people and clients get wrong: each ends in a message that names the thing and the fix."""

import socket
import unittest

from engine import EngineCase
from wire import Reader, connect

SERVICE = '''apiVersion: serving.knative.dev/v1
kind: Service
metadata:
  name: {name}
spec:
  template:
    spec:
      {key}: {value}
      containers:
        - command: ["python3", "-m", "http.server", "$(PORT)"]
'''


def service(name='shop', key='containerConcurrency', value='20'):
    return SERVICE.format(name=name, key=key, value=value)


class CommandLine(EngineCase):
    def up_refuses(self, code, *words, arguments, **options):
        start = ['up', '--http', '127.0.0.1:0']
        return self.assert_refuses(code, *words, arguments=[*start, *arguments], **options)

    def test_an_unknown_flag_is_2_and_is_named(self):
        self.up_refuses(2, '--windoww', arguments=['--windoww', '5s', '--', 'true'])

    def test_nothing_to_start_is_2_with_the_three_forms(self):
        self.up_refuses(2, '-f', '--demo', arguments=[])

    def test_a_missing_program_is_78_with_the_fix(self):
        self.up_refuses(78, 'command not found: pyhton3', 'PATH', arguments=['--', 'pyhton3'])

    def test_a_taken_port_is_1_and_is_named(self):
        with socket.create_server(('127.0.0.1', 0)) as taken:
            address = f'127.0.0.1:{taken.getsockname()[1]}'
            self.assert_refuses(1, address,
                                arguments=['up', '--http', address, '--', 'sleep', '60'])

    def test_a_front_door_without_an_ip_address_is_2_with_the_form_that_is_taken(self):
        done = self.home.run('up', '--http', 'nope:80', '--', 'sleep', '60')
        self.assertEqual(done.returncode, 2)
        self.assertIn('--http: nope:80 is not HOST:PORT', done.stderr)
        self.assertIn('such as 127.0.0.1:8080', done.stderr)

    def test_of_a_certificate_and_its_key_the_one_that_is_missing_is_named(self):
        there = self.write('a.crt', '')
        self.up_refuses(78, 'no such file: /none', arguments=['--tls', '/none', there, '--', 'sleep', '60'])
        self.up_refuses(78, 'no such file: /none', arguments=['--tls', there, '/none', '--', 'sleep', '60'])

    def test_two_dashes_without_a_command_are_2(self):
        self.up_refuses(2, '-- COMMAND', arguments=['--engine', 'one', '--name', 'two', '--'])

    def test_a_second_front_door_of_one_engine_is_2_naming_both_and_the_flag(self):
        engine = self.up_app('--name', 'twin')
        self.up_refuses(2, engine.http, '127.0.0.1:0', '--engine NAME',
                        arguments=['--name', 'twin', '--', 'sleep', '60'])


class Files(EngineCase):
    def file_refuses(self, text, *words):
        path = self.write('shop.yaml', text)
        done = self.home.run('up', '--http', '127.0.0.1:0', '-f', path)
        self.assertEqual(done.returncode, 78, done.stderr)
        for word in ('shop.yaml', *words):
            self.assertIn(word, done.stderr)

    def test_a_typo_is_named_with_a_suggestion(self):
        self.file_refuses(service(key='containerConcurency'), 'containerConcurency',
                          'containerConcurrency')

    def test_a_wrong_type_names_the_key(self):
        self.file_refuses(service(value='many'), 'containerConcurrency')

    def test_two_documents_of_one_name_are_refused(self):
        self.file_refuses(service() + '---\n' + service(), 'shop')

    def test_a_nul_byte_is_refused(self):
        self.file_refuses(service().replace('20', '2\0'))

    def test_fifty_mebibytes_are_refused(self):
        self.file_refuses('# ' + 'x' * (50 << 20) + '\n' + service())

    def test_a_missing_file_is_78_and_is_named(self):
        self.assert_refuses(78, 'nowhere.yaml', arguments=['up', '-f', 'nowhere.yaml'])

    def test_a_detached_start_prints_the_warnings_of_its_file(self):
        text = service().replace('template:', 'template:\n    metadata: {annotations: {' +
                                 'autoscaling.knative.dev/max-scael: "3"}}')
        path = self.write('shop.yaml', text)
        done = self.home.run('up', '-d', '--http', '127.0.0.1:0', '-f', path)
        self.addCleanup(self.home.run, 'down')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('http://shop.localhost', done.stdout)
        for word in ('warning: ', 'max-scael', 'max-scale'):
            self.assertIn(word, done.stderr)

    def test_standard_input_is_named_as_that(self):
        for verb in (['up', '--http', '127.0.0.1:0'], ['apply']):
            if verb == ['apply']:
                self.up('-f', self.write('shop.yaml', service()))
            self.assert_refuses(78, 'standard input:', 'containerConcurrency', arguments=[*verb, '-f', '-'],
                                stdin=service(value='many'))

    def test_a_bad_apply_changes_nothing(self):
        engine = self.up('-f', self.write('shop.yaml', service()))
        done = self.home.run('apply', '-f', self.write('bad.yaml', service(value='many')))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('containerConcurrency', done.stderr)
        self.assertEqual(engine.get(host='shop.localhost').status, 200)

    def test_of_a_file_that_is_sent_in_parts_nothing_changes_when_one_service_is_wrong(self):
        self.up('-f', self.write('shop.yaml', service()))
        many = [service(name=f's{number:03}') for number in range(60)]
        for name, wrong in (('value', service(name='bad', value='many')), ('name', many[0])):
            with self.subTest(wrong=name):
                file = self.write('many.yaml', '---\n'.join(many + [wrong]))
                done = self.home.run('apply', '-f', file)
                self.assertEqual((done.returncode, done.stdout), (78, ''), done.stderr)
                self.assertIn(f'{file}:', done.stderr)
        self.assertIn('two services are named `s000`', done.stderr)
        self.assertNotIn('s000', self.home.run('get').stdout)

    def test_a_document_without_a_name_and_one_that_is_no_yaml_have_their_line(self):
        self.up('-f', self.write('shop.yaml', service()))
        for text, line in ((service().replace('metadata:\n  name: shop\n', ''), 1),
                           ('apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n', 1),
                           ('a: b\nc: [\n', 3)):
            with self.subTest(text=text):
                file = self.write('wrong.yaml', text)
                done = self.home.run('apply', '-f', file)
                self.assertEqual(done.returncode, 78)
                self.assertIn(f'{file}:{line}: ', done.stderr)


class Clients(EngineCase):
    def test_malformed_requests_are_400_and_the_engine_keeps_running(self):
        engine = self.up_app()
        for request in (b'GET\r\n\r\n', b'\0\1\2\3\r\n\r\n', b'GET / HTTP/9.9\r\n\r\n',
                        b'GET / HTTP/1.1\r\nHost: app.localhost\r\nContent-Length: x\r\n\r\n'):
            with self.subTest(request=request), connect(engine.http) as sock:
                sock.sendall(request)
                answer = Reader(sock).answer()
                self.assertTrue(answer is None or answer.status in (400, 404, 505))
        self.assertEqual(engine.get().status, 200)

    def test_half_a_request_delays_no_other(self):
        engine = self.up_app()
        with connect(engine.http) as half:
            half.sendall(b'GET / HTTP/1.1\r\nHost: app.loc')
            self.assertEqual(engine.get().status, 200)
            self.assertEqual(engine.stop(), 0)

    def test_a_client_that_leaves_while_held_leaves_no_trace(self):
        engine = self.up_app()
        leaver = connect(engine.http)
        leaver.sendall(b'GET /?id=left HTTP/1.1\r\nHost: app.localhost\r\n\r\n')
        engine.wait_event('replica', state='starting')
        leaver.close()
        self.assertEqual(engine.get('/?id=stayed').status, 200)
        engine.wait_status(lambda status: status['in_flight'] == 0 and status['queued'] == 0)


if __name__ == '__main__':
    unittest.main()
