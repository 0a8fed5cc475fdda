"""Recorded traffic in every format: what is understood of it, written as csv, and sent again."""

import gzip
import http.server
import json
import os
import subprocess
import threading
import unittest

from engine import SLUICE, EngineCase
from queue_proxy.case import SANITIZED

MIB = 1 << 20
# A sanitizer's own memory is larger than the bound.
PEAK_MAX = (256 if SANITIZED else 64) * MIB


def combined(number, method='GET'):
    second = f'20/Nov/2026:14:{number // 600 % 60:02}:{number // 10 % 60:02} +0000'
    return f'10.0.0.1 - me [{second}] "{method} /item/{number}?token=secret HTTP/1.1" 200 612 "-" "curl/8"\n'


def har(count):
    entries = [{'startedDateTime': f'2026-11-20T14:03:{12 + number // 20:02}.{number % 20 * 50:03}Z', 'time': 12.5,
                'request': {'method': 'POST' if number % 4 == 3 else 'GET', 'url': 'https://me:secret@shop.example/a',
                            'headers': [{'name': 'Authorization', 'value': 'Basic c2VjcmV0'},
                                        {'name': 'Cookie', 'value': 'secret=1'}],
                            'bodySize': 0},
                'response': {'status': 200, 'content': {'encoding': 'base64', 'text': 'AAAA' * 1000}}}
               for number in range(count)]
    return json.dumps({'log': {'version': '1.2', 'entries': entries}})


class Witness:
    """A server that notes what it is asked: method, path and headers."""

    def __init__(self):
        self.seen = []
        noted = self.seen

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_GET(self):
                noted.append((self.command, self.path, str(self.headers)))
                self.send_response(404 if self.path.startswith('/_sluice') else 200)
                self.send_header('Content-Length', '0')
                self.end_headers()

            do_POST = do_PUT = do_HEAD = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.server.daemon_threads = True
        self.url = f'http://127.0.0.1:{self.server.server_address[1]}'
        self.thread = threading.Thread(target=self.server.serve_forever)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class Traces(EngineCase):
    def write(self, name, text):
        path = self.home.path / name
        path.write_text(text)
        return path

    def info(self, path, *flags):
        done = self.home.run('trace', 'info', str(path), *flags, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_a_packed_access_log_is_understood_without_unpacking_it(self):
        path = self.home.path / 'access.log.gz'
        path.write_bytes(gzip.compress(''.join(combined(number) for number in range(5000)).encode()))
        seen = self.info(path)
        for line in ('format      combined', 'requests    5 000', 'span        500 s from 2026-11-20T14:00:00.000Z',
                     'busiest     10 requests in 1 s', 'resolution  1 s', 'skipped     nothing'):
            self.assertIn(line, seen)

    def test_a_packed_log_that_was_cut_is_named_and_nothing_of_it_is_sent(self):
        path = self.home.path / 'access.log.gz'
        path.write_bytes(gzip.compress(''.join(combined(number) for number in range(5000)).encode())[:-20])
        info = self.home.run('trace', 'info', str(path))
        self.assertEqual(info.returncode, 78)
        self.assertIn(f"'{path}' ends in the middle of what gzip wrote", info.stderr)
        sent = self.home.run('load', 'http://127.0.0.1:1/', '--replay', str(path))
        self.assertEqual(sent.returncode, 2, sent.stdout)
        self.assertIn('ends in the middle', sent.stderr)

    def test_what_a_browser_recorded_is_sent_again_without_its_secrets(self):
        with Witness() as witness:
            done = self.home.run('load', f'{witness.url}/mine', '--replay', str(self.write('run.har', har(80))),
                                 '--json', '-', timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        written = json.loads(done.stdout)
        self.assertEqual(written['plan']['replay']['format'], 'har')
        self.assertEqual(written['plan']['replay']['left_out'], 20)
        self.assertEqual(written['requests']['answered'], 60)
        seen = [request for request in witness.seen if request[1] == '/mine']
        self.assertEqual(len(seen), 60)
        for method, _, headers in witness.seen:
            self.assertEqual(method, 'GET')
            for secret in ('secret', 'c2VjcmV0', 'Cookie', 'Authorization', 'shop.example'):
                self.assertNotIn(secret.lower(), headers.lower())

    def test_a_trace_becomes_csv_that_is_read_as_the_same(self):
        source = self.write('run.har', har(80))
        target = self.home.path / 'run.csv'
        done = self.home.run('trace', 'convert', str(source), '-o', str(target))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('80 requests written to', done.stdout)
        self.assertNotIn('secret', target.read_text())
        before, after = self.info(source).splitlines(), self.info(target).splitlines()
        self.assertEqual(before[1:], after[1:])
        self.assertEqual((before[0], after[0]), ('format      har', 'format      csv'))

    def test_logs_of_other_forms_are_read_with_their_format_or_fields(self):
        log = self.write('proxy.log', 'shop 1795183392.125 "GET /a HTTP/1.1" 0.250\n' * 3)
        seen = self.info(log, '--log-format', '$host $msec "$request" $request_time')
        self.assertIn('durations   of 3 requests', seen)
        lines = self.write('app.jsonl', '{"at":{"ms":1795183392125},"verb":"PUT"}\n' * 3)
        seen = self.info(lines, '--fields', 'time=at.ms,method=verb')
        self.assertIn('left out    by sluice load --replay: 3 requests', seen)
        written = self.home.run('trace', 'convert', str(lines), '--fields', 'time=at.ms,method=verb', '-o', '-')
        self.assertEqual(written.stdout.splitlines()[1], '2026-11-20T14:03:12.125000Z,PUT,,,,,,')

    def test_what_is_wrong_is_named_with_its_exit_status(self):
        log = self.write('access.log', combined(1))
        cut = self.write('cut.har', har(3)[:-5])
        for arguments, status, text in (
                ((str(log) + ':har',), 78, 'it looks like combined, not like har; leave out :har'),
                ((str(log) + ':azure2021',), 78, 'it looks like combined, not like azure2021'),
                ((str(cut),), 78, 'it ends in the middle, after'),
                ((str(log), '--log-format', '$request'), 2, '--log-format: no time'),
                ((str(log), '--fields', 'when=ts'), 2, "--fields: 'when=ts' is no field"),
                ((str(log), '--log-format', ''), 2, '--log-format: it is empty'),
                ((str(log), '--fields', ''), 2, '--fields: it is empty'),
                ((str(log) + ':combined', '--log-format', '$msec $request'), 2, 'not for combined; leave out'),
                ((str(log) + ':csv', '--fields', 'time=ts'), 2, '--fields is for JSON lines, not for csv'),
                ((str(log) + ':combinde',), 78, "no format has the name 'combinde'"),
                (('/dev/zero',), 78, 'line 1: it is longer than 64 KiB'),
                ((str(log), '-o', 'x'), 2, '-o belongs to convert')):
            with self.subTest(arguments=arguments):
                done = self.home.run('trace', 'info', *arguments)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(text, done.stderr)
        done = self.home.run('trace', 'convert', str(log))
        self.assertEqual(done.returncode, 2)
        self.assertIn('name it with -o OUT.csv', done.stderr)

    def test_a_file_that_cannot_be_written_fails_and_leaves_nothing(self):
        log = self.write('access.log', ''.join(combined(number) for number in range(2000)))
        done = self.home.run('trace', 'convert', str(log), '-o', '/dev/full')
        self.assertEqual(done.returncode, 1)
        self.assertIn('/dev/full cannot be written: No space left on device', done.stderr)
        done = self.home.run('trace', 'convert', str(log), '-o', str(self.home.path / 'no' / 'such'))
        self.assertEqual(done.returncode, 1)
        kept = self.write('kept.csv', 'what was there')
        cut = self.write('cut.har', har(80)[:-5])
        done = self.home.run('trace', 'convert', str(cut), '-o', str(kept))
        self.assertEqual(done.returncode, 78)
        self.assertEqual(kept.read_text(), 'what was there')
        self.assertEqual([path.name for path in self.home.path.glob('.tmp-*')], [])

    def test_a_file_keeps_its_permissions_and_its_link_and_its_neighbours_stay(self):
        log = self.write('access.log', combined(1))
        kept = self.write('old.csv', 'old')
        kept.chmod(0o600)
        link = self.home.path / 'link.csv'
        link.symlink_to(kept)
        beside = self.write('link.csv.part', 'not ours')
        self.assertEqual(self.home.run('trace', 'convert', str(log), '-o', str(link)).returncode, 0)
        self.assertTrue(link.is_symlink())
        self.assertTrue(kept.read_text().startswith('time,'))
        self.assertEqual(kept.stat().st_mode & 0o777, 0o600)
        self.assertEqual(beside.read_text(), 'not ours')

    def peak_of(self, feed):
        """The memory in bytes that `trace info` needs for what `feed` writes, and what it prints."""
        program = subprocess.Popen([SLUICE, 'trace', 'info', '/dev/stdin'], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, env=self.home.environment)
        with program.stdin as to:
            feed(to)
        with program.stdout as out:
            printed = out.read().decode()
        _, status, usage = os.wait4(program.pid, 0)
        program.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(program.returncode, 0)
        return usage.ru_maxrss * 1024, printed

    def test_memory_does_not_depend_on_the_length_of_a_log(self):
        lines = ''.join(combined(0) for _ in range(10_000)).encode()
        times = 300 * MIB // len(lines)

        def feed(to):
            for _ in range(times):
                to.write(lines)

        peak, printed = self.peak_of(feed)
        self.assertIn(f'requests    {times * 10_000:,}'.replace(',', ' '), printed)
        self.assertLess(peak, PEAK_MAX)

    def test_memory_does_not_depend_on_the_bodies_of_a_har_file(self):
        head, tail = har(1).split('AAAA' * 1000)

        def feed(to):
            to.write(head.encode())
            for _ in range(200):
                to.write(bytes(byte for byte in range(256) if byte not in b'"\\') * 4096)
            to.write(tail.encode())

        peak, printed = self.peak_of(feed)
        self.assertIn('requests    1\n', printed)
        self.assertLess(peak, PEAK_MAX)


if __name__ == '__main__':
    unittest.main()
