"""One real node: containerd, the kubelet over it, and kube-proxy beside them."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess

from node_agent import cgroup

from lab import dns
from lab.daemon import Daemon, answers
from lab.place import BRIDGE, CGROUP, NODE_IP, POD_RANGE

NAME = 'n1'
CNI_PROGRAMS = '/usr/lib/cni'
KUBELET_PORT = 12250
KUBELET_HEALTH = 12248
PROXY_HEALTH = 12256
# Hierarchies that a kubelet asks for its root; it takes what there is of them.
UNIFIED_CONTROLLERS = '+cpu +cpuset +memory +pids'

CONTAINERD = '''version = 2
root = "{folder}/root"
state = "{folder}/state"
oom_score = 0
[grpc]
  address = "{folder}/c.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "{folder}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  stream_server_address = "127.0.0.1"
  stats_collect_period = 1
  disable_apparmor = true
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{cni}"
    conf_dir = "{folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        Root = "{folder}/runc"
        SystemdCgroup = false
'''


def containerd(folder):
    """The runtime of the node, with everything of it below `folder`."""
    (folder / 'cni').mkdir(parents=True)
    (folder / 'config.toml').write_text(CONTAINERD.format(folder=folder, cni=CNI_PROGRAMS), encoding='utf-8')
    (folder / 'cni' / '10-lab.conflist').write_text(json.dumps({
        'cniVersion': '0.4.0', 'name': 'lab', 'plugins': [{
            'type': 'bridge', 'bridge': BRIDGE, 'isDefaultGateway': True, 'ipMasq': False,
            'hairpinMode': True, 'ipam': {'type': 'host-local', 'dataDir': f'{folder}/ipam',
                                          'ranges': [[{'subnet': POD_RANGE}]]}}]}), encoding='utf-8')
    return Daemon('containerd', ['containerd', '-c', folder / 'config.toml'],
                  folder.parent / 'containerd.log', lambda: ctr(folder, 'version', check=False).returncode == 0)


def ctr(folder, *words, check=True):
    return subprocess.run(['ctr', '-a', str(folder / 'c.sock'), *words], check=check, capture_output=True,
                          text=True, timeout=60)


def import_images(folder, archive):
    ctr(folder, '-n', 'k8s.io', 'images', 'import', str(archive))


def make_groups():
    """The root that the kubelet is given in every hierarchy; the whole machine is not its to lay out."""
    roots = cgroup.mounts()
    for root in dict.fromkeys(roots.values()):
        (root / CGROUP).mkdir(exist_ok=True)
    if 'cpuset' in roots:
        for name in ('cpuset.cpus', 'cpuset.mems'):
            cgroup.put(roots['cpuset'] / CGROUP / name,
                       (roots['cpuset'] / name).read_text(encoding='ascii').strip())
    elif 'unified' in roots:
        cgroup.put(roots['unified'] / 'cgroup.subtree_control', UNIFIED_CONTROLLERS)
        cgroup.put(roots['unified'] / CGROUP / 'cgroup.subtree_control', UNIFIED_CONTROLLERS)


def kubelet(tools, folder, kubeconfig, authority):
    crt, key = authority.issue('kubelet', '/CN=kubelet', f'IP:{NODE_IP}', f'DNS:{NAME}')
    for name in ('static', 'kubelet'):
        (folder / name).mkdir(exist_ok=True)
    settings = {
        'apiVersion': 'kubelet.config.k8s.io/v1beta1', 'kind': 'KubeletConfiguration',
        'address': NODE_IP, 'port': KUBELET_PORT, 'readOnlyPort': 0, 'healthzPort': KUBELET_HEALTH,
        'staticPodPath': f'{folder}/static', 'podLogsDir': f'{folder}/podlogs',
        'containerRuntimeEndpoint': f'unix://{folder}/cri/c.sock',
        'cgroupDriver': 'cgroupfs', 'cgroupRoot': f'/{CGROUP}', 'enforceNodeAllocatable': [],
        'failCgroupV1': False, 'failSwapOn': False, 'localStorageCapacityIsolation': False,
        'makeIPTablesUtilChains': False, 'resolvConf': '', 'clusterDNS': [NODE_IP], 'clusterDomain': dns.DOMAIN,
        'authentication': {'anonymous': {'enabled': False}, 'webhook': {'enabled': True},
                           'x509': {'clientCAFile': authority.crt('ca')}},
        'authorization': {'mode': 'Webhook'}, 'tlsCertFile': crt, 'tlsPrivateKeyFile': key,
        'evictionHard': {'memory.available': '100Mi', 'nodefs.available': '0%',
                         'nodefs.inodesFree': '0%', 'imagefs.available': '0%'},
        # A hand-made image could not be pulled again.
        'imageGCHighThresholdPercent': 100}
    path = folder / 'kubelet.json'
    path.write_text(json.dumps(settings, indent=1), encoding='utf-8')
    return Daemon('kubelet', [
        tools / 'kubelet', f'--config={path}', f'--kubeconfig={kubeconfig}',
        f'--root-dir={folder}/kubelet', f'--cert-dir={folder}/kubelet/pki', f'--hostname-override={NAME}',
        f'--node-ip={NODE_IP}'], folder / 'kubelet.log',
        answers(f'http://127.0.0.1:{KUBELET_HEALTH}/healthz'))


def kube_proxy(tools, folder, kubeconfig):
    settings = {
        'apiVersion': 'kubeproxy.config.k8s.io/v1alpha1', 'kind': 'KubeProxyConfiguration',
        'clientConnection': {'kubeconfig': str(kubeconfig)}, 'mode': 'iptables',
        'hostnameOverride': NAME, 'clusterCIDR': POD_RANGE, 'conntrack': {'maxPerCore': 0},
        # Two pods on one bridge answer each other past the rules, unless the node stands between.
        'iptables': {'masqueradeAll': True, 'minSyncPeriod': '100ms', 'syncPeriod': '30s'},
        'healthzBindAddress': f'127.0.0.1:{PROXY_HEALTH}', 'metricsBindAddress': '127.0.0.1:12249'}
    path = folder / 'kube-proxy.json'
    path.write_text(json.dumps(settings, indent=1), encoding='utf-8')
    return Daemon('kube-proxy', [tools / 'kube-proxy', f'--config={path}'], folder / 'kube-proxy.log',
                  answers(f'http://127.0.0.1:{PROXY_HEALTH}/livez'))


def processes(uid):
    """Ids of the processes of a pod.

    Containers may end by themselves meanwhile, and their groups with them: os.walk() passes those over.
    """
    roots = cgroup.mounts()
    for folder, _, _ in os.walk(roots.get('memory', roots.get('unified')) / CGROUP):
        if f'/pod{uid}' not in folder:
            continue
        with contextlib.suppress(FileNotFoundError):
            yield from map(int, pathlib.Path(folder, 'cgroup.procs').read_text(encoding='ascii').split())


def kill_pod(uid):
    """SIGKILL to every process of a pod, as when its machine fails; without any notice."""
    for pid in processes(uid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def network_of(uid):
    """The file of a pod's network namespace: for in_network()."""
    return f'/proc/{next(processes(uid))}/ns/net'


def reason_against():
    """Why no containers can run here; empty: they can."""
    if not pathlib.Path(CNI_PROGRAMS, 'bridge').exists():
        return 'containernetworking-plugins is not installed'
    for root in dict.fromkeys(cgroup.mounts().values()):
        probe = root / f'{CGROUP}-probe-{os.getpid()}'
        try:
            probe.mkdir()
            probe.rmdir()
        except OSError as problem:
            return f'control groups cannot be written: {problem}'
    return ''
