"""An engine with the places a, b and c, services of real processes in a, and rounds in which some have to go."""

import datetime
import pathlib
import sys
import threading
import time

from engine import Engine, Home, wait_until
from verdict import Round

HERE = pathlib.Path(__file__).resolve().parent
SERVICES = ('s1', 's2', 's3', 's4', 's5')
EACH_MIB = 64
START_SECONDS = 1.5
ROUND_SECONDS = 60    # in which the moves of a round have to be over
# Moved services may be moved again in the next round, and all of them at once.
CONFIG = f'''groups:
  - {{name: a, preference: 0, memory: {len(SERVICES) * EACH_MIB}Mi}}
  - {{name: b, preference: 0, memory: {2 * EACH_MIB}Mi}}
  - {{name: c, preference: 1, memory: {len(SERVICES) * EACH_MIB}Mi}}
placement: {{max-moves-per-demand: {len(SERVICES)}, minimum-age: 1s, cool-down: 0s}}
'''
DOCUMENT = '''apiVersion: serving.knative.dev/v1
kind: Service
metadata: {{name: {name}}}
spec:
  template:
    metadata:
      annotations:
        autoscaling.knative.dev/min-scale: "1"
        autoscaling.knative.dev/max-scale: "1"
        placement.sluice.dev/clusters: {places}
    spec:
      containers:
        - command: [{python}, -B, {app}]
          env: [{{name: JOURNAL, value: {journal}}}, {{name: START_SECONDS, value: "{start}"}}]
          resources: {{limits: {{memory: {memory}Mi}}}}
'''


class Failed(Exception):
    """A round that did not go as it has to before anything can be measured."""


def seconds(text):
    """Of a time in JSON; 3.9 reads no Z."""
    return datetime.datetime.fromisoformat(text.replace('Z', '+00:00')).timestamp()


class Machine:
    """The engine; its services are ready when this is made."""

    def __init__(self):
        self.home = Home()
        self.journal = self.home.path / 'journal'
        config, services = self.home.path / 'config.yaml', self.home.path / 'services.yaml'
        config.write_text(CONFIG)
        services.write_text('---\n'.join(self.document(name, 'a, b, c', EACH_MIB) for name in SERVICES))
        self.engine = None
        try:
            self.engine = Engine(self.home, '--config', str(config), '-f', str(services))
            for name in SERVICES:
                self.engine.wait_status(lambda status: status['ready'] == 1, service=name)
            if self.replicas_in('a') != len(SERVICES):
                raise Failed(f'the services are not all in a: {self.places()}')
        except BaseException:
            self.close()
            raise

    def document(self, name, places, memory):
        return DOCUMENT.format(name=name, places=f'"{places}"', memory=memory, python=sys.executable,
                               app=HERE / 'counting_app.py', journal=self.journal, start=START_SECONDS)

    def places(self):
        return self.engine.get('/_sluice/api/v1/places', host='localhost').json()['items']

    def cut(self):
        """Requests, as the engine counts them in all moves, those that bring services back among them."""
        moves = self.engine.get('/_sluice/api/v1/moves', host='localhost').json()['items']
        return sum(move['cut'] for move in moves)

    def replicas_in(self, name):
        place, = [place for place in self.places() if place['name'] == name]
        return sum(service['replicas'] for service in place['services'])

    def tell(self, *arguments):
        done = self.home.run(*arguments, timeout=ROUND_SECONDS)
        if done.returncode != 0:
            raise Failed(f'sluice {" ".join(arguments)}: exit {done.returncode}: {done.stderr.strip() or done.stdout}')

    def round(self, count):
        """A service arrives in a that needs the room of `count`."""
        file = self.home.path / 'guest.yaml'
        file.write_text(self.document('guest', 'a', count * EACH_MIB))
        self.engine.mark()
        begun = time.monotonic()
        self.tell('apply', '-f', str(file))
        return self.watch(count, begun)

    def watch(self, count, begun):
        moves, over, admitted = {}, begun, None
        while admitted is None or len(moves) < count:
            seen = len(self.engine.events)
            if not self.engine.drain(max(0.001, begun + ROUND_SECONDS - time.monotonic())):
                raise Failed(f'{len(moves)} of {count} services moved in {ROUND_SECONDS} s: {self.places()}')
            event = self.engine.events[seen]
            if event['type'] == 'move' and event['over']:
                if not event['done']:
                    raise Failed(f'a move was given up: {event["line"]}; {event["why"]}')
                moves[event['service']] = event
                over = time.monotonic()
            if event['type'] == 'replica' and event['service'] == 'guest' and event['state'] == 'ready':
                admitted = time.monotonic()
        if len(moves) != count:
            raise Failed(f'{len(moves)} services moved for the room of {count}')
        return Round(moved=tuple(sorted(moves)), begun=begun, over=over, admitted=admitted,
                     move_seconds=seconds(max(move['ended'] for move in moves.values())) -
                     seconds(min(move['began'] for move in moves.values())))

    def go_back(self, moved):
        """The service that arrived goes, and those that went come back."""
        self.tell('delete', 'guest')
        wait_until(lambda: self.replicas_in('a') == len(SERVICES) - len(moved), ROUND_SECONDS, 'the room of the guest')
        problems = []
        threads = [threading.Thread(target=self.move_back, args=(name, problems)) for name in moved]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if problems:
            raise Failed('; '.join(problems))

    def move_back(self, name, problems):
        try:
            self.tell('move', name, '--to', 'a')
        except Failed as problem:
            problems.append(str(problem))

    def close(self):
        if self.engine:
            self.engine.stop()
        self.home.close()
