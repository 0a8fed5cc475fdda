"""A thin client of CRI v1. Its messages are made by protoc, in the folder of the laboratory."""

import importlib
import pathlib
import subprocess
import sys
import threading

import grpc

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = {'lab_cri.proto': HERE, 'cri.proto': HERE.parents[2] / 'memory-pressure' / 'cri'}
CREATED, RUNNING, EXITED = 0, 1, 2
HOST_NETWORK = 2
OWN_PROCESSES = 1  # as a kubelet requests: a container's program is the first process there
CALL_SECONDS = 30


def messages(folder):
    """The module of all messages, generated into `folder`."""
    if 'lab_cri_pb2' in sys.modules:
        return sys.modules['lab_cri_pb2']
    places = [word for place in SOURCES.values() for word in ('-I', str(place))]
    subprocess.run(['protoc', *places, f'--python_out={folder}', *SOURCES],
                   check=True, capture_output=True, timeout=60)
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module('lab_cri_pb2')
    finally:
        sys.path.remove(str(folder))


class Cri:
    """The calls of one runtime: `cri.call('Version')`, `cri.call('StopContainer', timeout=0, …)`."""

    def __init__(self, endpoint, pb):
        self.pb = pb
        self.channel = grpc.insecure_channel(
            endpoint, options=[('grpc.max_receive_message_length', 16 << 20),
                               ('grpc.use_local_subchannel_pool', 1)])
        self.methods = {}
        self.guard = threading.Lock()

    def method(self, name):
        with self.guard:
            if name not in self.methods:
                answer = getattr(self.pb, f'{name}Response')
                self.methods[name] = self.channel.unary_unary(
                    f'/runtime.v1.RuntimeService/{name}', response_deserializer=answer.FromString,
                    request_serializer=getattr(self.pb, f'{name}Request').SerializeToString)
            return self.methods[name]

    def call(self, name, seconds=CALL_SECONDS, **fields):
        request = getattr(self.pb, f'{name}Request')(**fields)
        return self.method(name)(request, timeout=seconds)

    def containers(self, pod='', state=None):
        """Containers as the runtime lists them, of one pod or one state where given."""
        wanted = self.pb.ContainerFilter(pod_sandbox_id=pod)
        if state is not None:
            wanted.state.CopyFrom(self.pb.ContainerStateValue(state=state))
        return self.call('ListContainers', filter=wanted).containers

    def status(self, container):
        return self.call('ContainerStatus', container_id=container).status

    def update(self, container, **resources):
        """UpdateContainerResources: update(id, cpu_quota=1000, cpu_period=100000)."""
        linux = self.pb.LinuxContainerResources(**resources)
        self.call('UpdateContainerResources', container_id=container, linux=linux)

    def close(self):
        self.channel.close()
