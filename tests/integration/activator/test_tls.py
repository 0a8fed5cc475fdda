"""TLS from clients and to pods (activator.md 9)."""

import pathlib
import ssl
import subprocess
import tempfile
import unittest

from activator.case import ActivatorCase, eventually
from queue_proxy.test_tls import make_pair, trusting
from wire import Reader, connect, fetch, request_bytes

NAMED = [('Knative-Serving-Namespace', 'default'), ('Knative-Serving-Revision', 'app')]
GET = request_bytes('GET', '/', 'app', NAMED)


def run(*arguments):
    subprocess.run(['openssl', *map(str, arguments)], check=True, capture_output=True)


def make_authority(folder):
    run('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj',
        '/CN=authority', '-days', '1', '-keyout', folder / 'ca.key', '-out', folder / 'ca.crt')


def make_leaf(folder, authority, names):
    """tls.crt and tls.key in `folder`, signed by the authority, for DNS `names`."""
    folder.mkdir(exist_ok=True)
    names_file = folder / 'names'
    names_file.write_text('subjectAltName=' + ','.join(f'DNS:{name}' for name in names),
                          encoding='ascii')
    run('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=leaf',
        '-keyout', folder / 'tls.key', '-out', folder / 'leaf.csr')
    run('x509', '-req', '-in', folder / 'leaf.csr', '-CA', authority / 'ca.crt', '-CAkey',
        authority / 'ca.key', '-CAcreateserial', '-days', '1', '-extfile', names_file, '-out',
        folder / 'tls.crt')


class TlsCase(ActivatorCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class FromClients(TlsCase):
    def test_clients_are_served_over_tls_when_the_certificates_are_there(self):
        make_pair(self.folder, 'kn-routing')
        door = self.serving(environment={'SLUICE_CERTS_DIR': str(self.folder)})
        sock = connect(door.addresses['tls'])
        client = trusting().wrap_socket(sock)
        self.addCleanup(client.close)
        client.sendall(GET)
        self.assert_answer(Reader(client).answer(), 200, b'ok')
        self.assert_answer(door.get(), 200, b'ok')

    def test_without_certificates_there_is_no_such_listener(self):
        self.assertNotIn('tls', self.serving().addresses)

    def test_least_version_is_1_3_unless_set(self):
        make_pair(self.folder, 'kn-routing')
        door = self.serving(environment={'SLUICE_CERTS_DIR': str(self.folder)})
        with self.assertRaises(OSError):
            trusting(most=ssl.TLSVersion.TLSv1_2).wrap_socket(connect(door.addresses['tls']))
        older = self.activator(SLUICE_CERTS_DIR=str(self.folder), ACTIVATOR_TLS_MIN_VERSION='1.2')
        made = trusting(most=ssl.TLSVersion.TLSv1_2).wrap_socket(connect(older.addresses['tls']))
        made.close()


class ToPods(TlsCase):
    def secured_pod(self, names):
        make_authority(self.folder)
        make_leaf(self.folder / 'pod', self.folder, names)
        pod = self.pod(QUEUE_SERVING_TLS_PORT='127.0.0.1:0',
                       SLUICE_CERTS_DIR=str(self.folder / 'pod'))
        make_leaf(self.folder / 'own', self.folder, ['kn-routing'])
        (self.folder / 'own' / 'ca.crt').write_bytes((self.folder / 'ca.crt').read_bytes())
        self.platform.revision(pods=[pod.entry])
        port = pod.sidecar.addresses['tls'].rsplit(':', 1)[1]
        door = self.activator(SLUICE_POD_TLS='true', SLUICE_POD_TLS_PORT=port,
                              SLUICE_CERTS_DIR=str(self.folder / 'own'))
        return door, pod

    def test_pods_are_reached_over_tls_and_probed_in_clear_text(self):
        door, pod = self.secured_pod(['data-plane.knative.dev', 'kn-user-default'])
        self.assert_answer(door.get(), 200, b'ok')
        scrape = pod.sidecar.addresses['metrics']
        text = fetch(scrape, '/metrics', host='x').body
        self.assertIn(b'url_scheme="https"', text)

    def test_row_68_a_certificate_without_the_namespaces_name_is_refused(self):
        door, pod = self.secured_pod(['data-plane.knative.dev'])
        answer = eventually(lambda: door.get(), 'answered')
        self.assertEqual(answer.status, 502)
        self.assert_cause(answer, 'upstream')
        self.assertEqual(pod.seen, [])


if __name__ == '__main__':
    unittest.main()
