"""The dashboards of Grafana, in our words; deploy/render makes the JSON files beside this one of them.

A panel is (title, unit, [(expression, legend)...]); a dashboard is rows of panels."""

REVISION = 'k8s_namespace_name=~"$namespace",kn_service_name=~"$service",kn_revision_name=~"$revision"'
SERVER = 'kn_revision_name!="",' + REVISION
COLD = 'sluice_activator_cold_start_seconds_bucket'
RATE = '$__rate_interval'


def quantiles(metric, labels=''):
    return [(f'histogram_quantile({share}, sum by (le) (rate({metric}{{{labels}}}[{RATE}])))', name)
            for share, name in ((0.5, 'median'), (0.95, '95 %'), (0.99, '99 %'))]


OVERVIEW = [
    ('Now', [
        ('Revisions', 'short', [('sum(sluice_autoscaler_revisions)', '')]),
        ('Awake', 'short', [('count(kn_revision_pods_count > 0) or vector(0)', '')]),
        ('Replicas ready', 'short', [('sum(kn_revision_pods_count)', '')]),
        ('Requests waiting', 'short', [('sum(sluice_activator_queue_waiting)', '')]),
        ('Refused per second', 'reqps', [(f'sum(rate(sluice_activator_refused_total[{RATE}]))', '')]),
        ('Activators that reach an autoscaler', 'short', [('sum(kn_activator_stats_conn_reachable)', '')])]),
    ('Load', [
        ('Requests through activators', 'reqps', [
            (f'sum by (k8s_namespace_name, kn_service_name) (rate(http_server_request_duration_seconds_count{{{SERVER}}}[{RATE}]))',
             '{{k8s_namespace_name}}/{{kn_service_name}}')]),
        ('Replicas', 'short', [
            (f'sum by (k8s_namespace_name, kn_service_name) (kn_revision_pods_count{{{REVISION}}})',
             '{{k8s_namespace_name}}/{{kn_service_name}}')]),
        ('Asked for and not there', 'short', [
            (f'kn_revision_pods_requested{{{REVISION}}} - kn_revision_pods_count{{{REVISION}}} > 0',
             '{{k8s_namespace_name}}/{{kn_revision_name}}')])]),
    ('The programs', [
        ('CPU', 'percentunit', [('rate(process_cpu_seconds_total{namespace=~"$system"}[$__rate_interval])', '{{pod}}')]),
        ('Memory', 'bytes', [('process_resident_memory_bytes{namespace=~"$system"}', '{{pod}}')]),
        ('Stats, by what became of them', 'cps', [
            (f'sum by (outcome) (rate(sluice_autoscaler_stats_total[{RATE}]))', '{{outcome}}')])]),
]

SERVICE = [
    ('Decisions', [
        ('Replicas', 'short', [
            (f'sum(kn_revision_pods_desired{{{REVISION}}})', 'wanted by load'),
            (f'sum(kn_revision_pods_requested{{{REVISION}}})', 'asked for'),
            (f'sum(kn_revision_pods_count{{{REVISION}}})', 'ready'),
            (f'sum(kn_revision_pods_pending_count{{{REVISION}}})', 'starting'),
            (f'sum(kn_revision_pods_terminating_count{{{REVISION}}})', 'going')]),
        ('Concurrency', 'short', [
            (f'sum(kn_revision_concurrency_stable{{{REVISION}}})', 'long window'),
            (f'sum(kn_revision_concurrency_panic{{{REVISION}}})', 'short window'),
            (f'max(kn_revision_concurrency_target{{{REVISION}}})', 'target of a replica')]),
        ('Requests per second', 'reqps', [
            (f'sum(kn_revision_rps_stable{{{REVISION}}})', 'long window'),
            (f'sum(kn_revision_rps_panic{{{REVISION}}})', 'short window'),
            (f'max(kn_revision_rps_target{{{REVISION}}})', 'target of a replica')]),
        ('Panic, and spare burst capacity', 'short', [
            (f'max(kn_revision_panic_mode{{{REVISION}}})', 'panic'),
            (f'sum(kn_revision_capacity_excess{{{REVISION}}})', 'spare requests; below 0 activators stay in the path')])]),
    ('Requests', [
        ('By status', 'reqps', [
            (f'sum by (http_response_status_code) (rate(http_server_request_duration_seconds_count{{{SERVER}}}[{RATE}]))',
             '{{http_response_status_code}}')]),
        ('Duration through activators', 's', quantiles('http_server_request_duration_seconds_bucket', SERVER)),
        ('Waiting, and on replicas', 'short', [
            ('sum(kn_revision_request_queued{k8s_namespace_name=~"$namespace",kn_revision_name=~"$revision"})', 'waiting'),
            ('sum(kn_revision_request_active{k8s_namespace_name=~"$namespace",kn_revision_name=~"$revision"})', 'on replicas')])]),
    ('Sidecars', [
        ('Waiting for a slot', 's', quantiles('sluice_request_queue_wait_seconds_bucket', 'namespace=~"$namespace"')),
        ('Running and waiting', 'short', [('sum by (pod) (kn_serving_queue_depth{namespace=~"$namespace"})', '{{pod}}')]),
        ('Answers that the container did not give', 'reqps', [
            (f'sum by (source, cause) (rate(sluice_responses_total{{source!="container",namespace=~"$namespace"}}[{RATE}]))',
             '{{source}} {{cause}}')])]),
]

ACTIVATORS = [
    ('Cold starts', [
        ('To the first byte', 's', quantiles(COLD, 'phase="first_byte"')),
        ('Phases, 95 %', 's', [
            (f'histogram_quantile(0.95, sum by (le, phase) (rate({COLD}[{RATE}])))', '{{phase}}')]),
        ('Requests that waited for a cold start', 'reqps', [
            (f'sum(rate(sluice_activator_cold_requests_total[{RATE}]))', '')])]),
    ('Queue', [
        ('Waiting', 'short', [('sluice_activator_queue_waiting', '{{pod}}')]),
        ('Memory of who waits', 'bytes', [('sluice_activator_queue_bytes', '{{pod}}')]),
        ('Wait of services that are awake', 's',
         quantiles('sluice_activator_queue_wait_seconds_bucket', 'start="warm"'))]),
    ('Refused, retried, probed', [
        ('Refused', 'reqps', [(f'sum by (reason) (rate(sluice_activator_refused_total[{RATE}]))', '{{reason}}')]),
        ('Sent on to another pod', 'reqps', [(f'sum by (reason) (rate(sluice_activator_retries_total[{RATE}]))', '{{reason}}')]),
        ('Probes of pods', 'cps', [(f'sum by (result) (rate(sluice_activator_pod_probes_total[{RATE}]))', '{{result}}')]),
        ('Links to the autoscaler that failed', 'cps', [
            (f'sum by (pod) (rate(kn_activator_stats_conn_errors_total[{RATE}]))', '{{pod}}')])]),
]

NODES = [
    ('Memory', [
        ('Used', 'percentunit', [
            ('node_agent_memory_used_bytes / node_agent_memory_capacity_bytes', '{{instance}}'),
            ('node_agent_upper_ratio', '{{instance}}, acts above')]),
        ('Pressure: 0 none, 1 high, 2 critical', 'short', [('node_agent_pressure', '{{instance}}')]),
        ('Largest claim that may start', 'bytes', [('node_agent_admit_bytes', '{{instance}}')]),
        ('Growth per second', 'Bps', [('node_agent_growth_bytes_per_second', '{{instance}}')])]),
    ('Containers', [
        ('Held back', 'short', [('node_agent_throttled_containers', '{{instance}}')]),
        ('Holds and releases', 'cps', [(f'sum by (kind) (rate(node_agent_updates_total[{RATE}]))', '{{kind}}')]),
        ('Killed', 'cps', [(f'sum by (cause) (rate(node_agent_containers_killed_total[{RATE}]))', '{{cause}}')]),
        ('Agents that are degraded', 'short', [('sum(node_agent_degraded)', '')])]),
]

# name, title, rows, whether it is about revisions
DASHBOARDS = (('overview', 'Sluice', OVERVIEW, True),
              ('service', 'Sluice: one service', SERVICE, True),
              ('activators', 'Sluice: activators and cold starts', ACTIVATORS, False),
              ('nodes', 'Sluice: memory of nodes', NODES, False))

DATASOURCE = {'type': 'prometheus', 'uid': '$datasource'}
WIDTH, HEIGHT = 24, 8


def panel(number, spot, title, unit, targets):
    counts = all(not legend for _, legend in targets)
    return {'id': number, 'type': 'stat' if counts else 'timeseries', 'title': title, 'datasource': DATASOURCE,
            'gridPos': spot, 'fieldConfig': {'defaults': {'unit': unit}, 'overrides': []},
            'targets': [{'refId': chr(ord('A') + i), 'datasource': DATASOURCE, 'expr': expression,
                         'legendFormat': legend or '__auto'} for i, (expression, legend) in enumerate(targets)]}


def variable(name, query, default='.*'):
    return {'name': name, 'type': 'query', 'datasource': DATASOURCE, 'query': {'query': query, 'refId': name},
            'definition': query, 'refresh': 2, 'includeAll': True, 'multi': True, 'allValue': default, 'sort': 1,
            'current': {'text': 'All', 'value': '$__all'}}


def variables(about_revisions):
    made = [{'name': 'datasource', 'type': 'datasource', 'query': 'prometheus', 'current': {}}]
    if about_revisions:
        pods = 'kn_revision_pods_count'
        made += [variable('namespace', f'label_values({pods}, k8s_namespace_name)'),
                 variable('service', f'label_values({pods}{{k8s_namespace_name=~"$namespace"}}, kn_service_name)'),
                 variable('revision', f'label_values({pods}{{k8s_namespace_name=~"$namespace",'
                                      'kn_service_name=~"$service"}, kn_revision_name)'),
                 variable('system', 'label_values(sluice_autoscaler_revisions, namespace)')]
    return made


def dashboard(name, title, rows, about_revisions):
    panels, top, number = [], 0, 0
    for row, members in rows:
        number += 1
        panels.append({'id': number, 'type': 'row', 'title': row, 'collapsed': False, 'panels': [],
                       'gridPos': {'h': 1, 'w': WIDTH, 'x': 0, 'y': top}})
        width = WIDTH // len(members)
        for place, member in enumerate(members):
            number += 1
            panels.append(panel(number, {'h': HEIGHT, 'w': width, 'x': place * width, 'y': top + 1}, *member))
        top += 1 + HEIGHT
    return {'uid': f'sluice-{name}', 'title': title, 'tags': ['sluice'], 'schemaVersion': 39, 'version': 1,
            'editable': True, 'refresh': '10s', 'time': {'from': 'now-1h', 'to': 'now'}, 'timezone': 'browser',
            'templating': {'list': variables(about_revisions)}, 'annotations': {'list': []}, 'panels': panels}
