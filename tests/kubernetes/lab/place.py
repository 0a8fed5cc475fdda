"""Where the laboratory lives: one folder, one network namespace, one tree of control groups.

All three have fixed names, so that the next run can remove what was left; a lock therefore permits only one cluster
at a time.
"""

import contextlib
import ctypes
import os
import pathlib
import signal
import subprocess

BASE = pathlib.Path('/tmp/sluice-k8s')  # short: socket paths have few characters
NETWORK = 'sluice-k8s'
NETWORK_FILE = pathlib.Path('/run/netns', NETWORK)
CGROUP = 'sluice-k8s'
LOCK = '\0sluice-kubernetes-lab'
BRIDGE = 'labbr0'
NODE_IP = '10.88.0.1'            # the node, the host as pods see it, and where they find the API server
POD_RANGE = '10.88.0.0/24'
FAKE_POD_RANGE = '10.99.0.0/16'  # every address of it is local: a program can be a fake pod's
SERVICE_RANGE = '10.96.0.0/16'
# Where the runtime, its network plugins and the kubelet always write, whatever their configuration.
STUBBORN = ('/run/containerd', '/var/lib/cni', '/var/lib/kubelet', '/var/log/containers',
            '/usr/libexec/kubernetes')
CLONE_NEWNS = 0x00020000
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
MS_BIND = 0x1000
MNT_DETACH = 2
MS_PRIVATE_RECURSIVE = 0x44000
LIBC = ctypes.CDLL(None, use_errno=True)
COVERED = []  # of STUBBORN, by this process


def ip(*words):
    subprocess.run(['ip', *words], check=True, capture_output=True, timeout=20)


def make_network():
    """A namespace without a way out: what is sent to a Service or a pod cannot leave the machine."""
    ip('netns', 'add', NETWORK)
    inside = ('-n', NETWORK)
    ip(*inside, 'link', 'set', 'lo', 'up')
    ip(*inside, 'addr', 'add', FAKE_POD_RANGE, 'dev', 'lo')
    ip(*inside, 'link', 'add', BRIDGE, 'type', 'bridge')
    ip(*inside, 'addr', 'add', f'{NODE_IP}/24', 'dev', BRIDGE)
    ip(*inside, 'link', 'set', BRIDGE, 'up')
    # Leads nowhere; yet without a route nothing is even handed to the rules of kube-proxy.
    ip(*inside, 'route', 'add', 'default', 'dev', BRIDGE)


def end_with(parent):
    """This process is killed when `parent`, which has started it, ends without having waited for it."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise SystemExit('whoever started this has ended')


def mount(source, target, flags):
    if LIBC.mount(str(source).encode(), str(target).encode(), None, flags, None) != 0:
        raise OSError(ctypes.get_errno(), f'mount at {target}')


def own_mounts():
    """From now on this process has mounts of its own, which end with it and all that it starts.

    Folders of ours lie over STUBBORN in there, so that nothing is left in the machine's. Those of an
    earlier laboratory of this process are gone, and over what is gone nothing can be mounted.
    """
    while COVERED:
        LIBC.umount2(COVERED.pop().encode(), MNT_DETACH)
    if LIBC.unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), 'unshare')
    mount('none', '/', MS_PRIVATE_RECURSIVE)
    for place in STUBBORN:
        instead = BASE / 'instead' / place.strip('/').replace('/', '-')
        instead.mkdir(parents=True)
        pathlib.Path(place).mkdir(parents=True, exist_ok=True)
        mount(instead, place, MS_BIND)
        COVERED.append(place)


def set_namespace(descriptor):
    if LIBC.setns(descriptor, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), 'setns')


@contextlib.contextmanager
def in_network(file=NETWORK_FILE):
    """This thread, and all that it starts, is inside the network namespace of `file` meanwhile: the
    laboratory's, or that of a pod. Sockets stay where they were made.

    Not `ip netns exec`: that mounts another /sys, in which a kubelet finds no control groups.
    """
    back = os.open('/proc/self/ns/net', os.O_RDONLY)
    there = os.open(file, os.O_RDONLY)
    try:
        set_namespace(there)
        yield
    finally:
        set_namespace(back)
        os.close(back)
        os.close(there)
