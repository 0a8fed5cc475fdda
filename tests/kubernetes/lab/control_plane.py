"""etcd and the API server, and what follows the API: controllers and the scheduler."""

import base64
import json
import urllib.request

from lab.daemon import Daemon, answers
from lab.place import NODE_IP, SERVICE_RANGE

ETCD_URL = 'http://127.0.0.1:12379'
ETCD_PEERS = 'http://127.0.0.1:12380'
API_PORT = 12443
API_URL = f'https://127.0.0.1:{API_PORT}'
API_NAMES = ('IP:127.0.0.1', f'IP:{NODE_IP}', 'IP:10.96.0.1', 'DNS:localhost', 'DNS:kubernetes',
             'DNS:kubernetes.default', 'DNS:kubernetes.default.svc')
ADMIN_TOKEN = 'admintoken'
NODE_TOKEN = 'nodetoken'
PROXY_TOKEN = 'proxytoken'
TOKENS = f'''{ADMIN_TOKEN},admin,admin,system:masters
{NODE_TOKEN},system:node:n1,n1,system:nodes
{PROXY_TOKEN},system:kube-proxy,proxy,
'''


class Etcd(Daemon):
    def __init__(self, tools, folder):
        super().__init__('etcd', [
            tools / 'etcd', '--name', 't', '--data-dir', folder / 'etcd', '--unsafe-no-fsync',
            '--listen-client-urls', ETCD_URL, '--advertise-client-urls', ETCD_URL,
            '--listen-peer-urls', ETCD_PEERS, '--initial-advertise-peer-urls', ETCD_PEERS,
            '--initial-cluster', f't={ETCD_PEERS}'], folder / 'etcd.log', answers(f'{ETCD_URL}/health'))

    @staticmethod
    def ask(path, body):
        request = urllib.request.Request(f'{ETCD_URL}/v3/{path}', json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.loads(answer.read())

    def revision(self):
        """The newest revision of its store: what the API calls a resourceVersion."""
        key = base64.b64encode(b'/').decode()
        return int(self.ask('kv/range', {'key': key, 'limit': 1})['header']['revision'])

    def compact(self):
        """Forgets every revision but the newest."""
        revision = self.revision()
        self.ask('kv/compaction', {'revision': str(revision), 'physical': True})
        return revision


class ApiServer(Daemon):
    def __init__(self, tools, folder, authority):
        crt, key = authority.issue('apiserver', '/CN=kube-apiserver', *API_NAMES)
        client_crt, client_key = authority.issue('kubelet-client', '/O=system:masters/CN=apiserver-kubelet')
        private, public = authority.token_keys()
        tokens = folder / 'tokens.csv'
        tokens.write_text(TOKENS, encoding='ascii')
        super().__init__('kube-apiserver', [
            tools / 'kube-apiserver', f'--etcd-servers={ETCD_URL}', '--bind-address=0.0.0.0',
            f'--advertise-address={NODE_IP}', f'--secure-port={API_PORT}',
            '--endpoint-reconciler-type=none', f'--tls-cert-file={crt}', f'--tls-private-key-file={key}',
            f'--client-ca-file={authority.crt("ca")}',
            f'--requestheader-client-ca-file={authority.crt("ca")}',
            '--service-account-issuer=https://kubernetes.default.svc',
            f'--service-account-key-file={public}', f'--service-account-signing-key-file={private}',
            f'--token-auth-file={tokens}', '--authorization-mode=Node,RBAC',
            f'--service-cluster-ip-range={SERVICE_RANGE}', '--allow-privileged=true',
            f'--kubelet-client-certificate={client_crt}', f'--kubelet-client-key={client_key}',
            '--kubelet-preferred-address-types=InternalIP',
            # Webhooks named by a Service are dialled at its endpoints: that works without kube-proxy.
            '--enable-aggregator-routing=true', '--profiling=false'],
            folder / 'kube-apiserver.log', answers(f'{API_URL}/readyz', ADMIN_TOKEN))


def follower(tools, folder, admin, name, port, *flags):
    return Daemon(name, [
        tools / name, f'--kubeconfig={admin}', f'--authentication-kubeconfig={admin}',
        f'--authorization-kubeconfig={admin}', '--bind-address=127.0.0.1', f'--secure-port={port}',
        '--leader-elect=false', *flags], folder / f'{name}.log', answers(f'https://127.0.0.1:{port}/healthz'))


def controllers(tools, folder, admin, authority, without):
    """`without`: controllers that are left out, beside the autoscaler that competes with ours."""
    chosen = ','.join(['*', *(f'-{name}' for name in without)])
    return follower(tools, folder, admin, 'kube-controller-manager', 12257,
                    f'--service-account-private-key-file={authority.key("sa")}',
                    f'--root-ca-file={authority.crt("ca")}', '--kube-api-qps=500',
                    '--kube-api-burst=1000', f'--controllers={chosen}')


def scheduler(tools, folder, admin):
    return follower(tools, folder, admin, 'kube-scheduler', 12259, '--kube-api-qps=1000',
                    '--kube-api-burst=2000')
