"""An autoscaler whose gRPC door speaks TLS, and who comes to it; on Kubernetes, where agents enrol, too."""

import pathlib
import socket
import ssl
import subprocess
import tempfile

from wire import PATIENCE, Reader, eventually, request_bytes

from .case import LOOPBACK, Autoscaler, AutoscalerTest
from .fake_api import FakeApi

ENROLL = '/v1/enroll'


def run(*arguments):
    return subprocess.run(['openssl', *map(str, arguments)], check=True, capture_output=True).stdout


class TlsTest(AutoscalerTest):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix='sluice-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def key(self, name):
        path = self.folder / f'{name}.key'
        run('ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', path)
        return path

    def context(self, authority, certificate=None, key=None):
        """What a client trusts and shows; paths."""
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        made.load_verify_locations(authority)
        made.set_alpn_protocols(['h2'])
        if certificate is not None:
            made.load_cert_chain(certificate, key)
        return made

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding='ascii')
        return path

    def kept(self, made):
        self.addCleanup(made.close)
        return made

    def refused(self, running, reason):
        return eventually(lambda: f'sluice_autoscaler_refused_total{{reason="{reason}"}}'
                          in running.health('/metrics').body.decode(), f'the count of {reason}')


class ClusterTest(TlsTest):
    """On Kubernetes: certificates that the autoscaler makes and carries itself."""

    def setUp(self):
        super().setUp()
        self.api = self.kept(FakeApi())
        self.dir = self.folder / 'tls'
        self.dir.mkdir()

    def cluster(self, stats=''):
        doors = {name: address for name, address in LOOPBACK.items() if name != 'SLUICE_STATS_ADDRESS'}
        running = Autoscaler(self.platform, **{
            **doors, 'SLUICE_PLATFORM': 'kubernetes', 'SLUICE_KUBECONFIG': self.api.kubeconfig,
            'POD_NAME': 'autoscaler-1', 'POD_IP': '127.0.0.1', 'SYSTEM_NAMESPACE': 'system',
            'SLUICE_TLS_SECRET': 'sluice-tls', 'SLUICE_TLS_DIR': str(self.dir),
            'SLUICE_STATS_ADDRESS': stats, 'SLUICE_ENROLL_ADDRESS': '127.0.0.1:0'})
        return self.kept(running)

    def bundle(self):
        return self.write('bundle.crt', eventually(
            lambda: self.api.data('configmaps', 'sluice-ca'), 'the bundle')['ca.crt'])

    def activator_tls(self):
        secret = eventually(lambda: self.api.data('secrets', 'sluice-activator-tls'), 'the Secret')
        return self.context(self.bundle(), self.write('a.crt', secret['tls.crt']),
                            self.write('a.key', secret['tls.key']))

    def asking(self, running, source='127.0.0.1'):
        """A connection to where agents enrol, from that address."""
        host, port = running.addresses['enroll'].rsplit(':', 1)
        made = socket.create_connection((host, int(port)), PATIENCE, source_address=(source, 0))
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        tls.load_verify_locations(self.bundle())
        return self.kept(tls.wrap_socket(made, server_hostname='autoscaler'))

    def enrol(self, running, token, source='127.0.0.1'):
        """(the answer, the agent's key)."""
        key = self.key('agent')
        public = run('ec', '-in', key, '-pubout').decode().splitlines()[1:-1]
        door = self.asking(running, source)
        door.sendall(request_bytes('POST', ENROLL, 'autoscaler', [
            ('Authorization', f'Bearer {token}'), ('Sluice-Public-Key', ''.join(public)), ('Content-Length', '0')]))
        return Reader(door).answer(), key
