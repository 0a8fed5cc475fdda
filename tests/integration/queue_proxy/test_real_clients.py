"""Clients and servers that others wrote, through the sidecar: what they ask for arrives, and their own
judgement is success."""

import http.client
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from engine import BIN
from queue_proxy.case import PATIENCE, SidecarCase, eventually, free_port
from queue_proxy.h2_peers import Container

PEERS = BIN.parent / 'tests'
BODY = bytes(range(256)) * 4096  # 1 MiB


class Started:
    """A peer that prints its port and ends with its input."""

    def __init__(self, name):
        self.process = subprocess.Popen([PEERS / name, 'server'], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.port = int(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(5)
        self.process.stdout.close()


def run(*command, seconds=60, **options):
    return subprocess.run([str(one) for one in command], capture_output=True, timeout=seconds,
                          **options)


class PeerCase(SidecarCase):
    def before_peer(self, name, **environment):
        peer = Started(name)
        self.addCleanup(peer.close)
        return self.sidecar_for(peer.port, **environment)

    def h2_container(self, play):
        container = Container(play)
        self.addCleanup(container.close)
        return container

    def folder(self):
        made = tempfile.TemporaryDirectory(prefix='sluice-real-')
        self.addCleanup(made.cleanup)
        return pathlib.Path(made.name)

    def assert_success(self, done):
        self.assertEqual(done.returncode, 0, (done.stdout[-1500:], done.stderr[-1500:]))


class Curl(PeerCase):
    def curl(self, proxy, *arguments):
        done = run('curl', '-sS', '--fail', '--max-time', PATIENCE, *arguments[:-1],
                   f'http://{proxy.serving}{arguments[-1]}')
        self.assert_success(done)
        return done.stdout

    def echo(self, exchange):
        body = exchange.body()
        exchange.send(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % len(body) + body)

    def echo_h2(self, connection, stream):
        connection.answer(stream, connection.body(stream) or b'ok')

    def body_file(self):
        path = self.folder() / 'body'
        path.write_bytes(BODY)
        return f'@{path}'

    def test_http_1(self):
        proxy = self.sidecar(self.echo)
        self.assertEqual(self.curl(proxy, '--data-binary', 'abc', '/'), b'abc')
        self.assertEqual(self.curl(proxy, '--data-binary', self.body_file(), '/'), BODY)
        chunked = ['-H', 'Transfer-Encoding: chunked', '--data-binary', self.body_file()]
        self.assertEqual(self.curl(proxy, *chunked, '/'), BODY)
        self.assertEqual(self.curl(proxy, '-0', '--data-binary', 'old', '/'), b'old')

    def test_expect_continue(self):
        def play(exchange):
            exchange.send(b'HTTP/1.1 100 Continue\r\n\r\n')
            self.echo(exchange)

        proxy = self.sidecar(play)
        self.assertEqual(self.curl(proxy, '-H', 'Expect: 100-continue', '--data-binary',
                                   self.body_file(), '/'), BODY)

    def test_http_2_with_prior_knowledge(self):
        proxy = self.sidecar_for(self.h2_container(self.echo_h2).port)
        prior = '--http2-prior-knowledge'
        self.assertEqual(self.curl(proxy, prior, '/'), b'ok')
        self.assertEqual(self.curl(proxy, prior, '--data-binary', self.body_file(), '/'), BODY)

    def test_http_2_by_upgrade(self):
        proxy = self.sidecar(self.echo)
        version = self.curl(proxy, '--http2', '-o', '/dev/null', '-w', '%{http_version}', '/')
        self.assertEqual(version, b'2')
        self.assertEqual(self.curl(proxy, '--http2', '--data-binary', 'abc', '/'), b'abc')


class Nghttp(PeerCase):
    def answer(self, connection, stream):
        connection.body(stream)
        connection.answer(stream, b'y' * 1000)

    def test_nghttp_gets_several_at_once(self):
        proxy = self.sidecar_for(self.h2_container(self.answer).port)
        done = run('nghttp', '-v', '-m', 10, f'http://{proxy.serving}/a', f'http://{proxy.serving}/b')
        self.assert_success(done)
        self.assertEqual(done.stdout.count(b':status: 200'), 20)
        self.assertNotIn(b'RST_STREAM', done.stdout)

    def test_nghttp_uploads_with_trailers(self):
        trailers = []

        def play(connection, stream):
            connection.body(stream)
            trailers.append(stream.trailers)
            connection.answer(stream)

        proxy = self.sidecar_for(self.h2_container(play).port)
        path = self.folder() / 'body'
        path.write_bytes(BODY)
        self.assert_success(run('nghttp', '-v', '-d', path, '--trailer', 'x-sum: 7',
                                f'http://{proxy.serving}/'))
        self.assertEqual(trailers, [{'x-sum': '7'}])

    def assert_all_succeeded(self, done, requests):
        self.assert_success(done)
        line = re.search(rb'requests: (\d+) total, .* (\d+) succeeded, (\d+) failed', done.stdout)
        self.assertEqual(tuple(map(int, line.groups())), (requests, requests, 0), done.stdout)
        self.assertIn(b'status codes: %d 2xx' % requests, done.stdout)

    def test_h2load_over_http_2(self):
        proxy = self.sidecar_for(start_nginx(self, 'http2'), CONTAINER_CONCURRENCY='4',
                                 SLUICE_QUEUE_DEPTH='1000')
        self.assert_all_succeeded(
            run('h2load', '-n', 2000, '-c', 4, '-m', 20, f'http://{proxy.serving}/'), 2000)

    def test_h2load_over_http_1(self):
        proxy = self.sidecar_for(start_nginx(self), CONTAINER_CONCURRENCY='4',
                                 SLUICE_QUEUE_DEPTH='1000')
        self.assert_all_succeeded(
            run('h2load', '--h1', '-n', 2000, '-c', 16, f'http://{proxy.serving}/'), 2000)


def start_nginx(case, options=''):
    """nginx on a free port, speaking HTTP/1 or, with `http2`, only HTTP/2; its root has `/file`."""
    folder, port = case.folder(), free_port()
    # Its workers may run as another user.
    os.chmod(folder, 0o755)
    (folder / 'file').write_bytes(BODY)
    both = f'listen 127.0.0.1:{port} {options};'
    (folder / 'nginx.conf').write_text(f'''
daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1;
events {{ worker_connections 256; }}
http {{
  access_log off; default_type text/plain; client_max_body_size 10m;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{ {both}
    location = / {{ return 200 "hello"; }}
    location = /file {{ root {folder}; }}
    location = /gone {{ return 410; }} }}
}}''')
    process = subprocess.Popen(['nginx', '-c', folder / 'nginx.conf', '-p', folder],
                               stderr=subprocess.DEVNULL)

    def stop():
        process.terminate()
        process.wait(10)

    case.addCleanup(stop)
    eventually(lambda: listens(port), 'nginx listens')
    return port


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(('127.0.0.1', port)) == 0


class Nginx(PeerCase):
    def test_nginx_as_the_container_over_http_1(self):
        proxy = self.sidecar_for(start_nginx(self))
        for _ in range(20):
            self.assert_answer(proxy.get('/'), 200, b'hello')
        self.assert_answer(proxy.get('/file'), 200, BODY)
        self.assertEqual(proxy.get('/gone').status, 410)
        part = proxy.get('/file', headers=[('Range', 'bytes=10-19')])
        self.assert_answer(part, 206, BODY[10:20])
        self.assertEqual(part.headers['content-range'], f'bytes 10-19/{len(BODY)}')
        self.assertEqual(proxy.get('/file', method='HEAD').headers['content-length'], str(len(BODY)))

    def test_nginx_as_the_container_over_http_2(self):
        proxy = self.sidecar_for(start_nginx(self, 'http2'))
        for path, want in (('/', b'hello'), ('/file', BODY)):
            done = run('curl', '-sS', '--fail', '--http2-prior-knowledge',
                       f'http://{proxy.serving}{path}')
            self.assert_success(done)
            self.assertEqual(done.stdout, want)


class Grpc(PeerCase):
    def calls(self, name, **environment):
        proxy = self.before_peer('grpc_peer', **environment)
        self.assert_success(run(PEERS / 'grpc_peer', 'client', proxy.serving, name))

    def test_unary_calls(self):
        self.calls('unary')

    def test_large_messages(self):
        self.calls('large')

    def test_metadata_both_ways(self):
        self.calls('metadata')

    def test_a_failure_keeps_its_code_message_and_metadata(self):
        self.calls('failure')

    def test_a_stream_of_the_server(self):
        self.calls('server_stream')

    def test_a_stream_of_the_client(self):
        self.calls('client_stream')

    def test_both_streams_answer_message_by_message(self):
        self.calls('both_streams')

    def test_a_deadline_cancels_the_server(self):
        self.calls('deadline')

    def test_a_cancellation_reaches_the_server(self):
        self.calls('cancellation')

    def test_the_revisions_time_is_deadline_exceeded_and_cancels_the_server(self):
        self.calls('cut_short', REVISION_TIMEOUT_SECONDS='1')

    def test_no_time_at_all_is_deadline_exceeded(self):
        self.calls('no_time', REVISION_TIMEOUT_SECONDS='0')

    def test_a_server_that_is_not_there_is_unavailable(self):
        proxy = self.sidecar_for(free_port())
        self.assert_success(run(PEERS / 'grpc_peer', 'client', proxy.serving, 'unreachable'))

    def test_many_calls_from_many_threads_within_a_limit(self):
        self.calls('many', CONTAINER_CONCURRENCY='3', SLUICE_QUEUE_DEPTH='100')


class WebSocket(PeerCase):
    def test_beast_talks_to_beast(self):
        proxy = self.before_peer('websocket_peer')
        host, port = proxy.serving.rsplit(':', 1)
        self.assert_success(run(PEERS / 'websocket_peer', 'client', host, port))


class Echo(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        self.answer(self.path.encode())

    def do_POST(self):
        if self.headers.get('Transfer-Encoding') == 'chunked':
            body = b''
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers['Content-Length']))
        self.answer(body)

    def answer(self, body):
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class Python(PeerCase):
    def test_pythons_client_talks_to_pythons_server(self):
        server = ThreadingHTTPServer(('127.0.0.1', 0), Echo)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        proxy = self.sidecar_for(server.server_address[1])
        host, port = proxy.serving.rsplit(':', 1)
        client = http.client.HTTPConnection(host, int(port), timeout=PATIENCE)
        self.addCleanup(client.close)
        for turn in range(20):
            client.request('GET', f'/{turn}')
            self.assertEqual(client.getresponse().read(), f'/{turn}'.encode())
            client.request('POST', '/', BODY)
            self.assertEqual(client.getresponse().read(), BODY)
            client.request('POST', '/', iter([b'ab', b'cd']), encode_chunked=True,
                           headers={'Transfer-Encoding': 'chunked'})
            self.assertEqual(client.getresponse().read(), b'abcd')


class Present(unittest.TestCase):
    def test_every_client_of_this_theme_is_installed(self):
        # A missing one fails here by name, instead of in its tests by a riddle.
        missing = [name for name in ('curl', 'nghttp', 'h2load', 'nginx') if not shutil.which(name)]
        missing += [name for name in ('grpc_peer', 'websocket_peer') if not (PEERS / name).exists()]
        self.assertEqual(missing, [])


if __name__ == '__main__':
    unittest.main()
