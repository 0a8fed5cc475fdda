"""Plays the whole loop before your eyes: sleep, wake, panic, shrink, sleep. Behind `./dev demo`.

Starts `sluice up --demo`, drives it with `sluice load`, prints each decision with its reason as it is
made and closes with a summary. Exit status 0 only if no request was lost.
"""

import argparse
import json
import os
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading
import time

SHAPE = 'step 5:8s, 250:20s, 5:20s'
SHAPE_SECONDS = 48
PATH = '/sleep?ms=100'
WINDOW_SECONDS = 15
READY_SECONDS = 20
LAST_SECONDS = 105
CHART_COLUMNS = 60
SERVICE = 'app'


class Story:
    """What has happened so far, told line by line."""

    def __init__(self):
        self.began = time.monotonic()
        self.ready = {}  # id -> state
        self.track = [(0.0, 0)]
        self.cold_starts = []
        self.shown = None
        self.woke = False
        self.panicked = False

    def elapsed(self):
        return time.monotonic() - self.began

    def tell(self, what, why=''):
        line = f'+{self.elapsed():5.1f} s  {what:<34}{"  why: " + why if why else ""}'
        print(line.rstrip(), flush=True)

    def running(self):
        return sum(1 for state in self.ready.values() if state == 'ready')

    def hear(self, event):
        told = getattr(self, 'hear_' + event.get('type', '').replace('-', '_'), None)
        if told:
            told(event)

    def hear_decision(self, event):
        wanted, mode = event.get('granted', event.get('desired', 0)), event.get('mode', 'stable')
        if self.shown == (wanted, mode):
            return
        before, self.shown = self.shown or (0, 'stable'), (wanted, mode)
        if mode != before[1]:
            self.tell('PANIC on' if mode == 'panic' else 'PANIC off', event.get('why', ''))
        self.panicked = self.panicked or mode == 'panic'
        if wanted != before[0]:
            self.tell(f'{before[0]} -> {wanted} replica{"" if wanted == 1 else "s"}',
                      event.get('why', '') if mode == before[1] else '')

    def hear_replica(self, event):
        name, state = event.get('id', '?'), event.get('state', '?')
        if self.ready.get(name) == state:
            return
        self.ready[name] = state
        if not self.track or self.track[-1][1] != self.running():
            self.track.append((self.elapsed(), self.running()))
        self.woke = self.woke or state == 'ready'
        pid = f'pid {event["pid"]}' if event.get('pid') and state in ('starting', 'ready') else ''
        self.tell(f'  {name} {state} {pid}'.rstrip())

    def hear_cold_start(self, event):
        self.cold_starts.append(event)
        self.tell(f'  cold start {event["total_ms"]} ms', phases_of(event))

    def hear_warning(self, event):
        self.tell('warning', event.get('message', str(event)))

    hear_error = hear_warning


def phases_of(event):
    phases = event.get('phases_ms', {})
    order = ('queue', 'decide', 'create', 'start', 'ready', 'first_byte')
    return ' + '.join(f'{name.replace("_", " ")} {phases[name]:g}'
                      for name in order if name in phases)


def events_of(process):
    """A queue of the engine's events, closed by None."""
    lines = queue.Queue()

    def read():
        for line in process.stdout:
            try:
                lines.put(json.loads(line))
            except json.JSONDecodeError:
                print(line, end='')
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return lines


def wait_ready(events, story):
    """The engine's address, or None when it ended or did not get ready in time."""
    while story.elapsed() < READY_SECONDS:
        try:
            event = events.get(timeout=0.2)
        except queue.Empty:
            continue
        if event is None:
            return None
        if event.get('type') == 'engine' and event.get('event') == 'ready':
            return event['http']
        story.hear(event)
    return None


def follow(events, story, load):
    """Tells events until the load is over and the service sleeps again; False when it never does."""
    said_over = False
    while story.elapsed() < LAST_SECONDS:
        try:
            event = events.get(timeout=0.2)
            if event is None:
                return False
            story.hear(event)
        except queue.Empty:
            pass
        over = load.poll() is not None
        if over and not said_over:
            said_over = True
            story.tell('the load is over', f'{SHAPE_SECONDS} s of requests; the window is '
                                           f'{WINDOW_SECONDS} s')
        if over and story.woke and story.running() == 0 and asleep(story):
            return True
    return False


def asleep(story):
    return all(state in ('stopped', 'exited') for state in story.ready.values())


def chart(track, until):
    """Replicas over time, one column per step, highest on top."""
    top = max(count for _, count in track)
    step = max(until / CHART_COLUMNS, 0.001)
    heights = []
    for column in range(CHART_COLUMNS):
        begin, end = column * step, (column + 1) * step
        before = [count for at, count in track if at <= begin]
        within = [count for at, count in track if begin < at < end]
        heights.append(max(within + before[-1:]))
    rows = [f'  {level:>3} |' + ''.join('#' if height >= level else ' ' for height in heights).rstrip()
            for level in range(top, 0, -1)]
    axis = f'{0:<6}{"":<{CHART_COLUMNS // 2 - 9}}{until / 2:<6.0f}'
    return rows + ['    0 +' + '-' * CHART_COLUMNS, f'       {axis:<{CHART_COLUMNS - 5}}{until:.0f} s']


def summary(story, report):
    """Prints the account; returns how many requests were lost."""
    requests, latency = report['requests'], report['latency_ms'] or {}
    refused = requests['refused']
    answered = requests['answered'] - refused
    # What the application itself would answer with an error is lost to the demo, too.
    own_errors = sum(count for status, count in report['status'].items() if int(status) >= 400)
    lost = requests['sent'] - requests['answered'] + max(0, own_errors - refused)
    print('\nsummary')
    print(f'  requests   {requests["sent"]} sent, {answered} answered, {refused} refused, {lost} lost')
    print(f'  latency    p50 {latency.get("p50", "-")} ms, p99 {latency.get("p99", "-")} ms, max '
          f'{latency.get("max", "-")} ms; each request sleeps 100 ms in the application')
    for event in story.cold_starts:
        print(f'  cold start {event["total_ms"]} ms = {phases_of(event)}')
    print('  replicas over time')
    for row in chart(story.track, story.elapsed()):
        print('  ' + row)
    return lost


def stop(process):
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def play(sluice, home):
    """Runs the demo; returns the exit status."""
    environment = {**os.environ, 'XDG_STATE_HOME': str(home), 'XDG_RUNTIME_DIR': str(home)}
    log = open(home / 'engine.log', 'w', encoding='utf-8')
    engine = subprocess.Popen([sluice, 'up', '--demo', '--name', SERVICE, '-o', 'json', '--window',
                               f'{WINDOW_SECONDS}s'],
                              stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
    story, load = Story(), None
    try:
        events = events_of(engine)
        address = wait_ready(events, story)
        if address is None:
            print('demo: the engine did not get ready; its log:\n' + (home / 'engine.log').read_text())
            return 1
        url = f'http://{SERVICE}.localhost:{address.rsplit(":", 1)[1]}{PATH}'
        port = address.rsplit(':', 1)[1]
        print(f'page       http://sluice.localhost:{port}/', flush=True)
        story.tell('asleep: no process is running', f'nobody has asked for {url} yet')
        report = home / 'load.json'
        print(f'\n$ sluice load \'{url}\' --shape \'{SHAPE}\'\n', flush=True)
        load = subprocess.Popen([sluice, 'load', url, '--shape', SHAPE, '--json', str(report)],
                                stdout=subprocess.DEVNULL, stderr=log, env=environment)
        slept = follow(events, story, load)
        if not report.exists():
            print('demo: the load did not end; log:\n' + (home / 'engine.log').read_text()[-3000:])
            return 1
        if slept:
            story.tell('asleep again: no process is running', 'a whole window without a request')
        lost = summary(story, json.loads(report.read_text()))
    finally:
        for process in (load, engine):
            if process:
                stop(process)
        log.close()
    missing = [what for what, seen in (('wake', story.woke), ('panic', story.panicked),
                                       ('go back to sleep', slept)) if not seen]
    if missing:
        print(f'demo: the service did not {", nor ".join(missing)}')
    return 1 if lost or missing else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--sluice', required=True, help='the program')
    sluice = str(pathlib.Path(parser.parse_args().sluice).resolve())
    print('A demo application behind `sluice up`, about 90 seconds: sleep, wake, panic, shrink, sleep.\n\n'
          f'$ sluice up --demo --window {WINDOW_SECONDS}s\n')
    with tempfile.TemporaryDirectory(prefix='sluice-demo-') as folder:
        os.chmod(folder, 0o700)
        status = play(sluice, pathlib.Path(folder))
    program = os.path.relpath(sluice)
    print(f'''
next
  {program} up -- python3 -m http.server '$PORT'      any program that listens on $PORT
  {program} load http://app.localhost:8080 --rate 200 --duration 60s
  {program} explain app                               why that many replicas''')
    return status


if __name__ == '__main__':
    sys.exit(main())
