"""Service accounts that may do just what a test lists."""

import os

from wire import eventually

from lab.api import Api

RBAC = '/apis/rbac.authorization.k8s.io/v1'
REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews'


class Account:
    """An identity with `rules` in its namespace, or everywhere with `cluster`; its token and kubeconfig.

    rules: as in a Role, for instance [{'apiGroups': [''], 'resources': ['pods'], 'verbs': ['list']}].
    """

    def __init__(self, lab, namespace, name, rules=(), cluster=False):
        self.lab = lab
        self.namespace = namespace
        self.name = name
        self.path = f'/api/v1/namespaces/{namespace}/serviceaccounts'
        if lab.api.find(f'{self.path}/{name}') is None:
            lab.api.post(self.path, {'metadata': {'name': name}})
        if rules:
            self.grant(rules, cluster)
        self.token = self.new_token()
        self.kubeconfig = lab.write_kubeconfig(f'{namespace}-{name}', self.token, namespace=namespace)
        self.api = Api(lab.url, lab.ca, self.token, agent=name)

    def grant(self, rules, cluster=False, role='lab'):
        """Adds a role; returns when it is in force."""
        kind = 'ClusterRole' if cluster else 'Role'
        where = RBAC if cluster else f'{RBAC}/namespaces/{self.namespace}'
        name = f'{role}-{self.namespace}-{self.name}'
        collection = f'{kind.lower()}s'
        self.lab.api.post(f'{where}/{collection}', {'metadata': {'name': name}, 'rules': list(rules)})
        self.lab.api.post(f'{where}/{kind.lower()}bindings', {
            'metadata': {'name': name},
            'roleRef': {'apiGroup': 'rbac.authorization.k8s.io', 'kind': kind, 'name': name},
            'subjects': [{'kind': 'ServiceAccount', 'name': self.name, 'namespace': self.namespace}]})
        eventually(lambda: self.allowed(rules[-1], cluster), f'{self.name} has its rights')

    def allowed(self, rule, cluster):
        resource, _, part = rule['resources'][-1].partition('/')
        wanted = {'group': rule['apiGroups'][-1], 'resource': resource, 'subresource': part, 'verb': rule['verbs'][-1],
                  'namespace': '' if cluster else self.namespace}
        return self.lab.api.post(REVIEWS, {'spec': {
            'user': f'system:serviceaccount:{self.namespace}:{self.name}',
            'resourceAttributes': wanted}})['status']['allowed']

    def new_token(self, seconds=3600):
        """Another token, as a kubelet would get one for a pod; older ones stay valid."""
        return self.lab.api.post(f'{self.path}/{self.name}/token', {
            'spec': {'expirationSeconds': seconds}})['status']['token']

    def mount(self):
        """The folder that a pod would find at /var/run/secrets/kubernetes.io/serviceaccount."""
        folder = self.lab.folder / 'mounts' / f'{self.namespace}-{self.name}'
        folder.mkdir(parents=True, exist_ok=True)
        with open(self.lab.ca, encoding='ascii') as ca:
            (folder / 'ca.crt').write_text(ca.read(), encoding='ascii')
        (folder / 'namespace').write_text(self.namespace, encoding='ascii')
        self.write_token(folder, self.token)
        return folder

    @staticmethod
    def write_token(folder, token):
        """Renamed into place, as a kubelet does, so that no half token is read."""
        (folder / 'token.new').write_text(token, encoding='ascii')
        os.replace(folder / 'token.new', folder / 'token')
