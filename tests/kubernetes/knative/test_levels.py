"""Ours in the place of Knative's, one part after the other, and back; no request meanwhile fails."""

from wire import eventually, fetch

from knative.case import OUR_CLASS, OUR_GRPC_PORT, STEP_SECONDS, TARGET, THEIR_CLASS, KnativeCase
from lab.knative import OUR_QUEUE, QUEUE, host_of
from lab.place import NODE_IP

BURST = 'autoscaling.knative.dev/target-burst-capacity'
A_WINDOW = 100  # requests of all clients in more than the ten seconds that a decision looks back on


class Levels(KnativeCase):
    def test_0_knative_alone_scales_there_and_back(self):
        self.there_and_back(self.knative.deploy(self.space, 'alone', TARGET))

    def test_a_our_sidecar_measures_for_knative(self):
        self.take_sidecars()
        revision = self.knative.deploy(self.space, 'side', TARGET)
        self.wait_sidecars(revision, OUR_QUEUE)
        self.there_and_back(revision)

    def test_a_sidecars_change_under_load_to_ours_and_back(self):
        revision = self.knative.deploy(self.space, 'side', TARGET)
        self.wait_sidecars(revision, QUEUE)
        load = self.load(revision, 4)
        self.wait_pods(revision, 2, 10)

        self.take_sidecars()
        self.wait_sidecars(revision, OUR_QUEUE)
        self.give_sidecars_back()
        self.wait_sidecars(revision, QUEUE)

        self.assert_answered(load)

    def test_b_our_autoscaler_scales_revisions_of_our_class_and_knatives_takes_them_back(self):
        ours = self.autoscaler()
        self.take_stats()
        revision = self.knative.deploy(self.space, 'ours', {**TARGET, **OUR_CLASS})
        self.there_and_back(revision)
        eventually(lambda: self.knative.condition(self.space, revision, 'Active') == 'True',
                   'its PodAutoscaler is active')

        back = self.knative.revise(self.space, 'ours', 2, {**TARGET, **THEIR_CLASS})
        self.wait_pods(back, 1, 1)
        self.give_stats_back()
        ours.terminate()
        self.assertEqual(ours.process.wait(STEP_SECONDS), 0)
        self.there_and_back(back)

    def test_b_a_revision_made_as_ours_is_reported_by_knative_once_it_has_its_class(self):
        self.autoscaler()
        self.take_stats()
        revision = self.knative.deploy(self.space, 'came', {**TARGET, BURST: '0', **OUR_CLASS})
        self.wait_told_ready(revision)
        # A metric, which Knative's webhook leaves empty on what is not of its class.
        self.knative.annotate(self.space, revision, {**THEIR_CLASS, 'autoscaling.knative.dev/metric': 'concurrency'})
        for _ in range(2):
            self.wait_pods(revision, 0, 0)
            self.wait_mode(revision, 'Proxy')
            one = self.load(revision, 1)
            self.wait_mode(revision, 'Serve')
            self.wait_told_ready(revision)
            self.assert_answered(one)

    def test_b_revisions_of_knatives_class_are_scaled_by_knative_behind_our_relay(self):
        self.autoscaler()
        self.take_stats()

        self.there_and_back(self.knative.deploy(self.space, 'theirs', TARGET))

    def test_b_a_revision_that_runs_changes_its_class_under_load_and_back(self):
        ours = self.autoscaler()
        self.take_stats()
        # No spare room: activators leave the way while pods run, which its ServerlessService shows.
        revision = self.knative.deploy(self.space, 'live', {**TARGET, BURST: '0'})
        self.wait_pods(revision, 1, 1)
        for annotations, is_ours in ((OUR_CLASS, True), (THEIR_CLASS, False)):
            load = self.load(revision)
            self.wait_pods(revision, 3, 10)
            self.wait_mode(revision, 'Serve')
            self.wait_more(load, A_WINDOW)
            before = self.wait_settled(revision)
            self.knative.annotate(self.space, revision, annotations)
            self.wait(lambda is_ours=is_ours: self.scaled_by(ours, revision) == is_ours, 'another scales it')
            self.wait_more(load, A_WINDOW)
            self.assertEqual(self.wait_settled(revision), before)
            self.assert_answered(load)
            self.wait_pods(revision, 0, 0)
            self.wait_mode(revision, 'Proxy')
        one = self.load(revision, 1)
        self.wait_pods(revision, 1, 1)
        self.wait_mode(revision, 'Serve')
        self.assert_answered(one)

    def test_c_our_activator_holds_requests_for_knatives_autoscaler(self):
        self.take_front()
        activator = self.activator(SLUICE_STATS_TARGET=self.knative.stats_address())
        revision = self.knative.deploy(self.space, 'front', TARGET)
        self.there_and_back(revision)
        self.assertGreater(self.served_by(activator), 0)

    def test_c_activators_change_under_load_to_ours_and_back(self):
        activator = self.activator(SLUICE_STATS_TARGET=self.knative.stats_address())
        # Capacity without end is never enough: every request goes by an activator.
        revision = self.knative.deploy(self.space, 'front', {**TARGET, BURST: '-1'})
        self.wait_pods(revision, 1, 1)
        first = self.load(revision, 4)
        self.wait_more(first)

        self.take_front()
        # Connections that are open stay where they are; new ones change with kube-proxy.
        self.wait(lambda: self.goes_by(activator, revision), 'it leads to our activator')
        second = self.load(revision, 4)
        self.wait_more(second)
        self.give_front_back()
        self.wait(lambda: self.front(revision) == self.knative.activators(), 'it leads to Knative\'s activator')
        third = self.load(revision, 4)
        self.wait_more(third)

        self.assert_answered(first, second, third)

    def test_c_all_of_ours_scale_together(self):
        self.take_sidecars()
        self.autoscaler()
        self.take_front()
        activator = self.activator(SLUICE_AUTOSCALER_ADDRESS=f'{NODE_IP}:{OUR_GRPC_PORT}')
        revision = self.knative.deploy(self.space, 'all', {**TARGET, **OUR_CLASS})
        self.wait_sidecars(revision, OUR_QUEUE)
        self.there_and_back(revision)
        self.assertGreater(self.served_by(activator), 0)

    def scaled_by(self, autoscaler, revision):
        return fetch(autoscaler.addresses['api'], f'/api/v1/services/{self.space}/{revision}?here=1').status == 200

    def goes_by(self, activator, revision):
        """Whether a request on a new connection does."""
        before = self.served_by(activator)
        answer = fetch(self.knative.public_address(self.space, revision), host=host_of(self.space, revision))
        self.assertEqual(answer.status, 200)
        return self.served_by(activator) > before

    def wait_mode(self, revision, mode):
        self.wait(lambda: self.knative.serverless(self.space, revision).get('spec', {}).get('mode') == mode,
                  f'the ServerlessService of {revision} is of mode {mode}')

    def wait_told_ready(self, revision):
        self.wait(lambda: self.knative.condition(self.space, revision, 'Ready') == 'True',
                  f'the PodAutoscaler of {revision} is Ready')
