"""A real Knative on top of tier 3: its own programs in pods, by its own manifests, named as in its releases.

Only the names of images are replaced, as a release does it, and requests of CPU, for one small node.
"""

import os
import pathlib
import re
import subprocess

from wire import eventually

from lab import chart, images, node, toolbox
from lab.api import Refused
from lab.place import BASE, MS_BIND, NODE_IP, mount

SPACE = 'knative-serving'
OURS = 'ours'                        # of programs that tests start on the node; the chart has one of its own
MODULES = ('knative.dev/serving', 'knative.dev/networking', 'knative.dev/caching')
RELEASE = '1.15.2'                   # what serving 0.42.2 is called when it is released
PROGRAMS = ('webhook', 'controller', 'autoscaler', 'activator')
IMAGE = 'dev.local/knative-{}:1'     # a name that Knative does not look up in a registry
QUEUE = IMAGE.format('queue')
OUR_QUEUE = 'sluice.dev/queue-proxy:' + re.search(
    r'^version: (\S+)$', (chart.CHART / 'Chart.yaml').read_text(encoding='ascii'), re.MULTILINE).group(1)
APP = 'dev.local/app:1'
UNPRIVILEGED = '65532'               # none of its pods may run as root
APPLY_SECONDS = 120
READY_SECONDS = 120
# As the replacement in a manifest: (what stands there, what a release or a small node has).
RELEASED = ((r'ko://knative\.dev/serving/cmd/(\w+)', IMAGE.format(r'\1')),
            (r'(app\.kubernetes\.io/version:) devel', rf'\1 "{RELEASE}"'),
            (r'(requests:\n +cpu:) \w+', r'\1 10m'))
# Short, so that a test sees a revision fall asleep.
FAST = {'stable-window': '10s', 'scale-to-zero-grace-period': '6s'}
KSVC = '/apis/serving.knative.dev/v1/namespaces/{}/services'
PODS = '/api/v1/namespaces/{}/pods?labelSelector=serving.knative.dev%2Frevision%3D{}'
AUTOSCALER = '/apis/autoscaling.internal.knative.dev/v1alpha1/namespaces/{}/podautoscalers/{}'
SERVERLESS = '/apis/networking.internal.knative.dev/v1alpha1/namespaces/{}/serverlessservices/{}'
SERVICES = f'/api/v1/namespaces/{SPACE}/services'
JSON_PATCH = 'application/json-patch+json'  # what is there is replaced, not merged with
# Knative's own autoscaler, wherever the Service `autoscaler` leads.
THEIRS = 'lab-autoscaler'


def module_folders():
    """Where Go keeps the modules that the programs were built from."""
    go = toolbox.find_go(False)
    done = subprocess.run([go, 'list', '-m', '-f', '{{.Dir}}', *MODULES], cwd=toolbox.SETS['knative'], text=True,
                          capture_output=True, timeout=60, check=True,
                          env={**os.environ, 'GOPROXY': 'off', 'GOTOOLCHAIN': 'local', 'GOFLAGS': ''})
    return [pathlib.Path(line) for line in done.stdout.split()]


def released(path):
    """The manifests of a folder or file, as they would be in a release."""
    files = sorted(path.glob('*.yaml')) if path.is_dir() else [path]
    text = '\n---\n'.join(one.read_text(encoding='utf-8') for one in files)
    for pattern, instead in RELEASED:
        text = re.sub(pattern, instead, text)
    return text


class Knative:
    """An installed Knative. One for a laboratory: Knative.of(lab)."""

    made = {}

    @classmethod
    def of(cls, lab):
        if id(lab) not in cls.made:
            cls.made[id(lab)] = cls(lab)
        return cls.made[id(lab)]

    def __init__(self, lab):
        self.lab = lab
        self.api = lab.api
        self.tools = toolbox.require('knative')
        self.look_names_up_here()
        self.import_images()
        self.apply_manifests()
        self.make_room_for_ours()
        for name in PROGRAMS:
            self.wait_rolled(name)
        eventually(self.admits, 'Knative\'s webhooks answer', READY_SECONDS)

    # ---- install ----

    @staticmethod
    def look_names_up_here():
        """Programs on the node resolve the laboratory's own names, as pods do."""
        path = BASE / 'resolv.conf'
        path.write_text(f'nameserver {NODE_IP}\n', encoding='ascii')
        mount(path, '/etc/resolv.conf', MS_BIND)

    def import_images(self):
        programs = {APP: images.compiled(self.lab.folder),
                    **{IMAGE.format(name): self.tools / f'knative-{name}' for name in (*PROGRAMS, 'queue')}}
        archive = self.lab.folder / 'knative.tar'
        for reference, program in programs.items():
            images.archive(archive, {reference: (program, [])}, UNPRIVILEGED)
            node.import_images(self.lab.folder / 'cri', archive)
        archive.unlink()
        self.lab.chart.import_images()

    def apply(self, *paths):
        self.lab.kubectl('apply', '--server-side', '--force-conflicts', '-f', '-',
                         stdin='\n---\n'.join(released(path) for path in paths), seconds=APPLY_SECONDS)

    def apply_manifests(self):
        serving, networking, caching = module_folders()
        core = serving / 'config' / 'core'
        self.apply(core / '100-namespace.yaml')
        self.apply(core / '300-resources', networking / 'config', caching / 'config' / 'image.yaml')
        self.apply(core / '200-roles', core / '200-serviceaccount.yaml', core / 'configmaps')
        self.lab.kubectl('wait', '--for=condition=Established', 'crd', '--all')
        self.configure('config-autoscaler', **FAST)
        self.apply(core / '999-cache.yaml', *(core / 'deployments' / f'{name}.yaml' for name in PROGRAMS))
        self.apply(core / 'webhooks')
        self.api.post(SERVICES, {'metadata': {'name': THEIRS}, 'spec': {
            'selector': {'app': 'autoscaler'}, 'ports': [{'port': 8080}]}})

    def make_room_for_ours(self):
        """What an autoscaler on the node needs; the kind is as if helm had left it, who may thus take it over."""
        self.api.post('/api/v1/namespaces', {'metadata': {'name': OURS}})
        self.api.post(f'/api/v1/namespaces/{OURS}/configmaps',
                      {'metadata': {'name': 'config-autoscaler'}, 'data': FAST})
        crd = chart.ROOT / 'deploy' / 'crds' / 'requestscaler.yaml'
        self.lab.kubectl('apply', '-f', str(crd))
        self.lab.kubectl('label', '-f', str(crd), 'app.kubernetes.io/managed-by=Helm')
        self.lab.kubectl('annotate', '-f', str(crd), f'meta.helm.sh/release-name={chart.RELEASE}',
                         'meta.helm.sh/release-namespace=default')
        # Headless, as in the chart: a name for the port of the node.
        self.api.post(f'/api/v1/namespaces/{OURS}/services', {
            'metadata': {'name': 'autoscaler'}, 'spec': {'clusterIP': 'None', 'ports': [{'name': 'http', 'port': 8080}]}})
        self.api.post(f'/apis/discovery.k8s.io/v1/namespaces/{OURS}/endpointslices', {
            'metadata': {'name': 'autoscaler', 'labels': {'kubernetes.io/service-name': 'autoscaler'}},
            'addressType': 'IPv4', 'ports': [{'name': 'http', 'port': 8080}],
            'endpoints': [{'addresses': [NODE_IP], 'conditions': {'ready': True}}]})

    def admits(self):
        """Whether an object of Knative's would be admitted, and given its defaults."""
        try:
            made = self.api.post(f'{KSVC.format("default")}?dryRun=All', ksvc('default', 'probe', None))
        except Refused:
            return False
        return 'serving.knative.dev/creator' in made['metadata'].get('annotations', {})

    # ---- switches ----

    def configure(self, name, **values):
        self.api.patch(f'/api/v1/namespaces/{SPACE}/configmaps/{name}', {'data': values})

    def lead_stats(self, other):
        """The Service `autoscaler` leads to that name; to Knative's own if none is given."""
        self.api.patch(f'{SERVICES}/autoscaler', {'spec': {
            'type': 'ExternalName' if other else 'ClusterIP', 'externalName': other}})
        self.restart('activator')

    def lead_front(self, address):
        """The Service `activator-service` leads to that address; to Knative's own activators if none is given."""
        if address is None:
            self.api.patch(f'{SERVICES}/activator-service', [
                {'op': 'add', 'path': '/spec/selector', 'value': {'app': 'activator'}}], JSON_PATCH)
            return
        self.api.patch(f'{SERVICES}/activator-service', {'spec': {'selector': None}})
        self.api.apply(f'/api/v1/namespaces/{SPACE}/endpoints/activator-service', {
            'apiVersion': 'v1', 'kind': 'Endpoints', 'metadata': {'name': 'activator-service', 'namespace': SPACE},
            'subsets': [{'addresses': [{'ip': address}],
                         'ports': [{'name': 'http', 'port': 8012}, {'name': 'http2', 'port': 8013}]}]})

    def restart(self, name):
        """A program that has held a connection to where a Service led before; returns when the new one serves."""
        self.lab.kubectl('-n', SPACE, 'rollout', 'restart', f'deployment/{name}')
        self.wait_rolled(name)

    def wait_rolled(self, name):
        self.lab.kubectl('-n', SPACE, 'rollout', 'status', f'deployment/{name}', f'--timeout={READY_SECONDS}s',
                         seconds=READY_SECONDS + 10)

    # ---- for tests ----

    def deploy(self, space, name, annotations=None):
        """A Service of Knative's; the name of its first revision, whose pods answer with their host."""
        self.api.post(KSVC.format(space), ksvc(space, name, annotations))
        return f'{name}-00001'

    def revise(self, space, name, number, annotations=None):
        """Another revision of the Service."""
        revision = f'{name}-{number:05}'
        self.api.patch(f'{KSVC.format(space)}/{name}', {'spec': template(space, revision, annotations)})
        return revision

    def pods(self, space, revision):
        """Those that are not going, and are ready."""
        return [pod for pod in self.api.items(PODS.format(space, revision))
                if 'deletionTimestamp' not in pod['metadata'] and any(
                    one['type'] == 'Ready' and one['status'] == 'True'
                    for one in pod.get('status', {}).get('conditions', ()))]

    def autoscaler(self, space, revision):
        """The PodAutoscaler of a revision."""
        return self.api.find(AUTOSCALER.format(space, revision)) or {}

    def serverless(self, space, revision):
        """The ServerlessService of a revision."""
        return self.api.find(SERVERLESS.format(space, revision)) or {}

    def annotate(self, space, revision, annotations):
        """The PodAutoscaler of a revision."""
        self.api.patch(AUTOSCALER.format(space, revision), {'metadata': {'annotations': annotations}})

    def condition(self, space, revision, kind):
        """'True', 'False/NoTraffic' and the like."""
        for one in self.autoscaler(space, revision).get('status', {}).get('conditions', ()):
            if one['type'] == kind:
                return '/'.join(word for word in (one['status'], one.get('reason')) if word)
        return ''

    def public_address(self, space, revision):
        """Where the requests of a revision go: its public Service."""
        found = eventually(lambda: self.api.find(f'/api/v1/namespaces/{space}/services/{revision}'),
                           f'{revision} has a public Service', READY_SECONDS)
        return f'{found["spec"]["clusterIP"]}:80'

    def stats_address(self):
        """Knative's own autoscaler, from the node."""
        return f'{self.api.get(f"{SERVICES}/{THEIRS}")["spec"]["clusterIP"]}:8080'

    def activators(self):
        """Addresses of Knative's own that serve."""
        return {pod['status']['podIP'] for pod in self.api.items(
            f'/api/v1/namespaces/{SPACE}/pods?labelSelector=app%3Dactivator')
                if 'deletionTimestamp' not in pod['metadata'] and 'podIP' in pod['status']}

    def story(self):
        """How its programs are."""
        told = [self.lab.kubectl('-n', SPACE, 'get', 'pods,services,endpoints', '-o', 'wide', check=False).stdout]
        for name in PROGRAMS:
            told.append(f'-- {name}\n' + self.lab.kubectl('-n', SPACE, 'logs', f'deployment/{name}', '--tail=8',
                                                          check=False).stdout)
        return '\n'.join(told)


def host_of(space, revision):
    """The Host of requests of a revision, by which an activator finds it."""
    return f'{revision}.{space}.svc.cluster.local'


def ksvc(space, name, annotations):
    return {'apiVersion': 'serving.knative.dev/v1', 'kind': 'Service', 'metadata': {'name': name},
            'spec': template(space, f'{name}-00001', annotations)}


def template(space, revision, annotations):
    return {'template': {
        'metadata': {'annotations': annotations or {}},
        'spec': {'containers': [{'image': APP, 'ports': [{'containerPort': 8080}],
                                 'env': [{'name': 'NAME', 'value': host_of(space, revision)}]}]}}}
