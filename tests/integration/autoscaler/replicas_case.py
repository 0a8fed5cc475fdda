"""Replicas of the autoscaler that share buckets by Leases of one API server."""

from .case import LOOPBACK, Autoscaler, AutoscalerTest
from .fake_api import FakeApi

SYSTEM = '/api/v1/namespaces/system'
LEASES = '/apis/coordination.k8s.io/v1/namespaces/system/leases'
RULES = {'buckets': '1', 'lease-duration': '3s', 'renew-deadline': '2s', 'retry-period': '500ms'}


def lease_of(bucket, buckets):
    """The path of the Lease of a bucket."""
    return f'{LEASES}/autoscaler-bucket-{bucket:02}-of-{buckets:02}'


class ReplicasTest(AutoscalerTest):
    rules = RULES

    def setUp(self):
        super().setUp()
        self.api = self.kept(FakeApi())
        self.api.objects[f'{SYSTEM}/configmaps/config-leader-election'] = {
            'metadata': {'name': 'config-leader-election', 'namespace': 'system', 'resourceVersion': '1'},
            'data': self.rules}

    def kept(self, made):
        self.addCleanup(made.close)
        return made

    def replica(self, number, **changes):
        doors = {name: address for name, address in LOOPBACK.items() if name != 'SLUICE_STATS_ADDRESS'}
        return self.kept(Autoscaler(self.platform, **{
            **doors, 'SLUICE_PLATFORM': 'kubernetes', 'SLUICE_KUBECONFIG': self.api.kubeconfig,
            'POD_NAME': f'autoscaler-{number}', 'POD_IP': f'127.0.0.{number}', 'SYSTEM_NAMESPACE': 'system',
            **changes}))

    def give_lease(self, path, holder):
        """The lease is that replica's, which may renew it."""
        self.api.put(path, {'metadata': {'name': path.rpartition('/')[2], 'namespace': 'system'}, 'spec': {
            'holderIdentity': holder, 'leaseDurationSeconds': 3600, 'leaseTransitions': 1,
            'acquireTime': '2026-11-20T14:03:12.000000Z', 'renewTime': '2026-11-20T14:03:12.000000Z'}}, creates=None)
