"""What tests of every tier share: the laboratory that the runner started, and a namespace for each."""

import itertools
import unittest

from wire import PATIENCE, eventually

from lab.account import Account
from lab.objects import Place, addresses

NUMBERS = itertools.count(1)


class LabCase(unittest.TestCase):
    """`self.lab`, `self.api`, and `self.place`, a namespace of this test alone."""

    lab = None  # set by the runner, before anything is loaded

    def setUp(self):
        self.api = self.lab.api
        self.place = Place(self.lab, f'test-{next(NUMBERS)}')
        self.addCleanup(self.place.remove)

    def fault_proxy(self, **more):
        proxy = self.lab.fault_proxy(**more)
        self.addCleanup(proxy.close)
        return proxy

    def account(self, name='tester', rules=(), cluster=False):
        return Account(self.lab, self.place.name, name, rules, cluster)

    def spawn(self, command, environment=None):
        program = self.lab.spawn(command, environment)
        self.addCleanup(program.close)
        return program

    def wait_ready(self, app, count, seconds=60):
        """The pods, when just `count` of them are Ready and no other is left."""
        def settled():
            pods = self.place.pods(app)
            ready = self.place.ready_pods(app)
            return (ready or True) if len(pods) == len(ready) == count else None

        found = eventually(settled, f'{count} pods of {app} are Ready', seconds)
        return found if count else []

    def wait_endpoints(self, name, count, seconds=PATIENCE):
        """The addresses, when the slices of a Service hold just `count` ready ones."""
        def settled():
            found = addresses(self.place.slices(name))
            return (found or True) if len(found) == count else None

        found = eventually(settled, f'{name} has {count} ready endpoints', seconds)
        return found if count else []
