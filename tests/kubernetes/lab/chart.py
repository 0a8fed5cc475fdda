"""Sluice in the laboratory as a user installs it: images of this build, and helm with the chart.

The images have the names that the chart uses by default, so no value has to name them. They are made once for each
build of a program and kept beside the cluster's programs.
"""

import functools
import hashlib
import json
import os
import pathlib
import subprocess
import sys

from wire import eventually

from lab import node, toolbox
from lab.objects import addresses

ROOT = pathlib.Path(__file__).resolve().parents[3]
CHART = ROOT / 'deploy' / 'helm'
# The chart of the release before, without its dashboards: its streams were plain text.
CHART_BEFORE = ROOT / 'tests' / 'kubernetes' / 'charts' / 'sluice-plain-text.tgz'
BUILD = ROOT / 'deploy' / 'images'
PROGRAMS = ('activator', 'autoscaler', 'injector', 'node-agent', 'queue-proxy')
RELEASE = 'sluice'
NAMESPACE = 'sluice-system'
DEPLOYMENTS = f'/apis/apps/v1/namespaces/{NAMESPACE}/deployments'
DAEMONS = f'/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets'
PODS = f'/api/v1/namespaces/{NAMESPACE}/pods'
SLICES = f'/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices'
SCALERS = '/apis/autoscaling.sluice.dev/v1alpha1/requestscalers'
WEBHOOKS = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/sluice-injector'
IMAGE_SECONDS = 120
READY_SECONDS = 120
HELM_SECONDS = 120
# Short, so that a test sees a service fall asleep, and a program leave. The API server passes over an injector
# that is slower: longer than a busy machine needs, shorter than PATIENCE.
FAST = {'autoscaler': {'config': {'stable-window': '6s', 'scale-to-zero-grace-period': '6s'}},
        'activator': {'drainQuiet': '3s', 'terminationGracePeriodSeconds': 30},
        'injection': {'timeoutSeconds': 15}}


def merged(low, high):
    """Values of helm, `high` over `low`."""
    both = {**low, **high}
    return {key: merged(low[key], high[key]) if isinstance(low.get(key), dict) and isinstance(high.get(key), dict)
            else both[key] for key in both}


@functools.cache
def image(program, tag=''):
    """The archive of a program's image, tagged as the chart asks for it or with `tag`; an older one of the same
    program is forgotten."""
    digest = hashlib.sha256(program.read_bytes())
    for name in ('build', 'oci.py'):
        digest.update((BUILD / name).read_bytes())
    folder = toolbox.cache().parent / 'k8s-images' / f'{program.name}{tag}'
    place = folder / digest.hexdigest()[:16]
    made = place / f'{program.name}.tar'
    if made.exists():
        return made
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob('*/*'):
        old.unlink()
    unfinished = folder / f'unfinished-{os.getpid()}'
    done = subprocess.run([sys.executable, '-B', str(BUILD / 'build'), str(unfinished), '--bin', str(program.parent),
                           *(['--tag', tag] if tag else []), program.name],
                          capture_output=True, text=True, timeout=IMAGE_SECONDS, check=False)
    if done.returncode != 0:
        raise AssertionError(f'no image of {program.name}: {done.stderr}')
    place.mkdir(exist_ok=True)
    (unfinished / made.name).replace(made)
    unfinished.rmdir()
    return made


class Chart:
    """What helm has installed. One for a laboratory: `lab.chart`."""

    def __init__(self, lab):
        self.lab = lab
        self.api = lab.api
        self.source = None  # the chart of the release that is installed
        self.values = None  # and what it was given

    @functools.cache
    def import_images(self, folder=None, tag=''):
        """Those of the build under test, or of other programs under a tag."""
        for name in PROGRAMS:
            node.import_images(self.lab.folder / 'cri', image(pathlib.Path(folder or self.lab.bin, name), tag))

    def ensure(self, source=CHART, **values):
        """Installed from `source` with FAST and these, all programs Ready; again only if it is not so already."""
        wanted = merged({'profile': 'small', **FAST}, values)
        if (self.source, self.values) != (source, wanted):
            self.import_images()
            path = self.lab.folder / 'values.json'
            path.write_text(json.dumps(wanted), encoding='ascii')
            self.values = None
            self.helm('upgrade', '--install', RELEASE, str(source), '--reset-values', '--values', str(path))
            self.source, self.values = source, wanted
        self.wait_ready()

    def helm(self, *words):
        done = self.lab.helm(*words, seconds=HELM_SECONDS)
        if done.returncode != 0:
            raise AssertionError(f'helm {words[0]}: {done.stdout}{done.stderr}')
        return done.stdout

    def wait_ready(self):
        try:
            eventually(self.ready, 'all of Sluice is Ready', READY_SECONDS)
        except AssertionError as late:
            raise AssertionError(f'{late}\n{self.story()}') from None

    def ready(self):
        """All replicas, of the newest kind, in their Services, and none of the older kind left."""
        found, daemons = self.api.items(DEPLOYMENTS), self.api.items(DAEMONS)
        pods = self.api.items(PODS)
        wanted = sum(one['spec']['replicas'] for one in found)
        wanted += sum(one['status'].get('desiredNumberScheduled', 0) for one in daemons)
        return (found and len(pods) == wanted and all(self.settled(one, pods) for one in found)
                and all(self.runs_everywhere(one) for one in daemons))

    @staticmethod
    def runs_everywhere(daemon):
        status = daemon['status']
        return (status.get('observedGeneration') == daemon['metadata']['generation']
                and status.get('numberReady', 0) == status.get('updatedNumberScheduled', 0)
                == status.get('desiredNumberScheduled', 0) > 0)

    def settled(self, found, pods):
        status, count, name = found['status'], found['spec']['replicas'], found['metadata']['name']
        if status.get('observedGeneration') != found['metadata']['generation']:
            return False
        if not status.get('readyReplicas', 0) == status.get('updatedReplicas', 0) == count:
            return False
        own = sorted(one['status'].get('podIP', '') for one in pods
                     if one['metadata']['labels']['app.kubernetes.io/name'] == name)
        return addresses(self.api.items(f'{SLICES}?labelSelector=kubernetes.io%2Fservice-name%3D{name}')) == own

    def pods(self, name):
        """Those of a program that were not told to go."""
        found = self.api.items(f'{PODS}?labelSelector=app.kubernetes.io%2Fname%3D{name}')
        return [one for one in found if 'deletionTimestamp' not in one['metadata']]

    def logs(self, pod, *more):
        done = self.lab.kubectl('-n', NAMESPACE, 'logs', pod, *more, check=False)
        return done.stdout + done.stderr

    def story(self):
        """Why something may not be Ready: pods, events, last lines of logs."""
        told = [self.lab.kubectl('-n', NAMESPACE, 'get', 'pods', '-o', 'wide')]
        told.append(self.lab.kubectl('-n', NAMESPACE, 'get', 'events', '--sort-by=.lastTimestamp')[-3000:])
        for pod in self.api.items(PODS):
            name = pod['metadata']['name']
            told.append(f'-- {name}\n{self.logs(name, "--tail=15")}')
        return '\n'.join(told)

    def kill(self, pod):
        """As when its node fails: without a word to it."""
        node.kill_pod(pod['metadata']['uid'])
        self.api.delete(f'{PODS}/{pod["metadata"]["name"]}', grace=0)

    def end_pods(self):
        """At once: a namespace that is deleted waits out the half of what its pods are granted."""
        self.lab.kubectl('-n', NAMESPACE, 'delete', 'deployments', '--all', '--cascade=orphan')
        self.lab.kubectl('-n', NAMESPACE, 'delete', 'replicasets', '--all', '--cascade=orphan')
        self.lab.kubectl('-n', NAMESPACE, 'delete', 'pods', '--all', '--force', '--grace-period=0')

    def remove(self):
        """Nothing of it is left but the kind."""
        self.values = None
        self.end_pods()
        self.helm('uninstall', RELEASE)
        self.wait_gone()

    def wait_gone(self):
        eventually(lambda: self.api.find(f'/api/v1/namespaces/{NAMESPACE}') is None, 'the namespace is gone', 60)
