"""The scenarios of bench/scenarios, each against a fresh engine on this machine.

A folder there has `services.yaml` for the engine, `plan.yaml` for `sluice load --file`, perhaps `config.yaml` of the
engine and `after-15s.yaml`, which replaces `services.yaml` so long after the load began: a new revision of each of its
services. The port 8080 of a plan becomes that of the engine. With `baseline.json.gz`, which --write makes, each run is compared with it. Each report of `sluice load` is printed, then a line per scenario; exit status 1 when an assertion
does not hold, or a run is worse. Behind `./dev bench load`; method: bench/README.md.
"""

import argparse
import dataclasses
import gzip
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading

from engines import ROOT, load_tests
from peers import BenchError

SCENARIOS = ROOT / 'bench' / 'scenarios'
PORT_OF_PLANS = ':8080'
AFTER = re.compile(r'after-(\d+)s\.yaml')
# More than the longest plan and what it waits for at its end.
PATIENCE = 600
FAILED = 4   # of `sluice load`: an assertion does not hold; of `sluice load compare`: it is worse
BASELINE = 'baseline.json.gz'


@dataclasses.dataclass
class Outcome:
    """What one scenario came to."""
    name: str
    report: dict
    worse: bool = False   # than its baseline

    def failed(self):
        return [row['expression'] for row in self.report['assert'] if not row['holds']] + ['worse than its baseline'] * self.worse

    def line(self):
        requests = self.report['requests']
        failed = self.failed()
        scaling = self.report['scaling'] or {}
        return (f'{self.name:<16} {requests["sent"]:>8} sent  p50 {self.report["latency_ms"]["p50"]:>8.1f}  '
                f'p99 {self.report["latency_ms"]["p99"]:>8.1f} ms  {scaling.get("replicas_max", 0):>3} replicas  '
                f'{scaling.get("cold_start_count", 0):>3} cold starts  '
                + (f'SHORT: {"; ".join(failed)}' if failed else 'ok'))


def chosen(folder, names):
    """Scenarios of these names, all without one; an unknown name is an error."""
    there = sorted(plan.parent.name for plan in folder.glob('*/plan.yaml'))
    wrong = [name for name in names if name not in there]
    if wrong:
        raise BenchError(f'no scenario is called {wrong[0]!r}; there are: {" ".join(there)}')
    return names or there


def later_services(folder):
    """Files that replace services.yaml while the load runs: (seconds after its begin, file), the earliest first."""
    found = ((AFTER.fullmatch(file.name), file) for file in folder.iterdir())
    return sorted((int(match.group(1)), file) for match, file in found if match)


class Scenario:
    """The folder of a scenario, copied to the home of an engine of its own."""

    def __init__(self, source, home):
        from engine import Engine
        self.name, self.home = source.name, home
        self.folder = home.path / 'scenario'
        shutil.copytree(source, self.folder)
        config = self.folder / 'config.yaml'
        flags = ['--config', str(config)] if config.exists() else []
        try:
            self.engine = Engine(home, '-f', str(self.folder / 'services.yaml'), *flags)
        except AssertionError as problem:
            raise BenchError(f'{self.name}: {problem}') from problem
        self.later = later_services(self.folder)
        plan = self.folder / 'plan.yaml'
        plan.write_text(plan.read_text().replace(PORT_OF_PLANS, ':' + self.engine.http.rsplit(':', 1)[1]))

    def run(self):
        from engine import SLUICE
        report = self.home.path / 'run.json'
        with subprocess.Popen([SLUICE, 'load', '--file', 'plan.yaml', '--json', str(report)], cwd=self.folder,
                              env=self.home.environment) as load:
            timers = [threading.Timer(seconds, self.replace, (file,)) for seconds, file in self.later]
            for timer in timers:
                timer.daemon = True
                timer.start()
            try:
                status = load.wait(PATIENCE)
            except BaseException as problem:
                load.kill()
                if isinstance(problem, subprocess.TimeoutExpired):
                    raise BenchError(f'{self.name}: not over after {PATIENCE} s') from problem
                raise
            finally:
                for timer in timers:
                    timer.cancel()
        if status not in (0, FAILED):
            raise BenchError(f'{self.name}: sluice load ended with {status}')
        if self.later:
            self.check_revisions()
        return Outcome(self.name, json.loads(report.read_text()))

    def replace(self, file):
        # In one step: the engine watches the file.
        file.replace(self.folder / 'services.yaml')

    def check_revisions(self):
        """Each file that replaced another made a revision of its services, which is the latest."""
        wanted = f'-{1 + len(self.later):05}'
        for service in self.engine.get('/_sluice/api/v1/services', host='localhost').json()['items']:
            if not service['revision'].endswith(wanted):
                raise BenchError(f'{self.name}: the latest revision is {service["revision"]}, not …{wanted}')

    def close(self):
        self.engine.stop()


def is_worse(baseline, report):
    """Whether `sluice load compare`, which prints its table, finds it worse."""
    from engine import SLUICE
    done = subprocess.run([SLUICE, 'load', 'compare', str(baseline), str(report)], check=False)
    if done.returncode not in (0, FAILED):
        raise BenchError(f'{baseline.parent.name}: it cannot be compared with its baseline; write that again with --write')
    return done.returncode == FAILED


def compared(source, outcome, reports, write):
    """Keeps the report, and compares it with the baseline, or makes it the baseline."""
    reports.mkdir(parents=True, exist_ok=True)
    file, baseline = reports / f'{source.name}.json', source / BASELINE
    text = json.dumps(outcome.report)
    file.write_text(text)
    if write:
        # Without a time: the same report makes the same bytes.
        baseline.write_bytes(gzip.compress(text.encode(), mtime=0))
    elif baseline.exists():
        outcome.worse = is_worse(baseline, file)
    return outcome


def measured(source, reports, write):
    from engine import Home
    print(f'== {source.name}', flush=True)
    home = Home()
    try:
        scenario = Scenario(source, home)
        try:
            outcome = scenario.run()
        finally:
            scenario.close()
        return compared(source, outcome, reports, write)
    finally:
        home.close()


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--bin', metavar='DIR', required=True, type=pathlib.Path,
                        help='where the built sluice and queue-proxy are')
    parser.add_argument('names', metavar='NAME', nargs='*', help='scenarios; without one all of them')
    parser.add_argument('--scenarios', metavar='DIR', type=pathlib.Path, default=SCENARIOS, help='folders of other scenarios')
    parser.add_argument('--reports', metavar='DIR', type=pathlib.Path, default=ROOT / 'build' / 'load',
                        help='where NAME.json of each run is written')
    parser.add_argument('--write', action='store_true', help=f'make each run the {BASELINE} of its scenario')
    return parser.parse_args()


def main():
    options = parsed()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    options.reports = options.reports.resolve()
    # Plans start `sluice` by its name.
    load_tests(options.bin.resolve())
    from engine import BIN
    os.environ['PATH'] = f'{BIN}{os.pathsep}{os.environ["PATH"]}'
    outcomes, problems = [], []
    try:
        names = chosen(options.scenarios, options.names)
    except BenchError as problem:
        sys.exit(f'bench load: {problem}')
    for name in names:
        try:
            outcomes.append(measured(options.scenarios / name, options.reports, options.write))
        except BenchError as problem:
            problems.append(f'bench load: {problem}')
    print()
    for outcome in outcomes:
        print(outcome.line())
    if problems:
        sys.exit('\n'.join(problems))
    sys.exit(1 if any(outcome.failed() for outcome in outcomes) else 0)


if __name__ == '__main__':
    main()
