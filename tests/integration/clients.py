"""Many requests with unique ids, and a record of how each ended."""

import collections
import itertools
import threading
import time

from wire import fetch


class Clients:
    """`count` threads that ask for /?id=N&ms=M one after the other until stopped."""

    method = 'GET'

    def __init__(self, engine, count, milliseconds, hosts=('app.localhost',)):
        self.engine = engine
        self.milliseconds = milliseconds
        self.ids = itertools.count()
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.sent = set()
        self.answered = set()
        self.refused = set()
        self.lost = {}
        self.threads = [threading.Thread(target=self.ask, args=(hosts[i % len(hosts)],), daemon=True)
                        for i in range(count)]
        for thread in self.threads:
            thread.start()

    def ask(self, host):
        while not self.stopping.is_set():
            self.send(host)

    def send(self, host):
        name = f'r{next(self.ids)}'
        with self.lock:
            self.sent.add(name)
        try:
            answer = fetch(self.engine.http, f'/?id={name}&ms={self.milliseconds}', host=host,
                           method=self.method, timeout=60)
            self.note(name, answer)
        except OSError as error:
            with self.lock:
                self.lost[name] = repr(error)

    def note(self, name, answer):
        with self.lock:
            if answer is None or not answer.whole:
                self.lost[name] = 'connection closed'
            elif 'sluice-error' in answer.headers:
                self.refused.add(name)
            elif answer.status == 200 and answer.body.split()[0] == name.encode():
                self.answered.add(name)
            else:
                self.lost[name] = f'{answer.status} {answer.body[:60]}'

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(90)


class Posts(Clients):
    """POSTs in an open loop: each of the hosts gets `rate` a second, at planned times, whatever becomes of
    those before."""

    method = 'POST'

    def __init__(self, engine, rate, milliseconds, hosts):
        self.rate = rate
        self.under_way = []
        super().__init__(engine, len(hosts), milliseconds, hosts)

    def ask(self, host):
        begin = time.monotonic()
        for number in itertools.count():
            if self.stopping.wait(max(0, begin + number / self.rate - time.monotonic())):
                return
            post = threading.Thread(target=self.send, args=(host,), daemon=True)
            with self.lock:
                self.under_way.append(post)
            post.start()

    def stop(self):
        super().stop()
        for post in self.under_way:
            post.join(90)


class Journal:
    """What the application wrote down: how often each id began, and how many ran at once."""

    def __init__(self, path):
        self.begun = collections.Counter()
        self.most_running = 0
        for line in path.read_text().splitlines():
            word, name, _, running = line.split()
            if word == 'start':
                self.begun[name] += 1
                self.most_running = max(self.most_running, int(running))

    def doubled(self):
        return {name: count for name, count in self.begun.items() if count > 1}
