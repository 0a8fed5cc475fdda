"""A real Knative on top of tier 3: its own programs as processes of the laboratory, its own manifests.

Its Services have no selectors: slices of ours lead them to the node's address, where those programs are.
To put a program of ours in the place of one of Knative's is to lead its Service elsewhere.
"""

import os
import pathlib
import re
import subprocess

from wire import eventually

from lab import chart, images, node, toolbox
from lab.daemon import Daemon
from lab.place import BASE, MS_BIND, NODE_IP, mount

SPACE = 'knative-serving'
OURS = 'sluice-system'
MODULES = ('knative.dev/serving', 'knative.dev/networking', 'knative.dev/caching')
QUEUE = 'dev.local/queue:1'          # names that Knative does not look up in a registry
OUR_QUEUE = 'sluice.dev/queue-proxy:' + re.search(
    r'^version: (\S+)$', (chart.CHART / 'Chart.yaml').read_text(encoding='ascii'), re.MULTILINE).group(1)
APP = 'dev.local/app:1'
NOBODY = '65532'                     # Knative starts no sidecar that runs as root
APPLY_SECONDS = 120
READY_SECONDS = 90
# port of each Service: (port, where the program listens)
PORTS = {'webhook': {'https-webhook': (443, 8443)},
         'activator-service': {'http': (80, 8012), 'http2': (81, 8013)},
         'autoscaler': {'http': (8080, 8080)}}
# (metrics, profiling); any two would do that nobody has
SIDE_PORTS = {'webhook': (19101, 19201), 'controller': (19102, 19202), 'autoscaler': (19103, 19203),
              'activator': (19104, 19204)}
ENDINGS = {'webhook': 8443, 'controller': 19102, 'autoscaler': 8080, 'activator': 8012}
# Short, so that a test sees a revision fall asleep.
FAST = {'stable-window': '10s', 'scale-to-zero-grace-period': '6s'}
KSVC = '/apis/serving.knative.dev/v1/namespaces/{}/services'
PODS = '/api/v1/namespaces/{}/pods?labelSelector=serving.knative.dev%2Frevision%3D{}'
AUTOSCALER = '/apis/autoscaling.internal.knative.dev/v1alpha1/namespaces/{}/podautoscalers/{}'


def module_folders():
    """Where Go keeps the modules that the programs were built from."""
    go = toolbox.find_go(False)
    done = subprocess.run([go, 'list', '-m', '-f', '{{.Dir}}', *MODULES], cwd=toolbox.SETS['knative'], text=True,
                          capture_output=True, timeout=60, check=True,
                          env={**os.environ, 'GOPROXY': 'off', 'GOTOOLCHAIN': 'local', 'GOFLAGS': ''})
    return [pathlib.Path(line) for line in done.stdout.split()]


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
        self.programs = {}
        self.look_names_up_here()
        self.apply_manifests()
        self.import_images()
        for name in PORTS:
            self.serve(name)
        for name in ('webhook', 'controller', 'autoscaler', 'activator'):
            self.launch(name)
        for each in self.programs.values():
            each.wait()

    # ---- install ----

    @staticmethod
    def look_names_up_here():
        """Programs on the node ask the laboratory's own names, as pods do."""
        path = BASE / 'resolv.conf'
        path.write_text(f'nameserver {NODE_IP}\n', encoding='ascii')
        mount(path, '/etc/resolv.conf', MS_BIND)

    def apply(self, *paths):
        files = [word for path in paths for word in ('-f', str(path))]
        self.lab.kubectl('apply', '--server-side', '--force-conflicts', *files, seconds=APPLY_SECONDS)

    def apply_manifests(self):
        serving, networking, caching = module_folders()
        core = serving / 'config' / 'core'
        self.apply(core / '100-namespace.yaml')
        self.apply(core / '300-resources', networking / 'config', caching / 'config' / 'image.yaml')
        self.apply(core / '200-roles', core / '200-serviceaccount.yaml', core / 'configmaps')
        self.configure('config-deployment', **{'queue-sidecar-image': QUEUE})
        self.configure('config-autoscaler', **FAST)
        self.apply(core / 'webhooks')
        self.api.post('/api/v1/namespaces', {'metadata': {'name': OURS}})
        self.api.post(f'/api/v1/namespaces/{OURS}/configmaps',
                      {'metadata': {'name': 'config-autoscaler'}, 'data': FAST})
        crd = pathlib.Path(__file__).resolve().parents[3] / 'deploy' / 'crds' / 'requestscaler.yaml'
        self.lab.kubectl('apply', '-f', str(crd))

    def configure(self, name, **values):
        self.api.patch(f'/api/v1/namespaces/{SPACE}/configmaps/{name}', {'data': values})

    def import_images(self):
        app = images.compiled(self.lab.folder)
        programs = {APP: (app, []), QUEUE: (self.tools / 'knative-queue', [])}
        archive = images.archive(self.lab.folder / 'knative.tar', programs, NOBODY)
        for each in (archive, chart.image(pathlib.Path(self.lab.program('queue-proxy')))):
            node.import_images(self.lab.folder / 'cri', each)

    def serve(self, name):
        ports = [{'name': port, 'port': number, 'targetPort': number} for port, (number, _) in PORTS[name].items()]
        self.api.post(f'/api/v1/namespaces/{SPACE}/services',
                      {'metadata': {'name': name}, 'spec': {'ports': ports}})
        self.lead(name)

    def lead(self, name, **instead):
        """The Service leads to these ports of the node; those of Knative's own program if none is named.

        As Endpoints, which become slices by themselves: Knative's activator is looked up in them.
        """
        ports = [{'name': port, 'port': instead.get(port, there)} for port, (_, there) in PORTS[name].items()]
        self.api.apply(f'/api/v1/namespaces/{SPACE}/endpoints/{name}', {
            'apiVersion': 'v1', 'kind': 'Endpoints', 'metadata': {'name': name, 'namespace': SPACE},
            'subsets': [{'addresses': [{'ip': NODE_IP}], 'ports': ports}]})

    # ---- programs ----

    def launch(self, name):
        metrics, profiling = SIDE_PORTS[name]
        environment = {
            **os.environ, 'SYSTEM_NAMESPACE': SPACE, 'POD_NAME': name, 'POD_IP': NODE_IP, 'METRICS_DOMAIN': 'lab',
            'CONFIG_LOGGING_NAME': 'config-logging', 'CONFIG_OBSERVABILITY_NAME': 'config-observability',
            'WEBHOOK_NAME': 'webhook', 'WEBHOOK_PORT': '8443', 'METRICS_PROMETHEUS_PORT': str(metrics),
            'PROFILING_PORT': str(profiling)}
        command = [self.tools / f'knative-{name}', f'--kubeconfig={self.lab.kubeconfig}']
        if name == 'controller':
            command = [self.tools / 'knative-controller', f'--kubeconfig={self.lab.kubeconfig}']
        daemon = Daemon(f'knative-{name}', command, self.lab.folder / f'knative-{name}.log',
                        lambda: listens(ENDINGS[name]), environment)
        self.programs[name] = daemon
        self.lab.begin(daemon)

    def restart(self, name):
        """A program that has held a connection to where a Service led before."""
        self.programs[name].restart()

    # ---- what tests ask of it ----

    def deploy(self, space, name, annotations=None):
        """A Service of Knative's; the name of its first revision, whose pods answer with their host."""
        self.api.post(KSVC.format(space), {
            'apiVersion': 'serving.knative.dev/v1', 'kind': 'Service', 'metadata': {'name': name},
            'spec': template(space, f'{name}-00001', annotations)})
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


def host_of(space, revision):
    """What requests of a revision say as Host, so that an activator knows whose they are."""
    return f'{revision}.{space}.svc.cluster.local'


def template(space, revision, annotations):
    return {'template': {
        'metadata': {'annotations': annotations or {}},
        'spec': {'containers': [{'image': APP, 'ports': [{'containerPort': 8080}],
                                 'env': [{'name': 'NAME', 'value': host_of(space, revision)}]}]}}}


def listens(port):
    """Whether somebody in the laboratory's network listens there."""
    wanted = f':{port:04X}'
    for table in ('/proc/thread-self/net/tcp', '/proc/thread-self/net/tcp6'):
        for line in pathlib.Path(table).read_text(encoding='ascii').splitlines()[1:]:
            words = line.split()
            if words[1].endswith(wanted) and words[3] == '0A':
                return True
    return False
