"""Pods that cannot start: the answer to a request, the RequestScaler's status and its events, on an API server
alone."""

from activator.case import sidecar_play
from sidecar import Upstream
from wire import eventually

from scaling.case import SIDECAR
from scaling.failing import FailingCase

IMAGE = 'shop/web:bad'
NOT_PULLED = f'container app: image {IMAGE} cannot be pulled'
CRASHED = {'exitCode': 137, 'reason': 'OOMKilled', 'startedAt': '2026-03-01T08:10:00Z'}


class FailingStarts(FailingCase):
    def pod(self, name, port=8012):
        """As a controller would make it: none runs here."""
        self.place.create('pods', {
            'metadata': {'name': name, 'labels': {'app': 'web', 'sluice.dev/sidecar': 'queue-proxy'}},
            'spec': {'containers': [{'name': 'app', 'image': IMAGE}, {
                **SIDECAR, 'ports': [{'name': 'queue-port', 'containerPort': port}]}]}})
        self.addCleanup(self.forget, name)

    def forget(self, name):
        path = self.place.path('pods', name)
        if self.api.find(path):
            self.api.delete(path, grace=0)

    def kubelet_says(self, name, ready=False, state=None, restarts=0):
        """Of the container `app`."""
        status = {'name': 'app', 'image': IMAGE, 'imageID': '', 'ready': ready, 'restartCount': restarts,
                  **(state or {'state': {'waiting': {'reason': 'ContainerCreating'}}})}
        self.api.patch(self.place.path('pods', name) + '/status', {'status': {
            'phase': 'Running' if ready else 'Pending', 'containerStatuses': [status],
            'podIP': '10.99.1.7', 'podIPs': [{'ip': '10.99.1.7'}],
            'conditions': [{'type': 'Ready', 'status': str(ready), 'lastTransitionTime': '2026-03-01T08:09:00Z'}]}})

    def test_an_image_that_cannot_be_pulled_ends_the_wait_and_the_corrected_pod_serves(self):
        self.begin()
        held = self.ask()
        self.wait_replicas('web', 1)
        self.pod('web-bad')
        self.kubelet_says('web-bad')
        self.wait_condition('web', 'Ready', 'True Waking')
        self.assertIsNone(held.answer)

        for reason in ('ErrImagePull', 'ImagePullBackOff'):
            self.kubelet_says('web-bad', state={'state': {'waiting': {'reason': reason, 'message': 'token'}}})
            self.assert_start_failed(held.result(), NOT_PULLED)
            held = self.ask()
        self.assert_start_failed(held.result(), NOT_PULLED)
        told = self.wait_condition('web', 'Ready', 'False StartFailed')
        self.assertIn(IMAGE, told['message'])
        self.wait_condition('web', 'Active', 'Unknown StartFailed')
        eventually(lambda: self.events('StartFailed'), 'the event')

        upstream = Upstream(sidecar_play(), '10.99.1.7')
        self.addCleanup(upstream.close)
        self.pod('web-good', upstream.port)
        self.kubelet_says('web-good', ready=True, state={'state': {'running': {}}})
        eventually(lambda: self.ask().result().status == 200, 'it is served')
        self.wait_condition('web', 'Ready', 'True Serving')
        self.assertEqual([one['count'] for one in self.events('StartFailed')], [1])

    def test_a_crash_loop_is_told_with_the_exit_status_and_two_ends_are_none(self):
        self.begin()
        held = self.ask()
        self.wait_replicas('web', 1)
        self.pod('web-bad')
        self.kubelet_says('web-bad', restarts=2,
                          state={'state': {'running': {}}, 'lastState': {'terminated': CRASHED}})
        self.wait_condition('web', 'Ready', 'True Waking')
        self.assertIsNone(held.answer)

        self.kubelet_says('web-bad', restarts=2, state={
            'state': {'waiting': {'reason': 'CrashLoopBackOff'}}, 'lastState': {'terminated': CRASHED}})

        self.assert_start_failed(
            held.result(), 'container app: it ends before it is ready: exit status 137 (OOMKilled)')
