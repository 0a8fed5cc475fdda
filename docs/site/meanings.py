"""What each setting means that the code names without a text; settings_in_code.py finds the names.

A name without a meaning here, or a meaning without its name in the code, fails the test.
"""

# Key of config.yaml: (default, meaning).
CONFIG = {
    'http': ('`127.0.0.1:8080`', 'address of the front door. Without it a taken port 8080 is replaced by the next free '
                                 'one up to 8099; an address that is set is used or refused. `--http` wins'),
    'max-replicas': ('`200`', 'replicas of all services of the engine together, 1 to 10000'),
    'stop-timeout': ('`10s`', 'how long the engine drains when it stops, before what is left is killed'),
    'log-level': ('`info`', '`debug`, `info`, `warn` or `error`. `--log-level` wins'),
    'log-format': ('`auto`', '`text`, `json`; `auto` is text on a terminal, else JSON'),
    'cold-start-header': ('`true`', 'responses to requests that woke a service have `Sluice-Cold-Start` and '
                                    '`Server-Timing`'),
    'defaults.timeout-seconds': ('`300`', '`timeoutSeconds` of services that set none, 1 to 604800'),
    'defaults.container-concurrency': ('`0`', '`containerConcurrency` of services that set none, 0 to 1000'),
    'groups': ('none', 'a list that is checked for its form and has no effect'),
    'queue.depth': ('`10000`', 'requests held for one revision'),
    'queue.total': ('`50000`', 'requests held for all'),
    'queue.bytes': ('`512Mi`', 'memory of what is held'),
    'queue.wait': ('`0s`', 'longest time that a request is held; 0: as long as its service\'s timeout'),
    'limits.header-bytes': ('`64Ki`', 'head of one request, 1Ki to 16Mi; larger ones get 431'),
    'limits.connections': ('`16384`', 'connections at the front door, or three quarters of the open files allowed, if '
                                      'that is less'),
    'limits.write-timeout': ('`60s`', 'a client that reads nothing of its response for so long loses its connection; 0: '
                                      'off'),
    'dashboard.peers': ('`loopback`', '`any` answers other machines below `/_sluice/` too; then every request there '
                                      'needs the token of this start'),
    'dashboard.hosts': ('none', 'at most 100 other Host names that are answered below `/_sluice/`; the same'),
}

# Key below `autoscaler:`, the names of Knative's config-autoscaler: (default, meaning).
AUTOSCALER = {
    'pod-autoscaler-class': ('`kpa.autoscaling.knative.dev`', 'class of services that name none'),
    'enable-scale-to-zero': ('`true`', '`false`: the last replica stays'),
    'allow-zero-initial-scale': ('`true`', 'whether `initial-scale` may be 0. Knative\'s default is `false`'),
    'container-concurrency-target-percentage': ('`70`', 'share of the target that is aimed at, above 0 to 100'),
    'container-concurrency-target-default': ('`100`', 'target of services that set neither a target nor a limit'),
    'requests-per-second-target-default': ('`200`', 'the same for `metric: rps`'),
    'target-burst-capacity': ('`211`', 'requests of a sudden burst that the front door absorbs; shown, since on one '
                                       'machine it is always in the path'),
    'activator-capacity': ('`100`', 'concurrent requests per activator; no effect on one machine'),
    'max-scale-up-rate': ('`1000`', 'at most so many times the ready replicas in one decision, above 1'),
    'max-scale-down-rate': ('`2`', 'at least the ready replicas divided by this in one decision, above 1'),
    'stable-window': ('`60s`', 'the long average, 6s to 1h, whole seconds'),
    'panic-window-percentage': ('`10`', 'length of the short average as a share of the long one, 1 to 100'),
    'panic-threshold-percentage': ('`200`', 'panic begins when the short average wants this share of the ready replicas'),
    'scale-to-zero-grace-period': ('`30s`', 'longest wait for the last replica to leave the path; no effect on one '
                                            'machine, where it never is in it alone'),
    'scale-to-zero-pod-retention-period': ('`0s`', 'the last replica stays at least so long after the decision'),
    'scale-down-delay': ('`0s`', 'a lower number takes effect after so long, whole seconds'),
    'initial-scale': ('`0`', 'replicas of a new revision'),
    'min-scale': ('`0`', 'fewest replicas of services that set none'),
    'max-scale': ('`0`', 'most replicas of services that set none; 0: no bound'),
    'max-scale-limit': ('`0`', 'highest `max-scale` that a service may set; 0: any'),
}

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
    'serving.knative.dev/progress-deadline': ('none', 'checked; no effect on one machine: `sluice.dev/start-timeout` '
                                                      'limits a start'),
    'sluice.dev/hosts': ('none', 'of the service\'s own metadata: more hosts, comma separated, each with an optional '
                                 'path prefix: `shop.example.com, localhost/shop`'),
    'sluice.dev/load-balancing': ('by `containerConcurrency`', '`first-available`, `round-robin`, `random-choice-2` or '
                                                               '`least-in-flight`'),
    'sluice.dev/port': ('none', 'the fixed port that the program listens on; then at most one replica'),
    'sluice.dev/start-timeout': ('`60s`', 'from the start of a process to ready'),
    'sluice.dev/stop-grace': ('`10s`', 'from SIGTERM to SIGKILL'),
}

# Environment variable that `sluice` reads: meaning.
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
    'SLUICE_MEMORY_SOURCE': 'the memory that replicas share: `proc`, `cgroup:PATH`, or `files:DIRECTORY` with a '
                            '`proc/meminfo` in it; otherwise the machine, or a control group above the engine with a '
                            'tighter limit',
    'SLUICE_QUEUE_PROXY': 'the sidecar; otherwise `queue-proxy` beside `sluice`, in `../libexec/sluice/`, on `PATH`',
    'TERM': '`dumb`: no live view',
    'XDG_CONFIG_HOME': '`sluice/config.yaml` below it; otherwise `~/.config`',
    'XDG_RUNTIME_DIR': '`sluice/` below it holds sockets and locks; otherwise `/tmp/sluice-UID`',
    'XDG_STATE_HOME': '`sluice/` below it holds history, logs and applied services; otherwise `~/.local/state`',
}

# Environment variable that every replica gets: meaning.
GIVEN = {
    'PORT': 'the port to listen on, of 127.0.0.1 at least',
    'K_SERVICE': 'the name of the service',
    'K_CONFIGURATION': 'the same',
    'K_REVISION': 'the name of the revision, `app-00001`',
}
