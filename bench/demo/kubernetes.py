"""A Deployment sleeps, wakes by a request, grows under load and sleeps again. Behind `./dev demo kubernetes`.

Starts a Kubernetes of real programs in a network of its own on this machine, installs the chart with
helm, and tells what happens line by line. Needs root. Exit status 0 only if no request was lost.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parents[1] / 'tests'
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(TESTS / 'kubernetes'), str(TESTS / 'integration')]

from demo import chart, stop  # noqa: E402
from lab import toolbox  # noqa: E402
from lab.chart import CHART  # noqa: E402
from lab.cluster import Lab, reason_against  # noqa: E402
from lab.installed import stage  # noqa: E402
from lab.objects import is_ready  # noqa: E402
from wire import fetch  # noqa: E402

NAME = 'hello'
TARGET = 2
SHAPE = 'step 10:5s, 80:20s, 10:5s'
SHAPE_SECONDS = 30
PATH = '/?ms=100'
GROWN_LEAST = 3
LAST_SECONDS = 150
LOOK_SECONDS = 0.1


class Story:
    """What has happened so far, told line by line."""

    def __init__(self, case):
        self.case = case
        self.began = time.monotonic()
        self.wanted = None
        self.ready = set()
        self.most = 0
        self.track = [(0.0, 0)]

    def elapsed(self):
        return time.monotonic() - self.began

    def tell(self, what):
        print(f'+{self.elapsed():5.1f} s  {what}', flush=True)

    def look(self):
        """Tells what is new; whether nothing runs."""
        wanted = self.case.replicas(NAME)
        if wanted != self.wanted:
            if self.wanted is not None:
                self.tell(f'{self.wanted} -> {wanted} replica{"" if wanted == 1 else "s"}')
            self.wanted = wanted
        pods = self.case.place.pods(NAME)
        ready = {pod['metadata']['name'] for pod in pods if is_ready(pod)}
        for name in sorted(ready - self.ready):
            self.tell(f'  {name} ready')
        for name in sorted(self.ready - ready):
            self.tell(f'  {name} goes')
        if len(ready) != len(self.ready):
            self.track.append((self.elapsed(), len(ready)))
        self.ready = ready
        self.most = max(self.most, len(ready))
        return wanted == 0 and not pods

    def columns(self):
        print('\n$ kubectl get rqs', flush=True)
        print(self.case.lab.kubectl('-n', self.case.place.name, 'get', 'rqs'), flush=True)


def until(story, condition):
    """Tells the story until the condition holds; False when it never does."""
    pause = threading.Event()
    while story.elapsed() < LAST_SECONDS:
        asleep = story.look()
        if condition(asleep):
            return True
        pause.wait(LOOK_SECONDS)
    return False


def wake(story, address):
    """The first request; the milliseconds that it took, or None."""
    story.tell(f'one request to the Service, http://{address}/')
    answers, began = [], time.monotonic()

    def ask():
        try:
            answers.append(fetch(address, timeout=60))
        except OSError as problem:
            answers.append(problem)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    took = []

    def answered(_):
        if answers and not took:
            took.append(1000 * (time.monotonic() - began))
        return bool(answers)

    until(story, answered)
    asking.join(1)
    if not answers or getattr(answers[0], 'status', None) != 200:
        story.tell(f'it was not answered: {answers}')
        return None
    story.tell(f'answered 200 after {took[0]:.0f} ms: {answers[0].body.decode().strip()}')
    return took[0]


def load(story, sluice, address, folder):
    """Plays the load; its report, or None."""
    report = folder / 'load.json'
    url = f'http://{address}{PATH}'
    print(f'\n$ sluice load \'{url}\' --shape \'{SHAPE}\'\n', flush=True)
    process = subprocess.Popen([sluice, 'load', url, '--shape', SHAPE, '--json', str(report)],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(story, lambda _: process.poll() is not None)
    finally:
        stop(process)
    story.tell(f'the load is over, {SHAPE_SECONDS} s of requests')
    return json.loads(report.read_text()) if report.exists() else None


def summary(story, report, took):
    """Prints the account; how many requests were lost."""
    requests = report['requests']
    errors = sum(count for status, count in report['status'].items() if int(status) >= 400)
    sent = requests['sent'] + 1
    answered = requests['answered'] - errors + 1
    latency = report['latency_ms'] or {}
    print('\nsummary')
    print(f'  woken in   {took:.0f} ms, most of it the start of a pod')
    print(f'  latency    p50 {latency.get("p50", "-")} ms, p99 {latency.get("p99", "-")} ms; each request '
          'sleeps 100 ms in the application')
    print('  replicas over time')
    for row in chart(story.track, story.elapsed()):
        print('  ' + row)
    print(f'\n{sent} sent, {answered} answered, {sent - answered} lost')
    return sent - answered


def play(case, sluice):
    """Runs the demo; the exit status."""
    story = Story(case)
    case.workload(NAME)
    case.scale(NAME, {'target': TARGET, 'max': 6})
    case.wait_routed(NAME)
    story.look()
    story.tell(f'asleep: the Deployment {NAME} has no pod')
    story.columns()
    address = case.address(NAME)
    took = wake(story, address)
    if took is None:
        return 1
    report = load(story, sluice, address, case.lab.folder)
    if report is None:
        print('demo: the load has told nothing')
        return 1
    story.columns()
    slept = until(story, lambda asleep: asleep)
    if slept:
        story.tell('asleep again: no pod is left')
    lost = summary(story, report, took)
    grown = story.most >= GROWN_LEAST
    if not (slept and grown):
        print(f'demo: the Deployment did not {"grow" if not grown else "go back to sleep"}')
    return 0 if slept and grown and lost == 0 else 1


def missing():
    """Why it cannot be shown here; empty: it can. Builds the cluster's programs where there are none."""
    reason = reason_against(3, ())
    if not reason:
        try:
            toolbox.build('cluster', lambda line: print(f'== {line}', flush=True))
        except toolbox.NoTools as none:
            reason = str(none)
    return reason or reason_against(3)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--bin', required=True, type=pathlib.Path, help='folder of the programs')
    programs = parser.parse_args().bin.resolve()
    if reason := missing():
        print(f'demo: no Kubernetes can be started here: {reason}', file=sys.stderr)
        return 1
    print('A Deployment on a Kubernetes of its own, about two minutes: sleep, wake, grow, sleep.', flush=True)
    with Lab(3, programs) as lab:
        print(f'\nthe cluster is up\n$ helm install sluice {CHART.relative_to(HERE.parents[1])}', flush=True)
        with stage(lab) as case:
            return play(case, str(programs / 'sluice'))


if __name__ == '__main__':
    sys.exit(main())
