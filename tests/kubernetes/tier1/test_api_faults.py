"""An autoscaler whose API server is unavailable, slow or faulty: decisions continue, writes follow when possible."""

import time

from wire import eventually, fetch

from faults.case import SECONDS, FaultedCase
from lab.api import Refused
from lab.fault_proxy import Drop, Garbage, Hang, Slow, Status

EVERY = ['get', 'list', 'watch', 'create', 'patch', 'update', 'delete']
KINDS = [('autoscaling.sluice.dev', 'requestscalers'), ('autoscaling.sluice.dev', 'requestscalers/status'),
         ('', 'pods'), ('', 'services'), ('', 'configmaps'), ('', 'events'), ('', 'endpoints'),
         ('apps', 'deployments'), ('apps', 'deployments/scale'), ('apps', 'statefulsets'),
         ('apps', 'statefulsets/scale'), ('discovery.k8s.io', 'endpointslices'),
         ('autoscaling', 'horizontalpodautoscalers'), ('keda.sh', 'scaledobjects'),
         ('coordination.k8s.io', 'leases')]


def scales(request):
    return request.writes and request.path.endswith('/scale')


class Away(FaultedCase):
    def wait_awake(self):
        """A server that has just begun may refuse to be asked."""
        def awake():
            try:
                return self.replicas('web') == 1
            except (Refused, OSError):
                return False

        eventually(awake, 'web is awake', SECONDS)

    def test_a_restart_of_the_api_server_is_followed_by_writes_as_before(self):
        self.begin()

        self.lab.apiserver.restart()
        self.ask_for('web')

        self.wait_awake()
        self.learns_of('late')
        self.assertEqual(self.way.stream.gone, [])

    def test_what_is_asked_while_the_api_server_is_dead_is_decided_then_and_written_when_it_is_back(self):
        self.begin()
        self.lab.apiserver.kill()
        try:
            self.ask_for('web')
            self.assertEqual(fetch(self.running.addresses['metrics'], '/readyz').status, 200)
        finally:
            self.lab.apiserver.start()

        self.wait_awake()

    def test_what_is_asked_while_the_store_is_dead_is_written_when_it_is_back(self):
        self.begin()
        self.lab.etcd.kill()
        try:
            self.ask_for('web')
        finally:
            self.lab.etcd.start()

        eventually(lambda: self.lab.apiserver.health(), 'the API server has its store again', SECONDS)
        self.wait_awake()

    def test_a_start_without_an_api_server_is_caught_up_when_it_answers(self):
        self.configure()
        self.workload('web', 0)
        self.scale('web')
        proxy = self.fault_proxy()
        proxy.refuse()
        running = self.autoscaler(KUBECONFIG=proxy.kubeconfig)
        self.assertNotEqual(fetch(running.addresses['metrics'], '/readyz').status, 200)

        proxy.accept()

        self.wait_condition('web', 'Ready', 'True Sleeping', SECONDS)
        eventually(lambda: fetch(running.addresses['metrics'], '/readyz').status == 200, 'it is ready')


class Late(FaultedCase):
    def test_a_write_that_hangs_holds_no_decision_and_is_made_when_writes_pass(self):
        self.begin()
        self.proxy.fault(Hang(), scales)

        self.ask_for('web')
        eventually(lambda: self.proxy.count(path=self.scale_path()), 'the write is on its way')
        self.assertEqual(self.replicas('web'), 0)
        self.proxy.clear()

        self.wait_replicas('web', 1, SECONDS)

    def test_writes_that_hang_hold_no_wake_of_another(self):
        names = [f'w{number}' for number in range(6)]
        self.begin('web', *names)
        held = {self.scale_path(name) for name in names[:3]}
        self.proxy.fault(Hang(), lambda request: request.path in held)
        for name in names[:3]:
            self.ask_for(name)
        eventually(lambda: held <= {one.path for one in self.proxy.requests(writes=True)}, 'all hang')

        self.ask_for('web')

        self.wait_replicas('web', 1)
        self.assertEqual([self.replicas(name) for name in names], [0] * 6)

    def test_a_slow_api_server_gets_each_write_once(self):
        self.begin()
        mark = self.proxy.mark()
        self.proxy.fault(Slow(1.5))

        self.ask_for('web')
        self.wait_replicas('web', 1, SECONDS)
        self.proxy.clear()
        self.wait_quiet()

        self.assertEqual(len(self.writes_of(self.scale_path(), mark)), 1)


class Throttled(FaultedCase):
    def test_a_429_is_obeyed_and_the_write_goes_again(self):
        self.begin()
        mark = self.proxy.mark()
        self.proxy.fault(Status(429, retry_after=2), scales, times=2)

        self.ask_for('web')
        self.wait_replicas('web', 1, SECONDS)

        eventually(lambda: self.writes_of(self.scale_path(), mark)[-1].status, 'the last is answered')
        tries = self.writes_of(self.scale_path(), mark)
        self.assertEqual([one.status for one in tries], [429, 429, 200])
        self.assertTrue(all(later.at - earlier.at >= 2 for earlier, later in zip(tries, tries[1:])))
        self.assertEqual(self.metric(self.running, 'sluice_kubernetes_throttled_total'), 2)

    def test_of_writes_that_wait_for_a_429_only_the_newest_is_sent(self):
        self.begin()
        status = self.place.path('requestscalers', 'web') + '/status'
        mark = self.proxy.mark()
        self.proxy.fault(Status(429, retry_after=3), lambda request: request.path == status, times=1)

        patched = []
        for wrong in range(1, 7):
            self.api.patch(status, {'status': {'desired': wrong}})
            patched.append(time.monotonic())
            eventually(lambda: self.proxy.count(mark, path=status, status=429), 'a status waits')

        eventually(lambda: not self.look('web')['status'].get('desired'), 'it is as it was', SECONDS)
        self.wait_quiet()
        sent = self.writes_of(status, mark)
        late = sum(at > sent[1].at for at in patched)  # after the wait: each may cost a write of its own
        self.assertLessEqual(len(sent), 3 + late)


class Wrong(FaultedCase):
    def spoiled(self, fault):
        """Nothing is withdrawn, and the write that was answered so is made later."""
        self.begin()
        self.proxy.fault(fault)
        self.proxy.drop_connections()
        self.ask_for('web')
        eventually(lambda: self.proxy.count(path=self.scale_path()), 'it tries to write')
        self.assertEqual(self.replicas('web'), 0)
        self.assertEqual(self.way.stream.gone, [])

        self.proxy.clear()

        self.wait_replicas('web', 1, SECONDS)
        self.learns_of('late')
        self.assertEqual(self.way.stream.gone, [])

    def test_errors_of_the_server_withdraw_nothing_and_end(self):
        self.spoiled(Status(500))

    def test_garbage_in_the_place_of_json_withdraws_nothing_and_ends(self):
        self.spoiled(Garbage())

    def test_bytes_that_are_no_http_withdraw_nothing_and_end(self):
        self.spoiled(Garbage(b'SSH-2.0-lab\r\n\r\n', http=False))

    def test_dropped_connections_withdraw_nothing_and_end(self):
        self.spoiled(Drop())

    def test_a_200_with_garbage_is_no_success(self):
        self.begin()
        self.proxy.fault(Garbage(), scales, times=2)

        self.ask_for('web')

        self.wait_replicas('web', 1, SECONDS)


class Rights(FaultedCase):
    """Each list lacks one thing; what lacks is named where people look."""

    def rules(self, without=()):
        return [{'apiGroups': [group], 'resources': [resource],
                 'verbs': [verb for verb in EVERY if (resource, verb) not in without]}
                for group, resource in KINDS]

    def started(self, *without):
        self.configure()
        self.workload('web', 0)
        self.scale('web')
        account = self.account('narrow', self.rules(without), cluster=True)
        self.running = self.autoscaler(KUBECONFIG=account.kubeconfig)
        return self.running

    def named(self, kind, wanted, *parts):
        message = self.wait_condition('web', kind, wanted, SECONDS)['message']
        for part in parts:
            self.assertIn(part, message)

    def test_all_that_is_listed_here_is_enough(self):
        self.started()

        self.wait_condition('web', 'Ready', 'True Sleeping', SECONDS)

    def test_pods_that_may_not_be_followed_are_named_in_the_condition_and_at_readyz(self):
        running = self.started(('pods', 'watch'), ('pods', 'list'))

        self.named('Ready', 'False Forbidden', 'needs list and watch on pods')
        answer = fetch(running.addresses['metrics'], '/readyz')
        self.assertNotEqual(answer.status, 200)
        self.assertIn(b'needs list and watch on pods', answer.body)

    def test_services_that_may_not_be_written_are_named(self):
        self.started(('services', 'create'))

        self.named('Ready', 'False Forbidden', 'cannot create resource "services"')

    def test_slices_that_may_not_be_written_are_named(self):
        running = self.started(('endpointslices', 'create'), ('endpointslices', 'patch'))
        activator = self.activator(running)
        activator.stand_for(self.wait_port('web'))

        self.named('Ready', 'False Forbidden', 'cannot', 'endpointslices')

    def test_a_status_that_may_not_be_written_is_named_in_the_log(self):
        running = self.started(('requestscalers/status', 'patch'), ('requestscalers/status', 'update'))

        eventually(lambda: 'requestscalers/status' in running.errors() and 'patch' in running.errors(),
                   'the log names it', SECONDS)

    def test_a_right_that_is_given_later_ends_the_trouble(self):
        self.started(('services', 'create'), ('services', 'patch'))
        self.named('Ready', 'False Forbidden')

        self.account('narrow').grant([{'apiGroups': [''], 'resources': ['services'], 'verbs': EVERY}],
                                     cluster=True, role='more')

        self.wait_condition('web', 'Ready', 'True Sleeping', SECONDS)


class Unreachable(FaultedCase):
    def test_a_namespace_that_is_ending_is_not_written_to_without_pause(self):
        self.begin()
        private = self.place.path('services', 'web-private')
        mark = self.proxy.mark()
        self.api.delete(f'/api/v1/namespaces/{self.place.name}')  # on this tier it terminates without end
        self.api.delete(private)

        def pauses():
            at = [one.at for one in self.writes_of(private, mark)]
            return [later - earlier for earlier, later in zip(at, at[1:])]

        eventually(lambda: max(pauses(), default=0) > 3, 'the pauses grow', SECONDS)  # by their law after 6.3 s
        self.assertLess(len(pauses()), 20)  # without pauses it would be hundreds
