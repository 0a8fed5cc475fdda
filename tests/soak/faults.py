"""What goes wrong during a run, seeded: each kind in a rhythm of its own."""

import asyncio
import random

# Seconds between two of a kind, least and most. Together they leave whole pods most of the time.
RHYTHM = {'pod killed': (1.5, 4), 'application killed': (3, 7), 'readiness failing': (2, 6),
          'activator restarted': (8, 16), 'autoscaler killed': (10, 22)}
FIRST_SECONDS = 6       # until the first of a kind has come at the latest
# What a run must have shown to have shown anything.
WANTED = (*RHYTHM, 'slow to start')
CANDIDATE_PAUSE = 0.1


class Faults:
    def __init__(self, site, seed):
        self.site = site
        self.stopping = False
        self.choice = random.Random(f'{seed}/faults')
        self.acts = {'pod killed': self.kill_pod, 'application killed': self.kill_app,
                     'readiness failing': self.fail_readiness,
                     'activator restarted': self.restart_activator,
                     'autoscaler killed': self.kill_autoscaler}

    def tasks(self):
        return [self.site.spawn(self.play(kind)) for kind in RHYTHM]

    async def play(self, kind):
        await self.pause(self.choice.uniform(2, FIRST_SECONDS))
        while not self.stopping:
            if await self.acts[kind]():
                self.site.faults[kind] += 1
                await self.pause(self.choice.uniform(*RHYTHM[kind]))
            else:
                await self.pause(CANDIDATE_PAUSE)

    async def pause(self, seconds):
        until = self.site.now() + seconds
        while self.site.now() < until and not self.stopping:
            await asyncio.sleep(min(0.5, max(0, until - self.site.now())))

    def serving_pod(self):
        found = [pod for revision in self.site.by_name.values() for pod in revision.pods.values()
                 if pod.serves]
        return self.choice.choice(found) if found else None

    async def kill_pod(self):
        pod = self.serving_pod()
        if pod is not None:
            await pod.kill()
        return pod is not None

    async def kill_app(self):
        pod = self.serving_pod()
        if pod is not None:
            await pod.crash_app(self.choice.uniform(0, 0.3))
        return pod is not None

    async def fail_readiness(self):
        pod = self.serving_pod()
        if pod is not None:
            await pod.fail_readiness(self.choice.uniform(0.2, 2))
        return pod is not None

    async def restart_activator(self):
        await self.site.restart_activator(self.choice.randrange(len(self.site.doors)))
        return True

    async def kill_autoscaler(self):
        await self.site.restart_autoscaler(self.choice.uniform(0, 3))
        return True
