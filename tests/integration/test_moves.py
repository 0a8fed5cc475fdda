"""Moves under load, and moves that are interrupted: no request notices them."""

import signal
import threading
import unittest

from clients import Journal, Posts
from engine import alive, wait_until
from places import GROUPS, THREE, PlacesCase
from wire import Reader, connect, eventually, fetch, request_bytes

# Echoes what comes after an upgrade.
UPGRADING = '''
import asyncio, os

async def serve(reader, writer):
    await reader.readuntil(b'\\r\\n\\r\\n')
    writer.write(b'HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: echo\\r\\nConnection: Upgrade\\r\\n\\r\\n')
    while part := await reader.read(1000):
        writer.write(part)
    writer.close()

async def main():
    server = await asyncio.start_server(serve, '127.0.0.1', int(os.environ['PORT']))
    await server.serve_forever()

asyncio.run(main())
'''


class Unnoticed(PlacesCase):
    def test_posts_in_an_open_loop_are_each_served_once_through_moves_and_drains(self):
        document, _ = self.changing('pay', 2, 'late')
        engine = self.up_with(GROUPS, document, self.document('shop', 3))
        self.wait_ready(engine, pay=2, shop=3)
        posts = Posts(engine, 40, 30, ['pay.localhost', 'shop.localhost'])
        for service, to in (('pay', 'slow'), ('shop', 'slow'), ('pay', 'fast')):
            self.assertIn('; 0 requests cut', self.sluice('move', service, '--to', to))
        self.assertIn(', 0 requests cut', self.sluice('drain', 'fast'))
        self.sluice('undrain', 'fast')
        posts.stop()
        self.assertGreater(len(posts.sent), 400)
        self.assert_served_once(posts)
        self.assertEqual({move['cut'] for move in self.moves(engine)}, {0})

    def test_a_place_where_requests_fail_is_left_at_once(self):
        document, file = self.changing('bad', 2, 'fails')
        engine = self.up_with(GROUPS, document)
        self.wait_ready(engine, bad=2)
        file.touch()
        posts = Posts(engine, 40, 10, ['bad.localhost'])
        said = self.sluice('move', 'bad', '--to', 'slow', code=1)
        self.assertRegex(said, r'; given up: (\d+) of \1 requests failed at slow, 0 of \d+ at fast\n$')
        known = len(posts.lost)
        self.assertEqual(self.places(), {'fast': {'bad': 2}, 'slow': {}})
        posts.stop()
        self.assertLessEqual(len(posts.lost), 20)
        self.assertEqual((len(posts.lost), posts.refused), (known, set()))

    def test_a_program_that_ends_at_the_new_place_is_given_up_and_serves_at_the_old(self):
        document, file = self.changing('bad', 1, 'ends')
        engine = self.up_with(GROUPS, document)
        self.wait_ready(engine, bad=1)
        file.touch()
        posts = Posts(engine, 20, 10, ['bad.localhost'])
        said = self.sluice('move', 'bad', '--to', 'slow', '--timeout', '30s', code=1)
        self.assertIn('given up: ', said)
        posts.stop()
        self.assert_served_once(posts)
        eventually(lambda: self.places() == {'fast': {'bad': 1}, 'slow': {}}, 'one replica, where it was')

    def test_an_upgraded_connection_keeps_its_replica_until_it_is_closed(self):
        engine = self.up_with(GROUPS, self.document('echo', 1, program=self.write('upgrading.py', UPGRADING)))
        self.wait_ready(engine, echo=1)
        old = engine.status('echo')['replicas'][0]['pid']
        with connect(engine.http) as sock:
            sock.sendall(request_bytes('GET', '/', 'echo.localhost',
                                       [('Connection', 'Upgrade'), ('Upgrade', 'echo')]))
            reader = Reader(sock)
            self.assertEqual(reader.answer().status, 101)
            process = self.begin('move', 'echo', '--to', 'slow')
            engine.wait_event('move', 60, service='echo', state='draining')
            for word in (b'one', b'two', b'six'):
                sock.sendall(word)
                self.assertEqual(reader.exactly(3), word)
            self.assertTrue(alive(old))
            self.assertEqual(self.places(), {'fast': {'echo': 1}, 'slow': {'echo': 1}})
        code, said = self.end(process)
        self.assertEqual((code, said.rpartition('; ')[2]), (0, '0 requests cut\n'), said)
        wait_until(lambda: not alive(old), 20, 'the end of the old replica')

    def test_no_group_has_more_than_its_replicas_while_a_service_grows_and_moves(self):
        keys = [('autoscaling.knative.dev/target', '1'), ('autoscaling.knative.dev/window', '6s')]
        groups = GROUPS.replace('replicas: 20', 'replicas: 4')
        engine = self.up_with(groups, self.document('grown', 1, most=9, keys=keys), self.document('pay', 2))
        self.wait_ready(engine, grown=1, pay=2)
        process = self.begin('move', 'grown', '--to', 'slow')
        engine.wait_event('move', service='grown', state='starting')
        posts = Posts(engine, 60, 100, ['grown.localhost'])
        over = []

        def ended():
            replicas = engine.status('grown')['replicas'] + engine.status('pay')['replicas']
            for name in ('fast', 'slow'):
                count = sum(each['place'] == name for each in replicas)
                if count > 4:
                    over.append((name, count))
            return process.poll() is not None

        wait_until(ended, 60, 'the end of the move')
        posts.stop()
        self.assert_served_once(posts)
        self.assertEqual(over, [])
        self.assertEqual(self.end(process)[0], 0)


class Interrupted(PlacesCase):
    def slow_start(self, name='pay'):
        """A service of two replicas, the next of which start late."""
        document, file = self.changing(name, 2, 'late')
        file.touch()
        return document

    def begin_move(self, engine, state, service='pay'):
        process = self.begin('move', service, '--to', 'slow')
        engine.wait_event('move', service=service, state=state)
        return process

    def test_a_service_deleted_in_the_middle_ends_at_both_places(self):
        engine = self.up_app('--config', self.write('config.yaml', GROUPS), '--min', '0')
        self.sluice('apply', '--wait', '-f', self.slow_start('gone'))
        self.wait_ready(engine, gone=2)
        process = self.begin_move(engine, 'warming', 'gone')
        self.sluice('delete', 'gone')
        code, said = self.end(process)
        self.assertEqual(code, 1)
        self.assertIn('given up: gone was deleted', said)
        self.assertEqual(self.places(), {'fast': {}, 'slow': {}})

    def test_another_template_before_the_shift_ends_the_move_and_loses_nothing(self):
        engine = self.up_with(GROUPS, self.slow_start())
        self.wait_ready(engine, pay=2)
        posts = Posts(engine, 20, 10, ['pay.localhost'])
        process = self.begin_move(engine, 'starting')
        document, _ = self.changing('pay', 2, 'starts at once')
        code, said = self.end(process)
        self.assertEqual(code, 1, document)
        self.assertIn('given up: pay was changed', said)
        engine.wait_status(lambda status: status['ready'] == 2 and status['revision'] == 'pay-00002', service='pay')
        posts.stop()
        self.assert_served_once(posts)

    def test_another_template_in_the_shift_is_rolled_out_when_the_move_is_over(self):
        engine = self.up_with(GROUPS, self.document('pay', 2))
        self.wait_ready(engine, pay=2)
        posts = Posts(engine, 20, 10, ['pay.localhost'])
        process = self.begin_move(engine, 'shifting')
        self.changing('pay', 2, 'starts at once')
        waits = 'it starts when pay-00001 has been moved'
        engine.wait_status(lambda status: any(waits in each['why'] for each in status['not_ready']), service='pay')
        code, said = self.end(process)
        self.assertEqual(code, 0, said)
        engine.wait_status(lambda status: status['ready'] == 2 and status['revision'] == 'pay-00002', service='pay')
        posts.stop()
        self.assert_served_once(posts)
        over = engine.wait_event('move', service='pay', over=True)
        begun = engine.wait_event('replica', revision='pay-00002', state='starting')
        self.assertLess(engine.events.index(over), engine.events.index(begun))

    def test_a_service_that_falls_asleep_in_the_middle_has_no_replica_left_anywhere(self):
        document, file = self.changing('pay', 0, 'late')
        engine = self.up_with(GROUPS, document)
        engine.wait_status(lambda status: status['state'] == 'asleep', service='pay')
        self.assertEqual(engine.get(host='pay.localhost').status, 200)
        file.touch()
        process = self.begin_move(engine, 'starting')
        self.sluice('sleep', 'pay')
        self.assertEqual(self.end(process)[0], 0)
        eventually(lambda: self.places() == {'fast': {}, 'slow': {}}, 'no replica')
        self.assertEqual(engine.get(host='pay.localhost').status, 200)

    def test_an_engine_that_stops_in_the_middle_ends_the_move_and_cuts_nothing(self):
        engine = self.up_with(GROUPS, self.slow_start())
        self.wait_ready(engine, pay=2)
        process = self.begin_move(engine, 'warming')
        answers = []
        asking = [threading.Thread(target=lambda n=n: answers.append(
            fetch(engine.http, f'/?id=r{n}&ms=1500', 'pay.localhost', method='POST'))) for n in range(8)]
        for thread in asking:
            thread.start()
        journal = self.home.path / 'journal'
        wait_until(lambda: journal.exists() and len(Journal(journal).begun) == 8, 20, 'all are being served')
        pids = [each['pid'] for each in engine.status('pay')['replicas']]
        self.assertEqual(engine.stop(), 0)
        for thread in asking:
            thread.join()
        self.assertEqual([(answer.status, answer.whole) for answer in answers], [(200, True)] * 8)
        code, said = self.end(process)
        self.assertEqual(code, 1)
        self.assertIn('; 0 requests cut; given up: the engine stops\n', said)
        self.assertEqual([pid for pid in pids if alive(pid)], [])

    def test_after_a_kill_in_the_middle_the_next_start_is_clean(self):
        document = self.slow_start()
        engine = self.up_with(GROUPS, document)
        self.wait_ready(engine, pay=2)
        process = self.begin_move(engine, 'warming')
        pids = [each['pid'] for each in engine.status('pay')['replicas']]
        self.assertEqual(len(pids), 4)
        engine.process.send_signal(signal.SIGKILL)
        self.assertNotEqual(self.end(process)[0], 0)
        engine.process.wait()

        engine = self.up_with(GROUPS, document)
        self.wait_ready(engine, pay=2)
        self.assertEqual([pid for pid in pids if alive(pid)], [])
        self.assertEqual(self.places(), {'fast': {'pay': 2}, 'slow': {}})
        self.assertEqual(self.moves(engine), [])
        self.assertEqual(engine.get(host='pay.localhost').status, 200)


class Refused(PlacesCase):
    def test_without_starts_for_all_replicas_nothing_is_begun(self):
        engine = self.up_with('max-replicas: 3\n' + GROUPS, self.document('pay', 2))
        self.wait_ready(engine, pay=2)
        why = ('max-replicas 3 leaves 1 replica to start, and a move of 2 replicas starts as many before they go')
        self.assertEqual(self.sluice('move', 'pay', '--to', 'slow', code=1),
                         why + '; raise it in config.yaml for the next start, or let others sleep\n')
        self.assertEqual(self.sluice('drain', 'fast', code=3),
                         f'drained: 0 services, 0 replicas, 0 requests cut\nstays: pay: {why}\n')
        self.assertEqual(self.moves(engine), [])
        self.assertEqual(self.places(), {'fast': {'pay': 2}, 'slow': {}})

    def test_without_room_for_what_comes_from_all_places_nothing_is_begun(self):
        engine = self.up_with(THREE.replace('0, replicas: 6', '0, replicas: 2').replace('1, replicas: 6', '1, replicas: 2')
                              .replace('2, replicas: 6', '2, replicas: 3'), self.document('pay', 4))
        self.wait_ready(engine, pay=4)
        self.assertEqual(self.places(), {'a': {'pay': 2}, 'b': {'pay': 2}, 'c': {}})
        self.assertIn('c has room for 3 replicas; pay has 4 replicas to move',
                      self.sluice('move', 'pay', '--to', 'c', code=1))
        self.assertEqual(self.moves(engine), [])

    def test_what_stayed_in_a_drained_place_leaves_when_there_is_room(self):
        groups = GROUPS.replace('replicas: 20', 'replicas: 2')
        crowd = self.document('crowd', 2, keys=[('placement.sluice.dev/clusters', 'slow')])
        engine = self.up_with(groups, self.document('pay', 1))
        self.sluice('apply', '--wait', '-f', crowd)
        self.wait_ready(engine, pay=1, crowd=2)
        self.assertIn('stays: pay: slow is full: 2 of 2 replicas', self.sluice('drain', 'fast', code=3))
        self.sluice('delete', 'crowd')
        eventually(lambda: self.places() == {'fast': {}, 'slow': {'pay': 1}}, 'pay has left', 60)


class Shared(PlacesCase):
    def test_all_revisions_that_share_the_requests_are_moved(self):
        engine = self.up_with(GROUPS, self.document('other', 1))
        self.sluice('apply', '--wait', '-f', self.document('pay', 1))
        document, _ = self.changing('pay', 1, 'starts at once')
        self.sluice('apply', '--wait', '-f', document)
        self.sluice('traffic', 'pay', 'pay-00001=50,@latest=50')
        both = ('pay', 'pay-00001')
        self.wait_ready(engine, **dict.fromkeys(both, 1))
        posts = Posts(engine, 20, 10, ['pay.localhost'])
        self.sluice('move', 'pay', '--to', 'slow')
        posts.stop()
        self.assert_served_once(posts)
        self.assertEqual(self.places(), {'fast': {'other': 1}, 'slow': dict.fromkeys(both, 1)})


if __name__ == '__main__':
    unittest.main()
