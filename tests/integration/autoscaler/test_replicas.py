"""Two autoscalers that govern a bucket each: either answers for both (protocols.md 5)."""

import json
import pathlib
import signal
import tempfile

from wire import Reader, connect, eventually, request_bytes

from .replicas_case import ReplicasTest, lease_of
from .test_nodes import FakeAgent

TOKEN = '0123456789abcdef'
SERVICES = [f's{number}' for number in range(8)]


class Stream:
    """Events of /live, read when it is asked."""

    def __init__(self, address, query):
        self.sock = connect(address)
        self.sock.sendall(request_bytes('GET', '/api/v1/live?' + query, 'localhost'))
        self.reader = Reader(self.sock)
        self.status, _ = self.reader.head()
        self.text = ''

    def until(self, enough, what):
        """The data of the first event of that `enough(type, data)` likes."""
        while True:
            block, cut, self.text = self.text.partition('\n\n')
            if not cut:
                size = self.reader.until(b'\r\n')
                if not size or size == b'0':
                    raise AssertionError(f'the stream ended before {what}')
                self.text = block + self.reader.exactly(int(size, 16) + 2)[:-2].decode()
                continue
            lines = dict(line.split(': ', 1) for line in block.splitlines() if not line.startswith(':'))
            if 'data' in lines and enough(lines['event'], data := json.loads(lines['data'])):
                return data

    def close(self):
        self.sock.close()


class Sharing(ReplicasTest):
    # A replica that is stopped keeps its bucket for the length of a test.
    rules = {'buckets': '2', 'lease-duration': '100s', 'renew-deadline': '90s', 'retry-period': '1s'}

    def setUp(self):
        super().setUp()
        self.api.watched['/apis/autoscaling.sluice.dev/v1alpha1/requestscalers'] = [
            {'metadata': {'name': name, 'namespace': 'default', 'uid': f'scaler-{name}', 'resourceVersion': '1'},
             'spec': {'targetRef': {'apiVersion': 'apps/v1', 'kind': 'Deployment', 'name': name}}}
            for name in SERVICES]
        self.api.watched['/apis/apps/v1/deployments'] = [
            {'metadata': {'name': name, 'namespace': 'default', 'uid': f'deployment-{name}', 'resourceVersion': '1'},
             'spec': {'replicas': 1, 'selector': {'matchLabels': {'app': name}},
                      'template': {'metadata': {'labels': {'app': name}},
                                   'spec': {'containers': [{'name': 'c', 'ports': [{'containerPort': 80}]}]}}}}
            for name in SERVICES]
        folder = tempfile.TemporaryDirectory(prefix='sluice-')
        self.addCleanup(folder.cleanup)
        token = pathlib.Path(folder.name) / 'token'
        token.write_text(TOKEN + '\n')
        for number in (1, 2):
            self.give_lease(lease_of(number - 1, 2), f'autoscaler-{number}_127.0.0.{number}')
        self.one = self.replica(1, SLUICE_API_TOKEN_FILE=str(token))
        port = self.one.addresses['api'].rpartition(':')[2]
        self.two = self.replica(2, SLUICE_API_ADDRESS=f'127.0.0.2:{port}', SLUICE_API_TOKEN_FILE=str(token))
        self.both = (self.one, self.two)
        self.names = [eventually(lambda of=each: self.listed(of, '/services?here=1'), 'its services')
                      for each in self.both]
        eventually(lambda: self.governed() == SERVICES, 'every service is governed by one replica')

    def listed(self, running, path):
        return [row['name'] for row in running.api(path).json()['items']]

    def governed(self):
        self.names = [self.listed(each, '/services?here=1') for each in self.both]
        return sorted(sum(self.names, []))

    def stop(self, running):
        running.process.send_signal(signal.SIGSTOP)
        self.addCleanup(running.process.send_signal, signal.SIGCONT)

    def stream(self, running, query):
        made = Stream(running.addresses['api'], query)
        self.addCleanup(made.close)
        self.assertEqual(made.status, 200)
        return made

    def test_either_answers_for_both(self):
        for each in self.both:
            self.assertEqual(self.listed(each, '/services'), SERVICES)
            eventually(lambda of=each: self.listed(of, '/services?brief=1') == SERVICES, 'the rows of all')
            eventually(lambda of=each: of.api('/overview').json()['services']['all'] == len(SERVICES), 'the sum')
            self.assertNotIn('missing', each.api('/overview').json())
            for name in SERVICES:
                path = f'/services/default/{name}'
                self.assertEqual(each.api(path).json()['revision'], name)
                # A recording begins with the first evaluation.
                eventually(lambda of=each, at=path: of.api(f'{at}/recording').status == 200, 'a recording')
                for verb in ('explain', 'history', 'series?since=5s', 'cold-starts'):
                    answer = each.api(f'{path}/{verb}')
                    self.assertEqual(answer.status, 200, f'{name} {verb}: {answer.body}')
            self.assertEqual(each.api('/services/default/none').status, 404)

    def test_a_list_is_read_page_by_page_at_either(self):
        names, following = [], ''
        for page in range(4):
            answer = self.both[page % 2].api('/services?limit=2' + (following and f'&next={following}')).json()
            names += [row['name'] for row in answer['items']]
            following = answer.get('next', '')
        self.assertEqual(names, SERVICES)
        self.assertEqual(following, '')

    def test_nodes_are_shown_by_the_replica_that_does_not_lead_too(self):
        self.kept(FakeAgent(self.one.addresses['grpc'])).report()
        for each in self.both:
            eventually(lambda of=each: [node['name'] for node in of.api('/nodes').json()['items']] == ['n1'], 'n1')

    def test_a_replica_that_is_stopped_is_missing_and_what_it_governs_is_unknown(self):
        self.stop(self.two)
        overview = self.one.api('/overview').json()
        self.assertEqual(overview['missing'], ['autoscaler-2'])
        self.assertEqual(overview['services']['all'], len(self.names[0]))
        answer = self.one.api('/services').json()
        self.assertEqual(answer['missing'], ['autoscaler-2'])
        self.assertEqual([row['name'] for row in answer['items']], self.names[0])
        self.assertEqual(self.one.api(f'/services/default/{self.names[0][0]}').status, 200)
        unknown = self.one.api(f'/services/default/{self.names[1][0]}')
        self.assertEqual(unknown.status, 503)
        self.assertEqual(unknown.json()['type'], 'replica-missing')
        self.assertIn('autoscaler-2', unknown.json()['detail'])

    def test_the_stream_of_the_fleet_has_the_figures_of_both_and_names_a_missing_replica(self):
        live = self.stream(self.one, 'view=fleet')
        live.until(lambda kind, data: kind == 'fleet' and data['overview']['services']['all'] == len(SERVICES),
                   'the figures of both')
        self.stop(self.two)
        data = live.until(lambda kind, data: kind == 'fleet' and 'missing' in data['overview'], 'a missing replica')
        self.assertEqual(data['overview']['missing'], ['autoscaler-2'])
        self.two.process.send_signal(signal.SIGCONT)
        live.until(lambda kind, _: kind == 'reset', 'a new beginning')
        live.until(lambda kind, data: kind == 'fleet' and 'missing' not in data['overview'], 'both again')

    def test_the_stream_of_a_service_is_the_same_at_either(self):
        name = self.names[1][0]
        for each in self.both:
            live = self.stream(each, f'view=service&ns=default&name={name}')
            sample = live.until(lambda kind, _: kind == 'sample', 'a sample')
            self.assertEqual(len(sample['row']), 15)

    def change_spec(self, name):
        self.api.put(f'/apis/autoscaling.sluice.dev/v1alpha1/requestscalers/{name}', {
            'metadata': {'name': name, 'namespace': 'default', 'uid': f'scaler-{name}'},
            'spec': {'targetRef': {'apiVersion': 'apps/v1', 'kind': 'Deployment', 'name': name},
                     'autoscaling': {'target': 7}}}, creates=None)

    def test_a_changed_spec_is_an_event_of_the_stream_at_either(self):
        streams = [self.stream(each, 'view=fleet') for each in self.both]
        for live in streams:
            live.until(lambda kind, data: kind == 'fleet' and data['overview']['services']['all'] == len(SERVICES),
                       'the figures of both')
        name = self.names[1][0]
        self.change_spec(name)
        for live in streams:
            self.assertEqual(live.until(lambda kind, _: kind == 'spec', 'the spec')['service'], name)

    def test_the_pressure_of_a_node_is_an_event_of_the_stream_at_either(self):
        streams = [self.stream(each, 'view=fleet') for each in self.both]
        for live in streams:
            live.until(lambda kind, data: kind == 'fleet' and data['overview']['services']['all'] == len(SERVICES),
                       'the figures of both')
        agent = self.kept(FakeAgent(self.one.addresses['grpc']))
        agent.report()
        agent.report(throttled=('pod-1',))
        for live in streams:
            event = live.until(lambda kind, _: kind == 'memory', 'the pressure')
            self.assertEqual((event['node'], event['pressure']), ('n1', 'high'))

    def test_only_replicas_named_by_leases_are_asked(self):
        self.give_lease(lease_of(1, 2), 'thief_127.0.0.9')
        # Rows are looked at once a second.
        eventually(lambda: (seen := self.one.api('/overview').json()).get('missing') == ['thief'] and
                   seen['services']['all'] == len(self.names[0]), 'the thief, and the services of the first')

    def change(self, running, name, verb, body='', token=TOKEN):
        return running.api(f'/services/default/{name}/{verb}', method='POST', body=body.encode(),
                           headers=[('Sluice-Edit', token)])

    def test_a_change_of_any_service_is_made_through_either(self):
        for each in self.both:
            for least, name in enumerate((self.names[0][0], self.names[1][0]), 2):
                answer = self.change(each, name, 'scale', json.dumps({'min': least}))
                self.assertEqual(answer.status, 202, answer.body)
                self.assertEqual(answer.json()['min'], least)
                for other in self.both:
                    self.assertEqual(other.api(f'/services/default/{name}').json()['min'], least)

    def test_a_change_with_a_wrong_token_and_one_of_no_service_are_refused_at_either(self):
        for each in self.both:
            for names in self.names:
                self.assertEqual(self.change(each, names[0], 'wake', token='another-token-0').status, 403)
            self.assertEqual(self.change(each, 'none', 'wake').status, 404)

    def test_a_change_and_the_events_of_what_a_stopped_replica_governs_are_refused_by_its_name(self):
        name = self.names[1][0]
        self.stop(self.two)
        for answer in (self.change(self.one, name, 'wake'),
                       self.one.api(f'/events?namespace=default&service={name}')):
            self.assertEqual(answer.status, 503)
            self.assertEqual(answer.json()['type'], 'replica-missing')
            self.assertIn('autoscaler-2', answer.json()['detail'])
        self.assertEqual(self.change(self.one, self.names[0][0], 'scale', '{"min":2}').status, 202)

    def test_events_of_a_service_are_streamed_at_either(self):
        name = self.names[1][0]
        readers = [self.events(each, f'?namespace=default&service={name}&types=service') for each in self.both]
        self.change_spec(name)
        for reader in readers:
            events = reader.until(lambda seen: any(each.get('event') == 'changed' for each in seen), 'the spec')
            self.assertEqual({each['name'] for each in events}, {name})

    def test_a_connection_is_kept_after_an_answer_of_the_other(self):
        sock = connect(self.one.addresses['api'])
        self.addCleanup(sock.close)
        reader = Reader(sock)
        for name in (self.names[1][0], self.names[0][0], self.names[1][0]):
            sock.sendall(request_bytes('GET', f'/api/v1/services/default/{name}', 'localhost'))
            status, headers = reader.head()
            self.assertEqual(status, 200)
            self.assertEqual(json.loads(reader.exactly(int(headers['content-length'])))['name'], name)
