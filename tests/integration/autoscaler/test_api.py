"""What the API tells beside the present: events, history."""

from .case import AutoscalerTest


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

    def test_a_stream_goes_on_where_it_ended(self):
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

    def test_a_service_that_goes_is_told(self):
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
