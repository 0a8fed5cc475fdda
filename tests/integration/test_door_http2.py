"""The front door of one machine for clients that speak HTTP/2 from their first byte."""

import subprocess
import unittest

from queue_proxy import h2_frames as raw
from test_doors import API, ONE, READS, DoorCase, problem, token_in
from wire import Answer

FRAME, FIRST_WINDOW = 16_384, 65_535


def over_h2(engine, path, host='localhost', method='GET', headers=(), body=b''):
    """An answer over HTTP/2 with prior knowledge; the body goes without a length."""
    fields = [(':method', method), (':scheme', 'http'), (':path', path), (':authority', host),
              *((name.lower(), value) for name, value in headers)]
    connection = raw.RawConnection(engine.http)
    connection.request(1, fields, end=not body)
    for at in range(0, min(len(body), FIRST_WINDOW), FRAME):
        part = body[at:min(at + FRAME, FIRST_WINDOW)]
        last = at + len(part) == len(body)
        connection.send(raw.frame(raw.DATA, raw.END_STREAM if last else 0, 1, part))
    status, got, text = None, {}, b''
    while (frame := connection.until(lambda one: one[2] == 1)) is not None:
        kind, flags, _, payload = frame
        if kind == raw.HEADERS:
            got.update(connection.decoder.decode(payload))
            status = int(got[':status'])
        elif kind == raw.DATA:
            text += payload
        if flags & raw.END_STREAM:
            break
    connection.close()
    return Answer(status, got, text, True)


class Http2(DoorCase):
    def test_refusals_carry_the_fields_of_answers(self):
        engine = self.up_app()
        for status, path, host, headers in (
                (404, '/other', 'sluice.localhost', ()), (403, '/_sluice/metrics', 'attacker.example', ()),
                (404, f'{API}/nothing', 'localhost', ()),
                (400, '/_sluice/metrics#a', 'localhost', ()),
                (200, '/_sluice/metrics#a', 'localhost', [('Content-Type', 'application/grpc')]),
                (431, '/_sluice/metrics', 'localhost', [('x', '')] * 1001)):
            answer = over_h2(engine, path, host, headers=headers)
            self.assertEqual(answer.status, status, path)
            self.assert_fields(answer, f'{status} {path}')
        self.assertNotIn('content-security-policy', over_h2(engine, '/#a').headers)

    def test_it_reads_the_same_as_a_client_of_http1(self):
        engine = self.up_app()
        for path in READS:
            answer = over_h2(engine, path)
            self.assertEqual(answer.status, 200, path)
            self.assert_fields(answer, path)
        spec = f'{ONE}/spec'
        self.assertEqual(over_h2(engine, spec).body, self.ask(engine, spec).body)
        head = over_h2(engine, spec, method='HEAD')
        self.assertEqual((head.status, head.body), (200, b''))
        self.assertEqual(head.headers['content-type'], 'application/yaml')

    def test_it_changes_by_the_same_rules(self):
        engine = self.up_app('--allow-edit')
        token = [('Sluice-Edit', token_in(engine))]
        scale = f'{ONE}/scale'
        refused = over_h2(engine, scale, method='POST', body=b'{"max":2}')
        self.assertEqual(problem(refused), (403, 'token-required'))
        for number in range(80):  # more than the API has places
            answer = over_h2(engine, scale, method='POST', headers=token, body=b'{"max":2}')
            self.assertEqual(answer.status, 202, number)
        body = b'{"max":3}'
        length = [*token, ('Content-Length', str(len(body)))]
        self.assertEqual(over_h2(engine, scale, method='POST', headers=length, body=body).status, 202)
        invalid = over_h2(engine, scale, method='POST', headers=token, body=b'[')
        self.assertEqual(invalid.status, 422)
        self.assertEqual(over_h2(engine, f'{ONE}/wake', method='POST', headers=token).status, 202)
        engine.wait_event('replica', state='ready')
        self.assertEqual(problem(over_h2(engine, ONE, method='DELETE', headers=token)),
                         (403, 'socket-only'))

    def test_a_body_that_is_too_large_is_refused(self):
        engine = self.up_app('--allow-edit')
        token = [('Sluice-Edit', token_in(engine))]
        answer = over_h2(engine, f'{ONE}/scale', method='POST', headers=token, body=b'x' * 70_000)
        self.assertEqual(answer.status, 413)
        self.assertIn(b'HTTP/1.1', answer.body)
        self.assert_fields(answer, '413')

    def test_it_follows_the_events(self):
        engine = self.up_app()
        stream = subprocess.Popen(['curl', '-sSN', '--http2-prior-knowledge', '-H', 'Host: localhost',
                                   f'http://{engine.http}{API}/events'], stdout=subprocess.PIPE)
        self.addCleanup(stream.stdout.close)
        self.addCleanup(stream.wait)
        self.addCleanup(stream.kill)
        self.assertEqual(stream.stdout.readline(), b': sluice events\n')
        self.assertEqual(engine.get(host='app.localhost').status, 200)
        while b'event: cold_start' not in (line := stream.stdout.readline()):
            self.assertNotEqual(line, b'', 'the stream ended')


if __name__ == '__main__':
    unittest.main()
