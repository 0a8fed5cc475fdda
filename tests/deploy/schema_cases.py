"""What the schema of RequestScaler accepts and what it refuses, with its messages; played on a real API server.

  tests/deploy/schema_cases.py KUBECTL [ARGUMENT...]     the kind is installed; writes nothing (--dry-run=server)
"""

import json
import subprocess
import sys

TARGET = {'targetRef': {'name': 'shop'}}
CALL_SECONDS = 30


def scaled(**keys):
    return {**TARGET, 'autoscaling': keys}


def served(**keys):
    return {**TARGET, 'service': keys}


HTTP = {'name': 'http', 'port': 80}

ACCEPTED = {
    'a target alone': TARGET,
    'everything': {
        'targetRef': {'apiVersion': 'apps/v1', 'kind': 'StatefulSet', 'name': 'shop.v2'}, 'replicas': 0,
        'service': {'name': 'shop', 'port': 'http', 'ports': [HTTP, {'name': 'grpc', 'port': 81}], 'adopt': True},
        'containerConcurrency': 1000, 'timeoutSeconds': 600, 'responseStartTimeoutSeconds': 600,
        'idleTimeoutSeconds': 1, 'protocol': 'h2c',
        'autoscaling': {'metric': 'rps', 'target': 0.01, 'targetUtilizationPercentage': 70.5,
                        'targetBurstCapacity': -1, 'min': 1, 'max': 40, 'initialScale': 0, 'activationScale': 2,
                        'window': '1m30s', 'panicWindowPercentage': 10, 'panicThresholdPercentage': 110,
                        'scaleDownDelay': '0s', 'retention': '1h', 'aggregation': 'weighted-exponential'},
        'ignore': {'paths': ['/healthz', '/metrics/*'], 'userAgents': ['(?i)uptime']}},
    'a maximum of 0, which is none': scaled(min=5, max=0),
    'the shortest window': scaled(window='6s'),
    'the longest window': scaled(window='60m'),
    'a burst capacity below 1': scaled(targetBurstCapacity=0.5),
}

# claim: (spec, what the answer must name)
REFUSED = {
    'no target': ({}, 'spec.targetRef: Required value'),
    'a target without a name': ({'targetRef': {'kind': 'Deployment'}}, 'spec.targetRef.name: Required value'),
    'a target of an unknown kind': ({'targetRef': {'kind': 'Job', 'name': 'shop'}}, '"Deployment", "StatefulSet"'),
    'min above max': (scaled(min=5, max=4), 'min is above max; lower min, raise max'),
    'a negative min': (scaled(min=-1), 'spec.autoscaling.min'),
    'a window of 5 s': (scaled(window='5s'), 'window is from 6s to 1h'),
    'a window above 1 h': (scaled(window='1h1s'), 'window is from 6s to 1h'),
    'a window without a unit': (scaled(window='60'), 'spec.autoscaling.window'),
    'a window as a number': (scaled(window=60), 'spec.autoscaling.window'),
    'a retention above 1 h': (scaled(retention='61m'), 'retention is at most 1h'),
    'a delay above 1 h': (scaled(scaleDownDelay='2h'), 'scaleDownDelay is at most 1h'),
    'a target of 0': (scaled(target=0), 'target is 0.01 or more'),
    'a burst capacity of -2': (scaled(targetBurstCapacity=-2), 'spec.autoscaling.targetBurstCapacity'),
    'a burst capacity of -0.5': (scaled(targetBurstCapacity=-0.5), '0 or more, or -1'),
    'an activation scale of 1': (scaled(activationScale=1), 'spec.autoscaling.activationScale'),
    'an activation scale below min': (scaled(activationScale=2, min=3), 'activationScale is below min'),
    'an activation scale above max': (scaled(activationScale=5, max=4), 'activationScale is above max'),
    'a utilization of 0': (scaled(targetUtilizationPercentage=0), 'targetUtilizationPercentage'),
    'a panic threshold of 100': (scaled(panicThresholdPercentage=100), 'panicThresholdPercentage'),
    'a metric of others': (scaled(metric='cpu'), '"concurrency", "rps"'),
    'an unknown aggregation': (scaled(aggregation='exponential'), '"linear", "weighted-exponential"'),
    'an unknown protocol': ({**TARGET, 'protocol': 'http2'}, '"http1", "h2c"'),
    'a concurrency above 1000': ({**TARGET, 'containerConcurrency': 1001}, 'spec.containerConcurrency'),
    'a timeout of 0': ({**TARGET, 'timeoutSeconds': 0}, 'spec.timeoutSeconds'),
    'a first byte later than the end': ({**TARGET, 'timeoutSeconds': 5, 'responseStartTimeoutSeconds': 6},
                                        'responseStartTimeoutSeconds is above timeoutSeconds'),
    'a silence longer than the whole': ({**TARGET, 'idleTimeoutSeconds': 301},
                                        'idleTimeoutSeconds is above timeoutSeconds'),
    'a port that is none of the ports': (served(port='web', ports=[HTTP]), 'port names none of ports'),
    'one port number twice': (served(ports=[HTTP, {'name': 'web', 'port': 80}]), 'have the same number'),
    'one port name twice': (served(ports=[HTTP, {'name': 'http', 'port': 81}]), 'Duplicate value'),
    'a port without a number': (served(ports=[{'name': 'http'}]), 'port: Required value'),
    'an empty list of ports': (served(ports=[]), 'spec.service.ports'),
    'a path that is relative': ({**TARGET, 'ignore': {'paths': ['healthz']}}, 'spec.ignore.paths[0]'),
    'a path with a star inside': ({**TARGET, 'ignore': {'paths': ['/a*/b']}}, 'spec.ignore.paths[0]'),
    'signals, which are not built': ({**TARGET, 'signals': []}, 'unknown field "spec.signals"'),
    'negative replicas': ({**TARGET, 'replicas': -1}, 'spec.replicas'),
}

NAMES_REFUSED = ('shop.v2', '1shop', 's' * 64)


def answer(kubectl, spec, name='shop'):
    """Whether it is accepted, and the object or the refusal."""
    document = {'apiVersion': 'autoscaling.sluice.dev/v1alpha1', 'kind': 'RequestScaler',
                'metadata': {'name': name}, 'spec': spec}
    done = subprocess.run([*kubectl, 'create', '--dry-run=server', '--validate=strict', '-o', 'json', '-f', '-'],
                          input=json.dumps(document), capture_output=True, text=True, timeout=CALL_SECONDS)
    return done.returncode == 0, done.stdout if done.returncode == 0 else done.stderr


def failures(kubectl):
    """One line for each case that does not hold."""
    for claim, spec in ACCEPTED.items():
        good, said = answer(kubectl, spec)
        if not good:
            yield f'accepts {claim}: {said.strip()}'
    for claim, (spec, named) in REFUSED.items():
        good, said = answer(kubectl, spec)
        if good or named not in said:
            yield f'refuses {claim}, naming {named!r}: {said.strip()}'
    for name in NAMES_REFUSED:
        good, said = answer(kubectl, TARGET, name)
        if good or 'metadata.name becomes the name of a Service' not in said:
            yield f'refuses the name {name}: {said.strip()}'
    good, said = answer(kubectl, TARGET)
    made = json.loads(said)['spec'] if good else said
    wanted = {'targetRef': {'apiVersion': 'apps/v1', 'kind': 'Deployment', 'name': 'shop'},
              'containerConcurrency': 0, 'timeoutSeconds': 300, 'responseStartTimeoutSeconds': 0,
              'idleTimeoutSeconds': 0, 'protocol': 'http1'}
    if made != wanted:
        yield f'fills in defaults: {made}'


def main():
    failed = list(failures(sys.argv[1:]))
    for line in failed:
        print(line)
    total = len(ACCEPTED) + len(REFUSED) + len(NAMES_REFUSED) + 1
    print(f'{total - len(failed)} passed, {len(failed)} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
