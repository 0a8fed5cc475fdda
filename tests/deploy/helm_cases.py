"""What takes a helm to check: the chart lints, what is committed is what it renders, and wrong values are refused.

  tests/deploy/helm_cases.py HELM
"""

import pathlib
import re
import subprocess
import sys

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / 'deploy'
CHART = str(DEPLOY / 'helm')
CALL_SECONDS = 60

# claim: (values, what the refusal names)
REFUSED = {
    'an unknown value': ('activatr.replicas=2', 'activatr'),
    'an unknown key of a program': ('activator.replica=2', 'replica'),
    'an unknown profile': ('profile=large', 'profile'),
    'no replicas': ('activator.replicas=0', '/activator/replicas'),
    'a registry in capitals': ('image.registry=Registry', '/image/registry'),
    'a variable in small letters': ('autoscaler.env.level=1', "'level' does not match"),
    'eleven buckets': ('autoscaler.leaderElection.buckets=11', 'buckets'),
    'an unknown failure policy': ('injection.failurePolicy=Maybe', 'failurePolicy'),
    'a runtime elsewhere than in /run': ('nodeAgent.runtimeEndpoint=unix:///tmp/x', 'runtimeEndpoint'),
    'a namespace of Kubernetes': ('namespace=kube-system', "Kubernetes' own"),
    'a shadow without Knative': ('knative.shadow=true', 'need knative.enabled'),
    'activators without Knative': ('knative.activators=true', 'need knative.enabled'),
    "Knative's own namespace": ('knative.enabled=true,namespace=knative-serving', "is Knative's"),
    'no section of Knative': ('knative=null', "missing property 'knative'"),
    'no name of a profile': ('profile=null', "missing property 'profile'"),
    'no namespace of Knative': ('knative.enabled=true,knative.namespace=null', "missing property 'namespace'"),
    'a relay at port 0': ('knative.enabled=true,knative.statsRelay=host:0', '/knative/statsRelay'),
    'a relay above all ports': ('knative.enabled=true,knative.statsRelay=host:65536', '/knative/statsRelay'),
    'certificates of yours for one side only': ('tls.secret=a', 'go together'),
    'certificates of yours in plain text': ('tls.enabled=false,tls.secret=a,tls.activatorSecret=b', 'tls.enabled=true'),
    "node agents without a node's certificate": (
        'tls.secret=a,tls.activatorSecret=b,nodeAgent.enabled=true', 'nodeAgent.tlsDirectory'),
    'files of nodes beside certificates that are made': (
        'nodeAgent.enabled=true,nodeAgent.tlsDirectory=/etc/tls', 'needs tls.secret'),
    'a directory of nodes that is relative': ('nodeAgent.tlsDirectory=tls', 'tlsDirectory'),
    'no section of TLS': ('tls=null', "missing property 'tls'"),
    'an API server without a port': ('networkPolicy.egress.apiServerPorts=null', 'apiServerPorts'),
    'an API server at port 0': ('networkPolicy.egress.apiServerPorts={0}', '/networkPolicy/egress/apiServerPorts/0'),
    'a namespace in capitals': ('networkPolicy.sidecars.namespaces={Shop}', '/networkPolicy/sidecars/namespaces/0'),
    'a relay without a port': ('knative.enabled=true,knative.statsRelay=host', '/knative/statsRelay'),
}

# claim: (values, arguments, what is rendered)
RENDERED = {
    'sluice-system for a release in default': ('', (), 'kind: Namespace\nmetadata:\n  name: sluice-system\n'),
    'the namespace of the release': ('', ('--namespace', 'scaling'), '  namespace: scaling\n'),
    'replicas over the profile': ('profile=small,activator.replicas=7', (), '  replicas: 7\n'),
    'keys of config-autoscaler as text': ('autoscaler.config.max-scale-limit=50', (), '  max-scale-limit: "50"\n'),
    'variables as text': ('activator.env.SLUICE_THREADS=1', (), '- name: SLUICE_THREADS\n              value: "1"\n'),
    'the node agent': ('nodeAgent.enabled=true', (), 'kind: DaemonSet\n'),
    'a node agent that may act': ('nodeAgent.enabled=true,nodeAgent.dryRun=false', (), 'kind: DaemonSet\n'),
    'a namespace in which a node agent may run': ('nodeAgent.enabled=true', (), 'enforce: privileged\n'),
    'a lease for each bucket': ('autoscaler.leaderElection.buckets=3', (), '- autoscaler-bucket-02-of-03\n'),
    'alerts': ('prometheusRule.enabled=true', (), 'alert: SluiceSheds\n'),
    'a monitor beside Knative': ('serviceMonitor.enabled=true,knative.enabled=true,knative.activators=true', (),
                                 'namespaceSelector: {matchNames: ["knative-serving"]}\n'),
    'monitors': ('serviceMonitor.enabled=true', (), 'kind: PodMonitor\n'),
    'dashboards': ('grafana.dashboards=true', (), '"uid": "sluice-overview"'),
    'rights on PodAutoscalers': (
        'knative.enabled=true', (), 'resources: [podautoscalers/status]\n    verbs: [patch]\n'),
    "a name for Knative's autoscaler": (
        'knative.enabled=true', (), 'name: knative-autoscaler\n  namespace: knative-serving\n'),
    'the way on for its stats': (
        'knative.enabled=true,clusterDomain=a.b', (), 'value: "knative-autoscaler.knative-serving.svc.a.b:8080"'),
    'another way on': ('knative.enabled=true,knative.statsRelay=stats.away:80', (), 'value: "stats.away:80"'),
    'the last port of a way on': ('knative.enabled=true,knative.statsRelay=a:65535', (), 'value: "a:65535"'),
    'a door for stats from there': (
        'knative.enabled=true,knative.namespace=kn', (), 'metadata.name: kn\n      ports: [{port: 8080}]'),
    'a port for stats from there': ('knative.enabled=true', (), '- {name: stats, containerPort: 8080}'),
    'a shadow': ('knative.enabled=true,knative.shadow=true', (), '- name: SLUICE_SHADOW\n              value: "true"'),
    "activators in Knative's namespace": (
        'knative.enabled=true,knative.activators=true', (), 'name: sluice-activator\n  namespace: knative-serving\n'),
    'certificates that are made': ('', (), '- name: SLUICE_TLS_SECRET\n              value: sluice-tls\n'),
    'where node agents enrol': (
        'nodeAgent.enabled=true', (),
        '- name: SLUICE_ENROLL_ADDRESS\n              value: "autoscaler.sluice-system.svc.cluster.local:8083"\n'),
    'a Service for that': ('', (), '- {name: enroll, port: 8083, targetPort: enroll, appProtocol: https}\n'),
    'a policy for that': ('nodeAgent.enabled=true', (), 'ports: [{port: 8081}, {port: 8083}]\n'),
    "activators' certificates that are made": ('', (), 'secret: {secretName: sluice-activator-tls}\n'),
    "the autoscaler's certificate of yours": (
        'tls.secret=ours,tls.activatorSecret=theirs', (), 'secret: {secretName: ours}\n'),
    "activators' certificates of yours": (
        'tls.secret=ours,tls.activatorSecret=theirs', (), 'secret: {secretName: theirs}\n'),
    'a token that opens changes': (
        'autoscaler.apiTokenSecret=ours', (), '- name: SLUICE_API_TOKEN_FILE\n              value: /etc/sluice/api-token/token\n'),
    'where that token is': ('autoscaler.apiTokenSecret=ours', (), 'secret: {secretName: ours}\n'),
    'that token in plain text': (
        'tls.enabled=false,autoscaler.apiTokenSecret=ours', (),
        'volumes:\n        - name: api-token\n          secret: {secretName: ours}\n'),
    'activators that differ from those of the previous build': ('', (), 'sluice.dev/stream-tls: mutual\n'),
    'a token for a node agent': (
        'nodeAgent.enabled=true', (), 'serviceAccountToken: {audience: sluice-autoscaler, expirationSeconds: 3600'),
    'what a node agent trusts': ('nodeAgent.enabled=true', (), 'configMap: {name: sluice-ca}\n'),
    'a right to see where a node agent runs': (
        'nodeAgent.enabled=true', (), 'resources: [pods]\n    verbs: [get]\n'),
    'a right to review tokens': ('nodeAgent.enabled=true', (), 'resources: [tokenreviews]\n    verbs: [create]\n'),
    "a node agent's files of yours": (
        'tls.secret=a,tls.activatorSecret=b,nodeAgent.enabled=true,nodeAgent.tlsDirectory=/etc/node/tls', (),
        'hostPath: {path: /etc/node/tls, type: Directory}\n'),
    'a shadow with streams of its own': (
        'knative.enabled=true,knative.shadow=true', (), '- name: SLUICE_TLS_SECRET\n              value: sluice-tls\n'),
    'another port of the API server': (
        'networkPolicy.egress.apiServerPorts={7443}', (), '- {port: 7443, protocol: TCP}\n'),
    'a way for replicas to ask each other': ('', (), '      ports: [{port: 8081}, {port: 8082}]\n'),
    'fellow replicas among those who may read': (
        'networkPolicy.apiFrom[0].podSelector.matchLabels.a=b', (), '            a: b\n        # Fellow replicas, each'),
    'more ways out': ('networkPolicy.egress.also[0].ports[0].port=4317', (), '    - ports:\n      - port: 4317\n'),
    'policies for sidecars': (
        'networkPolicy.sidecars.namespaces={shop}', (), 'name: sluice-sidecars\n  namespace: shop\n'),
    'a webhook that fails closed': ('injection.failurePolicy=Fail', (), 'failurePolicy: Fail\n'),
}

# claim: (values, what is not rendered)
ABSENT = {
    'a namespace that is there': ('namespace=default', 'kind: Namespace\n'),
    'the kind, when it is installed apart': ('crds.install=false', 'kind: CustomResourceDefinition\n'),
    'webhooks without an injector': ('injection.enabled=false', 'WebhookConfiguration'),
    'rights of an injector that is not there': ('injection.enabled=false', 'injector-certificates'),
    'policies that were switched off': ('networkPolicy.enabled=false', 'kind: NetworkPolicy\n'),
    'a port for stats without Knative': ('', '8080'),
    'certificates in plain text': ('tls.enabled=false,nodeAgent.enabled=true', 'tls'),
    'rights on certificates in plain text': ('tls.enabled=false,injection.enabled=false', 'secrets'),
    'rights on certificates of yours': ('tls.secret=a,tls.activatorSecret=b,injection.enabled=false', 'secrets'),
    'enrolment in plain text': ('tls.enabled=false,nodeAgent.enabled=true', '8083'),
    'enrolment beside certificates of yours': (
        'tls.secret=a,tls.activatorSecret=b,nodeAgent.enabled=true,nodeAgent.tlsDirectory=/etc/tls', '8083'),
    'making of certificates of yours': ('tls.secret=a,tls.activatorSecret=b', 'SLUICE_TLS_SECRET'),
    'a token where node agents have files': (
        'tls.secret=a,tls.activatorSecret=b,nodeAgent.enabled=true,nodeAgent.tlsDirectory=/etc/tls', 'TOKEN_FILE'),
    'changes without a token': ('', 'SLUICE_API_TOKEN_FILE'),
    'a right to review tokens without agents': ('', 'tokenreviews'),
    'bounds that were switched off': ('networkPolicy.egress.enabled=false', 'Egress'),
    'policies in namespaces of others': ('', 'sluice-sidecars'),
    'a view of Knative that was not requested': ('', 'serving.knative.dev'),
    'rights on Knative that were not requested': ('', 'internal.knative.dev'),
    'a name that is not requested': ('knative.enabled=true,knative.statsRelay=a:1', 'knative-autoscaler'),
    "the example of Knative's config": ('autoscaler.config._example=text', '_example'),
    'a dry run that was switched off': ('nodeAgent.enabled=true,nodeAgent.dryRun=false', '--dry-run'),
}

# values: what a shadow may write. Nothing but the certificates of its own streams, in its own namespace.
SHADOW_WRITES = {'tls.enabled=true': {'secrets', 'configmaps'}, 'tls.enabled=false': set()}

RULE = re.compile(r'resources: \[(.*)\]\n(?:    resourceNames:.*\n(?:      - .*\n)*)?    verbs: \[(.*)\]')


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=CALL_SECONDS)
    return done.returncode == 0, done.stdout + done.stderr


def render(helm, values, *arguments):
    chosen = ('--set', values) if values else ()
    return run(helm, 'template', 'sluice', CHART, *chosen, *arguments)


def written_by(rendered, account):
    """Resources that the roles of one account let it change."""
    roles = [part for part in rendered.split('\n---\n') if re.search(r'^kind: (Cluster)?Role$', part, re.MULTILINE)
             and re.search(rf'^  name: (sluice-)?{account}$', part, re.MULTILINE)]
    return {resource for role in roles
            for resources, verbs in RULE.findall(role)
            if set(verbs.split(', ')) - {'get', 'list', 'watch'} for resource in resources.split(', ')}


def failures(helm):
    """One line for each case that does not hold."""
    good, said = run(sys.executable, '-B', str(DEPLOY / 'render'), '--check', '--helm', helm)
    if not good:
        yield f'what is committed is what the chart renders: {said.strip()}'
    for profile in ('small', 'standard', 'ha'):
        good, said = run(helm, 'lint', '--strict', CHART, '--set', f'profile={profile}')
        if not good:
            yield f'profile {profile} lints: {said.strip()}'
    for claim, (values, named) in REFUSED.items():
        good, said = render(helm, values)
        if good or named not in said:
            yield f'refuses {claim}, naming {named}: {said.strip()[:500]}'
    for claim, (values, arguments, wanted) in RENDERED.items():
        good, said = render(helm, values, *arguments)
        if not good or wanted not in said:
            yield f'renders {claim}: {said.strip()[:500] if not good else "it is absent"}'
    for claim, (values, unwanted) in ABSENT.items():
        good, said = render(helm, values)
        if not good or unwanted in said:
            yield f'leaves out {claim}: {said.strip()[:500] if not good else "it is there"}'
    for values, wanted in SHADOW_WRITES.items():
        _, said = render(helm, f'knative.enabled=true,knative.shadow=true,{values}')
        if written_by(said, 'autoscaler') != wanted:
            yield f'a shadow with {values} may write {wanted}: {sorted(written_by(said, "autoscaler"))}'
    _, said = render(helm, 'knative.enabled=true')
    if not {'requestscalers', 'podautoscalers/status', 'leases'} <= written_by(said, 'autoscaler'):
        yield f'what is no shadow writes: {sorted(written_by(said, "autoscaler"))}'


def main():
    failed = list(failures(sys.argv[1]))
    for line in failed:
        print(line)
    total = 5 + len(SHADOW_WRITES) + len(REFUSED) + len(RENDERED) + len(ABSENT)
    print(f'{total - len(failed)} passed, {len(failed)} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
