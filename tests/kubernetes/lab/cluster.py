"""A real cluster, as much of it as a test needs.

    with Lab(tier=2) as lab:
        lab.api.post('/api/v1/namespaces', {...})
        lab.kubectl('get', 'pods', '-A')

Tier 1: etcd and the API server. Tier 2: and controllers, a scheduler and fake nodes. Tier 3: and one
real node, on which containers run. Meanwhile the calling thread is inside the laboratory's network, and
so is all that it starts; mounts of its own it keeps even then. No other thread may run when it begins.
"""

import contextlib
import os
import shutil
import subprocess

from program import Program
from wire import eventually

from lab import fake_nodes, images, kubeconfig, node
from lab.api import Api
from lab.certificates import Authority
from lab.chart import Chart
from lab.control_plane import (ADMIN_TOKEN, API_PORT, API_URL, NODE_TOKEN, PROXY_TOKEN, ApiServer, Etcd,
                               controllers, scheduler)
from lab.dns import Names
from lab.fault_proxy import FaultProxy
from lab.keeper import Keeper
from lab.place import BASE, NODE_IP, in_network, make_network, own_mounts
from lab.toolbox import NoTools, require

TIERS = (1, 2, 3)
FAKE_NODES = 5
PROGRAMS = {1: ('ip', 'openssl'), 2: (),
            3: ('containerd', 'containerd-shim-runc-v2', 'ctr', 'runc', 'gcc', 'iptables', 'conntrack')}
KUBECTL_SECONDS = 60


def reason_against(tier, tools=('cluster',)):
    """Why a tier with these sets of programs cannot be had on this machine; empty: it can."""
    if os.geteuid() != 0:
        return 'it needs root'
    for name in (name for one in TIERS[:tier] for name in PROGRAMS[one]):
        if shutil.which(name) is None:
            return f'{name} is not installed'
    probe = subprocess.run(['unshare', '--net', 'true'], capture_output=True, timeout=20, check=False)
    if probe.returncode != 0:
        return 'there are no network namespaces to be had'
    if tier == 3 and (reason := node.reason_against()):
        return reason
    try:
        for name in tools:
            require(name)
    except NoTools as missing:
        return str(missing)
    return ''


class Lab:
    """A cluster that lives as long as the `with`. Its parts by name: etcd, apiserver, controllers,
    scheduler, kwok, containerd, kubelet, kube_proxy; each can restart(), kill(), pause() and resume()."""

    def __init__(self, tier=1, bin_directory=None, without=()):
        self.tier = tier
        self.bin = bin_directory
        self.without = without  # controllers that are left out: tests with 1,000 nodes do without lifecycle
        self.tools = require()
        self.folder = BASE
        self.parts = []         # daemons, as they were started
        self.programs = []      # of spawn()
        self.proxies = []
        self.keeper = None
        self.names = None       # tier 3: what pods look names up at
        self.chart = None       # tier 3: Sluice, when a test wants it installed
        self.inside = contextlib.ExitStack()
        self.api = None

    def __enter__(self):
        self.keeper = Keeper()
        try:
            self.folder.mkdir(mode=0o700)
            make_network()
            own_mounts()
            self.inside.enter_context(in_network())
            self.start_control_plane()
            if self.tier > 1:
                self.start_followers()
            if self.tier == 2:
                self.start_fakes()
            if self.tier == 3:
                self.start_node()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    # ---- start ----

    def begin(self, part):
        self.parts.append(part)
        part.launch()
        return part

    def start_control_plane(self):
        self.etcd = self.begin(Etcd(self.tools, self.folder))
        self.authority = Authority(self.folder / 'pki')
        self.ca = self.authority.crt('ca')
        self.apiserver = ApiServer(self.tools, self.folder, self.authority)
        self.etcd.wait()
        self.begin(self.apiserver).wait()
        self.url = API_URL
        self.api = Api(self.url, self.ca, ADMIN_TOKEN)
        self.kubeconfig = self.write_kubeconfig('admin', ADMIN_TOKEN)

    def start_followers(self):
        self.controllers = self.begin(controllers(self.tools, self.folder, self.kubeconfig, self.authority,
                                                  ('horizontal-pod-autoscaler-controller', *self.without)))
        self.scheduler = self.begin(scheduler(self.tools, self.folder, self.kubeconfig))
        if self.tier == 2:
            self.controllers.wait()
            self.scheduler.wait()

    def start_fakes(self):
        self.kwok = self.begin(fake_nodes.kubelets(self.tools, self.folder, self.kubeconfig)).wait()
        self.add_fake_nodes(FAKE_NODES)

    def add_fake_nodes(self, count):
        """More of them; returns when all are Ready."""
        have = len(self.api.items('/api/v1/nodes'))
        fake_nodes.add(self.api, count, first=have)
        eventually(lambda: fake_nodes.ready(self.api) == have + count, 'fake nodes are Ready', 120)

    def start_node(self):
        node.make_groups()
        cri = self.folder / 'cri'
        self.containerd = self.begin(node.containerd(cri))
        app = images.compiled(self.folder)
        programs = {images.PAUSE: (app, ['pause']), images.APP: (app, [])}
        archive = images.archive(self.folder / 'images.tar', programs)
        self.containerd.wait()
        node.import_images(cri, archive)
        node_config = self.write_kubeconfig('node', NODE_TOKEN, self.host_url)
        self.kubelet = self.begin(node.kubelet(self.tools, self.folder, node_config, self.authority))
        self.grant_proxy()
        proxy_config = self.write_kubeconfig('kube-proxy', PROXY_TOKEN)
        self.kube_proxy = self.begin(node.kube_proxy(self.tools, self.folder, proxy_config))
        for part in (self.controllers, self.scheduler, self.kubelet, self.kube_proxy):
            part.wait()
        self.serve_api_to_pods()
        self.names = Names(self.api)
        self.chart = Chart(self)
        eventually(lambda: fake_nodes.ready(self.api) == 1, 'the node is Ready', 60)

    def grant_proxy(self):
        """What the role system:node-proxier leaves to the installer: who has it."""
        self.api.post('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
            'metadata': {'name': 'lab-kube-proxy'},
            'roleRef': {'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'ClusterRole',
                        'name': 'system:node-proxier'},
            'subjects': [{'kind': 'User', 'name': 'system:kube-proxy'}]})

    def serve_api_to_pods(self):
        """The Service `kubernetes` leads to the API server, so that pods find it as they are used to."""
        self.api.post('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', {
            'metadata': {'name': 'kubernetes', 'labels': {'kubernetes.io/service-name': 'kubernetes'}},
            'addressType': 'IPv4', 'ports': [{'name': 'https', 'port': API_PORT, 'protocol': 'TCP'}],
            'endpoints': [{'addresses': [NODE_IP], 'conditions': {'ready': True}}]})

    # ---- what tests ask of it ----

    @property
    def host_url(self):
        """The API server as pods reach it without kube-proxy."""
        return f'https://{NODE_IP}:{API_PORT}'

    def write_kubeconfig(self, name, token, server=None, namespace='default'):
        return kubeconfig.write(self.folder / f'{name}.conf', server or self.url, self.ca, token, namespace)

    def kubectl(self, *words, stdin=None, check=True, seconds=KUBECTL_SECONDS):
        """What it printed, or, without `check`, how it ended."""
        done = subprocess.run([str(self.tools / 'kubectl'), f'--kubeconfig={self.kubeconfig}',
                               f'--cache-dir={self.folder}/kubectl', *words], input=stdin, text=True,
                              capture_output=True, timeout=seconds, check=False)
        if not check:
            return done
        if done.returncode != 0:
            raise AssertionError(f'kubectl {" ".join(words)}: {done.stderr}')
        return done.stdout

    def helm(self, *words, seconds=KUBECTL_SECONDS):
        """How a helm command ended; its own files are in the laboratory's folder."""
        own = {f'HELM_{name}_HOME': str(self.folder / 'helm' / name.lower())
               for name in ('CACHE', 'CONFIG', 'DATA')}
        return subprocess.run([str(self.tools / 'helm'), *words], text=True, capture_output=True,
                              timeout=seconds, check=False,
                              env={**os.environ, **own, 'KUBECONFIG': self.kubeconfig})

    def program(self, name):
        """The path of a program of the build under test."""
        if self.bin is None:
            raise AssertionError('this laboratory was given no build')
        return str(self.bin / name)

    def spawn(self, command, environment=None):
        """A program of ours that has said it is ready. It ends with the laboratory at the latest."""
        words = [command] if isinstance(command, str) else list(command)
        if '/' not in words[0]:
            words[0] = self.program(words[0])
        made = Program(words, {'KUBECONFIG': self.kubeconfig, **(environment or {})})
        self.programs.append(made)
        return made

    def fault_proxy(self, token=ADMIN_TOKEN):
        """A proxy in front of the API server, with a kubeconfig that leads through it."""
        proxy = FaultProxy(self.url, (self.authority.crt('apiserver'), self.authority.key('apiserver')),
                           self.ca)
        self.proxies.append(proxy)
        proxy.kubeconfig = self.write_kubeconfig(f'proxy-{proxy.port}', token, proxy.url)
        return proxy

    def import_image(self, reference, program, *arguments):
        """Gives the node an image of a program of ours, for pods with `imagePullPolicy: IfNotPresent`."""
        archive = images.archive(self.folder / 'image.tar', {reference: (program, list(arguments))})
        node.import_images(self.folder / 'cri', archive)

    # ---- end ----

    def close(self):
        """Ends everything; may be called twice."""
        try:
            for proxy in self.proxies:
                proxy.close()
            if self.names:
                self.names.close()
                self.names = None
            for program in self.programs:
                program.close()
            self.programs.clear()
            # No orderly end is needed: the keeper removes what is left behind.
            for part in reversed(self.parts):
                part.kill()
        finally:
            self.inside.close()
            self.keeper.end()
