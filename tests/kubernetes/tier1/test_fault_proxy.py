"""The proxy that spoils what lies between a program and the API server, as a client sees it."""

import http.client

from wire import Deadline, eventually

from lab.api import Api, Refused
from lab.case import LabCase
from lab.fault_proxy import Cut, Drop, Garbage, Hang, Slow, Status

BROKEN = (OSError, http.client.HTTPException)


def config_map(name):
    return {'metadata': {'name': name}, 'data': {'key': 'x' * 500}}


class FaultCase(LabCase):
    def setUp(self):
        super().setUp()
        self.proxy = self.fault_proxy()
        self.through = Api(self.proxy.url, self.lab.ca, self.api.token, agent='through')
        self.maps = self.place.path('configmaps')


class Answers(FaultCase):
    def test_without_a_fault_everything_passes(self):
        self.through.post(self.maps, config_map('one'))

        self.assertEqual(self.api.get(f'{self.maps}/one'), self.through.get(f'{self.maps}/one'))

    def test_large_answers_pass_whole(self):
        for number in range(40):
            self.through.post(self.maps, {'metadata': {'name': f'm{number}'}, 'data': {'k': 'y' * 20_000}})

        self.assertEqual(len(self.through.items(self.maps)), 40)

    def test_a_status_is_answered_as_often_as_set_and_does_not_reach_the_server(self):
        self.proxy.fault(Status(429, retry_after=7), lambda request: request.writes, times=2)

        first = self.through.ask('POST', self.maps, config_map('one'))
        second = self.through.ask('POST', self.maps, config_map('one'))
        third = self.through.ask('POST', self.maps, config_map('one'))

        self.assertEqual([first[0], second[0], third[0]], [429, 429, 201])
        self.assertEqual(first[1]['Retry-After'], '7')

    def test_reads_pass_while_writes_fail(self):
        self.proxy.fault(Status(500), lambda request: request.writes)

        with self.assertRaises(Refused):
            self.through.post(self.maps, config_map('one'))
        self.assertEqual(self.through.items(self.maps), self.api.items(self.maps))
        self.proxy.clear()
        self.through.post(self.maps, config_map('one'))

    def test_garbage_is_not_json(self):
        self.proxy.fault(Garbage())

        with self.assertRaises(ValueError):
            self.through.get(self.maps)

    def test_garbage_may_not_be_http_either(self):
        self.proxy.fault(Garbage(b'SSH-2.0-lab\r\n', http=False))

        with self.assertRaises(BROKEN):
            self.through.get(self.maps)

    def test_a_dropped_connection_is_an_error_of_the_connection(self):
        self.proxy.fault(Drop())

        with self.assertRaises(BROKEN):
            self.through.get(self.maps)

    def test_a_slow_answer_is_delayed(self):
        self.proxy.fault(Slow(0.3))
        early = Deadline(0.29)

        self.through.get(self.maps)

        self.assertTrue(early.passed())

    def test_a_hanging_request_ends_with_its_connection(self):
        self.proxy.fault(Hang(), lambda request: request.watches)
        with self.assertRaises(OSError):
            self.through.watch(self.maps, seconds=3)
        self.assertEqual(self.proxy.count(watches=True), 1)

        self.through.get(self.maps)

    def test_nothing_listens_while_it_refuses(self):
        self.proxy.refuse()
        with self.assertRaises(OSError):
            self.through.get(self.maps)

        self.proxy.accept()

        self.through.get(self.maps)


class Watches(FaultCase):
    def watch(self):
        begin = self.api.get(self.maps)['metadata']['resourceVersion']
        watch = self.through.watch(self.maps, resourceVersion=begin)
        self.addCleanup(watch.close)
        return watch

    def test_a_watch_is_cut_in_the_middle_of_an_event(self):
        self.proxy.fault(Cut(events=2), lambda request: request.watches)
        watch = self.watch()
        for name in ('one', 'two', 'three'):
            self.api.post(self.maps, config_map(name))

        seen = [event['object']['metadata']['name'] for event in watch]

        self.assertEqual(seen, ['one', 'two'])
        self.assertIn(b'"name":"three"', watch.torn)

    def test_a_watch_is_cut_after_a_number_of_bytes(self):
        self.proxy.fault(Cut(bytes=20), lambda request: request.watches)
        watch = self.watch()
        self.api.post(self.maps, config_map('one'))

        self.assertIsNone(watch.next())
        self.assertEqual(len(watch.torn), 20)

    def test_the_next_watch_passes(self):
        self.proxy.fault(Cut(events=0), lambda request: request.watches, times=1)
        torn, whole = self.watch(), self.watch()
        self.api.post(self.maps, config_map('one'))

        self.assertIsNone(torn.next())
        self.assertEqual(whole.next()['object']['metadata']['name'], 'one')

    def test_open_watches_are_broken_when_all_connections_are(self):
        watch = self.watch()

        self.proxy.drop_connections()

        self.assertIsNone(watch.next())


class Log(FaultCase):
    def test_it_records_which_client_sent_what_and_how_often(self):
        mark = self.proxy.mark()
        self.through.post(self.maps, config_map('one'))
        self.through.get(f'{self.maps}/one?pretty=false')
        self.through.ask('GET', f'{self.maps}/absent')

        self.assertEqual(self.proxy.count(mark), 3)
        self.assertEqual(self.proxy.count(mark, writes=True), 1)
        self.assertEqual(self.proxy.count(mark, agent='through', method='GET'), 2)
        self.assertEqual(self.proxy.count(mark, path=f'{self.maps}/one'), 1)
        eventually(lambda: self.proxy.count(mark, status=404) == 1, 'the log has the status')

    def test_a_kubeconfig_leads_through_it(self):
        mark = self.proxy.mark()

        self.lab.kubectl(f'--kubeconfig={self.proxy.kubeconfig}', 'get', 'namespaces')

        self.assertEqual(self.proxy.count(mark, path='/api/v1/namespaces'), 1)
