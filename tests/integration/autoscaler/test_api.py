"""What the API shows beside the present state, and changes: events, history, cold starts, wake, sleep, scale."""

import json
import pathlib
import tempfile

from activator.case import Activator, Asker
from activator.case import Pod as Served
from protowire import fields, revision_key
from wire import eventually

from .case import AutoscalerTest
from .fake_activator import FakeActivator

TOKEN = '0123456789abcdef'
ASLEEP = {'autoscaling.knative.dev/initial-scale': '0'}


def kinds(events):
    return [event['kind'] for event in events]


class EventStream(AutoscalerTest):
    def test_a_replica_is_followed_from_its_start_to_its_end(self):
        self.platform.revision('app-00001', service='app')
        running = self.start()
        events = self.events(running, '?types=replica&service=app&namespace=default')
        pod = self.pod('pod-1', ready=False)

        def next_state(state):
            return events.until(lambda all: any(each['state'] == state for each in all), state)[-1]

        self.platform.revision('app-00001', [pod.entry()], service='app')
        event = next_state('starting')
        self.assertEqual((event['namespace'], event['service'], event['revision'], event['id']),
                         ('default', 'app', 'app-00001', 'pod-1'))
        pod.ready = True
        self.platform.revision('app-00001', [pod.entry()], service='app')
        next_state('ready')
        pod.terminating = True
        self.platform.revision('app-00001', [pod.entry()], service='app')
        next_state('draining')
        self.platform.revision('app-00001', [], service='app')
        next_state('stopped')
        self.assertEqual(set(kinds(events.all())), {'replica'})

    def test_a_decision_is_an_event_with_the_shape_of_the_history(self):
        pod = self.pod('pod-1', concurrency=300)
        self.platform.revision('app', [pod.entry()])
        running = self.start()
        events = self.events(running, '?types=decision')

        decision = events.until(lambda all: any(each['bounded'] > 1 for each in all), 'a rise')[-1]

        kept = running.api('/services/default/app/history').json()['items']
        self.assertIn({key: value for key, value in decision.items() if key not in ('at', 'kind', 'type')},
                      kept)

    def test_a_stream_continues_where_it_ended(self):
        running = self.start()
        first = self.events(running, '?types=service')
        self.platform.revision('one')
        last = first.until(lambda all: all, 'the first service')[-1]
        first.close()
        self.platform.revision('two')

        events = self.events(running, '?types=service', after=last['at'])

        event = events.until(lambda all: all, 'the second service')[0]
        self.assertEqual((event['name'], event['event'], event['state']), ('two', 'added', 'starting'))
        self.assertEqual(running.api('/events', headers=[('Last-Event-ID', 'x')]).status, 400)

    def test_a_removed_service_is_an_event(self):
        self.platform.revision('app')
        running = self.start()
        events = self.events(running, '?types=service')

        self.platform.forget('app')

        self.assertEqual(events.until(lambda all: all, 'its end')[0]['event'], 'removed')

    def test_a_setting_that_is_wrong_is_a_warning(self):
        running = self.start()
        events = self.events(running, '?types=warning')

        self.platform.revision('app', annotations={'autoscaling.knative.dev/target': '-7'})

        warning = events.until(lambda all: all, 'a warning')[0]
        self.assertIn('target', warning['message'])
        self.assertTrue(warning['fix'])

    def test_readers_are_bounded_and_others_still_get_answers(self):
        running = self.start()
        kept = [self.events(running) for _ in range(64)]

        refused = running.api('/events')

        self.assertEqual((refused.status, refused.json()['type']), (503, 'too-many-streams'))
        self.assertEqual(running.api('/version').status, 200)
        kept[0].close()

    def test_a_reader_is_released_at_the_end(self):
        running = self.start()
        self.events(running)

        self.assertEqual(running.leave(), 0)


class Changes(AutoscalerTest):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix='sluice-')
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / 'token'
        self.file.write_text(TOKEN + '\n')

    def opened(self):
        return self.start(SLUICE_API_TOKEN_FILE=str(self.file))

    def post(self, running, verb, *headers, body=b'', name='app'):
        return running.api(f'/services/default/{name}/{verb}', method='POST', body=body, headers=headers)

    def allowed(self, running, verb, body=b''):
        answer = self.post(running, verb, ('Authorization', f'Bearer {TOKEN}'), body=body)
        self.assertEqual(answer.status, 202, answer.body)
        return answer.json()

    def activator(self, running):
        made = FakeActivator(running.addresses['grpc'])
        self.addCleanup(made.close)
        return made.wait(lambda a: a.snapshot is not None, 'the snapshot')

    def refused(self, answer, kind):
        self.assertEqual((answer.status, answer.json()['type']), (403, kind))
        return answer.json()

    def test_without_the_setting_nothing_changes_and_the_setting_is_named(self):
        self.platform.revision('app')
        running = self.start()

        problem = self.refused(self.post(running, 'wake', ('Sluice-Edit', TOKEN)), 'read-only')

        self.assertIn('SLUICE_API_TOKEN_FILE', problem['fix'])
        self.assertEqual(running.api('/services/default/app/wake').status, 405)

    def test_a_change_needs_the_token_and_no_page_of_another_site(self):
        self.platform.revision('app')
        running = self.opened()
        right = ('Sluice-Edit', TOKEN)

        self.assertIn('SLUICE_API_TOKEN_FILE', self.refused(self.post(running, 'wake'), 'token-required')['detail'])
        self.refused(self.post(running, 'wake', ('Authorization', 'Bearer 0123456789abcdeX')), 'token-required')
        self.refused(self.post(running, 'wake', right, ('Origin', 'http://evil.example')), 'other-site')
        self.refused(self.post(running, 'wake', right, ('Sec-Fetch-Site', 'cross-site')), 'other-site')
        self.assertEqual(self.post(running, 'wake', right, right).status, 400)
        self.assertEqual(self.post(running, 'wake', right).status, 202)
        self.assertEqual(self.post(running, 'wake', right, name='nothing').status, 404)
        self.assertEqual(running.api('/services').status, 200)

    def test_another_token_in_the_file_counts_at_once(self):
        self.platform.revision('app')
        running = self.opened()
        self.file.write_text('another token of mine'.replace(' ', '-'))

        self.refused(self.post(running, 'wake', ('Sluice-Edit', TOKEN)), 'token-required')
        self.assertEqual(self.post(running, 'wake', ('Sluice-Edit', 'another-token-of-mine')).status, 202)
        self.file.write_text('short')
        self.refused(self.post(running, 'wake', ('Sluice-Edit', 'short')), 'read-only')

    def test_wake_and_sleep(self):
        self.platform.put('config-autoscaler.json', {'allow-zero-initial-scale': 'true'})
        self.platform.revision('app', annotations=ASLEEP)
        running = self.opened()
        activator = self.activator(running)
        self.platform.wait_for_scale('app', lambda order: order['replicas'] == 0)

        self.assertEqual(self.allowed(running, 'wake')['desired'], 1)
        self.platform.wait_for_scale('app', lambda order: order['replicas'] == 1)
        self.assertEqual(self.allowed(running, 'sleep')['desired'], 0)
        self.platform.wait_for_scale('app', lambda order: order['replicas'] == 0)
        activator.report(('app', 1, 1))
        self.platform.wait_for_scale('app', lambda order: order['replicas'] == 1)

    def test_the_first_request_after_an_order_to_sleep_ends_it_though_older_ones_are_held(self):
        self.platform.put('config-autoscaler.json', {'allow-zero-initial-scale': 'true'})
        self.platform.revision('app', annotations=ASLEEP)
        running = self.opened()
        activator = self.activator(running)
        activator.report(('app', 3, 3, 'default', 0), waiting=[('app', 3)])
        self.platform.wait_for_scale('app', lambda order: order['replicas'] > 0)
        self.assertEqual(self.allowed(running, 'sleep')['desired'], 0)
        self.platform.wait_for_scale('app', lambda order: order['replicas'] == 0)

        activator.report(('app', 1, 1, 'default', 60_000), waiting=[('app', 3, 60_000)])
        self.assertEqual(self.platform.scale('app')['replicas'], 0)
        activator.report(('app', 3.5, 1, 'default', 0), waiting=[('app', 4, 60_000)])
        self.platform.wait_for_scale('app', lambda order: order['replicas'] > 0)

    def test_a_sleep_that_no_request_could_end_is_refused(self):
        self.platform.revision('app')
        running = self.opened()

        answer = self.post(running, 'sleep', ('Sluice-Edit', TOKEN))

        self.assertEqual((answer.status, answer.json()['type']), (409, 'no-activator'))

    def test_bounds_hold_while_pods_come_and_go(self):
        self.platform.revision('app')
        running = self.opened()

        self.allowed(running, 'scale', json.dumps({'min': 3, 'max': 4}).encode())
        self.platform.wait_for_scale('app', lambda order: order['replicas'] == 3)
        self.platform.revision('app', [self.pod('pod-1').entry()])
        eventually(lambda: running.api('/services/default/app').json()['ready'] == 1, 'the pod')

        self.assertEqual(self.platform.scale('app')['replicas'], 3)
        self.assertEqual(running.api('/services/default/app/explain').json()['inputs']['min'], 3)
        wrong = self.post(running, 'scale', ('Sluice-Edit', TOKEN), body=b'{"min":5}')
        self.assertEqual((wrong.status, wrong.json()['type']), (422, 'invalid-document'))


class ColdStarts(AutoscalerTest):
    def setUp(self):
        super().setUp()
        self.platform.put('config-autoscaler.json', {'allow-zero-initial-scale': 'true'})
        self.platform.revision('app', annotations=ASLEEP)
        self.running = self.start()

    def activator(self, **changes):
        made = Activator(self.platform, SLUICE_AUTOSCALER_ADDRESS=self.running.addresses['grpc'], **changes)
        self.addCleanup(made.close)
        return made

    def test_the_phases_of_a_start_are_an_event_and_stay_in_status_and_explain(self):
        activator = self.activator(SLUICE_COLD_START_HEADER='true')
        events = self.events(self.running, '?types=cold_start')
        asking = [Asker(lambda: activator.get(host='app.example')) for _ in range(2)]
        self.platform.wait_for_scale('app', lambda order: order['replicas'] == 1)
        pod = Served(name='pod-1')
        self.addCleanup(pod.sidecar.close)
        self.addCleanup(pod.upstream.close)

        self.platform.revision('app', [{'name': 'pod-1', 'node': 'n1', 'address': pod.address, 'ready': True}],
                               annotations=ASLEEP)
        answers = [each.result() for each in asking]

        event = events.until(lambda all: all, 'the cold start')[0]
        self.assertEqual((event['service'], event['replica'], event['namespace']), ('app', 'pod-1', 'default'))
        self.assertEqual(set(event['phases_ms']), {'queue', 'decide', 'create', 'start', 'ready', 'first_byte'})
        self.assertAlmostEqual(sum(event['phases_ms'].values()), event['total_ms'], delta=4)
        told = [int(answer.headers['sluice-cold-start']) for answer in answers]
        self.assertTrue(any(abs(each - event['total_ms']) <= 1 for each in told), (told, event))
        self.assertEqual(self.running.api('/services/default/app').json()['last_cold_start_ms'], event['total_ms'])
        kept = self.running.api('/services/default/app/explain').json()['last_cold_start']
        self.assertEqual(kept['phases_ms'], event['phases_ms'])
        # Both waited for the same start, which is reported once.
        activator.get(host='app.example')
        self.assertEqual(len(events.all()), 1)

    def test_a_message_of_a_later_activator_is_ignored(self):
        activator = FakeActivator(self.running.addresses['grpc'])
        self.addCleanup(activator.close)
        activator.wait(lambda a: a.snapshot is not None, 'the snapshot')

        activator.say(fields(f15=fields(f1='later')))
        activator.report(('app', 1, 1))

        self.platform.wait_for_scale('app', lambda order: order['replicas'] == 1)

    def test_a_cold_start_of_another_revision_causes_no_event(self):
        activator = FakeActivator(self.running.addresses['grpc'])
        self.addCleanup(activator.close)
        activator.wait(lambda a: a.snapshot is not None, 'the snapshot')
        events = self.events(self.running, '?types=cold_start')

        for name in ('nothing', 'app'):
            activator.say(fields(f4=fields(f1=revision_key(name), f2='pod-1', f7=5000)))

        event = events.until(lambda all: all, 'the cold start')[0]
        self.assertEqual((event['service'], event['total_ms']), ('app', 5))
