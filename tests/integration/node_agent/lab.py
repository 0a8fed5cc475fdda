"""A real container runtime under a folder of its own, and small nodes that its containers fill.

    with Lab() as lab:
        node = lab.node(memory=512 << 20)
        pod = lab.pod(node, 'jobs')
        job = pod.run('one', ['vol', '64', '4', '40', '1000', '1', '60'], memory=64 << 20)

Whatever a run leaves behind is swept at its end, when it is aborted and at the start of the next.
"""

import atexit
import importlib.util
import itertools
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

from node_agent import cgroup, image
from node_agent.sweep import BASE, sweep
from wire import Deadline, eventually

MIB = 1 << 20
LOCK = '\0sluice-lab'      # one laboratory on a machine: its control groups have fixed names
LOCK_SECONDS = 900
START_SECONDS = 30
PROGRAMS = ('containerd', 'containerd-shim-runc-v2', 'ctr', 'runc', 'gcc', 'protoc')
NUMBERS = itertools.count(1)

CONFIG = '''version = 2
root = "{lab}/root"
state = "{lab}/state"
oom_score = 0
[grpc]
  address = "{lab}/c.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "{lab}/opt"
[plugins."io.containerd.nri.v1.nri"]
  disable = false
  socket_path = "{lab}/nri.sock"
  plugin_path = "{lab}/nri"
  plugin_config_path = "{lab}/nri"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  stats_collect_period = 1
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{lab}/cni/bin"
    conf_dir = "{lab}/cni/conf"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        Root = "{lab}/runc"
        SystemdCgroup = false
'''


def reason_against():
    """Why there can be no laboratory on this machine; empty: there can."""
    if os.geteuid() != 0:
        return 'it needs root'
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        return f'{missing[0]} is not installed'
    for module, package in (('grpc', 'python3-grpcio'), ('google.protobuf', 'python3-protobuf')):
        if importlib.util.find_spec(module.split('.', maxsplit=1)[0]) is None:
            return f'this Python sees no {package}'
    absent = [name for name in cgroup.CONTROLLERS if name not in cgroup.mounts()]
    if absent:
        return f'no cgroup v1 hierarchy has the controller {absent[0]}'
    probe = cgroup.mounts()['memory'] / f'{cgroup.TREE}-probe-{os.getpid()}'
    try:
        probe.mkdir()
        probe.rmdir()
    except OSError as problem:
        return f'control groups cannot be written: {problem}'
    return ''


class Lab:
    """A runtime that runs as long as the `with`: the machine's containerd, or that of a folder, `programs`."""

    def __init__(self, programs=''):
        self.programs = programs
        self.lock = socket.socket(socket.AF_UNIX)
        self.folder = None
        self.process = None
        self.cri = None
        self.pb = None

    def __enter__(self):
        eventually(self.locked, 'the laboratory of another run has ended', LOCK_SECONDS)
        atexit.register(self.close)
        # An aborted run ends by exit, so that the sweep is not left to the next one.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        try:
            sweep()
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def locked(self):
        try:
            self.lock.bind(LOCK)
        except OSError:
            return False
        return True

    def start(self):
        from node_agent import cri  # only here: a machine without gRPC still gets the reason why it has no lab
        BASE.mkdir(mode=0o700)
        # A folder of its own for each run: a record that the runtime failed to remove stays behind.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='run-', dir=BASE))
        for name in ('cni/bin', 'cni/conf'):
            (self.folder / name).mkdir(parents=True)
        (self.folder / 'config.toml').write_text(CONFIG.format(lab=self.folder), encoding='utf-8')
        images = image.build(self.folder)
        self.pb = cri.messages(self.folder)
        self.start_runtime()
        self.ctr('-n', 'k8s.io', 'images', 'import', str(images))

    def start_runtime(self):
        """Starts containerd, or starts it again: containers outlive it."""
        from node_agent import cri
        path = os.pathsep.join(filter(None, (self.programs, os.environ['PATH'])))
        with open(self.folder / 'containerd.log', 'ab') as log:
            self.process = subprocess.Popen(['containerd', '-c', str(self.folder / 'config.toml')],
                                            stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            env={**os.environ, 'PATH': path})
        if self.cri:
            self.cri.close()
        self.cri = cri.Cri(self.endpoint, self.pb)
        eventually(self.answers, f'containerd answers; see {self.folder}/containerd.log', START_SECONDS)

    def stop_runtime(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(START_SECONDS)

    def answers(self):
        import grpc
        if self.process.poll() is not None:
            raise AssertionError(f'containerd ended with {self.process.returncode}: {self.log()[-2000:]}')
        try:
            conditions = self.cri.call('Status', seconds=1).status.conditions
        except grpc.RpcError:
            return False
        return any(one.type == 'RuntimeReady' and one.status for one in conditions)

    def log(self):
        return (self.folder / 'containerd.log').read_text(encoding='utf-8', errors='replace')

    def asked(self, name, begin=0):
        """Containers for which the runtime was asked to do `name`, by its own log from `begin` on:
        evidence that does not depend on the caller."""
        return re.findall(rf'msg="{name} for \\"(\w+)\\" with', self.log()[begin:])

    @property
    def socket(self):
        return self.folder / 'c.sock'

    @property
    def nri(self):
        """Where the runtime has NRI, if it has any."""
        return self.folder / 'nri.sock'

    @property
    def endpoint(self):
        return f'unix://{self.socket}'

    def ctr(self, *words):
        subprocess.run(['ctr', '-a', str(self.socket), *words], check=True, capture_output=True,
                       timeout=60)

    def node(self, memory=512 * MIB, **bounds):
        """A node in miniature; see cgroup.node."""
        return cgroup.node(f'n{next(NUMBERS)}', memory, **bounds)

    def pod(self, node, name, **more):
        from node_agent.pod import Pod
        return Pod(self, node, name, **more)

    def remove_pods(self):
        """Ends every pod with its containers. A ghost that the runtime cannot remove stays (row 69d)."""
        import grpc
        deadline = Deadline(60)
        for item in self.cri.call('ListPodSandbox').items:
            for name in ('StopPodSandbox', 'RemovePodSandbox'):
                try:
                    self.cri.call(name, seconds=deadline.left(), pod_sandbox_id=item.id)
                except grpc.RpcError:
                    continue

    def close(self):
        """Ends everything in the order that leaves nothing; may be called twice."""
        import grpc
        atexit.unregister(self.close)
        if self.process and self.process.poll() is None:
            try:
                self.remove_pods()
            except grpc.RpcError:
                pass  # it does not answer: the sweep needs no answers
            self.process.terminate()
            try:
                self.process.wait(START_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(START_SECONDS)
        if self.cri:
            self.cri.close()
            self.cri = None
        if self.lock.fileno() >= 0:
            sweep()
            self.lock.close()
