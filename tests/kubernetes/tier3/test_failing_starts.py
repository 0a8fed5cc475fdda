"""A pod that a real kubelet cannot start, and the corrected Deployment after it."""

import sidecar
from wire import eventually

from lab.images import APP, QUEUE_PROXY
from lab.objects import PORT, environment
from scaling.failing import SECONDS, FailingCase

SIDECAR = {'name': 'queue-proxy', 'image': QUEUE_PROXY, 'ports': [{'name': 'queue-port', 'containerPort': 8012}],
           'env': environment(**{**sidecar.ENVIRONMENT, 'QUEUE_SERVING_PORT': '8012', 'USER_PORT': PORT,
                                 'SLUICE_STATS_ADDRESS': ':9090'})}
MISSING = 'localhost/missing:1'


class FailingStarts(FailingCase):
    def setUp(self):
        super().setUp()
        self.lab.import_image(QUEUE_PROXY, self.lab.bin / 'queue-proxy')

    def test_an_image_that_is_nowhere_is_named_at_once_and_the_corrected_deployment_serves(self):
        why = f'container app: image {MISSING} cannot be pulled'
        self.begin([{'name': 'app', 'image': MISSING}, SIDECAR])
        self.assert_start_failed(self.ask().result(SECONDS), why)
        told = self.wait_condition('web', 'Ready', 'False StartFailed')
        self.assertIn(why, told['message'])
        eventually(lambda: self.events('StartFailed'), 'the event')

        self.template([{'name': 'app', 'image': APP}, SIDECAR])

        eventually(lambda: self.ask().result(SECONDS).status == 200, 'it is served', SECONDS)
        self.wait_condition('web', 'Ready', 'True Serving')
        self.assertEqual([one['count'] for one in self.events('StartFailed')], [1])
