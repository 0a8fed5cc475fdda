"""What the autoscaler writes for a RequestScaler, on an API server without any controller."""

import json

from activator.case import ENVIRONMENT
from wire import eventually, fetch

from lab.objects import deployment, service
from scaling.case import ScalingCase, scaler

SCALED_OBJECTS = '/apis/keda.sh/v1alpha1/namespaces/{}/scaledobjects'
KEDA = {
    'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition',
    'metadata': {'name': 'scaledobjects.keda.sh'},
    'spec': {'group': 'keda.sh', 'scope': 'Namespaced',
             'names': {'kind': 'ScaledObject', 'plural': 'scaledobjects', 'singular': 'scaledobject'},
             'versions': [{'name': 'v1alpha1', 'served': True, 'storage': True, 'schema': {'openAPIV3Schema': {
                 'type': 'object', 'x-kubernetes-preserve-unknown-fields': True}}}]}}
PAUSED = 4  # CannotScale of protocols.md 3
HPA = '/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers'


class Objects(ScalingCase):
    def begin(self, name='web', replicas=0, **spec):
        self.configure()
        self.workload(name, replicas)
        self.scale(name, **spec)
        return self.autoscaler()

    def test_an_absent_service_is_made_with_a_private_one_beside_it(self):
        self.begin()

        public = eventually(lambda: self.api.find(self.place.path('services', 'web')), 'the public Service')
        private = eventually(lambda: self.api.find(self.place.path('services', 'web-private')), 'the private one')

        self.assertNotIn('selector', public['spec'])
        self.assertEqual(public['spec']['ports'][0]['port'], 8080)
        self.assertEqual(private['spec']['selector'], {'app': 'web', 'sluice.dev/sidecar': 'queue-proxy'})
        self.assertEqual(private['spec']['ports'][0]['targetPort'], 'queue-port')
        self.assertTrue(private['spec']['clusterIP'].startswith('10.96.'))  # a way through a mesh
        for one in (public, private):
            self.assertEqual(one['metadata']['ownerReferences'][0]['kind'], 'RequestScaler')

    def test_every_scaler_has_a_port_of_its_own(self):
        running = self.begin()
        self.workload('shop', 0)
        self.scale('shop')

        ports = {self.wait_port('web'), self.wait_port('shop')}

        self.assertEqual(len(ports), 2)
        self.assertTrue(all(20000 <= port <= 29999 for port in ports), ports)
        self.assertIsNotNone(running)

    def test_equal_ports_are_replaced_by_different_ones(self):
        self.begin()
        self.workload('shop', 0)
        self.scale('shop')
        taken = self.wait_port('shop')
        self.wait_port('web')

        self.api.patch(self.place.path('requestscalers', 'web') + '/status', {'status': {'activatorPort': taken}})

        eventually(lambda: self.wait_port('web') != self.wait_port('shop'), 'they differ again')
        self.assertEqual(self.wait_port('shop'), taken)

    def test_requests_are_sent_to_an_activator_once_it_has_answered_on_the_port(self):
        running = self.begin()
        activator = self.activator(running)
        port = self.wait_port('web')
        self.assertEqual(self.routed('web'), set())

        activator.stand_for(port)

        self.wait_routed('web', {(activator.ip, port)})

    def test_an_activator_that_goes_is_taken_out(self):
        running = self.begin()
        first, second = self.activator(running), self.activator(running, '10.99.250.2')
        port = self.wait_port('web')
        first.stand_for(port)
        second.stand_for(port)
        self.wait_routed('web', {(first.ip, port), (second.ip, port)})

        first.leave()

        self.wait_routed('web', {(second.ip, port)})

    def test_a_slice_that_another_client_edits_is_restored(self):
        running = self.begin()
        activator = self.activator(running)
        port = self.wait_port('web')
        activator.stand_for(port)
        self.wait_routed('web', {(activator.ip, port)})
        name = self.place.slices('web')[0]['metadata']['name']

        self.api.patch(self.place.path('endpointslices', name), {'endpoints': []})
        self.wait_routed('web', {(activator.ip, port)}, 60)
        self.api.delete(self.place.path('endpointslices', name))
        self.wait_routed('web', {(activator.ip, port)}, 60)

    def test_the_first_request_wakes_it(self):
        running = self.begin()
        activator = self.activator(running)
        activator.stream.wait(lambda a: 'web' in a.states, 'the state of web')

        activator.stream.report(('web', 1, 1, self.place.name))

        self.wait_replicas('web', 1)
        eventually(lambda: self.events('ScaledUp'), 'the event')

    def test_a_stateful_set_is_scaled_like_a_deployment(self):
        self.configure()
        made = deployment('web', 0, labels={'sluice.dev/sidecar': 'queue-proxy'})
        made.update(kind='StatefulSet')
        made['spec'].update(serviceName='web')
        self.place.create('statefulsets', made)
        self.place.create('requestscalers', {
            **scaler('web'), 'spec': {'targetRef': {'kind': 'StatefulSet', 'name': 'web'}}})
        running = self.autoscaler()
        activator = self.activator(running)
        self.wait_condition('web', 'Target', 'True Found')
        activator.stream.wait(lambda a: 'web' in a.states, 'the state of web')

        activator.stream.report(('web', 1, 1, self.place.name))

        eventually(lambda: self.api.get(self.place.path('statefulsets', 'web'))['spec']['replicas'] == 1, 'it wakes')

    def test_replicas_that_are_set_by_hand_are_restored(self):
        running = self.begin()
        activator = self.activator(running)
        activator.stream.wait(lambda a: 'web' in a.states, 'the state of web')
        activator.stream.report(('web', 1, 1, self.place.name))
        self.wait_replicas('web', 1)
        eventually(lambda: self.events('ScaledUp') and self.nothing_waits(running), 'it has seen its own write', 60)

        self.place.scale('web', 0)

        self.wait_replicas('web', 1, 60)
        eventually(lambda: self.events('ReplicasPutBack'), 'the event', 60)

    def test_nothing_is_written_when_nothing_happens(self):
        running = self.begin()
        self.wait_condition('web', 'Ready', 'True Sleeping')
        activator = self.activator(running)
        port = self.wait_port('web')
        activator.stand_for(port)
        self.wait_routed('web', {(activator.ip, port)})
        eventually(lambda: self.nothing_waits(running), 'nothing is on its way')

        def written_during(reports):
            before, until = self.writes(running), activator.said + reports
            eventually(lambda: activator.hold('web', self.place.name) and activator.said > until,
                       'some time has passed', 60)
            return self.writes(running) - before

        eventually(lambda: written_during(20) == 0, 'nothing is written in five evaluations', 120)

    def writes(self, running):
        return self.metric(running, 'sluice_kubernetes_requests_total{kind="write"}')

    def nothing_waits(self, running):
        return self.metric(running, 'sluice_kubernetes_waiting_scalers') == 0


class Chosen(ScalingCase):
    """A client sets the number of replicas, as `kubectl scale` does."""

    def begin(self):
        self.configure()
        self.workload('web', 0)
        self.scale('web', autoscaling={'target': 10, 'max': 4})
        running = self.autoscaler()
        activator = self.activator(running)
        activator.stream.wait(lambda a: 'web' in a.states, 'the state of web')
        return running, activator

    def choose(self, count):
        self.lab.kubectl('-n', self.place.name, 'scale', 'requestscaler/web', f'--replicas={count}')

    def give_back(self):
        self.api.patch(self.place.path('requestscalers', 'web'), {'spec': {'replicas': None}})

    def hold(self, activator, requests, condition, what):
        eventually(lambda: activator.hold('web', self.place.name, requests) and condition(), what, 60)

    def test_that_many_run_whatever_the_load_until_the_choice_is_withdrawn(self):
        _, activator = self.begin()

        self.choose(2)

        self.wait_replicas('web', 2)
        told = self.wait_condition('web', 'Ready', 'True Paused')
        self.assertIn('/spec/replicas', told['message'])
        self.wait_condition('web', 'Active', 'Unknown Paused')
        said = activator.said
        self.hold(activator, 200, lambda: activator.said > said + 10, 'the load was heard')
        self.assertEqual(self.replicas('web'), 2)
        self.assertEqual(self.look('web')['status']['desired'], 2)

        self.give_back()
        self.hold(activator, 200, lambda: self.replicas('web') == 4, 'what the load wants is there')
        self.wait_condition('web', 'Ready', 'True Waking')

    def test_a_target_that_is_edited_meanwhile_is_put_back_to_the_choice(self):
        self.begin()
        self.choose(2)
        self.wait_replicas('web', 2)

        self.place.scale('web', 5)

        self.wait_replicas('web', 2)

    def test_at_none_requests_are_refused_at_once_and_not_held(self):
        running, watching = self.begin()
        watching.leave()
        activator = self.spawn('activator', {
            **ENVIRONMENT, 'POD_IP': '10.99.1.1', 'SYSTEM_NAMESPACE': self.place.name,
            'SLUICE_HTTP_ADDRESS': '10.99.1.1:0', 'SLUICE_H2C_ADDRESS': '10.99.1.1:0',
            'SLUICE_AUTOSCALER_ADDRESS': running.addresses['grpc']})
        self.assertIsNotNone(activator)

        self.choose(0)

        watching.stream.wait(lambda a: a.states['web']['cannot_scale'] == PAUSED, 'that it cannot grow')
        self.assertEqual(watching.stream.states['web']['granted'], 0)
        self.wait_condition('web', 'Active', 'False Paused')
        door = f'10.99.1.1:{self.wait_port("web")}'
        # Before the activator gets that state, a request would be held for longer than a test waits.
        answer = eventually(lambda: self.refusal(door), 'it is refused')
        self.assertIn('cannot-scale; reason=paused', answer.headers['sluice-error'])
        self.assertEqual(self.replicas('web'), 0)

        self.give_back()
        watching.stream.wait(lambda a: a.states['web']['cannot_scale'] is None, 'that it can')

    @staticmethod
    def refusal(door):
        try:
            answer = fetch(door, host='anything', timeout=1)
        except OSError:
            return None
        return answer if answer and answer.status == 503 else None


class Services(ScalingCase):
    def begin(self, selector=None, adopt=False):
        self.configure()
        self.place.create('services', service('web', selector=selector))
        self.workload('web', 0)
        self.scale('web', service={'adopt': adopt})
        return self.autoscaler()

    def routed_by(self, running):
        activator = self.activator(running)
        port = self.wait_port('web')
        activator.stand_for(port)
        return {(activator.ip, port)}

    def test_of_one_without_a_selector_only_the_slices_are_managed(self):
        running = self.begin(selector={})
        before = self.api.get(self.place.path('services', 'web'))

        self.wait_routed('web', self.routed_by(running))

        after = self.api.get(self.place.path('services', 'web'))
        self.assertEqual(after['metadata']['resourceVersion'], before['metadata']['resourceVersion'])

    def test_one_with_a_selector_is_refused_and_the_ways_out_are_named(self):
        self.begin()

        told = self.wait_condition('web', 'Service', 'False ServiceHasSelector')

        self.assertIn('spec.selector', told['message'])
        self.assertIn('spec.service.adopt: true', told['message'])
        self.wait_condition('web', 'Ready', 'False ServiceHasSelector')
        self.assertEqual(self.api.get(self.place.path('services', 'web'))['spec']['selector'], {'app': 'web'})

    def test_one_is_adopted_and_given_back_on_deletion(self):
        running = self.begin(adopt=True)
        self.wait_routed('web', self.routed_by(running))
        eventually(lambda: 'selector' not in self.api.get(self.place.path('services', 'web'))['spec'],
                   'the selector is gone')
        self.wait_condition('web', 'Service', 'True Routed')
        self.assertEqual(self.look('web')['metadata']['finalizers'], ['sluice.dev/service'])

        self.api.delete(self.place.path('requestscalers', 'web'))

        eventually(lambda: self.api.find(self.place.path('requestscalers', 'web')) is None, 'the scaler is gone')
        back = self.api.get(self.place.path('services', 'web'))
        self.assertEqual(back['spec']['selector'], {'app': 'web'})
        self.assertEqual(back['spec']['ports'][0]['targetPort'], 8080)
        self.assertNotIn('sluice.dev/original-service', back['metadata'].get('annotations', {}))

    def test_a_selector_that_is_set_again_is_reported_and_left(self):
        running = self.begin(adopt=True)
        self.wait_routed('web', self.routed_by(running))
        eventually(lambda: 'selector' not in self.api.get(self.place.path('services', 'web'))['spec'],
                   'the selector is gone')

        self.api.patch(self.place.path('services', 'web'), {'spec': {'selector': {'app': 'web'}}})

        self.wait_condition('web', 'Service', 'False ServiceContested')
        self.assertEqual(self.api.get(self.place.path('services', 'web'))['spec']['selector'], {'app': 'web'})


class Conditions(ScalingCase):
    def test_a_target_that_is_missing_is_named_and_scaled_once_it_exists(self):
        self.configure()
        self.scale('web')
        self.autoscaler()
        told = self.wait_condition('web', 'Target', 'False TargetMissing')
        self.assertIn('Deployment web', told['message'])

        self.workload('web', 0)

        self.wait_condition('web', 'Target', 'True Found')
        self.wait_condition('web', 'Ready', 'True Sleeping')

    def test_a_target_that_is_deleted_is_scaled_again_when_it_is_back(self):
        self.configure()
        self.workload('web', 0)
        self.scale('web')
        running = self.autoscaler()
        activator = self.activator(running)
        activator.stream.wait(lambda a: 'web' in a.states, 'the state of web')
        activator.stream.report(('web', 1, 1, self.place.name))
        self.wait_replicas('web', 1)

        self.api.delete(self.place.path('deployments', 'web'))
        self.wait_condition('web', 'Target', 'False TargetMissing')
        self.workload('web', 0)

        self.wait_replicas('web', 1)

    def test_another_scaler_of_the_target_is_a_conflict_and_nothing_is_scaled(self):
        self.configure()
        self.workload('web', 0)
        path = HPA.format(self.place.name)
        self.api.post(path, {'metadata': {'name': 'other'}, 'spec': {
            'maxReplicas': 3, 'scaleTargetRef': {'apiVersion': 'apps/v1', 'kind': 'Deployment', 'name': 'web'}}})
        self.scale('web')
        running = self.autoscaler()
        told = self.wait_condition('web', 'Conflict', 'True TargetConflict')
        self.assertIn('HorizontalPodAutoscaler other', told['message'])
        eventually(lambda: self.events('TargetConflict'), 'the event')
        activator = self.activator(running)
        activator.stream.wait(lambda a: 'web' in a.states, 'the state of web')
        activator.stream.report(('web', 1, 1, self.place.name))
        activator.stream.wait(lambda a: a.states['web']['desired'] == 1, 'one is wanted')
        self.scale('other')
        self.wait_condition('other', 'Target', 'False TargetMissing')
        self.assertEqual(self.replicas('web'), 0)

        self.api.delete(f'{path}/other')

        self.wait_condition('web', 'Conflict', 'False NoConflict')
        self.wait_replicas('web', 1)

    def test_one_that_changes_its_target_leaves_the_first_to_the_next(self):
        self.configure()
        self.workload('web', 0)
        self.scale('a', target='web')
        self.scale('b', target='web')
        self.autoscaler()
        self.wait_condition('b', 'Conflict', 'True TargetConflict')

        self.api.patch(self.place.path('requestscalers', 'a'), {'spec': {'targetRef': {'name': 'shop'}}})

        self.wait_condition('b', 'Conflict', 'False NoConflict')
        self.wait_condition('a', 'Target', 'False TargetMissing')

    def test_an_object_of_keda_for_the_target_is_a_conflict_too(self):
        self.lab.kubectl('apply', '-f', '-', stdin=json.dumps(KEDA))
        self.addCleanup(self.lab.kubectl, 'delete', 'crd', KEDA['metadata']['name'])
        path = SCALED_OBJECTS.format(self.place.name)
        eventually(lambda: self.api.ask('GET', path)[0] == 200, 'the kind is served')
        # The list of groups comes after it, and is what the autoscaler reads, once a minute.
        eventually(lambda: any(one['name'] == 'keda.sh' for one in self.api.get('/apis')['groups']), 'it is listed')
        self.configure()
        self.workload('web', 0)
        self.scale('web')
        self.autoscaler()
        self.wait_condition('web', 'Ready', 'True Sleeping')

        self.api.post(path, {'apiVersion': 'keda.sh/v1alpha1', 'kind': 'ScaledObject', 'metadata': {'name': 'other'},
                             'spec': {'scaleTargetRef': {'name': 'web'}}})

        told = self.wait_condition('web', 'Conflict', 'True TargetConflict')
        self.assertIn('ScaledObject other', told['message'])
        self.api.delete(f'{path}/other')
        self.wait_condition('web', 'Conflict', 'False NoConflict')

    def test_a_wrong_annotation_is_named_and_counts_as_absent(self):
        self.configure()
        self.workload('web', 0)
        self.scale('web')
        self.api.patch(self.place.path('requestscalers', 'web'), {
            'metadata': {'annotations': {'autoscaling.knative.dev/min-scale': 'two'}}})
        self.autoscaler()

        self.wait_condition('web', 'Settings', 'False InvalidAnnotation')
        self.wait_condition('web', 'Ready', 'True Sleeping')

    def test_a_verb_that_is_missing_is_named(self):
        self.configure()
        self.workload('web', 0)
        self.scale('web')
        every = ['get', 'list', 'watch', 'create', 'patch', 'update', 'delete']
        account = self.account('narrow', cluster=True, rules=[
            {'apiGroups': ['autoscaling.sluice.dev', '', 'discovery.k8s.io', 'autoscaling'],
             'resources': ['*'], 'verbs': every},
            {'apiGroups': ['coordination.k8s.io'], 'resources': ['leases'], 'verbs': every},
            {'apiGroups': ['apps'], 'resources': ['deployments', 'statefulsets'], 'verbs': every}])
        running = self.autoscaler(KUBECONFIG=account.kubeconfig)
        activator = self.activator(running)
        activator.stream.wait(lambda a: 'web' in a.states, 'the state of web')

        activator.stream.report(('web', 1, 1, self.place.name))

        told = self.wait_condition('web', 'Ready', 'False Forbidden')
        self.assertIn('patch', told['message'])
        self.assertIn('deployments/scale', told['message'])
