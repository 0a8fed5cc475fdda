"""Who may talk to the engine through its front door, tried from outside: as the engine's own user, as
a page in a browser, by other names and with the token of the start."""

import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import unittest

from engine import APP, SLUICE, EngineCase, wait_until
from wire import Deadline, Reader, connect, request_bytes

API = '/_sluice/api/v1'
ONE = f'{API}/services/default/app'
PASSWORD = 'hunter2-3f9c'
FIELDS = {
    'content-security-policy': "default-src 'none'; script-src 'self'; style-src 'self'; "
                               "img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
                               "form-action 'none'; frame-ancestors 'none'; "
                               "require-trusted-types-for 'script'",
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
}
READS = (f'{API}/services', ONE, f'{ONE}/explain', f'{ONE}/history', f'{ONE}/logs', f'{ONE}/spec',
         f'{API}/version', '/_sluice/metrics', '/_sluice/livez')
SPLIT = b'{"percents":[{"revision":"@latest","percent":100}]}'
CHANGES = (('POST', f'{ONE}/wake', b''), ('POST', f'{ONE}/sleep', b''),
           ('POST', f'{ONE}/scale', b'{"max":3}'), ('POST', f'{ONE}/traffic', SPLIT), ('PUT', f'{API}/services', b'kind: Service'),
           ('DELETE', ONE, b''), ('POST', f'{API}/shutdown', b''), ('POST', f'{API}/nothing', b''))
SERVICE = '''apiVersion: serving.knative.dev/v1
kind: Service
metadata: {{name: {name}}}
spec:
  template:
    spec:
      containers:
        - command: ["python3", "{app}"]
'''

# Answers with the fields it saw.
ECHO = '''
import os
from http.server import BaseHTTPRequestHandler, HTTPServer
class Echo(BaseHTTPRequestHandler):
    def do_GET(self):
        body = bytes(self.headers)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words):
        pass
HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Echo).serve_forever()
'''


def port_of(engine):
    return engine.http.rsplit(':', 1)[1]


def token_file(home):
    return pathlib.Path(home.environment['XDG_RUNTIME_DIR'], 'sluice/app/edit-token')


def token_in(engine):
    return token_file(engine.home).read_text().split()[-1]


def problem(answer):
    return answer.status, answer.json()['type']


class DoorCase(EngineCase):
    def ask(self, engine, path, host='localhost', **options):
        return engine.get(path, host=host, **options)

    def edit(self, engine, method, path, body, *headers, host='localhost'):
        return self.ask(engine, path, host=f'{host}:{port_of(engine)}', method=method, body=body,
                        headers=headers)

    def edit_by_page(self, engine, method, path, body, *headers):
        """As the dashboard sends it from the engine's own host."""
        page = (('Origin', f'http://sluice.localhost:{port_of(engine)}'), ('Sec-Fetch-Site', 'same-origin'))
        return self.edit(engine, method, path, body, *headers, *page, host='sluice.localhost')

    def assert_fields(self, answer, what):
        for name, value in FIELDS.items():
            self.assertEqual(answer.headers.get(name), value, f'{what}: {name}')

    def events(self, engine, enough):
        """What a stream of all events sends until `enough(text)`."""
        with connect(engine.http) as sock:
            sock.sendall(request_bytes('GET', f'{API}/events', 'localhost',
                                       [('Last-Event-ID', '0')]))
            text = b''
            deadline = Deadline(20)
            while not enough(text) and not deadline.passed():
                text += sock.recv(65536)
        return text


class Names(DoorCase):
    def test_the_loopback_is_answered_by_its_names_and_by_no_other(self):
        engine = self.up_app()
        port = port_of(engine)
        for host in ('localhost', f'LOCALHOST:{port}', 'localhost.', '127.0.0.1', f'127.8.9.1:{port}',
                     '[::1]', f'[::ffff:127.0.0.1]:{port}', 'sluice.localhost',
                     f'Sluice.Localhost:{port}'):
            self.assertEqual(self.ask(engine, '/_sluice/metrics', host).status, 200, host)
        for host in ('attacker.example', f'192.0.2.7:{port}', '0.0.0.0', '[::2]', '127.0.0.1.nip.example',
                     'other.localhost', 'a.sluice.localhost'):
            answer = self.ask(engine, '/_sluice/metrics', host)
            self.assertEqual(problem(answer), (403, 'host-not-allowed'), host)
            self.assertIn('dashboard: {hosts:', answer.json()['fix'])
            self.assert_fields(answer, host)

    def test_the_authority_of_an_absolute_target_is_the_host(self):
        engine = self.up_app()
        for target, host, status in (('attacker.example', 'localhost', 403), ('localhost', 'attacker.example', 200)):
            with connect(engine.http) as sock:
                sock.sendall(f'GET http://{target}/_sluice/metrics HTTP/1.1\r\nHost: {host}\r\n\r\n'.encode())
                self.assertEqual(Reader(sock).answer().status, status, target)

    def test_a_request_without_a_host_is_refused(self):
        engine = self.up_app()
        with connect(engine.http) as sock:
            sock.sendall(b'GET /_sluice/metrics HTTP/1.0\r\n\r\n')
            self.assertEqual(Reader(sock).answer().status, 403)

    def test_below_a_services_own_host_the_path_is_the_services(self):
        engine = self.up_app()
        answer = engine.get('/_sluice/api/v1/services?id=mine')
        self.assertEqual(answer.status, 200)
        self.assertTrue(answer.body.startswith(b'mine '), answer.body)
        for name in FIELDS:
            self.assertNotIn(name, answer.headers)
        missing = engine.get('/_sluice/metrics', host='app.localhost', method='BREW')
        self.assertNotIn('content-security-policy', missing.headers)
        unknown = engine.get('/', host='unknown.example')
        self.assertEqual(unknown.status, 404)
        self.assertNotIn('content-security-policy', unknown.headers)

    def test_the_engines_own_host_reaches_no_service(self):
        engine = self.up_app()
        self.assertTrue(engine.get('/?id=only', host='localhost').body.startswith(b'only '))
        for path in ('/index.html', '/_sluicex', '/service'):
            answer = engine.get(path, host='sluice.localhost')
            self.assertEqual(problem(answer), (404, 'no-such-path'))
            self.assert_fields(answer, path)

    def test_no_service_has_the_engines_name(self):
        engine = self.up_app()
        self.assert_refuses(2, 'sluice.localhost', '--name',
                            arguments=['up', '--name', 'sluice', '--demo'])
        document = SERVICE.format(name='sluice', app=APP)
        path = self.write('sluice.yaml', document)
        for place in (['--engine', 'other', '--http', '127.0.0.1:0'], []):
            self.assert_refuses(78, 'sluice.yaml:3', "the engine's own host",
                                arguments=['up', *place, '-f', path])
        applied = self.home.run('apply', '-f', path)
        self.assertNotEqual(applied.returncode, 0)
        self.assertIn("the engine's own host", applied.stderr)
        self.assertEqual(engine.get().status, 200)

    def test_a_state_that_holds_such_a_service_is_reported_with_the_file(self):
        specs = pathlib.Path(self.home.environment['XDG_STATE_HOME'], 'sluice', 'shop', 'specs')
        specs.mkdir(parents=True)
        specs.joinpath('sluice.yaml').write_text(SERVICE.format(name='sluice', app=APP))
        path = self.write('shop.yaml', SERVICE.format(name='shop', app=APP))
        self.addCleanup(self.home.run, 'down')
        done = self.assert_refuses(0, f'warning: {specs / "sluice.yaml"}:3', 'give the service another name',
                                   arguments=['up', '-d', '--http', '127.0.0.1:0', '-f', path])
        self.assertNotIn('service    http://sluice.localhost', done.stdout)


class Fields(DoorCase):
    def test_every_answer_carries_them(self):
        engine = self.up_app('--allow-edit')
        token = ('Sluice-Edit', token_in(engine))
        for path in READS:
            answer = self.ask(engine, path)
            self.assertEqual(answer.status, 200, path)
            self.assert_fields(answer, path)
        self.assert_fields(self.ask(engine, '/_sluice/metrics', method='HEAD'), 'HEAD')
        for status, method, path, body in (
                (404, 'GET', f'{API}/nothing', b''),
                (404, 'GET', f'{API}/services/default/other', b''),
                (405, 'POST', '/_sluice/metrics', b''), (403, 'DELETE', ONE, b''),
                (422, 'POST', f'{ONE}/scale', b'['), (414, 'GET', f'{API}/{"x" * 5000}', b'')):
            answer = self.edit(engine, method, path, body, token)
            self.assertEqual(answer.status, status, path)
            self.assert_fields(answer, f'{status} {path}')
        with connect(engine.http) as sock:
            head = request_bytes('POST', f'{ONE}/scale', 'localhost',
                                 [token, ('Content-Length', str(5 << 20))])
            sock.sendall(head)
            answer = Reader(sock).answer()
        self.assertEqual(answer.status, 413)
        self.assert_fields(answer, '413')
        large = self.ask(engine, '/_sluice/metrics', headers=[('X-Large', 'x' * 20_000)])
        self.assertEqual(large.status, 431)
        self.assert_fields(large, '431')

    def test_an_error_of_the_way_to_the_api_carries_them_too(self):
        engine = self.up_app()
        runtime = pathlib.Path(self.home.environment['XDG_RUNTIME_DIR'], 'sluice', 'app')
        runtime.joinpath('own.sock').unlink()
        answer = self.ask(engine, '/_sluice/metrics')
        self.assertEqual(answer.status, 502)
        self.assert_fields(answer, '502')

    def test_a_stream_carries_them(self):
        engine = self.up_app()
        with connect(engine.http) as sock:
            sock.sendall(request_bytes('GET', f'{API}/events', 'localhost'))
            status, headers = Reader(sock).head()
        self.assertEqual(status, 200)
        for name, value in FIELDS.items():
            self.assertEqual(headers.get(name), value, name)

    def test_a_request_that_is_refused_unread_carries_them(self):
        engine = self.up_app()
        host = b'Host: localhost\r\n'
        line = b'GET /_sluice/metrics HTTP/1.1\r\n'
        for status, head in (
                (400, line + b'\r\n'),
                (400, line + host + host + b'\r\n'),
                (400, b'GET /_sluice/metrics#a HTTP/1.1\r\n' + host + b'\r\n'),
                (400, b'GET /_sluice/a b HTTP/1.1\r\n' + host + b'\r\n'),
                (400, b'GET /_sluice/metrics HTTP/9.1\r\n' + host + b'\r\n'),
                (400, b'G@T /_sluice/metrics HTTP/1.1\r\n' + host + b'\r\n'),
                (400, b'GET http://user@localhost/_sluice/metrics HTTP/1.1\r\n' + host + b'\r\n'),
                (400, line + host + b'no colon\r\n\r\n'),
                (400, line + host + b'Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n'),
                (400, line + host + b'Transfer-Encoding: gzip\r\n\r\n'),
                (431, line + host + b'X-Large: ' + b'x' * 70_000),
                (431, line + host + b'X: y\r\n' * 1001),
                (413, line + host + b'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n'
                      b'HTTP2-Settings: AAMAAABk\r\nContent-Length: 70000\r\n\r\n' + b'x' * 70_000)):
            with connect(engine.http) as sock:
                sock.sendall(head)
                answer = Reader(sock).answer()
            self.assertEqual(answer.status, status, head[:99])
            self.assert_fields(answer, head[:99])

    def test_one_of_which_no_path_was_read_carries_none(self):
        engine = self.up_app()
        for head in (b'/_sluice/metrics\r\n\r\n', b'GET / HTTP/1.1\r\n\r\n',
                     b'GET /other?/_sluice/ HTTP/1.1\r\n\r\n', b'GET /_sluicex HTTP/1.1\r\n\r\n'):
            with connect(engine.http) as sock:
                sock.sendall(head)
                answer = Reader(sock).answer()
            self.assertEqual(answer.status, 400, head)
            self.assertNotIn('content-security-policy', answer.headers, head)

    def test_one_request_does_not_affect_the_next_of_its_connection(self):
        engine = self.up_app()
        with connect(engine.http) as sock:
            reader = Reader(sock)
            sock.sendall(b'GET /_sluice/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n')
            self.assertEqual(reader.answer().status, 200)
            sock.sendall(b'GET / HTTP/1.1\r\n\r\n')
            answer = reader.answer()
        self.assertEqual(answer.status, 400)
        self.assertNotIn('content-security-policy', answer.headers)

    def test_an_answered_probe_carries_them(self):
        engine = self.up_app()
        for name, value in (('K-Network-Probe', 'activator'), ('K-Network-Probe', 'wrong'),
                            ('User-Agent', 'kube-probe/1.30')):
            answer = self.ask(engine, '/_sluice/metrics', headers=[(name, value)])
            self.assert_fields(answer, f'{answer.status} {value}')


class Values(DoorCase):
    def test_no_value_of_the_environment_leaves_by_http(self):
        engine = self.up_app('--allow-edit', env=[f'DB_PASSWORD={PASSWORD}'])
        self.assertEqual(engine.get(host='app.localhost').status, 200)
        engine.wait_event('cold_start')
        answers = b''.join(self.ask(engine, path).body for path in READS)
        answers += self.events(engine, lambda text: b'event: cold_start' in text)
        self.assertIn(b'DB_PASSWORD', answers)
        self.assertNotIn(PASSWORD.encode(), answers)
        self.assertIn(PASSWORD, self.home.run('get', 'app', '-o', 'yaml').stdout)

    def test_the_engines_user_reads_its_logs_and_callers_through_the_door(self):
        engine = self.up_app()
        self.assertEqual(engine.get('/?id=seen').status, 200)
        explained = self.ask(engine, f'{ONE}/explain').json()
        self.assertEqual([entry['request'] for entry in explained['keeps_awake']], ['GET /'])
        self.assertEqual(self.ask(engine, f'{ONE}/logs').status, 200)
        self.assertIn(b'kind: Service', self.ask(engine, f'{ONE}/spec').body)


class Edits(DoorCase):
    def assert_untouched(self, engine):
        status = engine.status()
        self.assertEqual((status['state'], status['revision'], status['desired']),
                         ('asleep', 'app-00001', 0))
        self.assertIsNone(engine.process.poll())

    def test_nothing_changes_without_allow_edit(self):
        engine = self.up_app()
        self.assertFalse(token_file(engine.home).exists())
        for method, path, body in CHANGES:
            answer = self.edit(engine, method, path, body, ('Sluice-Edit', '1'))
            self.assertEqual(problem(answer), (403, 'read-only'), path)
            self.assertIn('--allow-edit', answer.json()['fix'])
            self.assert_fields(answer, path)
        self.assert_untouched(engine)

    def test_a_page_of_the_only_service_changes_nothing(self):
        """One origin with the engine at localhost, and it may set any header but not read the token."""
        engine = self.up_app('--allow-edit')
        origin = ('Origin', f'http://localhost:{port_of(engine)}')
        site = ('Sec-Fetch-Site', 'same-origin')
        for method, path, body in CHANGES:
            for token in ((), (('Sluice-Edit', '1'),), (('Sluice-Edit', token_in(engine)),)):
                answer = self.edit(engine, method, path, body, origin, site, *token)
                self.assertEqual(problem(answer), (403, 'page-elsewhere'), path)
        self.assert_untouched(engine)

    def test_a_page_of_another_site_changes_nothing_even_with_the_token(self):
        engine = self.up_app('--allow-edit')
        token = ('Sluice-Edit', token_in(engine))
        port = port_of(engine)
        for headers in ((('Origin', f'http://app.localhost:{port}'),), (('Origin', 'null'),),
                        (('Origin', 'http://attacker.example'),), (('Sec-Fetch-Site', 'cross-site'),),
                        (('Sec-Fetch-Site', 'same-site'),)):
            answer = self.edit(engine, 'POST', f'{ONE}/wake', b'', token, *headers)
            self.assertEqual(problem(answer), (403, 'other-site'), headers)
        self.assert_untouched(engine)

    def test_a_header_that_is_sent_twice_is_refused(self):
        engine = self.up_app('--allow-edit')
        token = ('Sluice-Edit', token_in(engine))
        own = ('Origin', f'http://localhost:{port_of(engine)}')
        site = ('Sec-Fetch-Site', 'same-origin')
        for headers in ((token, token), (token, ('sluice-edit', '0' * 32)),
                        (token, own, ('origin', 'http://attacker.example')), (token, own, own),
                        (token, site, ('SEC-FETCH-SITE', 'cross-site'))):
            answer = self.edit(engine, 'POST', f'{ONE}/wake', b'', *headers)
            self.assertEqual(problem(answer), (400, 'repeated-header'), headers)
            self.assert_fields(answer, headers)
        self.assert_untouched(engine)
        self.assertEqual(self.edit_by_page(engine, 'POST', f'{ONE}/wake', b'', token).status, 202)

    def test_no_application_sees_the_token(self):
        engine = self.up('--name', 'app', '--allow-edit', '--', 'python3', self.write('echo.py', ECHO))
        token = [('Sluice-Edit', token_in(engine)), ('X-Kept', 'kept')]
        for answer in (engine.get('/', host='app.localhost', headers=token),
                       engine.get('/', host='localhost', headers=token),
                       engine.get('/_sluice/', host='app.localhost', headers=token)):
            self.assertEqual(answer.status, 200)
            self.assertIn(b'kept', answer.body.lower())
            self.assertNotIn(token[0][1].encode(), answer.body)
            self.assertNotIn(b'sluice-edit', answer.body.lower())

    def test_the_token_wakes_sleeps_scales_and_divides_traffic_and_nothing_else(self):
        engine = self.up_app('--allow-edit')
        token = ('Sluice-Edit', token_in(engine))
        for method, path, body in CHANGES:
            if method in ('PUT', 'DELETE') or path.endswith('shutdown'):
                answer = self.edit(engine, method, path, body, token)
                self.assertEqual(problem(answer), (403, 'socket-only'), path)
        self.assert_untouched(engine)
        for path, body in ((f'{ONE}/traffic?write=1', SPLIT), (f'{ONE}/traffic', b'{"tags":[{"revision":"app-00001","tag":"old"}]}')):
            self.assertEqual(problem(self.edit(engine, 'POST', path, body, token)), (403, 'socket-only'), path)
        self.assertEqual(self.edit(engine, 'POST', f'{ONE}/traffic', SPLIT, token).status, 200)
        self.assertEqual(self.edit(engine, 'POST', f'{ONE}/scale', b'{"max":3}', token).status, 202)
        self.assertEqual(self.edit_by_page(engine, 'POST', f'{ONE}/wake', b'', token).status, 202)
        engine.wait_event('replica', state='ready')
        self.assertEqual(self.edit(engine, 'POST', f'{ONE}/sleep', b'', token).status, 202)
        engine.wait_event('replica', state='stopped')

    def test_the_token_is_another_at_each_start_and_goes_with_the_engine(self):
        engine = self.up_app('--allow-edit')
        place = token_file(engine.home)
        first = place.read_text()
        self.assertRegex(first, r'\ASluice-Edit: [0-9a-f]{32}\n\Z')
        self.assertEqual(place.stat().st_mode & 0o777, 0o600)
        self.assertEqual(engine.stop(), 0)
        self.assertFalse(place.exists())
        self.assertNotIn(token_in(self.up_app('--allow-edit')), first)

    def test_the_token_is_in_no_log_event_or_output(self):
        engine = self.up_app('--allow-edit', '--log-level', 'debug')
        token = token_in(engine)
        self.edit(engine, 'POST', f'{ONE}/wake', b'', ('Sluice-Edit', token))
        engine.wait_event('replica', state='ready')
        engine.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: 'app-00001' in engine.log_text(), 10, 'the state in the log')
        told = self.events(engine, lambda text: b'"ready"' in text).decode()
        told += ''.join(self.ask(engine, path).body.decode() for path in READS)
        told += engine.log_text() + str(engine.events)
        self.assertNotIn(token, told)

    def test_a_detached_engine_names_the_tokens_file_and_its_log_has_no_token(self):
        done = self.home.run('up', '-d', '--allow-edit', '--http', '127.0.0.1:0', '--demo')
        self.addCleanup(self.home.run, 'down')
        self.assertEqual(done.returncode, 0, done.stderr)
        url = re.search(r"curl -X POST -H '@(.+)' (http://\S+)", done.stdout)
        token = pathlib.Path(url.group(1)).read_text().split()[-1]
        log = pathlib.Path(self.home.environment['XDG_STATE_HOME'], 'sluice/app/engine.log')
        self.assertIn('edit ', log.read_text())
        self.assertNotIn(token, log.read_text() + done.stdout)

    def test_a_person_is_shown_how_to_send_the_token_and_not_the_token(self):
        screen, terminal = pty.openpty()
        with open(screen, 'rb', buffering=0) as shown:
            engine = subprocess.Popen([SLUICE, 'up', '--allow-edit', '--http', '127.0.0.1:0', '--demo'],
                                      env={**self.home.environment, 'TERM': 'dumb'}, stdin=terminal,
                                      stdout=terminal, stderr=terminal, cwd=self.home.path)
            os.close(terminal)
            self.addCleanup(engine.kill)
            text = b''
            while b'ready in' not in text:
                text += shown.read(4096)
            place = token_file(self.home)
            self.assertNotIn(place.read_text().split()[-1].encode(), text)
            line = re.search(rb'edit +(curl -X POST .*)', text).group(1).decode().strip()
            self.assertIn(f"-H '@{place}'", line)
            done = subprocess.run(['sh', '-c', f'{line} -sS'], capture_output=True, timeout=20,
                                  check=True)
            self.assertEqual(json.loads(done.stdout)['name'], 'app')
            engine.send_signal(signal.SIGTERM)
            self.assertEqual(engine.wait(30), 0)


class Opened(DoorCase):
    def config(self, text):
        return ('--config', self.write('config.yaml', text))

    def test_an_admitted_host_requires_the_token_from_every_client(self):
        engine = self.up_app(*self.config('dashboard: {hosts: [box.example]}\n'))
        token = ('Sluice-Edit', token_in(engine))
        for host in ('localhost', 'box.example:80', 'sluice.localhost'):
            for path in READS:
                self.assertEqual(problem(self.ask(engine, path, host)), (403, 'token-required'), path)
                self.assertEqual(self.ask(engine, path, host, headers=[token]).status, 200, path)
        self.assertEqual(self.ask(engine, '/_sluice/metrics', 'else.example').status, 403)
        wake = self.ask(engine, f'{ONE}/wake', 'box.example', method='POST', headers=[token])
        self.assertEqual(problem(wake), (403, 'read-only'))

    def test_a_browser_gets_the_page_without_the_token_and_nothing_else(self):
        engine = self.up_app('--allow-edit', *self.config('dashboard: {hosts: [box.example, 192.0.2.7]}\n'))
        for host in ('localhost', 'box.example:80', 'sluice.localhost', '192.0.2.7'):
            for path in ('/_sluice/', '/_sluice/app.js', '/_sluice/style.css'):
                answer = self.ask(engine, path, host)
                self.assertEqual(answer.status, 200, f'{host} {path}')
                self.assert_fields(answer, path)
                self.assertEqual(self.ask(engine, path, host, method='POST').status, 403)
            for path in ('/_sluice/app.jsx', '/_sluice/api/v1/overview', '/_sluice/x/app.js', '/_sluice/../_sluice/metrics'):
                self.assertEqual(problem(self.ask(engine, path, host)), (403, 'token-required'), f'{host} {path}')
        for host in ('box.example', 'sluice.localhost'):
            way = self.ask(engine, '/', host)
            self.assertEqual((way.status, way.headers['location']), (308, '/_sluice/'), host)
        # The only service has each address of the machine, and the engine a name alone.
        self.assertTrue(self.ask(engine, '/?id=only', '192.0.2.7').body.startswith(b'only '))

    def test_a_page_at_an_admitted_name_changes_something_with_the_token(self):
        engine = self.up_app('--allow-edit', *self.config('dashboard: {hosts: [box.example, 192.0.2.7]}\n'))
        token = ('Sluice-Edit', token_in(engine))
        for host, result in (('192.0.2.7', 403), ('box.example', 202)):
            page = (('Origin', f'http://{host}:{port_of(engine)}'), ('Sec-Fetch-Site', 'same-origin'))
            self.assertEqual(self.edit(engine, 'POST', f'{ONE}/wake', b'', *page, host=host).status, 403)
            self.assertEqual(self.edit(engine, 'POST', f'{ONE}/wake', b'', token, *page, host=host).status, result)

    def test_a_service_keeps_an_admitted_host(self):
        text = SERVICE.format(name='shop', app=APP).replace(
            '{name: shop}', '{name: shop, annotations: {sluice.dev/hosts: box.example}}')
        engine = self.up('-f', self.write('shop.yaml', text),
                         *self.config('dashboard: {hosts: [box.example]}\n'))
        for path in ('/_sluice/metrics?id=mine', '/_sluice/?id=mine', '/?id=mine'):
            answer = engine.get(path, host='box.example')
            self.assertTrue(answer.body.startswith(b'mine '), answer.body)

    def test_a_wrong_setting_is_78(self):
        path = self.write('config.yaml', 'dashboard: {peers: all}\n')
        self.assert_refuses(78, 'peers', 'loopback, any',
                            arguments=['up', '--config', path, '--http', '127.0.0.1:0', '--demo'])


if __name__ == '__main__':
    unittest.main()
