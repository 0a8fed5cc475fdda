"""`sluice load` over HTTP/2 and gRPC against servers of the test."""

import json
import unittest

import h2.settings

from engine import Home
from queue_proxy.h2_peers import Container

LIMIT = h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS


def carrying(server):
    """Connections that carried a request; that of the look for an engine's API does not."""
    return len({id(stream.peer) for stream in server.seen})


class LoadOverHttp2(unittest.TestCase):
    def setUp(self):
        self.home = Home()
        self.addCleanup(self.home.close)

    def serve(self, play, **options):
        container = Container(play, **options)
        self.addCleanup(container.close)
        return container

    def load(self, container, *flags, scheme='h2c', path='/', status=0):
        report = self.home.path / 'run.json'
        done = self.home.run('load', f'{scheme}://127.0.0.1:{container.port}{path}', '--json', str(report),
                             *flags, timeout=60)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return json.loads(report.read_text())

    def test_requests_of_a_closed_loop_are_answered_on_as_many_connections(self):
        server = self.serve(lambda connection, stream: connection.answer(stream, b'hello'))
        report = self.load(server, '-c', '3', '-n', '60')
        self.assertEqual(report['requests']['answered'], 60)
        self.assertEqual(report['status'], {'200': 60})
        self.assertEqual(carrying(server), 3)
        self.assertEqual(len(server.seen), 60)

    def test_streams_share_a_connection(self):
        server = self.serve(lambda connection, stream: connection.answer(stream))
        report = self.load(server, '-c', '1', '--streams', '5', '-n', '50')
        self.assertEqual(report['requests']['answered'], 50)
        self.assertEqual(carrying(server), 1)

    def test_an_open_loop_sends_on_one_connection_while_that_has_room(self):
        server = self.serve(lambda connection, stream: connection.answer(stream))
        report = self.load(server, '--rate', '100', '-n', '50')
        self.assertEqual(report['requests']['answered'], 50)
        self.assertEqual(carrying(server), 1)

    def test_what_is_sent_has_method_path_fields_and_body(self):
        server = self.serve(lambda connection, stream: connection.answer(stream, connection.body(stream)))
        self.load(server, '-c', '1', '-n', '1', '-b', 'some text', '-H', 'X-Who: me', '-H', 'Connection: close',
                  '--ids', path='/a?b=1')
        headers = server.seen[0].headers
        self.assertEqual([headers[name] for name in (':method', ':path', ':scheme', 'x-who', 'content-length')],
                         ['POST', '/a?b=1', 'http', 'me', '9'])
        self.assertTrue(headers['x-request-id'].endswith('-1'), headers)
        self.assertNotIn('connection', headers)
        self.assertEqual(server.seen[0].data, b'some text')

    def test_the_limit_of_the_server_opens_further_connections_up_to_c(self):
        def play(connection, stream):
            connection.body(stream)
            with connection.container.lock:
                busy = sum(1 for other in connection.container.seen if not getattr(other, 'over', False))
            connection.container.most = max(getattr(connection.container, 'most', 0), busy)
            connection.answer(stream)
            stream.over = True
        server = self.serve(play, settings={LIMIT: 2})
        report = self.load(server, '--rate', '400', '-d', '1s', '--max-connections', '4', '--arrivals', 'uniform')
        self.assertEqual(report['requests']['answered'], 400)
        self.assertLessEqual(carrying(server), 4)

    def test_a_refused_stream_is_an_error_of_h2_and_is_not_sent_again(self):
        def play(connection, stream):
            if stream.headers[':path'] == '/':
                connection.reset(stream.number, 7)
        server = self.serve(play)
        report = self.load(server, '-c', '1', '-n', '3', status=69)
        self.assertEqual(report['errors']['h2'], 3)
        self.assertEqual(len(server.seen), 3)

    def test_after_goaway_a_new_connection_carries_the_next_request(self):
        def play(connection, stream):
            with connection.changed:
                connection.h2.close_connection(last_stream_id=stream.number)
                connection.h2.state_machine.state = h2.connection.ConnectionState.CLIENT_OPEN
            connection.answer(stream)
        server = self.serve(play)
        report = self.load(server, '-c', '1', '-n', '4')
        self.assertEqual(report['requests']['answered'], 4)
        self.assertEqual(carrying(server), 4)

    def test_reuse_limits_the_requests_of_a_connection(self):
        server = self.serve(lambda connection, stream: connection.answer(stream))
        report = self.load(server, '-c', '1', '-n', '10', '--reuse', '5')
        self.assertEqual(report['requests']['answered'], 10)
        self.assertEqual(carrying(server), 2)

    def test_an_answer_that_does_not_come_is_a_timeout_and_its_stream_is_reset(self):
        server = self.serve(lambda connection, stream: None)
        report = self.load(server, '-c', '1', '-n', '1', '--timeout', '300ms', status=69)
        self.assertEqual(report['errors']['timeout'], 1)
        peer = server.seen[0].peer
        peer.wait(lambda: server.seen[0].reset is not None or peer.closed, 'the stream is reset')

    def test_a_call_of_grpc_is_judged_by_its_status(self):
        def play(connection, stream):
            number = len(connection.container.seen)
            body = connection.body(stream)
            status = '0' if number % 2 else '5'
            connection.answer(stream, body, headers=[('content-type', 'application/grpc')],
                              trailers=[('grpc-status', status)])
        server = self.serve(play)
        report = self.load(server, '-c', '1', '-n', '10', '-b', '\x0a\x05hello', scheme='grpc', path='/echo.Echo/Say')
        self.assertEqual(report['grpc_status'], {'0': 5, '5': 5})
        self.assertEqual((report['requests']['answered'], report['errors']['grpc']), (5, 5))
        sent = server.seen[0]
        self.assertEqual(sent.data, b'\x00\x00\x00\x00\x07\x0a\x05hello')
        self.assertEqual([sent.headers[name] for name in (':method', 'te', 'content-type')],
                         ['POST', 'trailers', 'application/grpc'])

    def test_a_stream_of_messages_lasts_until_its_status(self):
        def play(connection, stream):
            connection.body(stream)
            connection.send_headers(stream.number, [(':status', '200'), ('content-type', 'application/grpc')])
            for _ in range(5):
                connection.send_data(stream.number, b'\x00\x00\x00\x00\x02ok')
            connection.send_headers(stream.number, [('grpc-status', '0')], end=True)
        server = self.serve(play)
        report = self.load(server, '-c', '1', '-n', '4', scheme='grpc', path='/echo.Echo/Many')
        self.assertEqual(report['grpc_status'], {'0': 4})
        self.assertEqual(report['body_bytes'], 4 * 5 * 7)

    def test_a_call_that_has_no_status_is_an_error(self):
        server = self.serve(lambda connection, stream: connection.answer(stream, b''))
        report = self.load(server, '-c', '1', '-n', '2', scheme='grpc', path='/echo.Echo/Say')
        self.assertEqual(report['errors']['grpc'], 2)
