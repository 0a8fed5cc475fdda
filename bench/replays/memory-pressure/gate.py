"""The autoscaler's part in the replay: it receives the agent's reports and starts only what fits."""

import time

SPACING_SECONDS = 0.25
START_SECONDS = 60
HOLD_SECONDS = 5     # of a grant beside what the agent reports (protocols.md 4)


class OpenGate:
    """Starts jobs at once: of a policy without a gate, and where the starts are not ours."""

    def admit(self, _key, _claim):
        return True

    def started(self, key):
        pass

    def ended(self, key):
        pass


class Gate:
    """Admits what the newest report lets in, less what was granted since, and one at a time: what many
    would grow by together is seen only once they are there (memory-pressure.md 9, row 69c).

    A claim is released when its container has run HOLD_SECONDS: by then the agent sees the container
    itself, and what it can still grow by is in its own sum.
    """

    def __init__(self, stream):
        self.stream = stream
        self.grants = {}   # {key: [until, bytes]}
        self.last = None   # (the report that let the last one in, when)

    def admit(self, key, claim):
        report, now = self.stream.last(), time.monotonic()
        if report is None or self.last and (report is self.last[0] or now < self.last[1] + SPACING_SECONDS):
            return False
        self.grants = {one: grant for one, grant in self.grants.items() if grant[0] > now}
        if report.admit_bytes - sum(grant[1] for grant in self.grants.values()) < claim:
            return False
        self.last = report, now
        self.grants[key] = [now + START_SECONDS, claim]
        return True

    def started(self, key):
        if key in self.grants:
            self.grants[key][0] = time.monotonic() + HOLD_SECONDS

    def ended(self, key):
        self.grants.pop(key, None)
