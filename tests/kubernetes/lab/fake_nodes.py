"""Nodes and pods without a kubelet: kwok writes what a kubelet would report of each, by Stages.

A pod's annotations tell it more: START_DELAY ("300ms": how long until it is Ready) and POD_IP (an
address of FAKE_POD_RANGE, where a program of the test can listen for it).
"""

from lab.daemon import Daemon, answers
from lab.place import FAKE_POD_RANGE

START_DELAY = 'lab.sluice.dev/start-delay'
POD_IP = 'lab.sluice.dev/pod-ip'
PORT = 12247
LEASE_SECONDS = 40

STAGES = '''apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {{name: node-ready}}
spec:
  resourceRef: {{apiGroup: v1, kind: Node}}
  selector:
    matchExpressions:
    - {{key: '.status.conditions.[] | select( .type == "Ready" ) | .status', operator: NotIn, values: ["True"]}}
  next:
    statusTemplate: |
      {{{{ $now := Now }}}}
      addresses: [{{type: InternalIP, address: 10.88.0.1}}]
      allocatable: {{cpu: 10k, memory: 10Ti, pods: 100k}}
      capacity: {{cpu: 10k, memory: 10Ti, pods: 100k}}
      conditions:
      - {{type: Ready, status: "True", reason: Fake, lastHeartbeatTime: {{{{ $now | Quote }}}}, lastTransitionTime: {{{{ $now | Quote }}}}}}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {{name: pod-ready}}
spec:
  resourceRef: {{apiGroup: v1, kind: Pod}}
  selector:
    matchExpressions:
    - {{key: .metadata.deletionTimestamp, operator: DoesNotExist}}
    - {{key: .status.podIP, operator: DoesNotExist}}
    - {{key: .spec.nodeName, operator: Exists}}
  delay:
    durationMilliseconds: 100
    durationFrom: {{expressionFrom: '.metadata.annotations["{delay}"]'}}
  next:
    statusTemplate: |
      {{{{ $now := Now }}}}
      {{{{ $ip := index (or .metadata.annotations dict) "{ip}" }}}}
      conditions:
      {{{{ range $type := list "Initialized" "Ready" "ContainersReady" "PodScheduled" }}}}
      - {{type: {{{{ $type }}}}, status: "True", lastTransitionTime: {{{{ $now | Quote }}}}}}
      {{{{ end }}}}
      containerStatuses:
      {{{{ range .spec.containers }}}}
      - {{name: {{{{ .name | Quote }}}}, image: {{{{ .image | Quote }}}}, ready: true, started: true, restartCount: 0, state: {{running: {{startedAt: {{{{ $now | Quote }}}}}}}}}}
      {{{{ end }}}}
      initContainerStatuses:
      {{{{ range .spec.initContainers }}}}
      - {{name: {{{{ .name | Quote }}}}, image: {{{{ .image | Quote }}}}, ready: true, started: true, restartCount: 0, state: {{running: {{startedAt: {{{{ $now | Quote }}}}}}}}}}
      {{{{ end }}}}
      phase: Running
      startTime: {{{{ $now | Quote }}}}
      podIP: {{{{ or $ip PodIP | Quote }}}}
      podIPs: [{{ip: {{{{ or $ip PodIP | Quote }}}}}}]
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {{name: pod-delete}}
spec:
  resourceRef: {{apiGroup: v1, kind: Pod}}
  selector: {{matchExpressions: [{{key: .metadata.deletionTimestamp, operator: Exists}}]}}
  delay: {{durationMilliseconds: 200}}
  next: {{finalizers: {{empty: true}}, delete: true}}
'''


def kubelets(tools, folder, admin):
    """The one program that plays all kubelets."""
    stages = folder / 'kwok.yaml'
    stages.write_text(STAGES.format(delay=START_DELAY, ip=POD_IP), encoding='utf-8')
    return Daemon('kwok', [
        tools / 'kwok', f'--kubeconfig={admin}', f'--cidr={FAKE_POD_RANGE}', '--manage-all-nodes',
        f'--node-lease-duration-seconds={LEASE_SECONDS}', f'--config={stages}',
        f'--server-address=127.0.0.1:{PORT}'], folder / 'kwok.log',
        answers(f'http://127.0.0.1:{PORT}/healthz'))


def add(api, count, first=0):
    """Makes nodes fake-0, fake-1, …"""
    for number in range(first, first + count):
        api.post('/api/v1/nodes', {'apiVersion': 'v1', 'kind': 'Node',
                                   'metadata': {'name': f'fake-{number}', 'labels': {'type': 'fake'}}})


def ready(api):
    """How many nodes are Ready."""
    return sum(any(one['type'] == 'Ready' and one['status'] == 'True'
                   for one in node.get('status', {}).get('conditions', ()))
               for node in api.items('/api/v1/nodes'))
