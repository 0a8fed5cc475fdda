"""The page for those who have a Knative, deploy/KNATIVE.md: its commands in its order, under load."""

import os
import re
import subprocess

from wire import eventually

from knative.case import CLASS, CLIENTS, FRESH, OUR_CLASS, STEP_SECONDS, TARGET, THEIR_CLASS, KnativeCase
from lab import chart
from lab.knative import KSVC, OUR_QUEUE, QUEUE, SPACE

PAGE = chart.ROOT / 'deploy/KNATIVE.md'
COMMAND_SECONDS = 300
SPACE_OF_PAGE = 'default'
SHADOW, SIDECAR, AUTOSCALER = 'Shadow first', 'A: the sidecar', 'B: the autoscaler'
ACTIVATOR, OUT = 'C: the activator', 'Out again'
AUTOSCALERS = f'/apis/autoscaling.internal.knative.dev/v1alpha1/namespaces/{SPACE_OF_PAGE}/podautoscalers'
METRICS = f'/api/v1/namespaces/{chart.NAMESPACE}/services/autoscaler:9090/proxy/metrics'
SCALED = f'/api/v1/namespaces/{chart.NAMESPACE}/services/autoscaler:8082/proxy/api/v1/services'
PODS = f'/api/v1/namespaces/{SPACE}/pods'
ACTIVATORS = f'{PODS}?labelSelector=app.kubernetes.io%2Fpart-of%3Dsluice'


def blocks():
    """Each block of shell below its heading: [(heading, text)]."""
    found, heading = [], ''
    for part in re.split(r'^(## .*)$', PAGE.read_text(encoding='utf-8'), flags=re.MULTILINE):
        if part.startswith('## '):
            heading = part[3:]
        else:
            found += [(heading, block) for block in re.findall(r'```sh\n(.*?)```', part, re.DOTALL)]
    return found


class Page(KnativeCase):
    def setUp(self):
        super().setUp()
        self.space = SPACE_OF_PAGE
        self.chart = self.lab.chart
        self.ahead = blocks()
        self.addCleanup(self.forget)

    def forget(self):
        """Whatever of the page is still in force when it went wrong; nothing otherwise."""
        self.knative.configure('config-autoscaler', **{'pod-autoscaler-class': None})
        self.give_sidecars_back()
        self.give_front_back()
        self.knative.lead_stats(None)
        for one in self.api.items(KSVC.format(self.space)):
            self.api.delete(f'{KSVC.format(self.space)}/{one["metadata"]["name"]}')
        if self.api.find(f'/api/v1/namespaces/{chart.NAMESPACE}'):
            self.lab.helm('uninstall', chart.RELEASE)
        self.end_ours()

    def end_ours(self):
        """At once: activators keep serving for a while after SIGTERM."""
        for space, path in ((SPACE, ACTIVATORS), (chart.NAMESPACE, chart.PODS)):
            self.lab.kubectl('-n', space, 'delete', 'pods', '-l', 'app.kubernetes.io/part-of=sluice', '--force',
                             '--grace-period=0')
            eventually(lambda path=path: not self.api.items(path), 'no pod of ours is left', STEP_SECONDS)
        self.chart.wait_gone()

    # ---- the page ----

    def run_block(self, heading, number):
        """One block of the page, out of its turn."""
        return self.run_text([text for said, text in blocks() if said == heading][number])

    def run_next(self, heading):
        """The next block of the page, which is below that heading; what it printed."""
        said, text = self.ahead.pop(0)
        self.assertEqual(said, heading)
        return self.run_text(text)

    def run_text(self, text, *flags):
        """As typed into a shell, in the folder of the project; with `-e` the first command that fails is the end."""
        folder = self.lab.folder
        path = f'{self.lab.tools}:{self.lab.bin}:{os.environ["PATH"]}'
        done = subprocess.run(['bash', *(flags or ('-e',)), '-c', text], cwd=chart.ROOT, capture_output=True,
                              text=True, check=False, timeout=COMMAND_SECONDS,
                              env={**os.environ, 'PATH': path, 'HOME': str(folder),
                                   'KUBECONFIG': str(self.lab.kubeconfig)})
        if done.returncode != 0 and not flags:
            self.fail(f'{text}\n{done.stdout}{done.stderr}\n{self.story()}')
        return done.stdout

    def in_force(self):
        """What the doctor says is ours now: lines."""
        return re.findall(r'^ +now +(.*)$', self.run_text('sluice doctor --knative'), re.MULTILINE)

    def story(self):
        return f'{super().story()}\n{self.chart.story()}'

    def metric(self, name):
        done = self.lab.kubectl('get', '--raw', METRICS, check=False)
        found = re.search(rf'^{name} (\S+)$', done.stdout, re.MULTILINE)
        return float(found[1]) if found else 0

    def classes(self):
        return {one['metadata']['annotations'][CLASS] for one in self.api.items(AUTOSCALERS)}

    def ours_scales(self, revision):
        done = self.lab.kubectl('get', '--raw', f'{SCALED}/{self.space}/{revision}', check=False)
        return done.returncode == 0

    def over_and_back(self, over, back):
        """A level under load: Knative scales, then ours 1 -> N -> 0 -> 1, then Knative again."""
        many = self.load(self.revision)
        self.wait_pods(self.revision, 3, 10)
        over()
        self.wait_more(many)
        self.assert_answered(many)
        self.wait_pods(self.revision, 0, 0)

        again = self.load(self.revision, 1)
        self.wait_pods(self.revision, 1, 1)
        again.become(CLIENTS)
        self.wait_pods(self.revision, 3, 10)
        self.assertNotEqual(self.in_force(), [])
        back()
        self.wait_more(again)
        self.assert_answered(again)
        self.wait_pods(self.revision, 0, 0)
        self.assertEqual(self.in_force(), [])

    # ---- level by level ----

    def test_its_commands_lead_to_ours_and_back_and_nobody_is_lost(self):
        self.assertNotIn('UNSAFE', self.run_next(''))
        self.revision = self.knative.deploy(self.space, 'hello', TARGET)
        self.wait_pods(self.revision, 1, 1)

        self.shadow()
        self.over_and_back(self.to_our_sidecar, self.from_our_sidecar)
        self.over_and_back(self.to_our_autoscaler, self.from_our_autoscaler)
        self.over_and_back(self.to_our_activator, self.from_our_activator)

        self.run_next(OUT)
        self.assertEqual(self.ahead, [])
        self.end_ours()

    def test_all_levels_stand_together_and_go_back_in_another_order(self):
        self.revision = self.knative.deploy(self.space, 'hello', TARGET)
        self.wait_pods(self.revision, 1, 1)
        self.over_and_back(self.to_all_of_ours, self.from_all_of_ours)
        self.run_block(OUT, 0)
        self.end_ours()

    def to_all_of_ours(self):
        for heading, number in ((SHADOW, 0), (SHADOW, 1), (AUTOSCALER, 0), (SIDECAR, 0), (AUTOSCALER, 1),
                                (ACTIVATOR, 0)):
            self.run_block(heading, number)
        self.wait_sidecars(self.revision, OUR_QUEUE)
        self.wait_our_activators()
        self.wait(lambda: self.ours_scales(self.revision), 'it is scaled by ours')

    def from_all_of_ours(self):
        self.assertEqual(len(self.in_force()), 3)
        self.wait(lambda: self.served_by_ours() > FRESH, 'ours serve')
        for heading, number in ((ACTIVATOR, 2), (AUTOSCALER, 3), (SIDECAR, 2), (SHADOW, 3)):
            self.run_block(heading, number)
        self.wait_sidecars(self.revision, QUEUE)
        self.wait(lambda: self.front(self.revision) == self.knative.activators(), 'it leads to Knative\'s activator')

    def shadow(self):
        load = self.load(self.revision)
        self.wait_pods(self.revision, 3, 10)
        self.run_next(SHADOW)
        self.to_ours = self.ahead[0][1]
        self.run_next(SHADOW)
        self.wait(lambda: self.metric('sluice_shadow_agreements_total') > FRESH, 'the shadow agrees')
        relayed = self.metric('sluice_autoscaler_stats_relayed_total')
        self.wait(lambda: self.metric('sluice_autoscaler_stats_relayed_total') > relayed, 'stats go on to Knative')
        # Without a difference the first of its lines finds nothing.
        self.assertIn('sluice_shadow_agreements_total', self.run_text(self.ahead.pop(0)[1], '+e'))
        self.to_knative = self.ahead[0][1]
        self.run_next(SHADOW)
        self.wait_more(load)
        self.assert_answered(load)
        self.wait_pods(self.revision, 0, 0)

    def to_our_sidecar(self):
        self.assertTrue(self.run_next(SIDECAR).startswith(QUEUE))
        self.wait_sidecars(self.revision, OUR_QUEUE)
        self.assertIn(OUR_QUEUE, self.run_next(SIDECAR))

    def from_our_sidecar(self):
        self.run_next(SIDECAR)
        self.wait_sidecars(self.revision, QUEUE)

    def to_our_autoscaler(self):
        self.run_text(self.to_ours)
        self.run_next(AUTOSCALER)
        self.run_next(AUTOSCALER)
        self.wait(lambda: self.ours_scales(self.revision), 'it is scaled by ours')
        later = self.knative.deploy(self.space, 'later', TARGET)
        self.wait_pods(later, 1, 1)
        self.assertEqual(self.classes(), {OUR_CLASS[CLASS]})
        self.assertIn(later, self.run_next(AUTOSCALER))

    def from_our_autoscaler(self):
        self.run_next(AUTOSCALER)
        self.assertEqual(self.classes(), {THEIR_CLASS[CLASS]})
        self.wait(lambda: not self.ours_scales(self.revision), 'it is not scaled by ours')
        self.run_text(self.to_knative)
        self.wait_pods('later-00001', 0, 0)
        self.api.delete(f'{KSVC.format(self.space)}/later')

    def to_our_activator(self):
        self.run_next(ACTIVATOR)
        self.wait_our_activators()
        self.assertIn(sorted(self.our_activators())[0], self.run_next(ACTIVATOR))

    def wait_our_activators(self):
        self.wait(lambda: self.front(self.revision) and self.front(self.revision) <= self.our_activators(),
                  'it leads to our activators')

    def our_activators(self):
        return {one['status'].get('podIP') for one in self.api.items(ACTIVATORS)}

    def served_by_ours(self):
        """Requests that our activators in Knative's namespace have brought to pods."""
        told = [self.lab.kubectl('get', '--raw', f'{PODS}/{one["metadata"]["name"]}:9090/proxy/metrics')
                for one in self.api.items(ACTIVATORS)]
        return sum(float(count) for count in re.findall(r'^sluice_activator_choices_total\S* (\S+)$', '\n'.join(told),
                                                        re.MULTILINE))

    def from_our_activator(self):
        self.wait(lambda: self.served_by_ours() > FRESH, 'ours serve')
        self.run_next(ACTIVATOR)
        self.wait(lambda: self.front(self.revision) == self.knative.activators(), 'it leads to Knative\'s activator')
