"""tests/support/kube_probe on the cluster: what our client receives of one collection, line by line."""

import re
import subprocess
import threading

from wire import PATIENCE, Deadline

ENDED = 'ended'


class Probe:
    """Follows `path` with the access of a kubeconfig. `heard`: its lines, in order."""

    def __init__(self, lab, path, kubeconfig=None, labels=''):
        self.process = subprocess.Popen(
            [str(lab.bin.parent / 'tests' / 'kube_probe'), 'list', path, *([labels] if labels else [])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={'KUBECONFIG': kubeconfig or lab.kubeconfig})
        self.changed = threading.Condition()
        self.heard = []
        self.answers = []
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def listen(self):
        for line in self.process.stdout:
            with self.changed:
                kept = self.answers if line.startswith(('rss ', 'state ')) else self.heard
                kept.append(line.rstrip('\n'))
                self.changed.notify_all()
        with self.changed:
            self.answers.append(ENDED)
            self.changed.notify_all()

    def wait(self, condition, what, seconds=PATIENCE):
        """Until condition(heard), which is asked after every line."""
        deadline = Deadline(seconds)
        with self.changed:
            while not condition(self.heard) and not deadline.passed():
                self.changed.wait(deadline.left())
            if condition(self.heard):
                return self
        state = self.ask('state') if self.process.poll() is None else ENDED
        raise AssertionError(f'after {seconds} s still not: {what}; heard {self.heard[-20:]}; {state}')

    def wait_line(self, line, seconds=PATIENCE):
        return self.wait(lambda heard: line in heard, line, seconds)

    def wait_synced(self, times=1, seconds=PATIENCE):
        return self.wait(lambda heard: sum(line.startswith('synced ') for line in heard) >= times,
                         f'synced {times} times', seconds)

    def ask(self, word):
        """Its answer to a word on its standard input."""
        with self.changed:
            self.answers.clear()
            self.process.stdin.write(word + '\n')
            self.process.stdin.flush()
            if not self.changed.wait_for(lambda: self.answers, PATIENCE):
                raise AssertionError(f'no answer to {word}')
            return self.answers[0]

    def state(self):
        """synced, connected, forbidden, absent, requests as numbers; problem as text."""
        line, problem = self.ask('state').split(' problem ', 1)
        return {**{key: int(value) for key, value in re.findall(r'(\w+) (\d+)', line)}, 'problem': problem}

    def counts(self):
        """rss in KiB, objects, lists, events."""
        return {key: int(value) for key, value in re.findall(r'(\w+) (\d+)', self.ask('rss'))}

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        self.thread.join(10)
        self.process.stdin.close()
        self.process.stdout.close()
