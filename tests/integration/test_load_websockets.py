"""`sluice load` over WebSocket against servers of the test."""

import base64
import hashlib
import json
import threading
import unittest

from engine import Home
from listening import Listening
from wire import eventually

GUID = b'258EAFA5-E914-47DA-95CA-C5AB0DC85B11'


def exactly(sock, size):
    data = b''
    while len(data) < size:
        part = sock.recv(size - len(data))
        if not part:
            raise ConnectionError('closed')
        data += part
    return data


def frame(opcode, payload):
    return bytes([0x80 | opcode, len(payload)]) + payload


class Session(threading.Thread):
    """A WebSocket of the server, up to 125 bytes a message; `play(session, payload)` answers each."""

    def __init__(self, sock, server):
        super().__init__(daemon=True)
        self.sock = sock
        self.server = server
        self.start()

    def run(self):
        try:
            self.talk()
        except OSError:
            pass  # the client has closed
        finally:
            self.sock.close()

    def talk(self):
        head = b''
        while not head.endswith(b'\r\n\r\n'):
            head += exactly(self.sock, 1)
        if b'upgrade: websocket' not in head.lower():  # the look for an engine's API
            self.sock.sendall(b'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n')
            return
        self.server.heads.append(head)
        if self.server.refuses:
            self.sock.sendall(b'HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n')
            return
        key = next(line.split(b':')[1].strip() for line in head.split(b'\r\n')
                   if line.lower().startswith(b'sec-websocket-key:'))
        accept = base64.b64encode(hashlib.sha1(key + GUID).digest())
        self.sock.sendall(b'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
                          b'Sec-WebSocket-Accept: ' + accept + b'\r\n\r\n')
        while True:
            first, second = exactly(self.sock, 2)
            if not second & 0x80:
                raise AssertionError('a frame of a client has no mask')
            mask = exactly(self.sock, 4)
            payload = bytes(byte ^ mask[i % 4] for i, byte in enumerate(exactly(self.sock, second & 0x7f)))
            if first & 0xf == 8:
                self.server.farewells.append(self)
                return
            if first & 0xf == 10:
                self.server.pongs.append(payload)
                continue
            self.server.messages.append(payload)
            self.server.play(self, payload)


class Server:
    def __init__(self, play, refuses=False):
        self.play = play
        self.refuses = refuses
        self.heads = []
        self.messages = []
        self.pongs = []
        self.farewells = []  # from threads, as the other lists
        self.listening = Listening(lambda sock: Session(sock, self))
        self.port = self.listening.port


def echo(session, payload):
    session.sock.sendall(frame(1, payload))


class LoadOverWebSockets(unittest.TestCase):
    def setUp(self):
        self.home = Home()
        self.addCleanup(self.home.close)

    def serve(self, *arguments, **options):
        server = Server(*arguments, **options)
        self.addCleanup(server.listening.stop)
        return server

    def load(self, server, *flags, status=0):
        report = self.home.path / 'run.json'
        done = self.home.run('load', f'ws://127.0.0.1:{server.port}/live', '--json', str(report), *flags,
                             timeout=60)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return json.loads(report.read_text())

    def test_each_message_of_a_session_is_a_request_with_a_time_of_its_own(self):
        server = self.serve(echo)
        report = self.load(server, '--rate', '50', '-n', '4', '-b', 'hello', '--every', '100ms', '--hold', '450ms')
        self.assertEqual(len(server.heads), 4)
        self.assertEqual(server.messages, [b'hello'] * 20)
        self.assertEqual((report['requests']['sent'], report['requests']['answered']), (20, 20))
        self.assertEqual(report['body_bytes'], 100)
        eventually(lambda: len(server.farewells) >= 4, 'the end of each session')
        self.assertEqual(len(server.farewells), 4)
        self.assertIn(b'GET /live HTTP/1.1\r\n', server.heads[0])

    def test_a_ping_of_the_server_is_answered_and_is_no_echo(self):
        def play(session, payload):
            session.sock.sendall(frame(9, b'there?') + frame(1, payload))
        server = self.serve(play)
        report = self.load(server, '--rate', '50', '-n', '1', '--every', '50ms', '--hold', '100ms')
        self.assertEqual(report['requests']['answered'], 2)
        self.assertEqual(server.pongs[0], b'there?')

    def test_a_refused_handshake_is_an_error_and_what_follows_is_not_sent(self):
        server = self.serve(echo, refuses=True)
        report = self.load(server, '--rate', '50', '-n', '2', '--every', '100ms', '--hold', '300ms', status=69)
        self.assertEqual((report['errors']['ws'], report['errors']['not_sent']), (2, 4))
        self.assertIn('403', report['errors']['first'])

    def test_a_server_that_answers_no_message_times_out(self):
        server = self.serve(lambda session, payload: None)
        report = self.load(server, '--rate', '50', '-n', '1', '--every', '1s', '--hold', '500ms', '--timeout',
                           '300ms', status=69)
        self.assertEqual(report['errors']['timeout'], 1)

    def test_a_frame_that_may_not_come_is_an_error_of_ws(self):
        server = self.serve(lambda session, payload: session.sock.sendall(b'\x81\x85maskdhello'))
        report = self.load(server, '--rate', '50', '-n', '1', '--hold', '500ms', status=69)
        self.assertEqual(report['errors']['ws'], 1)

    def test_a_closed_loop_is_refused(self):
        done = self.home.run('load', 'ws://127.0.0.1:1/', '-c', '3')
        self.assertEqual(done.returncode, 2)
        self.assertIn('give --rate', done.stderr)
