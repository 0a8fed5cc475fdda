"""What each setting means that the code names without a text; settings_in_code.py finds the names.

A name without a meaning here, or a meaning without its name in the code, fails the test.
"""

# Annotation: (default, meaning). The place is the template's metadata unless the text names another.
ANNOTATIONS = {
    'autoscaling.knative.dev/activation-scale': ('off', 'fewest replicas whenever there is one, 2 or more'),
    'autoscaling.knative.dev/class': ('`pod-autoscaler-class`', 'another autoscaler\'s class has no effect here (a '
                                                                'warning)'),
    'autoscaling.knative.dev/initial-scale': ('`initial-scale`', 'replicas of a new revision, also without requests'),
    'autoscaling.knative.dev/max-scale': ('`max-scale`', 'most replicas; 0: no bound'),
    'autoscaling.knative.dev/metric': ('`concurrency`', '`concurrency` or `rps`'),
    'autoscaling.knative.dev/metric-aggregation-algorithm': ('`linear`', '`linear` or `weighted-exponential`'),
    'autoscaling.knative.dev/min-scale': ('`min-scale`', 'fewest replicas'),
    'autoscaling.knative.dev/panic-threshold-percentage': ('`panic-threshold-percentage`', '110 to 1000'),
    'autoscaling.knative.dev/panic-window-percentage': ('`panic-window-percentage`', '1 to 100'),
    'autoscaling.knative.dev/scale-down-delay': ('`scale-down-delay`', '0s to 1h, whole seconds'),
    'autoscaling.knative.dev/scale-to-zero-pod-retention-period': ('`scale-to-zero-pod-retention-period`', '0s to 1h'),
    'autoscaling.knative.dev/target': ('`containerConcurrency`, else the default of the metric',
                                       'concurrent requests, or requests per second, that one replica should carry; '
                                       '0.01 or more'),
    'autoscaling.knative.dev/target-burst-capacity': ('`target-burst-capacity`', '-1, or 0 and more'),
    'autoscaling.knative.dev/target-utilization-percentage': ('`container-concurrency-target-percentage`', '1 to 100'),
    'autoscaling.knative.dev/window': ('`stable-window`', '6s to 1h, whole seconds'),
    'autoscaling.sluice.dev/burst-capacity-hysteresis': ('`0`', 'requests; no effect on one machine'),
    'autoscaling.sluice.dev/ignore-paths': ('none', 'one path a line, exact or a prefix with `*`: such requests are '
                                                    'served, but wake and scale nothing'),
    'autoscaling.sluice.dev/ignore-user-agents': ('none', 'one regular expression (RE2) a line: the same by '
                                                          '`User-Agent`'),
    'placement.sluice.dev/application': ('alone', 'name of an application: its services are moved with a view to each '
                                                  'other'),
    'placement.sluice.dev/clusters': ('every group', 'names of groups, the one liked most first, separated by commas; '
                                                     '`any` at the end: then every other'),
    'placement.sluice.dev/max-per-node': ('`0`', 'most replicas in one group; 0: no limit'),
    'placement.sluice.dev/movable': ('`true`', '`false`: its replicas are not moved to make room for others'),
    'placement.sluice.dev/move-priority': ('`0`', 'whole number: services with a lower one are moved first'),
    'placement.sluice.dev/pin': ('none', 'the only group in which its replicas may run'),
    'placement.sluice.dev/where': ('none', 'labels that a group must have: `gpu=yes,zone in (a,b),!old`'),
    'serving.knative.dev/progress-deadline': ('`600s`', 'and 30 s more: how long a service without a ready replica stays '
                                                        'wanted; `sluice.dev/start-timeout` limits a start'),
    'sluice.dev/hosts': ('none', 'of the service\'s own metadata: more hosts, comma separated, each with an optional '
                                 'path prefix: `shop.example.com, localhost/shop`'),
    'sluice.dev/load-balancing': ('by `containerConcurrency`', '`first-available`, `round-robin`, `random-choice-2` or '
                                                               '`least-in-flight`'),
    'sluice.dev/port': ('none', 'the fixed port that the program listens on; then at most one replica'),
    'sluice.dev/start-timeout': ('`60s`', 'from the start of a process to ready'),
    'sluice.dev/stop-grace': ('`10s`', 'from SIGTERM to SIGKILL'),
    'sluice.dev/throttle': ('none', '`never`: neither slowed down nor stopped between requests when memory is short'),
}

# Environment variable that `sluice` reads and `sluice config` does not list: meaning.
VARIABLES = {
    'HOME': 'state and settings are below it, where no XDG variable names another place',
    'KUBECONFIG': '`sluice doctor --knative`: the cluster',
    'KUBERNETES_SERVICE_HOST': 'the same, inside a pod',
    'KUBERNETES_SERVICE_PORT': 'the same, inside a pod',
    'LISTEN_FDS': 'of systemd: the front door listens on the first socket passed, instead of `http`',
    'LISTEN_PID': 'of systemd: the process that it is for',
    'NOTIFY_SOCKET': 'of systemd: where readiness and life signs are sent',
    'PATH': 'where programs without a `/` in their name are looked up, and `queue-proxy`',
    'SLUICE_KUBECONFIG': 'before `KUBECONFIG`',
    'TERM': '`dumb`: no live view',
}

# Environment variable that every replica gets: meaning.
GIVEN = {
    'PORT': 'the port to listen on, of 127.0.0.1 at least',
    'K_SERVICE': 'the name of the service',
    'K_CONFIGURATION': 'the same',
    'K_REVISION': 'the name of the revision, `app-00001`',
}
