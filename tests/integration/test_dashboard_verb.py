"""`sluice dashboard`: the link of the engine that runs here, and the page of a cluster read through its API server."""

import json
import pathlib
import socket

from autoscaler.case import Autoscaler, Platform
from dashboard_case import ServedCase
from service_proxy import PREFIX, TOKEN, ServiceProxy
from test_doors import FIELDS, problem
from wire import Reader, connect, eventually, fetch, request_bytes

LIVE = '/api/v1/live?view=fleet'
ENDLESS = (b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Security-Policy: x\r\n'
           b'Transfer-Encoding: chunked\r\n\r\n')
CHUNK = b'8000\r\n' + b'x' * 0x8000 + b'\r\n'
BUFFERED_MOST = 64 << 20  # what the sockets of two connections hold, and no more
NO_CLUSTER = {'SLUICE_KUBECONFIG': '', 'KUBECONFIG': '', 'KUBERNETES_SERVICE_HOST': ''}


class Here(ServedCase):
    def setUp(self):
        super().setUp()
        self.home.environment.update(NO_CLUSTER)

    def test_the_link_of_the_engine_that_runs_is_printed(self):
        engine = self.up_app()
        done = self.home.run('dashboard')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertEqual(done.stdout, f'http://sluice.localhost:{engine.http.rsplit(":", 1)[1]}/\n')
        self.assertEqual(fetch(engine.http, '/', host='sluice.localhost').headers['location'], '/_sluice/')

    def test_an_engine_goes_before_a_cluster_and_a_flag_of_a_cluster_before_it(self):
        self.up_app()
        self.home.environment['KUBECONFIG'] = '/no/such/kubeconfig'
        self.assertEqual(self.home.run('dashboard').returncode, 0)
        for flags in (('--context', 'b'), ('--namespace', 'b'), ('--port', '0'), ('--kubeconfig', '/no/such/kubeconfig')):
            self.assert_refuses(78, 'there is no file /no/such/kubeconfig', arguments=('dashboard', *flags))
        self.assert_refuses(2, '--engine', arguments=('dashboard', '--engine', 'app', '--context', 'b'))

    def test_with_edits_the_file_that_holds_the_token_is_named_and_the_token_is_not(self):
        self.up_app('--allow-edit')
        directory = pathlib.Path(self.home.environment['XDG_RUNTIME_DIR'], 'sluice/app')
        done = self.home.run('dashboard')
        self.assertEqual(done.stdout, f'file://{directory}/dashboard.html\n')
        self.assertIn('it opens http://sluice.localhost:', done.stderr)
        self.assertNotIn((directory / 'edit-token').read_text().split()[-1], done.stdout + done.stderr)

    def test_where_other_hosts_are_answered_the_link_opens_the_page_with_the_token(self):
        self.up_app('--config', self.write('config.yaml', 'dashboard: {peers: any}\n'))
        done = self.home.run('dashboard')
        self.assertTrue(done.stdout.endswith('/sluice/app/dashboard.html\n'), done.stdout)

    def test_open_hands_the_link_to_the_desktop(self):
        self.up_app('--allow-edit')
        programs = self.home.path / 'programs'
        programs.mkdir()
        (programs / 'xdg-open').write_text(f'#!/bin/sh\necho "$@" > {self.home.path}/new\n'
                                           f'mv {self.home.path}/new {self.home.path}/opened\n')
        (programs / 'xdg-open').chmod(0o755)
        path = self.home.environment['PATH']
        self.home.environment['PATH'] = f'{programs}:{path}'
        self.assertEqual(self.home.run('dashboard', '--open').returncode, 0)
        opened = self.home.path / 'opened'
        eventually(opened.exists, 'the link is handed on')
        self.assertRegex(opened.read_text(), r'^file://.*/dashboard\.html\n$')
        self.home.environment['PATH'] = '/nowhere'
        self.assertIn('xdg-open cannot be started', self.home.run('dashboard', '--open').stderr)

    def test_with_neither_an_engine_nor_a_cluster_both_ways_are_named(self):
        self.assert_refuses(69, 'no engine is running; start one: sluice up', 'no Kubernetes API is configured',
                            'SLUICE_KUBECONFIG', arguments=('dashboard',))


class ClusterCase(ServedCase):
    def setUp(self):
        super().setUp()
        self.home.environment.update(NO_CLUSTER)
        self.platform = Platform()
        self.addCleanup(self.platform.close)
        self.platform.revision('app')
        self.autoscaler = Autoscaler(self.platform)
        self.addCleanup(self.autoscaler.close)
        self.api = ServiceProxy(self.home.path, self.autoscaler.addresses['api'])
        self.addCleanup(self.api.close)
        self.config = self.write('kubeconfig', self.api.kubeconfig())

    def cluster(self, *flags):
        return self.served('--kubeconfig', self.config, *flags)


class Read(ClusterCase):
    def test_the_page_and_its_api_are_those_of_the_autoscaler(self):
        served = self.cluster()
        eventually(lambda: self.autoscaler.api('/services/default/app').status == 200, 'the revision is known')
        for path in ('/', '/app.js', '/style.css', '/api/v1/services/default/app/explain', '/api/v1/nodes'):
            through, straight = served.get(path), fetch(self.autoscaler.addresses['api'], path)
            self.assertEqual((through.status, through.body), (200, straight.body), path)
            self.assertEqual({name: through.headers[name] for name in FIELDS}, FIELDS, path)
        self.assertEqual(served.get('/api/v1/overview').json()['form'], 'cluster')
        tag = served.get('/app.js').headers['etag']
        self.assertEqual(served.get('/app.js', headers=[('If-None-Match', tag)]).status, 304)
        self.assertEqual(served.get('/', method='HEAD').body, b'')
        self.assertEqual(served.get('/app.js', headers=[('Accept-Encoding', 'gzip')]).headers['content-encoding'], 'gzip')
        self.assertEqual(problem(served.get('/api/v1/services/default/none')), (404, 'no-such-service'))
        self.assertEqual(served.stop(), 0)

    def test_without_an_engine_the_cluster_of_the_environment_is_meant(self):
        served = self.served(environment={'KUBECONFIG': self.config})
        self.assertEqual(served.get('/api/v1/version').status, 200)

    def test_credentials_are_ours_and_never_those_of_the_browser(self):
        served = self.cluster()
        served.get('/api/v1/version', headers=[
            ('Cookie', 'session=1'), ('Authorization', 'Basic eDp5'), ('Impersonate-User', 'root'),
            ('X-Remote-User', 'root'), ('X-Forwarded-For', '10.0.0.1'), ('Accept', 'application/json')])
        asked = self.api.asked[-1]
        self.assertEqual({name: value for name, value in asked.headers.items() if name != 'user-agent'}, {
            'host': self.api.address, 'authorization': f'Bearer {TOKEN}', 'accept': 'application/json'})
        self.assertEqual(asked.target, PREFIX.format('sluice-system') + '/api/v1/version')

    def test_events_pass_as_they_come_and_the_stream_ends_with_its_reader(self):
        served = self.cluster()
        sock = connect(served.address)
        self.addCleanup(sock.close)
        sock.sendall(request_bytes('GET', LIVE, served.address))
        reader = Reader(sock)
        self.assertEqual(reader.head()[0], 200)
        self.assertIsNotNone(reader.until(b'event: hello'))
        self.assertEqual(self.api.streams(), 1)
        self.platform.revision('shop')
        self.assertIsNotNone(reader.until(b'"shop"'))
        sock.close()
        eventually(lambda: self.api.streams() == 0, 'no reader of the stream is left')

    def test_a_reader_that_is_slow_holds_up_the_stream_and_fills_no_memory(self):
        served = self.cluster()
        sent = []
        full = []

        def endless(sock, _asked):
            sock.sendall(ENDLESS)
            sock.settimeout(1)
            try:
                while sum(sent) < BUFFERED_MOST:
                    sock.sendall(CHUNK)
                    sent.append(len(CHUNK))
            except TimeoutError:
                full.append(True)

        self.api.play = endless
        with connect(served.address) as sock:
            sock.sendall(request_bytes('GET', LIVE, served.address))
            self.assertEqual(Reader(sock).head()[0], 200)
            eventually(lambda: full or sum(sent) >= BUFFERED_MOST, 'the way is full')
        self.assertTrue(full, f'{sum(sent)} bytes were taken for a client that reads nothing')

    def test_a_part_of_an_answer_is_never_a_whole_one(self):
        served = self.cluster()
        self.api.play = lambda sock, asked: sock.sendall(ENDLESS + CHUNK)
        answer = served.get(LIVE)
        self.assertFalse(answer is not None and answer.whole)


class Refused(ClusterCase):
    def test_a_request_that_does_not_read_at_a_loopback_name_never_reaches_the_api_server(self):
        served = self.cluster()
        before = len(self.api.asked)
        refused = [
            ({'host': 'evil.example'}, (403, 'host-not-allowed')),
            ({'host': 'app.localhost'}, (403, 'host-not-allowed')),
            ({'method': 'POST', 'path': '/api/v1/services/default/app/wake'}, (403, 'read-only')),
            ({'method': 'PUT', 'path': '/api/v1/services'}, (403, 'read-only')),
            ({'method': 'DELETE', 'path': '/api/v1/services/default/app'}, (403, 'read-only')),
            ({'path': '/api/v1/overview', 'body': b'{}'}, (400, 'not-plain')),
            ({'headers': [('Connection', 'Upgrade'), ('Upgrade', 'websocket')]}, (400, 'not-plain')),
            ({'path': '/../../secrets'}, (404, 'no-such-path')),
            ({'path': '/api/v1/%2e%2e/%2e%2e/secrets'}, (404, 'no-such-path')),
            ({'path': '/api/v1/..%2f..%2fsecrets'}, (404, 'no-such-path')),
            ({'path': '/apis/apps/v1/deployments'}, (404, 'no-such-path')),
        ]
        for options, wanted in refused:
            answer = served.get(**{'path': '/', **options})
            self.assertEqual(problem(answer), wanted, options)
            self.assertEqual({name: answer.headers[name] for name in FIELDS}, FIELDS, options)
        self.assertEqual(len(self.api.asked), before)

    def test_a_refusal_of_the_api_server_becomes_a_problem_that_names_the_fix(self):
        served = self.cluster()
        for status, wanted, word in ((401, (502, 'not-logged-in'), '--kubeconfig'),
                                     (403, (502, 'no-right'), 'services/proxy'),
                                     (404, (502, 'no-such-service'), '--namespace'),
                                     (503, (503, 'no-pod'), 'get pods'), (418, (502, 'no-autoscaler'), '')):
            self.api.refuse = status
            answer = served.get('/api/v1/overview')
            self.assertEqual(problem(answer), wanted)
            self.assertIn(word, answer.json()['detail'] + answer.json()['fix'])
            self.assertEqual({name: answer.headers[name] for name in FIELDS}, FIELDS)
        self.api.refuse = 0
        self.assertEqual(served.get('/api/v1/overview').status, 200)

    def test_a_page_of_another_program_is_not_shown(self):
        served = self.cluster()
        self.api.play = lambda sock, asked: sock.sendall(
            b'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 8\r\nConnection: close\r\n\r\n<script>')
        self.assertEqual(problem(served.get()), (502, 'no-autoscaler'))

    def test_an_api_server_that_goes_is_named(self):
        served = self.cluster()
        self.api.close()
        eventually(lambda: problem(served.get('/api/v1/overview')) == (502, 'unreachable'), 'it is gone')


class NotServed(ClusterCase):
    def refuses(self, code, *words, flags=(), config=None):
        return self.assert_refuses(code, *words, arguments=('dashboard', '--kubeconfig', config or self.config, *flags))

    def test_an_answer_of_the_api_server_names_what_is_missing(self):
        for status, code, words in (
                (401, 1, ('401 Unauthorized', '--kubeconfig')),
                (403, 1, ('get services/proxy of http:autoscaler:8082 in the namespace sluice-system',
                          'told 403', '--resource-name=http:autoscaler:8082')),
                (404, 1, ('no Service autoscaler in the namespace sluice-system', '--namespace')),
                (503, 69, ('no pod', 'told 503', 'get pods'))):
            self.api.refuse = status
            self.refuses(code, *words)
        self.api.refuse = 0
        self.refuses(1, 'in the namespace elsewhere', '--namespace', flags=('--namespace', 'elsewhere'))
        for name in ('../a', 'a-', '', 'A', '\x1b[31mred'):
            self.refuses(2, 'is no name of a namespace; give lower-case letters', flags=('--namespace', name))
        for flag in ('--context', '--kubeconfig'):
            self.refuses(2, f'{flag}: it is empty', flags=(flag, ''))
        self.assertNotIn('\x1b', self.home.run('dashboard', '--kubeconfig', '\x1b[31mred').stderr)

    def test_another_program_is_no_autoscaler(self):
        self.api.play = lambda sock, asked: sock.sendall(
            b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}')
        self.refuses(1, 'is no autoscaler of Sluice')

    def test_credentials_that_do_not_lead_there_are_named(self):
        self.refuses(78, "no entry named 'prod'", flags=('--context', 'prod'))
        untrusted = json.loads(self.api.kubeconfig())
        del untrusted['clusters'][0]['cluster']['certificate-authority']
        self.refuses(69, 'cannot be reached', 'certificate', config=self.write('untrusted', json.dumps(untrusted)))

    def test_an_api_server_that_does_not_answer_is_named(self):
        address = self.api.address
        self.api.close()
        eventually(lambda: not listens(address), 'nothing listens')
        self.refuses(69, 'cannot be reached', f'https://{address}', '--context')

    def test_a_port_that_is_taken_is_named(self):
        with socket.create_server(('127.0.0.1', 0)) as taken:
            port = str(taken.getsockname()[1])
            self.refuses(1, f'cannot listen on 127.0.0.1:{port}', 'another port', flags=('--port', port))


def listens(address):
    try:
        connect(address).close()
        return True
    except OSError:
        return False
