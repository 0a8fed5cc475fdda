"""Our autoscaler looks on while Knative scales: it wants the same, and touches nothing."""

import time

from wire import eventually, fetch, scraped

from knative.case import OUR_CLASS, STEP_SECONDS, TARGET, KnativeCase

PLATEAUS = (2, 8, 4, 1)  # clients
EVALUATIONS = 3
CALM_SECONDS = 8  # for which both numbers stay the same: more than two ticks and the rest of a window


class Shadow(KnativeCase):
    def setUp(self):
        super().setUp()
        self.proxy = self.fault_proxy()
        self.shadow = self.autoscaler(SLUICE_SHADOW='true', SLUICE_KUBECONFIG=str(self.proxy.kubeconfig))
        self.take_stats()

    def ours(self, revision):
        answer = fetch(self.shadow.addresses['api'], f'/api/v1/services/{self.space}/{revision}')
        return answer.json()['desired'] if answer.status == 200 else None

    def theirs(self, revision):
        return self.knative.autoscaler(self.space, revision).get('status', {}).get('desiredScale')

    def plateau(self, revision):
        """(ours, Knative's) once neither has changed for a while."""
        seen, since = None, time.monotonic()

        def calm():
            nonlocal seen, since
            now = self.ours(revision), self.theirs(revision)
            if now != seen:
                seen, since = now, time.monotonic()
            return time.monotonic() - since > CALM_SECONDS

        eventually(calm, f'the scale of {revision} is the same for a while', STEP_SECONDS)
        return seen

    def test_on_each_plateau_of_a_stepped_load_it_wants_what_knative_wants_and_writes_nothing(self):
        revision = self.knative.deploy(self.space, 'watched', TARGET)
        self.wait_pods(revision, 1, 1)
        load = self.load(revision, PLATEAUS[0])
        wanted = []
        for clients in PLATEAUS:
            load.become(clients)
            wanted.append(self.plateau(revision))
        print(f'plateaus of {PLATEAUS} clients: {wanted} (ours, Knative\'s)', flush=True)

        self.assert_answered(load)
        for ours, theirs in wanted:
            self.assertEqual(ours, theirs)
        self.assertGreater(len({theirs for _, theirs in wanted}), 2)  # there were steps to follow
        self.assertEqual(self.proxy.count(writes=True), 0)
        self.assertGreater(scraped(self.shadow.addresses['metrics'])['sluice_shadow_agreements_total'], 0)

    def test_a_revision_of_our_class_is_looked_at_and_left_alone(self):
        revision = self.knative.deploy(self.space, 'nobodys', {**TARGET, **OUR_CLASS})
        eventually(lambda: self.ours(revision) is not None, 'the shadow has it')

        times = set()

        def evaluated():
            answer = fetch(self.shadow.addresses['api'], f'/api/v1/services/{self.space}/{revision}/explain')
            times.add(answer.json()['time'])
            return len(times) > EVALUATIONS

        eventually(evaluated, 'it has thought of it')

        self.assertEqual(self.knative.condition(self.space, revision, 'Ready'), '')
        self.assertEqual(self.proxy.count(writes=True), 0)
