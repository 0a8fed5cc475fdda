"""The chart and what is rendered from it, as text: nothing here needs helm (helm_cases.py does)."""

import re
import subprocess
import sys
import unittest

import tree

TEMPLATES = tree.DEPLOY / 'helm/templates'
PROFILES = ('small', 'standard', 'ha')
SECONDS = 60
# Which sources read the environment that a template sets.
READERS = {'activator.yaml': ('programs/activator/config.cpp', 'common/settings'),
           'autoscaler.yaml': ('autoscaler', 'programs/autoscaler', 'platform', 'common/settings', 'common/kube'),
           'injector.yaml': ('injector', 'programs/injector', 'common/settings'),
           'node-agent.yaml': ('memory-pressure', 'programs/node-agent', 'common/settings')}
RULE_COMMENT = re.compile(r'^  # ((?:autoscaler|activator|injector|platform)/[\w/.-]+)', re.MULTILINE)


def manifest(profile):
    return (tree.DEPLOY / f'manifests/{profile}.yaml').read_text()


def objects(profile, kind):
    """Texts of the objects of one kind, by name."""
    found = {}
    for text in re.split(r'^---\n', manifest(profile), flags=re.MULTILINE):
        if re.search(rf'^kind: {kind}$', text, re.MULTILINE):
            found[re.search(r'^metadata:\n(?:.*\n)*?  name: (\S+)', text, re.MULTILINE).group(1)] = text
    return found


def rules():
    """(template, text above the rule, the rule) for each rule of the programs' roles."""
    for path in sorted(TEMPLATES.glob('rbac-*.yaml')):
        if path.name == 'rbac-people.yaml':
            continue
        for block in re.findall(r'^rules:\n((?:  .*\n)+)', path.read_text(), re.MULTILINE):
            above = ''
            for part in re.split(r'(?m)^(?=  - apiGroups)', block):
                # What stands above the first rule, and below each one, is the next one's comment.
                rule = ''.join(line + '\n' for line in part.splitlines() if not line.lstrip().startswith(('#', '{{')))
                if rule.strip():
                    yield path.name, above, rule
                comments = [line for line in part.splitlines() if line.startswith('  #')]
                above = '\n'.join(comments) or above


def environment(template):
    text = (TEMPLATES / template).read_text()
    if 'sluice.identityEnv' in text:
        text += (TEMPLATES / '_pod.tpl').read_text()
    return set(re.findall(r'- name: ([A-Z][A-Z0-9_]+)$', text, re.MULTILINE))


def source_text(*places):
    found = ''
    for place in places:
        path = tree.ROOT / place
        files = [path] if path.is_file() else sorted(path.rglob('*.cpp')) + sorted(path.rglob('*.h'))
        found += ''.join(each.read_text() for each in files)
    return found


class Chart(unittest.TestCase):
    def test_generated_files_are_up_to_date(self):
        done = subprocess.run([sys.executable, '-B', str(tree.DEPLOY / 'render'), '--check'], capture_output=True,
                              text=True, timeout=SECONDS)

        self.assertEqual((done.returncode, done.stdout), (0, ''))

    def test_it_has_the_version_of_the_project(self):
        version = re.search(r'^## ([0-9.]+)', (tree.ROOT / 'CHANGELOG.md').read_text(), re.MULTILINE).group(1)
        chart = (tree.DEPLOY / 'helm/Chart.yaml').read_text()

        self.assertIn(f'\nversion: {version}\n', chart)
        self.assertIn(f'\nappVersion: {version}\n', chart)
        for profile in PROFILES:
            self.assertIn(f'image: sluice.dev/activator:{version}\n', manifest(profile))

    def test_each_rule_names_the_file_that_needs_it(self):
        seen = 0
        for template, above, rule in rules():
            seen += 1
            with self.subTest(template=template, rule=rule):
                named = RULE_COMMENT.findall(above)
                self.assertTrue(named, 'a comment above it names no file')
                for path in named:
                    self.assertTrue((tree.ROOT / path).exists(), path)
        self.assertGreater(seen, 15)

    def test_no_rule_reaches_for_everything(self):
        for template, _, rule in rules():
            self.assertNotIn('*', rule, template)
            self.assertNotRegex(rule, r'escalate|bind|impersonate|nodes|pods/exec', template)

    def test_secrets_are_read_by_name_only(self):
        seen = set()
        for template, _, rule in rules():
            if 'secrets' in rule and 'verbs: [create]' not in rule:
                seen.add((template, re.search(r'resourceNames: \[(.*)\]', rule).group(1)))
        self.assertEqual(seen, {('rbac-injector.yaml', 'injector-certificates'),
                                ('rbac-autoscaler.yaml', 'sluice-tls, sluice-activator-tls')})

    def test_streams_are_mutual_tls(self):
        for profile in PROFILES:
            deployments = objects(profile, 'Deployment')
            for name in ('activator', 'autoscaler'):
                self.assertRegex(deployments[name], r'name: SLUICE_TLS_DIR\n\s+value: /etc/sluice/tls\n', profile)
            # A selector cannot be changed: the label stands in the template only, once.
            self.assertEqual(deployments['activator'].count('sluice.dev/stream-tls: mutual'), 1, profile)
            self.assertNotIn('sluice.dev/stream-tls', deployments['autoscaler'], profile)

    def test_leases_are_those_of_the_buckets(self):
        for profile in PROFILES:
            count = int(re.search(r'buckets: "(\d+)"', manifest(profile)).group(1))
            leases = re.findall(r'- (autoscaler-bucket-\S+)', manifest(profile))

            self.assertEqual(leases, [f'autoscaler-bucket-{i:02}-of-{count:02}' for i in range(count)])
            # All node agents report to one replica: it has to be the one that decides.
            self.assertEqual(count, 1, profile)

    def test_every_variable_that_it_sets_is_one_that_the_program_reads(self):
        for template, readers in READERS.items():
            # What every pod of ours gets; not each program reads it.
            names = environment(template) - {'POD_NAME', 'POD_IP', 'SYSTEM_NAMESPACE', 'NODE_NAME', 'CLUSTER_DOMAIN'}
            read = source_text(*readers)
            self.assertTrue(names, template)
            self.assertEqual(sorted(name for name in names if f'"{name}"' not in read), [], template)

    def test_the_node_agent_has_exactly_the_rights_that_its_readme_names(self):
        text = (TEMPLATES / 'node-agent.yaml').read_text()
        readme = (tree.ROOT / 'programs/node-agent/README.md').read_text()

        self.assertEqual(re.findall(r'^ +add: (.*)$', text, re.MULTILINE), ['[SYS_NICE]'])
        self.assertEqual(re.findall(r'\bhost[A-Z]\w+: true', text), ['hostPID: true'])
        self.assertEqual(re.findall(r'hostPath: {path: (/[^,]+)', text),
                         ['/run', '/sys/fs/cgroup', '/var/lib/sluice/node-agent'])
        self.assertNotIn('privileged: true', text)
        for right in ('CAP_SYS_NICE', 'hostPID', '/run', '/sys/fs/cgroup', 'uid 0'):
            self.assertIn(f'`{right}` (', readme)

    def test_programs_run_unprivileged(self):
        for profile in PROFILES:
            deployments = objects(profile, 'Deployment')
            self.assertEqual(set(deployments), {'activator', 'autoscaler', 'injector'})
            for name, text in deployments.items():
                for line in ('runAsNonRoot: true', 'runAsUser: 65532', 'type: RuntimeDefault',
                             'allowPrivilegeEscalation: false', 'readOnlyRootFilesystem: true', 'drop: [ALL]',
                             'livenessProbe:', 'readinessProbe:', 'limits:', 'enableServiceLinks: false'):
                    self.assertIn(line, text, f'{profile} {name}')
                self.assertNotRegex(text, r'hostNetwork|hostPath|privileged')

    def test_several_replicas_go_one_at_a_time_and_a_single_one_freely(self):
        replicas = {}
        for profile in PROFILES:
            for name, text in objects(profile, 'Deployment').items():
                replicas[profile, name] = int(re.search(r'replicas: (\d+)', text).group(1))
                budget = objects(profile, 'PodDisruptionBudget').get(name, '')
                self.assertEqual('maxUnavailable: 1' in budget, replicas[profile, name] > 1, f'{profile} {name}')

        self.assertEqual({replicas['small', name] for name in ('activator', 'autoscaler', 'injector')}, {1})
        self.assertGreaterEqual(replicas['ha', 'autoscaler'], 2)

    def test_activators_have_time_to_drain(self):
        for profile in PROFILES:
            text = objects(profile, 'Deployment')['activator']
            quiet = int(re.search(r'SLUICE_DRAIN_QUIET\n\s+value: "(\d+)s"', text).group(1))
            grace = int(re.search(r'terminationGracePeriodSeconds: (\d+)', text).group(1))
            self.assertGreater(grace, 2 * quiet)

    def test_the_injector_skips_its_own_namespace_and_those_of_kubernetes(self):
        for profile in PROFILES:
            text = objects(profile, 'MutatingWebhookConfiguration')['sluice-injector']
            excluded = re.findall(r'operator: NotIn\n\s+values: \[(.*)\]', text)
            self.assertEqual(excluded, ['kube-system, kube-public, kube-node-lease, sluice-system'] * 2)
            self.assertEqual(text.count('sideEffects: None'), 2)
            self.assertEqual(text.count('failurePolicy: Ignore'), 2)


if __name__ == '__main__':
    unittest.main(argv=['chart_test'])
