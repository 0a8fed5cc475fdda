"""Row 73: a connection that begins as HTTP/1 and asks for h2c."""

from queue_proxy import h2_frames as raw
from queue_proxy.case import SidecarCase
from sidecar import OK


class Upgrade(SidecarCase):
    UPGRADE = (b'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n'
               b'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n')

    def frames_after_101(self, sock, reader):
        connection = raw.RawConnection.__new__(raw.RawConnection)
        connection.sock, connection.data, connection.frames = sock, reader.data, []
        connection.decoder = raw.hpack.Decoder()
        connection.send(raw.PREFACE + raw.frame(raw.SETTINGS))
        return connection

    def test_row_73_an_upgrade_switches_the_client_to_http_2(self):
        proxy = self.sidecar(lambda exchange: (exchange.body(), exchange.send(OK)))
        sock, reader = self.ask(proxy, b'GET /first HTTP/1.1\r\nHost: app\r\n' + self.UPGRADE + b'\r\n')
        status, headers = reader.head()
        self.assertEqual((status, headers['upgrade']), (101, 'h2c'))
        connection = self.frames_after_101(sock, reader)
        got = connection.until(lambda one: one[0] == raw.HEADERS and one[2] == 1)
        self.assertEqual(dict(connection.decoder.decode(got[3]))[':status'], '200')
        body = connection.until(lambda one: one[0] == raw.DATA and one[2] == 1)
        self.assertEqual(body[3], b'ok')
        # The first request reached the container as HTTP/1.1, without what the upgrade needed.
        self.assertTrue(self.upstream.seen[0].head.startswith('GET /first HTTP/1.1'))
        for name in ('upgrade', 'http2-settings'):
            self.assertNotIn(name, self.upstream.seen[0].headers)
        # A later stream goes to the container as HTTP/2, which this one does not speak.
        connection.request(3)
        got = connection.until(lambda one: one[0] == raw.HEADERS and one[2] == 3)
        self.assertEqual(dict(connection.decoder.decode(got[3]))[':status'], '502')

    def test_a_body_of_an_upgrade_within_the_limit_arrives(self):
        bodies = []
        proxy = self.sidecar(lambda exchange: (bodies.append(exchange.body()), exchange.send(OK)))
        sock, reader = self.ask(proxy, b'POST / HTTP/1.1\r\nHost: app\r\nContent-Length: 60000\r\n'
                                + self.UPGRADE + b'\r\n' + b'x' * 60_000)
        self.assertEqual(reader.head()[0], 101)
        connection = self.frames_after_101(sock, reader)
        got = connection.until(lambda one: one[0] == raw.HEADERS and one[2] == 1)
        self.assertEqual(dict(connection.decoder.decode(got[3]))[':status'], '200')
        self.assertEqual([len(body) for body in bodies], [60_000])

    def test_a_body_of_an_upgrade_beyond_64_kib_is_413(self):
        proxy = self.sidecar()
        for framing, body in ((b'Content-Length: 65537\r\n', b'x' * 65_537),
                              (b'Transfer-Encoding: chunked\r\n',
                               b'10001\r\n' + b'x' * 65_537 + b'\r\n0\r\n\r\n')):
            sock, reader = self.ask(proxy, b'POST / HTTP/1.1\r\nHost: app\r\n' + framing +
                                    self.UPGRADE + b'\r\n' + body)
            self.assertEqual(reader.head()[0], 413)
            self.assertEqual(reader.data.count(b'HTTP/1.1'), 0)
            sock.close()
        self.assertEqual(self.upstream.seen, [])
        self.assert_serves(proxy)

    def test_an_upgrade_without_or_with_bad_settings_is_no_upgrade(self):
        proxy = self.sidecar()
        for extra in (b'Connection: Upgrade\r\nUpgrade: h2c\r\n',
                      b'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: ???\r\n'):
            _, reader = self.ask(proxy, b'GET / HTTP/1.1\r\nHost: app\r\n' + extra + b'\r\n')
            self.assertIn(reader.head()[0], (200, 400))
        self.assert_serves(proxy)


if __name__ == '__main__':
    unittest.main()
