"""Objects that tests make, short enough to read the test by; and what is asked of them."""

from lab import fake_nodes, images

CORE = '/api/v1/namespaces'
APPS = '/apis/apps/v1/namespaces'
SLICES = '/apis/discovery.k8s.io/v1/namespaces'
PORT = 8080


def container(name='app', image=images.APP, **more):
    """One that listens on PORT and is asked there whether it is ready, each second."""
    return {'name': name, 'image': image, 'ports': [{'name': 'http', 'containerPort': PORT}],
            'readinessProbe': {'httpGet': {'path': '/healthz', 'port': PORT}, 'periodSeconds': 1},
            **more}


def environment(**values):
    return [{'name': name, 'value': str(value)} for name, value in values.items()]


def deployment(name, replicas=1, containers=None, annotations=None, labels=None, **pod):
    """A Deployment of `containers` whose pods have the label app=NAME; `pod`: more of their spec."""
    return {'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': name},
            'spec': {'replicas': replicas, 'selector': {'matchLabels': {'app': name}}, 'template': {
                'metadata': {'labels': {'app': name, **(labels or {})}, 'annotations': annotations or {}},
                'spec': {'dnsPolicy': 'Default', 'terminationGracePeriodSeconds': 5,
                         'containers': containers or [container()], **pod}}}}


def fake(start_delay=None, ip=None):
    """Annotations of a pod of tier 2: how long it takes to become Ready, and at which address."""
    return {name: value for name, value in ((fake_nodes.START_DELAY, start_delay), (fake_nodes.POD_IP, ip))
            if value}


def service(name, selector=None, port=80, target=PORT, **spec):
    """A Service of the pods with app=NAME; selector={}: of none."""
    chosen = {'app': name} if selector is None else selector
    return {'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': name}, 'spec': {
        'ports': [{'name': 'http', 'port': port, 'targetPort': target}],
        **({'selector': chosen} if chosen else {}), **spec}}


def is_ready(pod):
    return any(one['type'] == 'Ready' and one['status'] == 'True'
               for one in pod.get('status', {}).get('conditions', ())) and not gone(pod)


def gone(pod):
    """Whether it has been asked to end."""
    return 'deletionTimestamp' in pod['metadata']


def addresses(slices):
    """Addresses of the ready endpoints of EndpointSlices, sorted."""
    return sorted(address for one in slices for endpoint in one.get('endpoints') or ()
                  if endpoint['conditions'].get('ready') for address in endpoint['addresses'])


class Place:
    """A namespace of a test, and what there is in it."""

    def __init__(self, lab, name):
        self.lab = lab
        self.api = lab.api
        self.name = name
        self.api.post('/api/v1/namespaces', {'metadata': {'name': name}})
        if lab.tier == 1:  # no controller makes it, and pods are not admitted without
            self.api.post(f'{CORE}/{name}/serviceaccounts', {'metadata': {'name': 'default'}})

    def path(self, collection, name=''):
        """`deployments/web` and the like, below this namespace: deployments, pods, services, …"""
        groups = {'deployments': 'apis/apps/v1', 'statefulsets': 'apis/apps/v1',
                  'replicasets': 'apis/apps/v1', 'endpointslices': 'apis/discovery.k8s.io/v1',
                  'leases': 'apis/coordination.k8s.io/v1', 'events': 'api/v1',
                  'requestscalers': 'apis/autoscaling.sluice.dev/v1alpha1',
                  'roles': 'apis/rbac.authorization.k8s.io/v1',
                  'rolebindings': 'apis/rbac.authorization.k8s.io/v1'}
        rest = f'{collection}/{name}' if name else collection
        return f'/{groups.get(collection, "api/v1")}/namespaces/{self.name}/{rest}'

    def create(self, collection, body):
        return self.api.post(self.path(collection), body)

    def deploy(self, name, replicas=1, **more):
        """A Deployment and a Service of the same name."""
        self.create('services', service(name))
        return self.create('deployments', deployment(name, replicas, **more))

    def scale(self, name, replicas):
        self.api.patch(f'{self.path("deployments", name)}/scale', {'spec': {'replicas': replicas}})

    def pods(self, app=None):
        query = f'?labelSelector=app%3D{app}' if app else ''
        return self.api.items(self.path('pods') + query)

    def ready_pods(self, app=None):
        return [pod for pod in self.pods(app) if is_ready(pod)]

    def slices(self, name):
        query = f'?labelSelector=kubernetes.io%2Fservice-name%3D{name}'
        return self.api.items(self.path('endpointslices') + query)

    def remove(self):
        """All of it; not waited for. Pods end at once, so that the next test has the node to itself."""
        if self.lab.tier > 1:
            self.lab.kubectl('-n', self.name, 'delete', 'deployments,statefulsets,pods', '--all', '--now',
                             '--wait=false')
        self.api.delete(f'/api/v1/namespaces/{self.name}')
