"""Our part of waking a Deployment, from outside and with everything real. bench/compare/
kubernetes_activation.py holds the same figures against the bar; here only what is out of all reason fails."""

from lab import activation
from lab.installed import InstalledCase

SERVICES = [f'svc{number}' for number in range(10)]
ROUNDS = 2
SANE_MS = 1000


class Activations(InstalledCase):
    def test_our_part_of_an_activation_is_small(self):
        for name in SERVICES:
            self.workload(name)
            self.scale(name)
        for name in SERVICES:
            self.wait_routed(name)

        seen = activation.measure(self, SERVICES, ROUNDS)

        print('\n' + activation.printed(seen))
        self.assertLess(activation.median_ours(seen), SANE_MS)
