"""Pods and containers of the laboratory, as a kubelet would request them."""

import itertools
import uuid

import grpc
from node_agent.cgroup import Group
from node_agent.cri import EXITED, HOST_NETWORK, OWN_PROCESSES
from wire import eventually

NAMES = itertools.count(1)


class Pod:
    """A sandbox under a node. `parent`: the control group of the pod, if it has one of its own."""

    def __init__(self, lab, node, name, namespace='default', annotations=(), labels=(), parent=None):
        self.lab = lab
        self.name = f'{name}-{next(NAMES)}'
        self.namespace = namespace
        self.uid = str(uuid.uuid4())
        self.group = parent or node
        pb = lab.pb
        self.host_network = pb.NamespaceOption(network=HOST_NETWORK, pid=OWN_PROCESSES)
        self.config = pb.PodSandboxConfig(
            metadata=pb.PodSandboxMetadata(name=self.name, uid=self.uid, namespace=namespace),
            log_directory=str(lab.folder / 'logs' / self.name),
            labels={'io.kubernetes.pod.name': self.name, 'io.kubernetes.pod.uid': self.uid,
                    'io.kubernetes.pod.namespace': namespace, **dict(labels)},
            annotations=dict(annotations),
            linux=pb.LinuxPodSandboxConfig(
                cgroup_parent=self.group.path,
                security_context=pb.LinuxSandboxSecurityContext(namespace_options=self.host_network)))
        self.id = lab.cri.call('RunPodSandbox', config=self.config).pod_sandbox_id

    def create(self, name, arguments, attempt=0, annotations=(), mounts=(), command=(), **resources):
        """A container that is not started; `command` in place of the image's, `memory` in bytes, other resources as CRI calls them."""
        pb = self.lab.pb
        resources['memory_limit_in_bytes'] = resources.pop('memory', 0)
        config = pb.ContainerConfig(
            metadata=pb.ContainerMetadata(name=name, attempt=attempt),
            image=pb.ImageSpec(image='localhost/hog:1'), command=list(command),
            args=[str(word) for word in arguments],
            mounts=[pb.Mount(container_path=inside, host_path=str(outside))
                    for inside, outside in dict(mounts).items()],
            labels={**self.config.labels, 'io.kubernetes.container.name': name},
            annotations={'io.kubernetes.container.restartCount': str(attempt), **dict(annotations)},
            log_path=f'{name}-{attempt}.log',
            linux=pb.LinuxContainerConfig(
                resources=pb.LinuxContainerResources(**resources),
                security_context=pb.LinuxContainerSecurityContext(
                    namespace_options=self.host_network)))
        made = self.lab.cri.call('CreateContainer', pod_sandbox_id=self.id, config=config,
                                 sandbox_config=self.config)
        return Container(self, name, attempt, made.container_id)

    def run(self, name, arguments, **more):
        return self.create(name, arguments, **more).start()

    def remove(self):
        """Ends it with its containers. A container that the runtime lists and has already forgotten
        (a ghost, row 69d) keeps its sandbox listed until the runtime restarts; nothing of it runs."""
        self.lab.cri.call('StopPodSandbox', pod_sandbox_id=self.id)
        try:
            self.lab.cri.call('RemovePodSandbox', pod_sandbox_id=self.id)
        except grpc.RpcError as problem:
            if problem.code() is not grpc.StatusCode.NOT_FOUND:
                raise


class Container:
    def __init__(self, pod, name, attempt, identity):
        self.pod = pod
        self.name = name
        self.attempt = attempt
        self.id = identity
        self.group = Group(f'{pod.group.path}/{identity}')

    @property
    def cri(self):
        return self.pod.lab.cri  # another one after the runtime was started again

    def start(self):
        self.call('StartContainer')
        return self

    def call(self, name, **fields):
        return self.cri.call(name, container_id=self.id, **fields)

    def status(self):
        return self.cri.status(self.id)

    def update(self, quota, period=100_000):
        self.cri.update(self.id, cpu_quota=quota, cpu_period=period)

    def quota(self):
        return self.group.quota()

    def stop(self, grace=0):
        self.call('StopContainer', timeout=grace)

    def remove(self):
        self.call('RemoveContainer')

    def exited(self, seconds=20):
        """Waits for its end; its status then."""
        eventually(lambda: self.status().state == EXITED, f'{self.name} has ended', seconds)
        return self.status()

    def output(self):
        """What it wrote to its standard output, a list of lines."""
        path = self.pod.lab.folder / 'logs' / self.pod.name / f'{self.name}-{self.attempt}.log'
        if not path.exists():
            return []
        return [line.split(' ', 3)[3] for line in path.read_text(encoding='utf-8').splitlines()]
