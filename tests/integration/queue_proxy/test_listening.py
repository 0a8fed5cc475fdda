"""Where the sidecar listens: families of addresses, Unix sockets, and doors that are full of idlers."""

import os
import pathlib
import re
import socket
import subprocess
import tempfile

from engine import QUEUE_PROXY
from queue_proxy.case import PATIENCE, SidecarCase, eventually
from sidecar import ENVIRONMENT
from wire import Reader, connect, fetch, request_bytes

EVERYWHERE = {'QUEUE_SERVING_PORT': '0', 'SLUICE_ADMIN_ADDRESS': ':0', 'SLUICE_STATS_ADDRESS': ':0',
              'SLUICE_METRICS_ADDRESS': ':0'}
SIDE_CONNECTIONS_MAX = 256


def has_ipv6():
    try:
        with socket.create_server(('::1', 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


class Families(SidecarCase):
    def answers(self, host, address, path='/'):
        port = address.rsplit(':', 1)[1]
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as sock:
            sock.sendall(request_bytes('GET', path, 'app'))
            return Reader(sock).answer().status

    def test_without_a_host_every_door_is_open_to_every_family_the_machine_has(self):
        proxy = self.sidecar(**EVERYWHERE)
        for host in ['127.0.0.1'] + ['::1'] * has_ipv6():
            self.assertEqual(self.answers(host, proxy.serving), 200, host)
            for door in (proxy.stats, proxy.addresses['metrics']):
                self.assertEqual(self.answers(host, door, '/metrics'), 200, host)

    def test_a_client_of_ipv4_is_forwarded_for_as_ipv4(self):
        proxy = self.sidecar(**EVERYWHERE)
        self.assertEqual(self.answers('127.0.0.1', proxy.serving), 200)
        self.assertEqual(self.upstream.seen[-1].headers['x-forwarded-for'], '127.0.0.1')


class UnixSockets(SidecarCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / 's'

    def refused(self, where):
        ended = subprocess.run([QUEUE_PROXY], env={**ENVIRONMENT, 'USER_PORT': '1',
                                                   'QUEUE_SERVING_PORT': where},
                               timeout=PATIENCE, capture_output=True, check=False)
        self.assertEqual(ended.returncode, 1)
        return ended.stderr.decode()

    def test_a_socket_in_use_is_not_taken_over(self):
        proxy = self.sidecar(QUEUE_SERVING_PORT=f'unix:{self.path}')
        told = self.refused(f'unix:{self.path}')
        self.assertIn('QUEUE_SERVING_PORT', told)
        self.assertIn('in use', told)
        self.assert_serves(proxy)

    def test_a_stale_socket_of_an_earlier_sidecar_is_replaced(self):
        first = self.sidecar(QUEUE_SERVING_PORT=f'unix:{self.path}')
        first.process.kill()
        first.process.wait(PATIENCE)
        self.assertTrue(self.path.exists())
        self.assert_serves(self.sidecar(QUEUE_SERVING_PORT=f'unix:{self.path}'))

    def test_a_file_of_another_kind_is_left_alone(self):
        self.path.write_text('precious', encoding='ascii')
        self.assertIn('is not a socket', self.refused(f'unix:{self.path}'))
        self.assertEqual(self.path.read_text(encoding='ascii'), 'precious')

    def test_a_relative_path_is_refused(self):
        self.assertIn('unix:/path', self.refused('unix:here'))
        self.assertFalse(os.path.exists('here'))


class Crowds(SidecarCase):
    def held(self, address, how_many):
        socks = [connect(address) for _ in range(how_many)]
        for sock in socks:
            self.addCleanup(sock.close)
        return socks

    def test_idle_connections_keep_no_client_from_a_side_port(self):
        proxy = self.sidecar()
        for door in (proxy.stats, proxy.addresses['metrics']):
            self.held(door, SIDE_CONNECTIONS_MAX + 20)
            self.assertEqual(fetch(door, '/metrics', timeout=PATIENCE).status, 200, door)

    def test_connections_that_were_used_once_keep_no_client_from_a_side_port(self):
        proxy = self.sidecar()
        for _ in range(SIDE_CONNECTIONS_MAX + 20):
            sock = connect(proxy.stats)
            self.addCleanup(sock.close)
            sock.sendall(request_bytes('GET', '/metrics', 'app'))
            self.assertEqual(Reader(sock).answer().status, 200)

    def test_at_the_limit_the_oldest_idle_connection_makes_room(self):
        proxy = self.sidecar(SLUICE_MAX_CONNECTIONS='4')
        idle = self.held(proxy.serving, 4)
        for _ in range(3):
            self.assert_serves(proxy)
        self.assertEqual(idle[0].recv(1), b'')

    def test_a_connection_in_use_is_never_closed(self):
        gate = self.gate()
        proxy = self.sidecar(gate, SLUICE_MAX_CONNECTIONS='2')
        served = [self.ask(proxy, request_bytes('GET', f'/{n}', 'app'))[1] for n in range(2)]
        eventually(lambda: len(self.upstream.seen) == 2, 'both are with the container')
        late = connect(proxy.serving)
        self.addCleanup(late.close)
        late.sendall(request_bytes('GET', '/late', 'app', [('Connection', 'close')]))
        gate.open()
        for reader in served:
            self.assert_answer(reader.answer(), 200, b'ok')
        self.assert_answer(Reader(late).answer(), 200, b'ok')


class Ready(SidecarCase):
    def test_a_descriptor_that_is_not_open_is_named(self):
        ended = subprocess.run([QUEUE_PROXY, '--ready-fd', '77'], capture_output=True, check=False,
                               env={**ENVIRONMENT, 'USER_PORT': '1'}, timeout=PATIENCE)
        self.assertEqual(ended.returncode, 1)
        self.assertTrue(re.search(r'descriptor 77\b.*not open', ended.stderr.decode()))
