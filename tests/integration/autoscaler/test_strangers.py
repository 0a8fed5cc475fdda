"""What those without a certificate can take of the autoscaler: next to nothing, at both doors that take TLS."""

import concurrent.futures
import contextlib
import socket
import ssl
import struct

from flood import resident
from queue_proxy.case import SANITIZED
from wire import PATIENCE, connect, eventually

from .fake_activator import FakeActivator
from .test_nodes import METHOD as NODE_STREAM
from .tls_case import ClusterTest

CONNECTIONS, STREAMS, AT_ONCE, ADDRESSES = 200, 3000, 8, 20
HALVES = 800
GROWTH_MAX = (256 if SANITIZED else 48) << 20
FRIEND = '127.0.0.9'  # of another address than strangers, as a pod's is
LINES_MAX = 60  # of the log: none for each of them
HALF = b'\x16\x03\x01\x02\x00\x01'
PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + b'\0\0\0\x04\0\0\0\0\0'
HEADERS, RST_STREAM = b'\x01\x04', b'\x03\x00'


def field(name, value):
    return b'\0' + bytes([len(name)]) + name + bytes([len(value)]) + value


CALL = b'\x83\x87\x04' + bytes([len(NODE_STREAM)]) + NODE_STREAM.encode() + b'\x01\x01a' + \
    field(b'content-type', b'application/grpc') + field(b'te', b'trailers')


def opened_and_reset():
    """Streams of one connection: each a call that is cancelled at once."""
    said = [PREFACE]
    for number in range(1, 2 * STREAMS, 2):
        stream = struct.pack('>I', number)
        said.append(struct.pack('>I', len(CALL))[1:] + HEADERS + stream + CALL)
        said.append(b'\0\0\x04' + RST_STREAM + stream + b'\0\0\0\x08')
    return b''.join(said)


class Strangers(ClusterTest):
    def setUp(self):
        super().setUp()
        self.running = self.cluster()
        self.trusted = self.bundle()
        self.api.bearer('good', node_name='n1')
        self.assert_friends_are_served()
        self.before = resident(self.running.pid)

    def stranger(self, door, source='127.0.0.1'):
        """A connection through its own part of the handshake."""
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        tls.load_verify_locations(self.trusted)
        tls.set_alpn_protocols(['h2', 'http/1.1'])
        host, port = self.running.addresses[door].rsplit(':', 1)
        made = socket.create_connection((host, int(port)), PATIENCE, source_address=(source, 0))
        return tls.wrap_socket(made, server_hostname='autoscaler')

    def attack(self, door, said):
        """Says it on each of many connections, some of them at once, from several addresses."""
        def one(number):
            with contextlib.suppress(OSError), self.stranger(door, f'127.0.1.{1 + number % ADDRESSES}') as made:
                made.sendall(said)
                made.settimeout(1)
                while made.recv(65536):
                    pass
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as crowd:
            list(crowd.map(one, range(CONNECTIONS)))

    def halves(self, door):
        """Handshakes that have begun and go no further, all open."""
        made = [self.kept(connect(self.running.addresses[door])) for _ in range(HALVES)]
        for each in made:
            with contextlib.suppress(OSError):
                each.sendall(HALF)
        return made

    def open_of(self, made):
        """How many of the connections the other side has not closed."""
        count = 0
        for each in made:
            each.setblocking(False)
            try:
                count += 1 if each.recv(1) else 0
            except BlockingIOError:
                count += 1
            except OSError:
                pass
        return count

    def assert_friends_are_served(self):
        answer, _ = self.enrol(self.running, 'good', FRIEND)
        self.assertEqual(answer.status, 200, answer.body)
        activator = self.kept(FakeActivator(self.running.addresses['grpc'], tls=self.activator_tls()))
        activator.wait(lambda a: a.welcome is not None, 'the welcome')

    def assert_nothing_was_taken(self):
        self.assertLess(resident(self.running.pid, peak=True) - self.before, GROWTH_MAX)
        self.assertLess(len((self.running.errors() + self.running.output()).splitlines()), LINES_MAX)
        self.assert_friends_are_served()

    def test_streams_opened_and_reset_without_a_certificate_cost_no_memory(self):
        self.attack('grpc', opened_and_reset())
        self.refused(self.running, 'handshake')
        self.assert_nothing_was_taken()

    def test_streams_opened_and_reset_where_agents_enrol_cost_no_memory(self):
        self.attack('enroll', opened_and_reset())
        self.assert_nothing_was_taken()

    def test_heads_that_do_not_end_where_agents_enrol_cost_no_memory(self):
        self.attack('enroll', b'POST /v1/enroll HTTP/1.1\r\nHost: a\r\nX-Much: ' + b'm' * (1 << 20))
        self.assert_nothing_was_taken()

    def test_one_address_shakes_hands_where_agents_enrol_at_a_pace(self):
        shaken = 0
        for _ in range(CONNECTIONS):
            with contextlib.suppress(OSError), self.stranger('enroll'):
                shaken += 1
        self.assertLess(shaken, CONNECTIONS)
        self.refused(self.running, 'enrolment_pace')
        self.assert_nothing_was_taken()

    def test_unfinished_handshakes_are_bounded_at_both_doors(self):
        for door in ('grpc', 'enroll'):
            made = self.halves(door)
            eventually(lambda made=made: self.open_of(made) <= 256, f'few stay at {door}', PATIENCE)
            self.assert_friends_are_served()
        self.assert_nothing_was_taken()

    def test_connections_that_are_cut_in_the_handshake_write_no_line_each(self):
        for _ in range(HALVES):
            made = connect(self.running.addresses['grpc'])
            made.sendall(HALF)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            made.close()
        self.assert_nothing_was_taken()
