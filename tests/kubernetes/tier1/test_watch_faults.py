"""What our client makes of a collection when the watch breaks: nothing is lost, nothing told twice."""

from wire import eventually

from faults.probe import Probe
from lab.case import LabCase
from lab.fault_proxy import Cut, Garbage, Hang, Slow, Status

SECONDS = 40  # the longest pause of our client, with chance, is 30


def streams_all(request):
    """A watch that begins with everything there is."""
    return 'sendInitialEvents' in request.query


class FollowCase(LabCase):
    """One collection of ConfigMaps of this test alone, followed through a fault proxy."""

    def setUp(self):
        super().setUp()
        self.proxy = self.fault_proxy()
        self.maps = self.place.path('configmaps')

    def make(self, *names):
        for name in names:
            self.place.create('configmaps', {'metadata': {'name': name}, 'data': {'key': 'x' * 300}})

    def change(self, name):
        self.api.patch(self.place.path('configmaps', name), {'data': {'key': 'changed'}})

    def forget(self, name):
        self.api.delete(self.place.path('configmaps', name))

    def follow(self, **access):
        made = Probe(self.lab, self.maps, **{'kubeconfig': self.proxy.kubeconfig, **access})
        self.addCleanup(made.close)
        return made

    def line(self, verb, name):
        return f'{verb} {self.place.name}/{name}'

    def puts(self, probe, *names):
        """How often each was reported."""
        return [probe.heard.count(self.line('put', name)) for name in names]

    def wait_put(self, probe, name, times=1):
        probe.wait(lambda heard: heard.count(self.line('put', name)) >= times, f'{name} is told', SECONDS)

    def wait_problem(self, probe, part):
        eventually(lambda: part in probe.state()['problem'], f'the problem names {part}', SECONDS)


class Cuts(FollowCase):
    def test_an_event_that_is_torn_is_told_once_and_whole_by_the_next_watch(self):
        self.make('zero')
        probe = self.follow().wait_synced()
        self.proxy.fault(Cut(events=1), lambda request: request.watches, times=1)
        self.proxy.drop_connections()

        self.make('one', 'two', 'three')

        self.wait_put(probe, 'three')
        self.assertEqual(self.puts(probe, 'zero', 'one', 'two', 'three'), [1, 1, 1, 1])
        self.assertEqual(probe.counts()['lists'], 1)

    def test_a_cut_within_the_first_telling_begins_it_anew_and_tells_nothing_twice(self):
        names = [f'm{number}' for number in range(8)]
        self.make(*names)
        self.proxy.fault(Cut(events=3), streams_all, times=2)

        probe = self.follow().wait_synced(seconds=SECONDS)

        self.assertEqual(self.puts(probe, *names), [1] * 8)
        self.assertEqual(self.proxy.count(watches=True, status=200), 3)

    def test_a_deletion_that_is_torn_is_told(self):
        self.make('one', 'two')
        probe = self.follow().wait_synced()
        self.proxy.fault(Cut(bytes=200), lambda request: request.watches, times=1)
        self.proxy.drop_connections()

        self.forget('one')

        probe.wait_line(self.line('gone', 'one'), SECONDS)
        self.assertEqual(probe.counts()['objects'], 1)

    def test_cuts_after_any_number_of_bytes_lose_nothing(self):
        self.make('zero')
        probe = self.follow().wait_synced()
        for size in (1, 17, 18, 400, 900):
            self.proxy.fault(Cut(bytes=size), lambda request: request.watches, times=1)
        self.proxy.drop_connections()

        names = [f'm{number}' for number in range(12)]
        self.make(*names)

        for name in names:
            self.wait_put(probe, name)
        self.assertEqual(self.puts(probe, *names), [1] * 12)
        self.assertEqual(probe.counts()['lists'], 1)


class Past(FollowCase):
    def behind(self, *changes):
        """A probe that knows a past which the restarted API server does not."""
        self.make('kept', 'changed', 'doomed')
        probe = self.follow().wait_synced()
        self.proxy.refuse()
        self.change('changed')
        self.forget('doomed')
        self.make('new')
        for each in changes:
            each()
        self.mark = self.proxy.mark()
        self.lab.apiserver.restart()
        self.proxy.accept()
        return probe

    def test_a_version_that_is_too_old_is_followed_by_one_new_list_that_tells_just_what_changed(self):
        probe = self.behind()

        probe.wait_line(self.line('gone', 'doomed'), SECONDS)

        probe.wait_synced(2)
        self.assertEqual(self.puts(probe, 'kept', 'changed', 'new'), [1, 2, 1])
        self.assertEqual(probe.counts()['lists'], 2)
        whole = [one for one in self.proxy.requests(self.mark) if streams_all(one)]
        self.assertEqual(len(whole), 1)

    def test_so_it_is_when_the_store_was_compacted_meanwhile(self):
        probe = self.behind(self.lab.etcd.compact)

        probe.wait_line(self.line('gone', 'doomed'), SECONDS)

        probe.wait_synced(2)
        self.assertEqual(self.puts(probe, 'kept', 'changed', 'new'), [1, 2, 1])

    def test_compaction_under_an_open_watch_is_not_noticed(self):
        self.make('one')
        probe = self.follow().wait_synced()

        self.lab.etcd.compact()
        self.make('two')

        self.wait_put(probe, 'two')
        self.assertEqual(probe.counts()['lists'], 1)

    def test_a_restart_of_the_api_server_loses_nothing(self):
        self.make('one')
        probe = self.follow(kubeconfig=self.lab.kubeconfig).wait_synced()

        self.lab.apiserver.restart()
        self.make('two')

        self.wait_put(probe, 'two')
        self.assertEqual(self.puts(probe, 'one', 'two'), [1, 1])


class Lists(FollowCase):
    """A server without streaming lists: chunks of five hundred."""

    def begin(self, count):
        for number in range(count):
            self.make(f'm{number}')
        self.proxy.fault(Status(400), streams_all)

    def test_where_streaming_lists_are_refused_chunks_are_listed_and_then_watched(self):
        self.begin(520)

        probe = self.follow().wait_synced(seconds=SECONDS)

        self.assertEqual(sum(line.startswith('put ') for line in probe.heard), 520)
        self.assertEqual(self.proxy.count(path=self.maps, watches=False), 2)
        self.make('later')
        self.wait_put(probe, 'later')

    def test_a_store_that_is_compacted_between_two_chunks_loses_nothing(self):
        self.begin(520)
        self.proxy.fault(Slow(5), lambda request: 'continue' in request.query, times=1)
        probe = self.follow()
        eventually(lambda: any('continue' in one.query for one in self.proxy.requests()), 'the second chunk')

        self.forget('m519')
        self.make('later')
        self.lab.etcd.compact()

        self.wait_put(probe, 'later')
        eventually(lambda: probe.counts()['objects'] == 520, 'one more, one less')

    def test_a_chunk_whose_token_has_expired_begins_the_list_anew_and_tells_nothing_twice(self):
        self.begin(520)
        self.proxy.fault(Status(410), lambda request: 'continue' in request.query, times=1)

        probe = self.follow().wait_synced(seconds=SECONDS)

        self.assertEqual(sum(line.startswith('put ') for line in probe.heard), 520)
        self.assertEqual(probe.counts()['objects'], 520)


class Refusals(FollowCase):
    def test_a_watch_that_is_told_to_wait_waits(self):
        self.proxy.fault(Status(429, retry_after=2), lambda request: request.watches, times=2)

        self.follow().wait_synced(seconds=SECONDS)

        at = [one.at for one in self.proxy.requests(watches=True)]
        self.assertEqual(len(at), 3)
        self.assertTrue(all(later - earlier >= 2 for earlier, later in zip(at, at[1:])), at)

    def spoiled(self, fault):
        """Reported objects stay, changes in between are reported afterwards."""
        self.make('one')
        probe = self.follow().wait_synced()
        self.proxy.fault(fault, lambda request: request.watches)
        self.proxy.drop_connections()
        eventually(lambda: probe.state()['problem'], 'it has a problem', SECONDS)
        self.make('two')
        self.assertEqual(self.puts(probe, 'one', 'two'), [1, 0])

        self.proxy.clear()

        self.wait_put(probe, 'two')
        self.assertEqual(self.puts(probe, 'one', 'two'), [1, 1])
        self.assertFalse([line for line in probe.heard if line.startswith('gone')])
        eventually(lambda: probe.state()['problem'] == '', 'the problem is over')

    def test_errors_of_the_server_take_nothing_away(self):
        self.spoiled(Status(500))

    def test_an_answer_that_is_no_json_takes_nothing_away(self):
        self.spoiled(Garbage(b'\x00\xff{"type":\n'))

    def test_an_answer_that_is_no_http_takes_nothing_away(self):
        self.spoiled(Garbage(b'SSH-2.0-lab\r\n\r\n', http=False))

    def test_events_without_objects_take_nothing_away(self):
        self.spoiled(Garbage(b'{"type":"DELETED","object":{"metadata":{}}}\n'))

    def test_a_list_in_the_place_of_events_takes_nothing_away(self):
        self.spoiled(Garbage(b'{"kind":"ConfigMapList","metadata":{"resourceVersion":"1"},"items":[]}\n'))

    def test_a_server_that_does_not_answer_is_left_for_another_try(self):
        self.proxy.fault(Hang(), lambda request: request.watches, times=1)

        self.follow().wait_synced(seconds=2 * SECONDS)  # a head is waited for 30 s

        self.assertGreaterEqual(self.proxy.count(watches=True), 2)


class Rights(FollowCase):
    def test_rights_that_are_missing_are_named_and_used_when_they_are_given(self):
        self.make('one')
        account = self.account()
        probe = self.follow(kubeconfig=account.kubeconfig)
        self.wait_problem(probe, f'needs list and watch on configmaps in namespace {self.place.name}')
        self.assertEqual(probe.state()['forbidden'], 1)

        account.grant([{'apiGroups': [''], 'resources': ['configmaps'], 'verbs': ['list', 'watch']}])

        probe.wait_synced(seconds=SECONDS)
        self.assertEqual((probe.state()['forbidden'], probe.state()['problem']), (0, ''))

    def test_rights_that_are_taken_away_leave_what_is_known(self):
        self.make('one')
        account = self.account(rules=[
            {'apiGroups': [''], 'resources': ['configmaps'], 'verbs': ['list', 'watch']}])
        proxy = self.lab.fault_proxy(token=account.token)
        self.addCleanup(proxy.close)
        probe = self.follow(kubeconfig=proxy.kubeconfig).wait_synced()

        self.api.delete(self.place.path('rolebindings', f'lab-{self.place.name}-tester'))
        eventually(lambda: account.api.ask('GET', self.maps)[0] == 403, 'the right is gone')
        proxy.drop_connections()

        self.wait_problem(probe, 'needs list and watch on configmaps')
        self.assertFalse([line for line in probe.heard if line.startswith('gone')])

    def test_a_kind_that_is_not_installed_is_named(self):
        probe = Probe(self.lab, '/apis/keda.sh/v1alpha1/scaledobjects')
        self.addCleanup(probe.close)

        self.wait_problem(probe, 'there is no scaledobjects.keda.sh here')
        self.assertEqual(probe.state()['absent'], 1)
