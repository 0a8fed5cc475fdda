"""Which host a request is for: one answer for who routes, the container and the log (RFC 9112 3.2.2,
queue-proxy.md 15.21)."""

import unittest

from queue_proxy.case import SidecarCase
from queue_proxy.h2_peers import Client, Container
from wire import request_bytes

FORGED = ('K-Original-Host', 'admin.example')


class Targets(SidecarCase):
    def asked(self, proxy, head):
        _, reader = self.ask(proxy, head)
        self.assert_answer(reader.answer(), 200, b'ok')
        return self.upstream.seen[-1]

    def test_an_absolute_target_decides_the_host_and_is_forwarded_in_origin_form(self):
        proxy = self.sidecar()
        for target, path in (('http://inner/path?q', '/path?q'), ('http://inner', '/'),
                             ('http://inner?q', '/?q'), ('https://inner//a', '//a')):
            seen = self.asked(proxy, f'GET {target} HTTP/1.1\r\nHost: outer\r\n\r\n'.encode())
            self.assertEqual((seen.path, seen.headers['host']), (path, 'inner'))
            self.assertEqual(seen.head.lower().count('\nhost:'), 1)

    def test_options_of_a_whole_server_stays_that(self):
        seen = self.asked(self.sidecar(), b'OPTIONS http://inner HTTP/1.1\r\nHost: outer\r\n\r\n')
        self.assertEqual((seen.path, seen.headers['host']), ('*', 'inner'))

    def test_an_absolute_target_without_a_sound_authority_is_400(self):
        proxy = self.sidecar()
        for target in ('http:///a', 'http://user@inner/', 'http://a,b/'):
            _, reader = self.ask(proxy, f'GET {target} HTTP/1.1\r\nHost: outer\r\n\r\n'.encode())
            answer = reader.answer()
            self.assert_answer(answer, 400, b'bad request\n')
            self.assertIn('reason=target', answer.headers['sluice-error'])
        self.assertEqual(self.upstream.seen, [])

    def test_http_1_0_without_host_gets_the_containers_address(self):
        proxy = self.sidecar()
        seen = self.asked(proxy, b'GET / HTTP/1.0\r\n\r\n')
        self.assertEqual(seen.headers['host'], f'127.0.0.1:{self.upstream.port}')
        self.assertEqual(self.asked(proxy, b'GET / HTTP/1.0\r\nHost: a.b\r\n\r\n').headers['host'], 'a.b')

    def test_http_2_has_no_absolute_target(self):
        container = Container(lambda connection, stream: connection.answer(stream))
        self.addCleanup(container.close)
        client = Client(self.sidecar_for(container.port).serving)
        self.addCleanup(client.close)
        got = client.over(client.request('http://inner/'))
        self.assertTrue(got.reset is not None or got.status == 400)
        self.assertEqual(container.seen, [])


class OriginalHost(SidecarCase):
    """Beside pods that clients reach themselves: SLUICE_ORIGINAL_HOST=activator."""

    def host_seen(self, proxy, host, *headers):
        _, reader = self.ask(proxy, request_bytes('GET', '/', host, headers))
        self.assert_answer(reader.answer(), 200, b'ok')
        self.assertNotIn('k-original-host', self.seen())
        return self.seen()['host']

    def test_the_original_host_of_a_client_does_not_become_the_host(self):
        proxy = self.sidecar(SLUICE_ORIGINAL_HOST='activator')
        self.assertEqual(self.host_seen(proxy, 'shop.example', FORGED), 'shop.example')
        self.assertEqual(self.host_seen(proxy, 'shop.example', FORGED,
                                        ('K-Proxy-Request', 'activator')), 'shop.example')
        self.assertEqual(self.host_seen(proxy, '10.0.0.7', FORGED), '10.0.0.7')

    def test_a_malformed_original_host_of_a_client_is_not_refused(self):
        proxy = self.sidecar(SLUICE_ORIGINAL_HOST='activator')
        self.assertEqual(self.host_seen(proxy, 'shop.example', ('K-Original-Host', 'a b')), 'shop.example')

    def test_the_original_host_of_an_activator_becomes_the_host(self):
        proxy = self.sidecar(SLUICE_ORIGINAL_HOST='activator')
        for host in ('10.0.0.7:8012', 'app-00001-private.default'):
            self.assertEqual(self.host_seen(proxy, host, ('K-Original-Host', 'shop.example'),
                                            ('K-Proxy-Request', 'activator')), 'shop.example')

    def test_over_http_2_the_original_host_of_a_client_does_not_become_the_host(self):
        container = Container(lambda connection, stream: connection.answer(stream))
        self.addCleanup(container.close)
        client = Client(self.sidecar_for(container.port, SLUICE_ORIGINAL_HOST='activator').serving)
        self.addCleanup(client.close)
        self.assertEqual(client.get('/', [('k-original-host', 'admin.example')]).status, 200)
        headers = container.seen[-1].headers
        self.assertEqual(headers[':authority'], 'app')
        self.assertNotIn('k-original-host', headers)

    def test_behind_an_ingress_it_becomes_the_host_though_connection_names_it(self):
        proxy = self.sidecar()
        self.assertEqual(self.host_seen(proxy, 'pod-1', ('K-Original-Host', 'shop.example'),
                                        ('Connection', 'K-Original-Host')), 'shop.example')


if __name__ == '__main__':
    unittest.main()
