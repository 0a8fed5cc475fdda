"""`sluice dashboard` as a person runs it: its link is read, and a signal ends it."""

import signal
import subprocess

from engine import SLUICE, EngineCase
from wire import PATIENCE, fetch


class Served:
    """A running `sluice dashboard` of a cluster; `address` as its link has it."""

    def __init__(self, home, *flags, environment=None):
        self.errors = open(home.path / f'dashboard-{id(self)}.log', 'w+', encoding='utf-8')
        self.process = subprocess.Popen([SLUICE, 'dashboard', *flags], stdout=subprocess.PIPE, stderr=self.errors,
                                        env={**home.environment, **(environment or {})}, cwd=home.path, text=True)
        self.link = self.process.stdout.readline().strip()
        if not self.link:
            self.close()
            raise AssertionError(f'no link; exit {self.process.returncode}: {self.text}')
        self.address = self.link.removeprefix('http://').removesuffix('/')

    def get(self, path='/', **options):
        return fetch(self.address, path, **{'host': self.address, **options})

    def stop(self):
        """The exit status after Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        self.process.stdout.close()
        self.errors.seek(0)
        self.text = self.errors.read()
        self.errors.close()


class ServedCase(EngineCase):
    def served(self, *flags, **options):
        running = Served(self.home, *flags, **options)
        self.addCleanup(lambda: running.errors.closed or running.close())
        return running
