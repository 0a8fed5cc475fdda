"""Dashboards and alerts name only what the programs export."""

import json
import re
import unittest

import tree

SELECTOR = re.compile(r'([a-z0-9_]+)\{([^}]*)\}')
MATCHER = re.compile(r'([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)')
# Not of variables, and not of nothing.
VALUE = re.compile(r'[=!]~?"([a-z|_-]+)"')
GROUPED = re.compile(r'\b(?:by|without|on|ignoring)\s*\(([^)]*)\)')
# Given by Prometheus and by whatever scrapes for it, not by us.
FOREIGN_LABELS = {'le', 'job', 'instance', 'pod', 'namespace', 'node'}
PARTS = ('_bucket', '_sum', '_count')
ALERTS = {'SluiceColdStartSlow', 'SluiceQueueOld', 'SluiceSheds', 'SluiceReplicasMissing', 'SluiceStatsDisconnected',
          'SluiceNodePressure'}


def alert_rules():
    """Pairs of an alert's name and its expression: the file is simple enough to be read by lines."""
    text = (tree.DEPLOY / 'prometheus/alerts.yaml').read_text()
    for part in text.split('- alert: ')[1:]:
        name, rest = part.split('\n', 1)
        yield name.strip(), rest.split('for:')[0].split('expr:')[1].strip(' |\n')


def dashboards():
    for path in sorted((tree.DEPLOY / 'grafana').glob('*.json')):
        yield path.name, json.loads(path.read_text())


def expressions():
    yield from alert_rules()
    for name, dashboard in dashboards():
        for panel in dashboard['panels']:
            for target in panel.get('targets', []):
                yield f'{name}: {panel["title"]}', target['expr']
        for variable in dashboard['templating']['list']:
            if variable['type'] == 'query':
                yield f'{name}: ${variable["name"]}', variable['definition']


def metrics_of(expression):
    """Names of series in an expression: labels in braces and in groupings are no series."""
    bare = GROUPED.sub('', re.sub(r'\{[^}]*\}', '', expression))
    bare = re.sub(r'(label_values\([^,]*),[^)]*\)', r'\1)', bare)
    return set(re.findall(r'\b(?:kn|sluice|http|node_agent|process|target)_[a-z0-9_]+', bare))


def labels_of(expression):
    in_braces = {label for _, inner in SELECTOR.findall(expression) for label in MATCHER.findall(inner)}
    grouped = {label.strip() for inner in GROUPED.findall(expression) for label in inner.split(',') if label.strip()}
    return in_braces | grouped


def unknown_metrics(expression, known):
    def is_known(name):
        return name in known or any(name.endswith(part) and name[:-len(part)] in known and
                                    not name[:-len(part)].endswith('_total') for part in PARTS)

    return sorted(name for name in metrics_of(expression) if not is_known(name))


class Monitoring(unittest.TestCase):
    def test_every_series_is_one_that_a_program_exports(self):
        known = tree.metric_names()
        for where, expression in expressions():
            with self.subTest(where):
                self.assertTrue(metrics_of(expression), expression)
                self.assertEqual(unknown_metrics(expression, known), [])

    def test_every_label_is_one_that_a_program_or_the_scrape_gives(self):
        known = tree.label_names() | FOREIGN_LABELS
        for where, expression in expressions():
            with self.subTest(where):
                self.assertEqual(sorted(labels_of(expression) - known), [])

    def test_every_value_of_a_label_is_one_that_a_program_gives_it(self):
        known = '\n'.join(tree.sources())
        for where, expression in expressions():
            for values in VALUE.findall(expression):
                for value in values.split('|'):
                    self.assertRegex(known, rf'"{value}\\?"', f'{where}: {value}')

    def test_a_name_that_no_program_exports_is_found(self):
        known = tree.metric_names()
        for wrong in ('sum(rate(sluice_activator_refusals_total[5m]))', 'kn_revision_pods_wanted > 0',
                      'rate(sluice_activator_refused_total_bucket[1m])'):
            self.assertEqual(len(unknown_metrics(wrong, known)), 1, wrong)
        self.assertEqual(labels_of('sum by (cause_of_it) (a{b="c"})') - tree.label_names(), {'cause_of_it', 'b'})

    def test_there_are_six_alerts_and_each_names_what_to_do(self):
        text = (tree.DEPLOY / 'prometheus/alerts.yaml').read_text()

        self.assertEqual({name for name, _ in alert_rules()}, ALERTS)
        for part in text.split('- alert: ')[1:]:
            for word in ('for:', 'severity:', 'summary:', 'action:'):
                self.assertIn(word, part)

    def test_dashboards_have_names_that_stay_and_a_source_to_choose(self):
        uids = set()
        for name, dashboard in dashboards():
            self.assertGreaterEqual(dashboard['schemaVersion'], 36, name)
            self.assertEqual(dashboard['templating']['list'][0]['name'], 'datasource', name)
            numbers = [panel['id'] for panel in dashboard['panels']]
            self.assertEqual(len(numbers), len(set(numbers)), name)
            uids.add(dashboard['uid'])
        self.assertEqual(len(uids), len(list(dashboards())))

    def test_every_variable_that_a_panel_uses_exists(self):
        for name, dashboard in dashboards():
            there = {variable['name'] for variable in dashboard['templating']['list']} | {'__rate_interval'}
            used = set(re.findall(r'\$(\w+)', json.dumps(dashboard['panels'])))
            self.assertEqual(sorted(used - there), [], name)


if __name__ == '__main__':
    unittest.main(argv=['monitoring_test'])
