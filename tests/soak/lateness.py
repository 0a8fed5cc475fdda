"""How late the driver's own loop is: events that it saw late prove no fault of a program."""

import asyncio

PERIOD = 0.02


class Lateness:
    """Seconds by which the loop has been late, in all. `watch()` runs as long as it is asked."""

    def __init__(self):
        self.loop = asyncio.get_running_loop()
        self.total = 0.0
        self.due = self.loop.time() + PERIOD

    async def watch(self):
        while True:
            await asyncio.sleep(max(0, self.due - self.loop.time()))
            now = self.loop.time()
            self.total += now - self.due
            self.due = now + PERIOD

    def until(self, now):
        return self.total + max(0.0, now - self.due)


class Stopwatch:
    """Time that the loop had to notice something; what passed while it was late is not counted."""

    def __init__(self, lateness):
        self.lateness = lateness
        self.began = lateness.loop.time()
        self.late = lateness.until(self.began)

    def seconds(self):
        now = self.lateness.loop.time()
        return now - self.began - (self.lateness.until(now) - self.late)
