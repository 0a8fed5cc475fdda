"""The breaker from outside: rows 1 to 5, 9, 71 and 72, and what no client may ever break."""

import collections
import concurrent.futures
import random
import socket
import threading
import unittest

from queue_proxy.case import PATIENCE, SidecarCase, eventually
from sidecar import OK
from wire import fetch, request_bytes


class Admission(SidecarCase):
    def test_row_1_the_twelfth_request_is_refused_with_retry_after(self):
        gate = self.gate()
        proxy = self.sidecar(gate, CONTAINER_CONCURRENCY='1')
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            asked = [pool.submit(proxy.get) for _ in range(12)]
            first = next(concurrent.futures.as_completed(asked, timeout=PATIENCE)).result()
            self.assert_answer(first, 503, b'pending request queue full\n')
            self.assertEqual(first.headers['retry-after'], '1')
            self.assert_cause(first, 'queue-full')
            gate.open()
            statuses = sorted(one.result().status for one in asked)
        self.assertEqual(statuses, [200] * 11 + [503])
        self.assertEqual(gate.most, 1)

    def test_row_2_one_runs_one_waits_and_the_third_is_refused(self):
        gate = self.gate()
        proxy = self.sidecar(gate, CONTAINER_CONCURRENCY='1', SLUICE_QUEUE_DEPTH='1')
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            asked = [pool.submit(proxy.get) for _ in range(3)]
            first = next(concurrent.futures.as_completed(asked, timeout=PATIENCE)).result()
            self.assertEqual(first.status, 503)
            gate.open()
            self.assertEqual(sorted(one.result().status for one in asked), [200, 200, 503])

    def test_row_3_a_waiter_grows_too_old(self):
        gate = self.gate()
        proxy = self.sidecar(gate, CONTAINER_CONCURRENCY='1', SLUICE_QUEUE_WAIT='50ms')
        running, reader = self.ask(proxy, request_bytes('GET', '/running', 'app'))
        eventually(lambda: gate.inside, 'the first request reached the container')
        waited = proxy.get('/waiting')
        self.assert_answer(waited, 503, b'context deadline exceeded\n')
        self.assertEqual(waited.headers['retry-after'], '1')
        self.assert_cause(waited, 'queue-wait')
        gate.open()
        self.assert_answer(reader.answer(), 200, b'ok')
        running.close()
        self.assertEqual(self.paths(), ['/running'])

    def test_row_5_no_limit_without_container_concurrency(self):
        barrier = threading.Barrier(40, timeout=PATIENCE)

        def together(exchange):
            if exchange.path != '/':  # a late one of the crowd, abandoned before it came here
                return container(exchange)
            barrier.wait()
            exchange.send(OK)

        for concurrency in ('0', '-1'):
            proxy = self.sidecar(together, CONTAINER_CONCURRENCY=concurrency)
            with concurrent.futures.ThreadPoolExecutor(40) as pool:
                answers = list(pool.map(lambda _: proxy.get(), range(40)))
            self.assertEqual({answer.status for answer in answers}, {200})

    def test_waiters_are_served_in_the_order_of_their_arrival(self):
        turns = threading.Semaphore(0)
        self.addCleanup(turns.release, 20)

        def one_turn(exchange):
            turns.acquire(timeout=PATIENCE)
            exchange.send(OK)

        proxy = self.sidecar(one_turn, CONTAINER_CONCURRENCY='1')
        readers = [self.ask(proxy, request_bytes('GET', f'/{n}', 'app'))[1] for n in range(8)]
        for reader in readers:
            turns.release()
            self.assert_answer(reader.answer(), 200, b'ok')
        self.assertEqual(self.paths(), [f'/{n}' for n in range(8)])

    def test_a_slot_is_held_until_the_body_of_the_response_has_ended(self):
        finish = threading.Event()
        self.addCleanup(finish.set)

        def half(exchange):
            if exchange.path == '/next':
                exchange.send(OK)
                return
            exchange.send(b'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha')
            finish.wait(PATIENCE)
            exchange.send(b'lf')

        proxy = self.sidecar(half, CONTAINER_CONCURRENCY='1', SLUICE_QUEUE_DEPTH='1')
        _, first = self.ask(proxy, request_bytes('GET', '/first', 'app'))
        self.assertEqual(first.head()[0], 200)
        _, second = self.ask(proxy, request_bytes('GET', '/next', 'app'))
        eventually(lambda: proxy.get('/refused').status == 503, 'the queue is full')
        self.assertEqual(self.paths(), ['/first'])
        finish.set()
        self.assertEqual(first.exactly(4), b'half')
        self.assert_answer(second.answer(), 200, b'ok')


class KubeletProbes(SidecarCase):
    def test_row_9_marked_probes_pass_the_breaker_together(self):
        barrier = threading.Barrier(3, timeout=PATIENCE)

        def together(exchange):
            if exchange.path != '/':  # a late one of the crowd, abandoned before it came here
                return container(exchange)
            barrier.wait()
            exchange.send(OK)

        proxy = self.sidecar(together, CONTAINER_CONCURRENCY='1', SLUICE_QUEUE_DEPTH='1')
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            asked = [pool.submit(proxy.get, headers=[('K-Kubelet-Probe', 'x')]) for _ in range(3)]
            self.assertEqual([one.result().status for one in asked], [200] * 3)

    def test_row_9_the_kubelets_user_agent_never_reaches_the_container(self):
        gate = self.gate()
        proxy = self.sidecar(gate, CONTAINER_CONCURRENCY='1', SLUICE_QUEUE_DEPTH='1')
        self.ask(proxy, request_bytes('GET', '/running', 'app'))
        eventually(lambda: gate.inside, 'the first request reached the container')
        for _ in range(3):
            answer = proxy.get('/probe', headers=[('User-Agent', 'kube-probe/1.29'),
                                                  ('K-Network-Probe', 'queue')])
            self.assert_answer(answer, 200, b'queue')
        self.assertEqual(self.paths(), ['/running'])

    def test_a_probe_mark_that_an_activator_passed_on_opens_no_way_past_the_breaker(self):
        gate = self.gate()
        proxy = self.sidecar(gate, CONTAINER_CONCURRENCY='1', SLUICE_QUEUE_DEPTH='1')
        forged = [('K-Kubelet-Probe', 'x'), ('K-Proxy-Request', 'activator')]
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            asked = [pool.submit(proxy.get, headers=forged) for _ in range(3)]
            first = next(concurrent.futures.as_completed(asked, timeout=PATIENCE)).result()
            self.assertEqual(first.status, 503)
            gate.open()
            self.assertEqual(sorted(one.result().status for one in asked), [200, 200, 503])
        self.assertNotIn('k-kubelet-probe', self.seen())


class Leaving(SidecarCase):
    def leaves_the_queue(self, request):
        gate = self.gate()
        proxy = self.sidecar(gate, CONTAINER_CONCURRENCY='1', SLUICE_QUEUE_DEPTH='1')
        _, running = self.ask(proxy, request_bytes('GET', '/running', 'app'))
        eventually(lambda: gate.inside, 'the first request reached the container')
        leaver, _ = self.ask(proxy, request)
        eventually(lambda: proxy.get('/refused').status == 503, 'the leaver waits')
        leaver.close()
        # Its place is free again, while nothing else has moved: one may wait instead of being
        # refused. Each attempt is a connection of its own; the one not refused stays.
        waiting = []

        def may_wait():
            sock, reader = self.ask(proxy, request_bytes('GET', '/stays', 'app'))
            sock.settimeout(0.2)
            try:
                answer = reader.answer()
            except TimeoutError:
                sock.settimeout(PATIENCE)
                waiting.append(reader)
                return True
            self.assertEqual(answer.status, 503)
            return False

        eventually(may_wait, 'a place in the queue is free')
        gate.open()
        self.assert_answer(running.answer(), 200, b'ok')
        self.assert_answer(waiting[0].answer(), 200, b'ok')
        self.assertEqual(self.paths(), ['/running', '/stays'])

    def test_row_71_a_queued_get_whose_client_closes_leaves_at_once(self):
        self.leaves_the_queue(request_bytes('GET', '/left', 'app'))

    def test_row_72_a_queued_post_with_unread_body_leaves_at_once(self):
        head = b'POST /left HTTP/1.1\r\nHost: app\r\nContent-Length: 1000000\r\n\r\nfirst bytes'
        self.leaves_the_queue(head)

    def test_row_72_a_queued_post_that_filled_the_sidecars_buffer_leaves_at_once(self):
        head = b'POST /left HTTP/1.1\r\nHost: app\r\nContent-Length: 1000000\r\n\r\n'
        self.leaves_the_queue(head + b'x' * 60_000)

    def test_row_4_a_request_that_gives_up_waiting_frees_its_place(self):
        self.leaves_the_queue(b'GET /left HTTP/1.1\r\nHost: app\r\nConnection: close\r\n\r\n')

    def test_a_client_that_finished_sending_keeps_its_place(self):
        gate = self.gate()
        proxy = self.sidecar(gate, CONTAINER_CONCURRENCY='1')
        _, running = self.ask(proxy, request_bytes('GET', '/running', 'app'))
        eventually(lambda: gate.inside, 'the first request reached the container')
        sock, patient = self.ask(proxy, request_bytes('GET', '/patient', 'app'))
        sock.shutdown(1)
        gate.open()
        self.assert_answer(running.answer(), 200, b'ok')
        self.assert_answer(patient.answer(), 200, b'ok')


class Crowd:
    """Clients that send one request after the other, each under an id of its own; some leave early."""

    def __init__(self, proxy, seed):
        self.proxy = proxy
        self.seed = seed
        self.answered = collections.Counter()  # by id: whole answers
        self.refused = 0
        self.left = set()
        self.lock = threading.Lock()

    def client(self, number, requests):
        chance = random.Random(self.seed * 1000 + number)
        for turn in range(requests):
            name = f'{number}-{turn}'
            if chance.random() < 0.3:
                self.leave(name, chance)
                continue
            answer = fetch(self.proxy.serving, f'/{name}', host='app')
            with self.lock:
                if answer.status == 503:
                    self.refused += 1
                else:
                    assert (answer.status, answer.body) == (200, name.encode()), vars(answer)
                    self.answered[name] += 1

    def leave(self, name, chance):
        with self.lock:
            self.left.add(name)
        with self.proxy.connect() as sock:
            body = chance.choice([b'', b'Content-Length: 5000\r\n'])
            sock.sendall(f'POST /{name} HTTP/1.1\r\nHost: app\r\n'.encode() + body + b'\r\n')
            if chance.random() < 0.5:
                sock.setsockopt(1, 13, b'\1\0\0\0\0\0\0\0')  # SO_LINGER 0: a reset, not a FIN


def cut(sock):
    """The sidecar has ended this connection, whether or not its reader has noticed."""
    try:
        return sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b''
    except BlockingIOError:
        return False
    except OSError:
        return True


class Container:
    """Counts what runs at once, and how often each id came. A request that the sidecar has given up
    no longer runs, though the thread that serves it may notice later."""

    def __init__(self):
        self.lock = threading.Lock()
        self.running = set()  # of connections
        self.most = 0
        self.came = collections.Counter()

    def __call__(self, exchange):
        name = exchange.path[1:]
        with self.lock:
            self.running.add(exchange.sock)
            if len(self.running) > self.most:
                self.most = max(self.most, sum(not cut(sock) for sock in self.running))
            self.came[name] += 1
        try:
            exchange.body()
        finally:
            with self.lock:
                self.running.discard(exchange.sock)
        exchange.send(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s'
                      % (len(name), name.encode()))


class Limit(SidecarCase):
    def test_never_more_than_the_limit_runs_and_nothing_is_lost_or_duplicated(self):
        # Goal: whichever requests come, leave or are refused, the container never sees more than its limit,
        # each answered id exactly once, and none that was refused.
        # Method: 24 clients over a limit of 3; a third of the requests are abandoned at once, half
        # of those by a reset. The container counts between head and answer.
        container = Container()
        proxy = self.sidecar(container, CONTAINER_CONCURRENCY='3', SLUICE_QUEUE_DEPTH='8')
        crowd = Crowd(proxy, seed=5)
        with concurrent.futures.ThreadPoolExecutor(24) as pool:
            for done in [pool.submit(crowd.client, n, 25) for n in range(24)]:
                done.result(60)
        self.assertLessEqual(container.most, 3)
        self.assertGreater(len(crowd.answered), 0)
        for name, count in crowd.answered.items():
            self.assertEqual((count, container.came[name]), (1, 1), name)
        doubled = {name: count for name, count in container.came.items() if count > 1}
        self.assertEqual(doubled, {})
        unknown = set(container.came) - set(crowd.answered) - crowd.left
        self.assertEqual(unknown, set())
        # Every slot has come back: the limit's worth of requests runs at once, and is answered.
        barrier = threading.Barrier(3, timeout=PATIENCE)

        def together(exchange):
            if exchange.path != '/':  # a late one of the crowd, abandoned before it came here
                return container(exchange)
            barrier.wait()
            return exchange.send(OK)

        self.upstream.play = together
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            asked = [pool.submit(proxy.get) for _ in range(3)]
            self.assertEqual([one.result().status for one in asked], [200] * 3)

    def test_an_upstream_that_hangs_up_gives_its_slot_back(self):
        proxy = self.sidecar(lambda exchange: exchange.sock.close(), CONTAINER_CONCURRENCY='1',
                             SLUICE_QUEUE_DEPTH='1')
        for _ in range(5):
            self.assertEqual(proxy.get().status, 502)

    def test_requests_of_one_connection_queue_one_by_one(self):
        proxy = self.sidecar(CONTAINER_CONCURRENCY='1', SLUICE_QUEUE_DEPTH='1')
        sock, reader = self.ask(proxy, b''.join(request_bytes('GET', f'/{n}', 'app')
                                                for n in range(10)))
        for _ in range(10):
            self.assert_answer(reader.answer(), 200, b'ok')
        sock.close()
        self.assertEqual(self.paths(), [f'/{n}' for n in range(10)])


if __name__ == '__main__':
    unittest.main()
