"""The account finds what it must: a good record closes, and each doctored one fails."""

import unittest

from account import settle
from records import (ABORTED, ANSWERED, CLOSED, LEFT, REFUSED, SILENT, UNTAKEN, WRONG, Attempt,
                     Incident, read_journal)


def attempt(name='r1.0', outcome=ANSWERED, **changes):
    fields = {'request': int(name[1:].split('.')[0]), 'revision': 'one', 'kind': 'get',
              'door': 'activator-1', 'sent': 10.0, 'ended': 11.0, 'outcome': outcome}
    if outcome == ANSWERED:
        fields.update(status=200, pod='pod-1')
    return Attempt(name, **{**fields, **changes})


def journal(*lines):
    return read_journal('\n'.join(lines))


RAN = ('B r1.0 pod-1 10.100 1', 'E r1.0 pod-1 10.900 1')
SECOND = ('B r1.1 pod-1 10.100 1', 'E r1.1 pod-1 10.900 1')
GOING = Incident('activator-drained', 'activator-1', '', 10.5, 10.9)
KILL = Incident('pod-killed', 'pod-1', 'one', 10.5, 10.6)


class AccountCase(unittest.TestCase):
    def assert_closes(self, attempts, lines=RAN, incidents=()):
        account = settle(attempts, journal(*lines), incidents)
        self.assertEqual(account.problems, [])
        self.assertEqual(sum(account.entries.values()) - account.entries['requests'], len(attempts))
        return account

    def assert_fails(self, words, attempts, lines=RAN, incidents=()):
        account = settle(attempts, journal(*lines), incidents)
        self.assertFalse(account.closes, account.entries)
        self.assertTrue(any(words in problem for problem in account.problems), account.problems)


class Answers(AccountCase):
    def test_one_beginning_and_its_own_answer_close(self):
        self.assertEqual(self.assert_closes([attempt()]).entries['answered'], 1)

    def test_a_lost_request_fails(self):
        self.assert_fails('lost: no answer', [attempt(outcome=SILENT)], lines=())

    def test_an_answer_lost_after_the_work_was_done_fails(self):
        self.assert_fails('lost: no answer', [attempt(outcome=SILENT)])

    def test_a_second_beginning_fails(self):
        self.assert_fails('begun twice', [attempt()], (*RAN, 'B r1.0 pod-2 10.200 1'))

    def test_a_second_beginning_under_another_attempt_fails(self):
        tried = [attempt(outcome=UNTAKEN), attempt('r1.1')]
        self.assert_fails('begun twice', tried,
                          (*RAN, 'B r1.1 pod-1 10.200 1', 'E r1.1 pod-1 10.300 1'))

    def test_an_answer_to_another_request_fails(self):
        self.assert_fails('not its own answer', [attempt(outcome=WRONG)])

    def test_an_answer_from_nowhere_fails(self):
        self.assert_fails('never began', [attempt()], lines=())

    def test_an_answer_by_another_pod_fails(self):
        self.assert_fails('another pod', [attempt(pod='pod-2')])

    def test_an_answer_before_the_end_fails(self):
        self.assert_fails('never ended', [attempt()], RAN[:1])

    def test_work_without_a_request_fails(self):
        self.assert_fails('no request was sent', [attempt()], (*RAN, 'B r9.0 pod-1 10.300 1'))

    def test_an_id_used_twice_fails(self):
        self.assert_fails('one id sent twice', [attempt(), attempt()])

    def test_a_body_of_another_fails(self):
        self.assert_fails('a body of another', [attempt()], (*RAN, 'M r1.0 pod-1 10.200 1'))

    def test_more_than_container_concurrency_fails(self):
        self.assert_fails('containerConcurrency exceeded', [attempt()],
                          (*RAN, 'X r1.0 pod-1 10.200 2'))


class Refusals(AccountCase):
    def test_a_documented_refusal_closes(self):
        for status, cause in ((503, 'queue-full'), (503, 'draining'), (504, 'timeout')):
            said = attempt(outcome=REFUSED, status=status, cause=cause)
            self.assertEqual(self.assert_closes([said], lines=()).entries['refused'], 1)

    def test_a_timeout_may_have_begun(self):
        self.assert_closes([attempt(outcome=REFUSED, status=504, cause='timeout')])

    def test_a_503_without_a_cause_fails(self):
        self.assert_fails('without a documented cause', [attempt(outcome=REFUSED, status=503)], ())

    def test_a_503_with_an_unknown_cause_fails(self):
        self.assert_fails('without a documented cause',
                          [attempt(outcome=REFUSED, status=503, cause='tired')], ())

    def test_a_503_after_the_work_began_fails(self):
        self.assert_fails('refused although it had begun',
                          [attempt(outcome=REFUSED, status=503, cause='queue-full')])

    def test_any_other_status_fails(self):
        self.assert_fails('an undocumented status',
                          [attempt(outcome=REFUSED, status=500, cause='upstream')], ())


class Kills(AccountCase):
    def bad_gateway(self, **changes):
        return attempt(**{'outcome': REFUSED, 'status': 502, 'cause': 'upstream', 'ended': 10.7,
                          **changes})

    def test_a_502_of_a_killed_pod_closes(self):
        entries = self.assert_closes([self.bad_gateway()], RAN[:1], [KILL]).entries
        self.assertEqual(entries['broken by a kill, having begun'], 1)

    def test_a_cut_by_a_kill_closes(self):
        self.assert_closes([attempt(outcome=ABORTED, ended=10.7)], RAN[:1], [KILL])

    def test_a_502_of_a_pod_just_killed_closes(self):
        entries = self.assert_closes([self.bad_gateway()], (), [KILL]).entries
        self.assertEqual(entries['broken by a kill, not begun'], 1)

    def test_an_unexplained_502_fails(self):
        self.assert_fails('an unexplained 502', [self.bad_gateway()])

    def test_an_unexplained_cut_fails(self):
        self.assert_fails('an unexplained cut', [attempt(outcome=ABORTED)])

    def test_the_kill_of_another_pod_explains_nothing(self):
        other = Incident('pod-killed', 'pod-2', 'one', 10.5, 10.6)
        self.assert_fails('an unexplained 502', [self.bad_gateway()], RAN[:1], [other])

    def test_the_kill_of_another_revision_explains_nothing(self):
        other = Incident('pod-killed', 'pod-2', 'two', 10.5, 10.6)
        self.assert_fails('an unexplained 502', [self.bad_gateway()], (), [other])

    def test_a_kill_before_the_request_began_explains_nothing(self):
        early = Incident('pod-killed', 'pod-1', 'one', 5.0, 5.1)
        self.assert_fails('an unexplained 502', [self.bad_gateway()], RAN[:1], [early])

    def test_a_kill_after_the_end_explains_nothing(self):
        late = Incident('pod-killed', 'pod-1', 'one', 12.0, 12.1)
        self.assert_fails('an unexplained 502', [self.bad_gateway()], RAN[:1], [late])

    def test_a_kill_long_ago_explains_no_502_of_a_request_that_never_began(self):
        early = Incident('pod-killed', 'pod-2', 'one', 1.0, 1.1)
        self.assert_fails('an unexplained 502', [self.bad_gateway()], (), [early])

    def test_a_cut_that_comes_long_after_its_kill_fails(self):
        self.assert_fails('an unexplained cut', [attempt(outcome=ABORTED, ended=40.0)], RAN[:1],
                          [KILL])

    def test_a_drain_explains_no_502(self):
        drain = Incident('pod-drained', 'pod-1', 'one', 10.0, 12.0)
        self.assert_fails('an unexplained 502', [self.bad_gateway()], RAN[:1], [drain])


class Restarts(AccountCase):
    def test_a_request_that_a_closing_door_did_not_take_goes_to_the_other(self):
        tried = [attempt(outcome=UNTAKEN), attempt('r1.1')]
        self.assertEqual(self.assert_closes(tried, SECOND, [GOING]).entries['requests'], 1)

    def test_a_request_that_an_open_door_did_not_take_fails(self):
        tried = [attempt(outcome=UNTAKEN), attempt('r1.1')]
        other = Incident('activator-drained', 'activator-2', '', 10.5, 10.9)
        for incidents in ([], [other], [KILL]):
            self.assert_fails('its activator was not going', tried, SECOND, incidents)

    def test_a_request_reported_as_not_taken_that_began_fails(self):
        self.assert_fails('untaken, but it began', [attempt(outcome=UNTAKEN), attempt('r1.1')],
                          incidents=[GOING])

    def test_a_request_that_no_door_took_fails(self):
        self.assert_fails('no door took it', [attempt(outcome=UNTAKEN)], (), [GOING])

    def test_a_websocket_closed_by_a_drain_closes(self):
        for subject, kind in (('pod-1', 'pod-drained'), ('activator-1', 'activator-drained')):
            drain = Incident(kind, subject, 'one', 10.5, 10.9)
            self.assert_closes([attempt(outcome=CLOSED)], incidents=[drain])

    def test_a_websocket_closed_without_a_drain_fails(self):
        elsewhere = Incident('activator-drained', 'activator-2', '', 10.5, 10.9)
        self.assert_fails('nothing drained', [attempt(outcome=CLOSED)], incidents=[elsewhere])

    def test_a_client_that_left_needs_no_answer(self):
        self.assert_closes([attempt(outcome=LEFT)], ())

    def test_a_client_that_left_is_still_not_served_twice(self):
        self.assert_fails('begun twice', [attempt(outcome=LEFT)], (*RAN, 'B r1.0 pod-2 10.2 1'))


if __name__ == '__main__':
    unittest.main()
