"""The laboratory itself: an API server and its store, and what tests can do to them."""

import os
import subprocess

from sidecar import ENVIRONMENT
from wire import connect, eventually

from lab.api import Refused
from lab.case import LabCase
from lab.place import BRIDGE, NETWORK_FILE

MAP = {'metadata': {'name': 'kept'}, 'data': {'key': 'value'}}
SECONDS = 30
DEPLOYMENT_SCALE = [{'apiGroups': ['apps'], 'resources': ['deployments/scale'], 'verbs': ['patch']}]


class Restart(LabCase):
    def test_the_api_server_comes_back_with_its_data_after_a_kill(self):
        made = self.place.create('configmaps', MAP)

        self.lab.apiserver.restart()

        found = self.api.get(self.place.path('configmaps', 'kept'))
        self.assertEqual(found['metadata']['uid'], made['metadata']['uid'])
        self.assertEqual(found['data'], MAP['data'])

    def test_etcd_comes_back_with_its_data_after_a_kill(self):
        self.place.create('configmaps', MAP)

        self.lab.etcd.restart()

        eventually(self.readable, 'the map can be read again', SECONDS)

    def readable(self):
        try:
            return self.api.get(self.place.path('configmaps', 'kept'))
        except (Refused, OSError):
            return None

    def test_a_paused_api_server_answers_when_it_is_resumed(self):
        self.lab.apiserver.pause()
        try:
            self.assertFalse(self.lab.apiserver.health())
        finally:
            self.lab.apiserver.resume()

        eventually(self.lab.apiserver.health, 'the API server answers', SECONDS)


class Past(LabCase):
    def test_a_watch_from_before_the_cache_of_a_restarted_server_gets_410(self):
        begin = self.place.create('configmaps', MAP)['metadata']['resourceVersion']
        for number in range(3):
            self.api.patch(self.place.path('configmaps', 'kept'), {'data': {'key': str(number)}})
        self.lab.apiserver.restart()

        event = eventually(lambda: self.first_since(begin), 'the watch gets an event', SECONDS)

        self.assertEqual(event['type'], 'ERROR')
        self.assertEqual(event['object']['code'], 410)

    def first_since(self, version):
        try:
            with self.api.watch(self.place.path('configmaps'), resourceVersion=version) as watch:
                return watch.next()
        except Refused:  # a server that has just begun may answer: too many requests
            return None

    def test_compaction_alone_leaves_a_watch_its_events(self):
        begin = self.place.create('configmaps', MAP)['metadata']['resourceVersion']
        self.api.patch(self.place.path('configmaps', 'kept'), {'data': {'key': 'new'}})

        compacted = self.lab.etcd.compact()

        self.assertGreater(compacted, int(begin))
        with self.api.watch(self.place.path('configmaps'), resourceVersion=begin) as watch:
            self.assertEqual(watch.next()['type'], 'MODIFIED')


class Accounts(LabCase):
    def test_an_account_may_do_only_what_its_rules_allow(self):
        account = self.account(rules=DEPLOYMENT_SCALE)
        target = self.place.path('deployments', 'absent')

        with self.assertRaises(Refused) as scaled:
            account.api.patch(f'{target}/scale', {'spec': {'replicas': 1}})
        with self.assertRaises(Refused) as patched:
            account.api.patch(target, {'spec': {'replicas': 1}})

        self.assertEqual(scaled.exception.code, 404)  # allowed, and not there
        self.assertEqual(patched.exception.code, 403)

    def test_a_right_granted_later_takes_effect(self):
        account = self.account()
        self.assertEqual(self.code_of(account), 403)

        account.grant([{'apiGroups': [''], 'resources': ['pods'], 'verbs': ['list']}])

        eventually(lambda: self.code_of(account) == 200, 'the account may list pods')

    def code_of(self, account):
        return account.api.ask('GET', self.place.path('pods'))[0]

    def test_its_kubeconfig_is_one_that_kubectl_takes(self):
        account = self.account(rules=[{'apiGroups': [''], 'resources': ['pods'], 'verbs': ['list']}])

        done = self.lab.kubectl(f'--kubeconfig={account.kubeconfig}', 'auth', 'can-i', 'list', 'pods')

        self.assertEqual(done.strip(), 'yes')


class Network(LabCase):
    def test_no_interface_leads_out_of_it(self):
        links = subprocess.run(['ip', '-o', 'link'], capture_output=True, text=True, check=True, timeout=10)

        names = {line.split(': ')[1] for line in links.stdout.splitlines()}

        self.assertEqual(names, {'lo', BRIDGE})

    def test_a_program_that_is_spawned_is_inside_it(self):
        proxy = self.spawn('queue-proxy', {**ENVIRONMENT, 'USER_PORT': '9'})

        ours, its = (os.stat(f'/proc/{pid}/ns/net').st_ino for pid in ('self', proxy.pid))

        self.assertEqual(its, ours)
        self.assertEqual(os.stat(NETWORK_FILE).st_ino, its)
        with connect(proxy.addresses['stats']) as reached:
            self.assertTrue(reached.getpeername())
