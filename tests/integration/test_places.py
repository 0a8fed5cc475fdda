"""Several places on one machine (`groups` of config.yaml): where replicas go, moves by hand and drains."""

import json
import os
import unittest

from clients import Posts
from engine import wait_until
from places import GROUPS, THREE, PlacesCase
from test_doors import API, problem, token_in
from wire import fetch


class Placing(PlacesCase):
    def test_the_liked_place_fills_first_and_sluice_places_lists_what_is_used_and_left(self):
        engine = self.up_with(GROUPS, self.document('pay', 1), self.document('shop', 5, most=8))
        self.wait_ready(engine, shop=5, pay=1)
        head, fast, slow = self.sluice('places').splitlines()
        self.assertEqual(head.split(), ['PLACE', 'PREF', 'STATE', 'REPLICAS', 'CPU', 'MEMORY', 'LARGEST',
                                        'HOLE', 'SERVICES'])
        self.assertRegex(fast, r'^fast +0 +ready +4 of 4 .* of 1 GiB +no replica +shop 3, pay 1$')
        self.assertRegex(slow, r'^slow +1 +ready +2 of 20 .* of 4 GiB +[34](\.9)? GiB +shop 2$')
        status = engine.status('shop')
        self.assertEqual(status['places'], [{'name': 'fast', 'replicas': 3, 'ready': 3},
                                            {'name': 'slow', 'replicas': 2, 'ready': 2}])
        self.assertEqual(sorted(each['place'] for each in status['replicas']), ['fast'] * 3 + ['slow'] * 2)
        # `cpus` by affinity.
        self.assertEqual({tuple(os.sched_getaffinity(each['pid'])) for each in status['replicas']
                          if each['place'] == 'fast'}, {(0,)})

    def test_explain_has_the_reason_for_replicas_in_a_place_liked_less(self):
        engine = self.up_with(GROUPS, self.document('pay', 1), self.document('shop', 5, most=8))
        self.wait_ready(engine, shop=5, pay=1)
        said = self.explained('shop', 'placed')
        self.assertRegex(said, r'\n  placed +fast 3, slow 2\n')
        self.assertRegex(said, r'\n  why slow +fast has 4 of its 4 replicas; moving 1 service would make room: '
                               r'pay was started \d+ s ago \(may move from 60 s on\)\n')
        self.assertRegex(said, r'\n  next +asked again when a replica of fast ends or at \d\d:\d\d:\d\d\n')
        asked = json.loads(self.sluice('explain', 'shop', '-o', 'json'))['asked_again']
        self.assertEqual(asked['replica_of'], ['fast'])
        self.assertRegex(asked['at'], 'Z$')
        self.assertNotIn('why slow', self.explained('pay', 'placed'))

    def test_what_may_not_be_moved_is_named_as_that(self):
        groups = GROUPS.replace('replicas: 4', 'replicas: 1')
        stay = self.document('stay', 1, keys=[('placement.sluice.dev/movable', 'false')])
        engine = self.up_with(groups, stay)
        self.wait_ready(engine, stay=1)
        self.sluice('apply', '--wait', '-f', self.document('next', 1))
        self.assertRegex(self.explained('next', 'why slow'),
                         'why slow +fast has 1 of its 1 replica; no other service there may be moved\n')
        self.assertIn('stays: stay: it may not be moved', self.sluice('drain', 'fast', code=3))

    def test_more_replicas_than_room_wait_with_a_reason_and_none_is_started_beyond_a_group(self):
        groups = GROUPS.replace('replicas: 20', 'replicas: 2')
        engine = self.up_with(groups, self.document('shop', 900))
        status = engine.wait_status(lambda status: status['ready'] == 6, service='shop')
        self.assertEqual((status['granted'], len(status['replicas'])), (6, 6))
        self.assertIn('fast is full: 4 of 4 replicas; slow is full: 2 of 2 replicas', status['why'])
        self.assertEqual(self.places(), {'fast': {'shop': 4}, 'slow': {'shop': 2}})
        self.assertIn('6/900', self.sluice('get'))

    def test_a_group_alone_is_named_and_limits_its_replicas(self):
        engine = self.up_with('groups:\n  - {name: only, cpus: "0", replicas: 2}\n', self.document('shop', 5))
        status = engine.wait_status(lambda status: status['ready'] == 2, service='shop')
        self.assertEqual([each['place'] for each in status['replicas']], ['only'] * 2)
        self.assertEqual({tuple(os.sched_getaffinity(each['pid'])) for each in status['replicas']}, {(0,)})
        self.assertEqual(status['places'], [{'name': 'only', 'replicas': 2, 'ready': 2}])
        self.assertEqual(self.places(), {'only': {'shop': 2}})
        self.assertIn('only is full: 2 of 2 replicas', status['why'])

    def test_max_replicas_bounds_all_places_together(self):
        engine = self.up_with('max-replicas: 2\n' + GROUPS, self.document('shop', 5))
        status = engine.wait_status(lambda status: status['ready'] == 2, service='shop')
        self.assertIn('max-replicas 2 reached', status['why'])

    def test_a_group_smaller_than_a_replica_is_passed_over_and_alone_refuses_at_once(self):
        tiny = 'groups:\n  - {name: tiny, memory: 32Mi}\n'
        shop = self.document('shop', 1, limits='{memory: 64Mi}')
        engine = self.up_with(tiny + '  - {name: slow, preference: 1}\n', shop)
        self.wait_ready(engine, shop=1)
        self.assertEqual(self.places(), {'tiny': {}, 'slow': {'shop': 1}})
        sentence = 'too big: needs 64 MiB memory, the largest node of tiny has 32 MiB memory'
        self.assertIn(sentence, self.sluice('move', 'shop', '--to', 'tiny', code=1))
        self.assertEqual(engine.stop(), 0)

        engine = self.up_with(tiny, shop)
        engine.wait_status(lambda status: 'too big' in status['why'], service='shop')
        answer = engine.get(host='shop.localhost')
        self.assertEqual((answer.status, answer.body.decode()), (503, f'{sentence}\n'))

    def test_a_service_for_a_place_that_is_not_there_gets_the_names_of_those_there_are(self):
        where = self.document('where', 1, keys=[('placement.sluice.dev/where', 'gpu=yes')])
        named = self.document('named', 1, keys=[('placement.sluice.dev/clusters', 'fastt')])
        engine = self.up_with(GROUPS, where, named)
        for service, sentence in (('where', 'no place matches: labels gpu=yes; there are fast, slow'),
                                  ('named', 'no place matches: clusters fastt (did you mean fast?); '
                                            'there are fast, slow')):
            engine.wait_status(lambda status, it=sentence: it in status['why'], service=service)
            answer = engine.get(host=f'{service}.localhost')
            self.assertEqual((answer.status, answer.body.decode()), (503, f'{sentence}\n'))

    def test_a_misspelt_key_is_refused_with_the_right_one(self):
        wrong = self.document('shop', 1, keys=[('placement.sluice.dev/clustres', 'fast')])
        self.assert_refuses(78, 'placement.sluice.dev/clustres', 'did you mean `placement.sluice.dev/clusters`?',
                            arguments=['up', '--config', self.write('config.yaml', GROUPS), '-f', wrong])


class Waiting(PlacesCase):
    ONE = GROUPS.replace('replicas: 4', 'replicas: 1')
    AT_ONCE = ONE + 'placement: {minimum-age: 0s}\n'

    def only_fast(self, name):
        return self.document(name, 1, keys=[('placement.sluice.dev/clusters', 'fast')])

    def test_status_get_explain_and_warning_of_a_service_that_waits_name_the_moves_that_make_room(self):
        late, file = self.changing('pay', 1, 'late')
        engine = self.up_with(self.AT_ONCE, late)
        self.wait_ready(engine, pay=1)
        # None is moved before it has run for twice the time of a start.
        policy = self.write('policy.yaml', 'minimum-age: 0s\npolicies: [{name: any, algorithms: [{name: in-flight}]}]\n')
        wait_until(lambda: 'may move from' not in self.sluice('policy', 'check', policy), 30, 'pay may be moved')
        file.touch()
        self.sluice('apply', '-f', self.only_fast('shop'))
        room = r'room is being made in fast: pay -> slow \((starting|warming|shifting)\)'
        status = engine.wait_status(lambda status: 'waits' in status and '(planned)' not in status['waits'],
                                    service='shop')
        self.assertRegex(status['waits'], f'^{room}$')
        self.assertRegex(self.sluice('get'), f'shop-00001 is not ready: fast is full: 1 of 1 replica; {room}')
        self.assertRegex(self.sluice('explain', 'shop'), rf'\n  waits +{room}\n')
        warning = engine.wait_event('warning', service='shop')
        self.assertRegex(warning['message'], r'fast is full: 1 of 1 replica; room is being made in fast: pay -> slow')
        self.assertNotIn('fix', warning)
        self.wait_ready(engine, shop=1, pay=1)
        self.assertEqual(self.places(), {'fast': {'shop': 1}, 'slow': {'pay': 1}})
        self.assertNotIn('waits', engine.status('shop'))

    def test_explain_of_a_service_that_no_move_helps_has_why_and_when_it_is_asked_again(self):
        engine = self.up_with(self.ONE, self.document('pay', 1))
        self.wait_ready(engine, pay=1)
        self.sluice('apply', '-f', self.only_fast('shop'))
        said = self.explained('shop', 'waits')
        self.assertRegex(said, r'\n  waits +moving 1 service would make room: pay was started \d+ s ago '
                               r'\(may move from 60 s on\)\n')
        self.assertRegex(said, r'\n  next +asked again when a replica of fast ends or at \d\d:\d\d:\d\d\n')
        warning = engine.wait_event('warning', service='shop')
        self.assertIn('give the group more in config.yaml', warning['fix'])

    def test_explain_of_a_service_that_comes_home_has_the_time_left_until_then(self):
        engine = self.up_with(self.AT_ONCE, self.document('crowd', 1))
        self.wait_ready(engine, crowd=1)
        self.sluice('apply', '--wait', '-f', self.document('shop', 1))
        self.assertEqual(self.places(), {'fast': {'crowd': 1}, 'slow': {'shop': 1}})
        self.sluice('scale', 'crowd', '--min', '0')
        self.sluice('sleep', 'crowd')
        said = self.explained('shop', 'it moves there in')
        self.assertRegex(said, r'\n  why slow +fast has room: it moves there in (600|5\d\d) s if that lasts\n')
        self.assertRegex(said, r'\n  next +asked again at \d\d:\d\d:\d\d\n')


class ByHand(PlacesCase):
    def test_a_move_prints_what_it_did_or_why_it_does_nothing(self):
        engine = self.up_with(GROUPS, self.document('pay', 1), self.document('shop', 5, most=8))
        self.wait_ready(engine, shop=5, pay=1)
        self.assertRegex(self.sluice('move', 'shop', '--to', 'slow'),
                         r'^shop  3 replicas fast -> slow: started 3 \(\d\.\d s\), listed 1, 2, 3, drained 3 '
                         r'\(\d\.\d s\); 0 requests cut\n$')
        self.assertEqual(self.places(), {'fast': {'pay': 1}, 'slow': {'shop': 5}})
        self.assertEqual(engine.status('shop')['ready'], 5)
        move = engine.wait_event('move', service='shop', over=True)
        self.assertEqual((move['from'], move['to'], move['cause'], move['done'], move['cut'], move['drained']),
                         ('fast', 'slow', 'hand', True, 0, 3))

        # To where it is, to a full place, to nowhere, of nothing.
        self.assertEqual(self.sluice('move', 'shop', '--to', 'slow'),
                         'shop  0 replicas moved: all are in slow already\n')
        self.assertEqual(self.sluice('move', 'shop', '--to', 'fast', code=1),
                         'fast has room for 3 replicas; shop has 5 replicas to move; make room there first: '
                         'sluice places\n')
        self.assertIn('there is no place slowly; did you mean slow?',
                      self.sluice('move', 'shop', '--to', 'slowly', code=1))
        self.assertIn('there is no place x; there are fast, slow', self.sluice('move', 'shop', '--to', 'x', code=1))
        self.assertIn('no service is named shp', self.sluice('move', 'shp', '--to', 'slow', code=1))
        self.assertIn('--to is required', self.sluice('move', 'shop', code=2))
        self.assertEqual(self.places(), {'fast': {'pay': 1}, 'slow': {'shop': 5}})

    def test_a_service_that_sleeps_starts_next_where_it_was_moved_to(self):
        engine = self.up_with(GROUPS, self.document('shop', 0))
        engine.wait_status(lambda status: status['state'] == 'asleep', service='shop')
        self.assertEqual(self.sluice('move', 'shop', '--to', 'slow'),
                         'shop has no replica; its next start is in slow\n')
        self.assertEqual(engine.get(host='shop.localhost').status, 200)
        self.assertEqual(self.places(), {'fast': {}, 'slow': {'shop': 1}})
        # It pins nothing.
        self.sluice('sleep', 'shop')
        engine.wait_status(lambda status: status['ready'] == 0 and not status['replicas'], service='shop')
        self.assertEqual(engine.get(host='shop.localhost').status, 200)
        self.assertEqual(self.places(), {'fast': {'shop': 1}, 'slow': {}})

    def test_a_second_move_waits_for_the_first_and_the_replicas_end_at_its_place(self):
        engine = self.up_with(THREE, self.document('shop', 2))
        self.wait_ready(engine, shop=2)
        for first, second in (('b', 'b'), ('a', 'c'), ('a', 'c')):
            mark = engine.mark()
            one = self.begin('move', 'shop', '--to', first)
            engine.wait_event('move', service='shop', to=first, after=mark)
            other = self.begin('move', 'shop', '--to', second)
            for process in (one, other):
                code, said = self.end(process)
                self.assertEqual(code, 0, said)
                self.assertNotIn('sleeps', said)
            self.assertEqual({place for place, services in self.places().items() if services}, {second})
            self.assertEqual(engine.status('shop')['ready'], 2)

    def test_without_groups_there_is_nowhere_to_move_to(self):
        engine = self.up_app('--min', '1')
        self.wait_ready(engine, app=1)
        self.assertIn('there is one place, and nothing is moved here', self.sluice('move', 'app', '--to', 'b', code=1))
        self.assertIn('there is one place', self.sluice('drain', 'local', code=1))
        self.assertRegex(self.sluice('places').splitlines()[1], '^local +0 +ready +1 .* app 1$')

    def test_changes_over_http_need_the_token_of_this_start(self):
        groups = self.write('config.yaml', GROUPS)
        engine = self.up_app('--config', groups, '--min', '1', '--allow-edit')
        self.wait_ready(engine, app=1)
        host = 'localhost:' + engine.http.rsplit(':', 1)[1]
        changes = ((f'{API}/services/default/app/move', b'{"to":"slow"}'), (f'{API}/places/fast/drain', b''),
                   (f'{API}/places/fast/undrain', b''))
        for path, body in changes:
            refused = engine.get(path, host=host, method='POST', body=body)
            self.assertEqual(problem(refused), (403, 'token-required'), path)
        self.assertEqual(self.places(), {'fast': {'app': 1}, 'slow': {}})
        token = [('Sluice-Edit', token_in(engine))]
        for path, body in changes:
            answer = engine.get(path, host=host, method='POST', body=body, headers=token)
            self.assertIn(answer.status, (200, 202), answer.body)
        for path, body, kind in ((f'{API}/services/default/app/move', b'{"to":"x"}', 'not-moved'),
                                 (f'{API}/places/x/drain', b'', 'no-such-place'),
                                 (f'{API}/services/default/missing/move', b'{"to":"slow"}', 'no-such-service')):
            self.assertEqual(engine.get(path, host=host, method='POST', body=body, headers=token).json()['type'], kind)
        for path in ('places', 'moves'):
            self.assertEqual(fetch(engine.http, f'{API}/{path}', host='localhost').status, 200)


class Drains(PlacesCase):
    def test_a_drained_place_is_empty_gets_nothing_and_takes_replicas_again(self):
        engine = self.up_with(GROUPS, self.document('pay', 1), self.document('shop', 2, most=8))
        self.wait_ready(engine, pay=1, shop=2)
        lines = self.sluice('drain', 'fast').splitlines()
        moved = r'^fast  {} -> slow: started \d \(\d\.\d s\), listed .*, drained \d \(\d\.\d s\)$'
        self.assertRegex('\n'.join(lines[:2]), '(?m)' + moved.format('pay 1'))
        self.assertRegex('\n'.join(lines[:2]), '(?m)' + moved.format('shop 2'))
        self.assertEqual(lines[2:], ['drained: 2 services, 3 replicas, 0 requests cut'])
        self.assertRegex(self.sluice('places').splitlines()[1], '^fast +0 +draining +0 of 4 .* -$')
        self.assertIn('fast is being drained', self.explained('pay', 'why slow'))
        self.assertIn('fast is being drained; sluice undrain fast', self.sluice('move', 'pay', '--to', 'fast', code=1))
        self.sluice('scale', 'shop', '--min', '4')
        self.wait_ready(engine, shop=4)
        self.assertEqual(self.places(), {'fast': {}, 'slow': {'pay': 1, 'shop': 4}})

        self.assertEqual(self.sluice('undrain', 'fast'), 'fast takes replicas again\n')
        self.sluice('scale', 'shop', '--min', '6')
        self.wait_ready(engine, shop=6)
        self.assertEqual(self.places()['fast'], {'shop': 2})
        for verb in ('drain', 'undrain'):
            self.assertIn('there is no place quick; there are fast, slow', self.sluice(verb, 'quick', code=1))

    def test_what_cannot_leave_stays_is_listed_and_serves(self):
        only = self.document('only', 1, keys=[('placement.sluice.dev/clusters', 'fast')])
        engine = self.up_with(GROUPS, only, self.document('pay', 1))
        self.wait_ready(engine, only=1, pay=1)
        pid = engine.status('only')['replicas'][0]['pid']
        posts = Posts(engine, 20, 50, ['only.localhost', 'pay.localhost'])
        said = self.sluice('drain', 'fast', code=3)
        self.assertIn('drained: 1 service, 1 replica, 0 requests cut\nstays: only: no other place matches\n', said)
        posts.stop()
        self.assert_served_once(posts)
        self.assertEqual(engine.status('only')['replicas'][0]['pid'], pid)
        self.assertEqual(self.places(), {'fast': {'only': 1}, 'slow': {'pay': 1}})

    def test_with_every_place_drained_services_wait_where_they_are(self):
        engine = self.up_with(GROUPS, self.document('pay', 1))
        self.wait_ready(engine, pay=1)
        self.sluice('drain', 'slow')
        self.assertIn('stays: pay: ', self.sluice('drain', 'fast', code=3))
        self.assertEqual((self.places(), engine.status('pay')['ready']), ({'fast': {'pay': 1}, 'slow': {}}, 1))
        self.assertEqual(engine.get(host='pay.localhost').status, 200)

    def test_what_could_not_be_moved_to_the_only_other_place_is_listed_with_that(self):
        document, file = self.changing('bad', 1, 'ends')
        engine = self.up_with(GROUPS, document)
        self.wait_ready(engine, bad=1)
        file.touch()
        self.sluice('move', 'bad', '--to', 'slow', code=1)
        self.assertRegex(self.sluice('drain', 'fast', code=3),
                         r'\nstays: bad: it could not be moved to slow, which is tried again in 1[78]\d\d s\n')

    def test_a_drain_tries_the_next_place_where_one_has_failed(self):
        document, file = self.changing('bad', 1, 'ends')
        engine = self.up_with(THREE, document)
        self.wait_ready(engine, bad=1)
        file.touch()
        self.sluice('move', 'bad', '--to', 'b', code=1)
        file.unlink()
        self.assertIn('drained: 1 service', self.sluice('drain', 'a'))
        self.assertEqual(self.places(), {'a': {}, 'b': {}, 'c': {'bad': 1}})


if __name__ == '__main__':
    unittest.main()
