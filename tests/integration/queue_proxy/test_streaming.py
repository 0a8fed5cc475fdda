"""Bodies in both directions over HTTP/1: rows 45 to 48 and 74, and nothing held back or kept."""

import socket
import threading
import unittest

from queue_proxy.case import (GROWTH_MAX, PATIENCE, SidecarCase, eventually, reset,
                              until_closed)
from sidecar import OK
from wire import request_bytes

CHUNKED = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
POST_CHUNKED = b'POST / HTTP/1.1\r\nHost: app\r\nTransfer-Encoding: chunked\r\n\r\n'
HUGE = 200_000_000
PIECE = bytes(range(250)) * 4000  # 1 MB


def chunk(data):
    return b'%x\r\n%s\r\n' % (len(data), data)


def take_chunk(reader):
    size = int(reader.until(b'\r\n'), 16)
    data = reader.exactly(size)
    reader.exactly(2)
    return data


class Interim(SidecarCase):
    def test_row_45_an_interim_response_keeps_the_final_status(self):
        proxy = self.sidecar(lambda exchange: exchange.send(
            b'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'
            b'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n'))
        _, reader = self.ask(proxy, request_bytes('GET', '/', 'app'))
        status, headers = reader.head()
        self.assertEqual((status, headers['link']), (103, '</a>'))
        self.assertEqual(reader.head()[0], 404)

    def test_an_interim_response_is_not_held_back(self):
        proxy = self.sidecar(gate := self.gate())
        gate_play = self.upstream.play

        def hint(exchange):
            exchange.send(b'HTTP/1.1 102 Processing\r\n\r\n')
            gate_play(exchange)

        self.upstream.play = hint
        _, reader = self.ask(proxy, request_bytes('GET', '/', 'app'))
        self.assertEqual(reader.head()[0], 102)
        gate.open()
        self.assert_answer(reader.answer(), 200, b'ok')

    def expect(self, play):
        proxy = self.sidecar(play)
        return self.ask(proxy, b'POST / HTTP/1.1\r\nHost: app\r\nExpect: 100-continue\r\n'
                               b'Content-Length: 4\r\n\r\n')

    def test_row_46_continue_then_201(self):
        bodies = []

        def play(exchange):
            exchange.send(b'HTTP/1.1 100 Continue\r\n\r\n')
            bodies.append(exchange.body())
            exchange.send(b'HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n')

        sock, reader = self.expect(play)
        self.assertEqual(reader.head()[0], 100)
        sock.sendall(b'body')
        self.assertEqual(reader.head()[0], 201)
        self.assertEqual(bodies, [b'body'])
        self.assertEqual(self.seen()['expect'], '100-continue')

    def test_row_47_a_direct_413_is_sent_without_continue(self):
        _, reader = self.expect(lambda exchange: exchange.send(
            b'HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'))
        self.assertEqual(reader.head()[0], 413)

    def test_a_client_that_does_not_wait_for_continue_is_served(self):
        def play(exchange):
            self.assertEqual(exchange.body(), b'body')
            exchange.send(OK)

        sock, reader = self.expect(play)
        sock.sendall(b'body')
        self.assert_answer(reader.answer(), 200, b'ok')


class Framing(SidecarCase):
    def test_row_48_a_chunked_upload_stays_chunked(self):
        bodies = []

        def play(exchange):
            bodies.append(exchange.body())
            exchange.send(OK)

        proxy = self.sidecar(play)
        _, reader = self.ask(proxy, POST_CHUNKED + chunk(b'abc') + b'2;ext=1\r\nde\r\n0\r\n\r\n')
        self.assert_answer(reader.answer(), 200, b'ok')
        self.assertEqual(self.seen()['transfer-encoding'], 'chunked')
        self.assertNotIn('content-length', self.seen())
        self.assertEqual(bodies, [b'abcde'])

    def test_trailers_of_a_request_arrive_announced_or_not(self):
        for announced in (b'', b'Trailer: X-Sum\r\n'):
            trailers = []

            def play(exchange, trailers=trailers):
                exchange.body()
                trailers.append(exchange.reader.trailers)
                exchange.send(OK)

            proxy = self.sidecar(play)
            head = POST_CHUNKED[:-2] + announced + b'\r\n'
            _, reader = self.ask(proxy, head + chunk(b'abc') + b'0\r\nX-Sum: 7\r\n\r\n')
            self.assert_answer(reader.answer(), 200, b'ok')
            self.assertEqual(trailers, [{'x-sum': '7'}])

    def test_trailers_of_a_response_arrive_announced_or_not(self):
        for announced in (b'', b'Trailer: X-Sum\r\n'):
            proxy = self.sidecar(lambda exchange, announced=announced: exchange.send(
                CHUNKED[:-2] + announced + b'\r\n' + chunk(b'abc') + b'0\r\nX-Sum: 7\r\n\r\n'))
            _, reader = self.ask(proxy, request_bytes('GET', '/', 'app', [('TE', 'trailers')]))
            self.assert_answer(reader.answer(), 200, b'abc')
            self.assertEqual(reader.trailers, {'x-sum': '7'})

    def test_head_204_and_304_have_no_body_and_keep_the_connection(self):
        def play(exchange):
            if exchange.head.startswith('HEAD'):
                exchange.send(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n')
            elif exchange.path == '/304':
                exchange.send(b'HTTP/1.1 304 Not Modified\r\nContent-Length: 55\r\nETag: a\r\n\r\n')
            elif exchange.path == '/204':
                exchange.send(b'HTTP/1.1 204 No Content\r\n\r\n')
            else:
                exchange.send(OK)

        proxy = self.sidecar(play)
        sock, reader = self.ask(proxy, b'')
        for method, path, status, length in (('HEAD', '/', 200, '1000'), ('GET', '/304', 304, '55'),
                                             ('GET', '/204', 204, None)):
            sock.sendall(request_bytes(method, path, 'app'))
            answer = reader.answer(method)
            self.assertEqual((answer.status, answer.headers.get('content-length')),
                             (status, length))
            sock.sendall(request_bytes('GET', '/next', 'app'))
            self.assert_answer(reader.answer(), 200, b'ok')

    def test_a_body_that_ends_with_its_connection_gets_chunks(self):
        def play(exchange):
            exchange.send(b'HTTP/1.1 200 OK\r\n\r\nuntil the end')
            exchange.sock.shutdown(socket.SHUT_RDWR)

        proxy = self.sidecar(play)
        _, reader = self.ask(proxy, request_bytes('GET', '/', 'app'))
        answer = reader.answer()
        self.assert_answer(answer, 200, b'until the end')
        self.assertEqual(answer.headers['transfer-encoding'], 'chunked')

    def test_a_client_of_http_1_0_gets_no_chunks_and_a_close(self):
        proxy = self.sidecar(lambda exchange: exchange.send(CHUNKED + chunk(b'abc') + b'0\r\n\r\n'))
        sock, reader = self.ask(proxy, b'GET / HTTP/1.0\r\n\r\n')
        status, headers = reader.head()
        self.assertEqual(status, 200)
        self.assertNotIn('transfer-encoding', headers)
        self.assertEqual(reader.data + until_closed(sock), b'abc')

    def test_neither_date_nor_content_type_is_added(self):
        answer = self.sidecar(lambda exchange: exchange.send(
            b'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>')).get()
        self.assertEqual(set(answer.headers) - {'connection'}, {'content-length'})

    def test_options_of_everything_is_forwarded(self):
        proxy = self.sidecar()
        _, reader = self.ask(proxy, b'OPTIONS * HTTP/1.1\r\nHost: app\r\n\r\n')
        self.assert_answer(reader.answer(), 200, b'ok')
        self.assertTrue(self.upstream.seen[-1].head.startswith('OPTIONS * HTTP/1.1'))

    def test_row_74_a_container_that_exits_mid_body_closes_the_client(self):
        def die(exchange):
            exchange.send(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789')
            exchange.sock.shutdown(socket.SHUT_RDWR)

        proxy = self.sidecar(die)
        sock, _ = self.ask(proxy, request_bytes('GET', '/', 'app'))
        head, _, body = until_closed(sock).partition(b'\r\n\r\n')
        self.assertTrue(not head or head.startswith(b'HTTP/1.1 200'))
        self.assertTrue(b'0123456789'.startswith(body))

    def test_a_chunked_body_that_is_cut_has_no_last_chunk(self):
        def die(exchange):
            exchange.send(CHUNKED + chunk(b'abc'))
            exchange.sock.shutdown(socket.SHUT_RDWR)

        proxy = self.sidecar(die)
        _, reader = self.ask(proxy, request_bytes('GET', '/', 'app'))
        answer = reader.answer()
        self.assertEqual((answer.body, answer.whole), (b'abc', False))


class NothingHeldBack(SidecarCase):
    def test_each_event_arrives_before_the_next_is_sent(self):
        seen_by_client = threading.Semaphore(0)
        self.addCleanup(seen_by_client.release, 100)

        def events(exchange):
            exchange.send(b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n'
                          b'Transfer-Encoding: chunked\r\n\r\n')
            for n in range(50):
                exchange.send(chunk(b'data: %d\n\n' % n))
                seen_by_client.acquire(timeout=PATIENCE)
            exchange.send(b'0\r\n\r\n')

        _, reader = self.ask(self.sidecar(events), request_bytes('GET', '/', 'app'))
        self.assertEqual(reader.head()[0], 200)
        for n in range(50):
            self.assertEqual(reader.until(b'\n\n').split(b'\r\n')[-1], b'data: %d' % n)
            seen_by_client.release()

    def test_bytes_of_a_body_with_a_length_are_not_held_back_either(self):
        more = threading.Event()
        self.addCleanup(more.set)

        def halves(exchange):
            exchange.send(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na')
            more.wait(PATIENCE)
            exchange.send(b'b')

        _, reader = self.ask(self.sidecar(halves), request_bytes('GET', '/', 'app'))
        self.assertEqual(reader.head()[0], 200)
        self.assertEqual(reader.exactly(1), b'a')
        more.set()
        self.assertEqual(reader.exactly(1), b'b')

    def test_a_response_begins_while_the_upload_continues(self):
        # Full duplex: each chunk of the upload is echoed before the next one is sent.
        def echo(exchange):
            exchange.send(CHUNKED)
            while data := take_chunk(exchange.reader):
                exchange.send(chunk(data))
            exchange.send(b'0\r\n\r\n')

        sock, reader = self.ask(self.sidecar(echo), POST_CHUNKED)
        self.assertEqual(reader.head()[0], 200)
        for n in range(100):
            said = b'%d' % n * (n + 1)
            sock.sendall(chunk(said))
            self.assertEqual(take_chunk(reader), said)
        sock.sendall(b'0\r\n\r\n')
        self.assertEqual(take_chunk(reader), b'')

    def test_an_early_answer_reaches_a_client_that_still_uploads(self):
        def refuse(exchange):
            exchange.send(b'HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno')
            exchange.sock.shutdown(socket.SHUT_WR)
            exchange.reader.more()

        sock, reader = self.ask(self.sidecar(refuse), b'POST / HTTP/1.1\r\nHost: app\r\n'
                                                      b'Content-Length: 50000000\r\n\r\nbegin')
        self.assert_answer(reader.answer(), 403, b'no')
        sock.close()
        self.upstream.play = lambda exchange: exchange.send(OK)
        self.assert_serves(self.sidecar_for(self.upstream.port))


class Bounded(SidecarCase):
    def test_a_huge_download_takes_no_memory(self):
        def send_huge(exchange):
            exchange.send(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % HUGE)
            for _ in range(HUGE // len(PIECE)):
                exchange.send(PIECE)

        proxy = self.sidecar(send_huge)
        before = proxy.memory()
        sock, reader = self.ask(proxy, request_bytes('GET', '/', 'app'))
        self.assertEqual(reader.head()[0], 200)
        self.assertEqual(len(reader.data) + drain(sock, HUGE - len(reader.data)), HUGE)
        self.assertLess(proxy.memory() - before, GROWTH_MAX)

    def test_a_huge_chunked_upload_takes_no_memory(self):
        received = []

        def take_huge(exchange):
            total = 0
            while data := take_chunk(exchange.reader):
                total += len(data)
            received.append(total)
            exchange.send(OK)

        proxy = self.sidecar(take_huge)
        before = proxy.memory()
        sock, reader = self.ask(proxy, POST_CHUNKED)
        piece = chunk(PIECE)
        for _ in range(HUGE // len(PIECE)):
            sock.sendall(piece)
        sock.sendall(b'0\r\n\r\n')
        self.assert_answer(reader.answer(), 200, b'ok')
        self.assertEqual(received, [HUGE])
        self.assertLess(proxy.memory() - before, GROWTH_MAX)

    def stalls(self, counter):
        """The amount at which a sender has come to a stop: the same at ten looks in a row."""
        pause = threading.Event()
        looks = [-1]
        for _ in range(2000):
            pause.wait(0.03)
            looks = looks[-9:] + [counter[0]]
            if len(looks) == 10 and len(set(looks)) == 1 and looks[0] > 0:
                return looks[0]
        raise AssertionError('the sender never stopped')

    def test_a_client_that_does_not_read_stops_the_container(self):
        sent = [0]

        def send_huge(exchange):
            exchange.send(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % HUGE)
            for _ in range(HUGE // len(PIECE)):
                exchange.send(PIECE)
                sent[0] += len(PIECE)

        proxy = self.sidecar(send_huge)
        before = proxy.memory()
        sock, reader = self.ask(proxy, request_bytes('GET', '/', 'app'))
        self.assertLess(self.stalls(sent), HUGE // 2)
        self.assertLess(proxy.memory() - before, GROWTH_MAX)
        self.assertEqual(reader.head()[0], 200)
        self.assertEqual(len(reader.data) + drain(sock, HUGE - len(reader.data)), HUGE)

    def test_a_container_that_does_not_read_stops_the_client(self):
        gate = self.gate()
        sent = [0]

        def read_later(exchange):
            gate.opened.wait(PATIENCE)
            drain(exchange.sock, HUGE - len(exchange.reader.data))
            exchange.send(OK)

        proxy = self.sidecar(read_later)
        before = proxy.memory()
        sock, reader = self.ask(proxy, b'POST / HTTP/1.1\r\nHost: app\r\nContent-Length: %d\r\n\r\n'
                                % HUGE)

        def upload():
            for _ in range(HUGE // len(PIECE)):
                sock.sendall(PIECE)
                sent[0] += len(PIECE)

        sender = threading.Thread(target=upload, daemon=True)
        sender.start()
        self.assertLess(self.stalls(sent), HUGE // 2)
        self.assertLess(proxy.memory() - before, GROWTH_MAX)
        gate.open()
        self.assert_answer(reader.answer(), 200, b'ok')
        sender.join(PATIENCE)

    def test_a_connection_survives_large_bodies_both_ways_and_serves_the_next_request(self):
        # Goal: buffers that grow for a body and shrink after it never move under a waiting read.
        # Method: echo bodies larger than any buffer, in both framings, again and again on one
        # connection, each compared whole, with a small request between them.
        def echo(exchange):
            body = exchange.body()
            exchange.send(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % len(body) + body)

        proxy = self.sidecar(echo)
        body = bytes(range(256)) * 8192
        chunks = b''.join(chunk(body[i:i + 70_001]) for i in range(0, len(body), 70_001))
        head = b'POST / HTTP/1.1\r\nHost: app\r\n'
        uploads = [head + b'Content-Length: %d\r\n\r\n' % len(body) + body,
                   POST_CHUNKED + chunks + b'0\r\n\r\n',
                   head + b'Content-Length: 3\r\n\r\nabc']
        sock, reader = self.ask(proxy, b'')
        for upload, expected in zip(uploads * 3, [body, body, b'abc'] * 3):
            sender = threading.Thread(target=sock.sendall, args=(upload,), daemon=True)
            sender.start()
            self.assert_answer(reader.answer(), 200, expected)
            sender.join(PATIENCE)
        self.assertIsNone(proxy.process.poll(), 'the sidecar has died')

    def test_a_client_that_leaves_mid_body_ends_the_container_side(self):
        def send_forever(exchange):
            exchange.send(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % HUGE)
            while True:
                exchange.send(PIECE)

        proxy = self.sidecar(send_forever, CONTAINER_CONCURRENCY='1')
        sock, reader = self.ask(proxy, request_bytes('GET', '/', 'app'))
        self.assertEqual(reader.head()[0], 200)
        sock.close()
        self.upstream.wait_for_closed(1)
        self.upstream.play = lambda exchange: exchange.send(OK)
        self.assert_serves(proxy)

    def test_a_client_that_leaves_before_the_answer_ends_the_container_side(self):
        def wait_for_end(exchange):
            exchange.reader.more()

        proxy = self.sidecar(wait_for_end, CONTAINER_CONCURRENCY='1')
        for count, leave in enumerate(('close', 'reset'), 1):
            with self.subTest(leave=leave):
                sock, _ = self.ask(proxy, request_bytes('GET', '/', 'app'))
                eventually(lambda count=count: len(self.upstream.seen) == count,
                           'the request reached the container')
                if leave == 'reset':
                    reset(sock)
                else:
                    sock.close()
                self.upstream.wait_for_closed(count)
        self.upstream.play = lambda exchange: exchange.send(OK)
        self.assert_serves(proxy)


def drain(sock, count):
    """Reads `count` bytes and returns how many came."""
    space = memoryview(bytearray(1 << 20))
    got = 0
    while got < count:
        part = sock.recv_into(space[:min(len(space), count - got)])
        if not part:
            break
        got += part
    return got


if __name__ == '__main__':
    unittest.main()
