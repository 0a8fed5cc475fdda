"""The replay of moves of real processes without an engine: what requests and rounds come to."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'bench' / 'replays' / 'placement' / 'real'))

import verdict  # noqa: E402
from verdict import Request, Round  # noqa: E402


def request(number, outcome='ok', planned=0.0, took=0.001, service='s1'):
    return Request(service, str(number), planned, planned, planned + took, outcome)


def one_round(moved=1, seconds=4.0, begun=10.0):
    return Round(tuple(f's{at + 1}' for at in range(moved)), begun, begun + seconds, begun + seconds + 1, seconds)


class Accounts(unittest.TestCase):
    def figures(self, requests, written, cut=0):
        rows, _ = verdict.accounts(requests, written, cut)
        return [(row.value, row.met) for row in rows]

    def test_requests_that_were_answered_and_written_once_are_none_of_all(self):
        self.assertEqual(self.figures([request(1), request(2)], {'s1 1': 1, 's1 2': 1}), [('0', True)] * 3)

    def test_a_request_that_no_application_wrote_down_is_lost_whatever_was_answered(self):
        self.assertEqual(self.figures([request(1), request(2, 'status 503')], {}), [('2', False), ('0', True), ('0', True)])

    def test_a_request_written_twice_was_delivered_twice(self):
        self.assertEqual(self.figures([request(1)], {'s1 1': 2}), [('0', True), ('1', False), ('0', True)])

    def test_a_request_that_was_written_down_and_not_answered_is_cut(self):
        self.assertEqual(self.figures([request(1, 'closed without a response')], {'s1 1': 1})[2], ('1', False))

    def test_what_the_engine_counts_as_cut_is_cut_too(self):
        self.assertEqual(self.figures([request(1)], {'s1 1': 1}, cut=1)[2], ('1', False))


class Figures(unittest.TestCase):
    def row(self, rows, what):
        found, = [row for row in rows if row.what == what]
        return found

    def test_durations_are_compared_by_their_medians(self):
        rounds = [one_round(1, 4.0), one_round(1, 9.0), one_round(1, 4.2), one_round(5, 6.0)]
        ratio = self.row(verdict.durations(rounds), 'moves of 5 / of 1')
        self.assertEqual((ratio.value, ratio.met), ('1.43', True))
        ratio = self.row(verdict.durations([one_round(1, 4.0), one_round(5, 6.1)]), 'moves of 5 / of 1')
        self.assertEqual((ratio.met, ratio.fails), (False, False))

    def test_a_latency_counts_from_the_planned_time_and_only_of_services_that_move(self):
        requests = [Request('s1', '1', 11.0, 11.004, 11.005, 'ok'), request(1, planned=11, took=9, service='s2')]
        rows = verdict.latencies(requests, [one_round(1)], [request(2, took=0.002)])
        ratio = self.row(rows, 'p99 during / steady')
        self.assertEqual((ratio.value, ratio.met), ('2.50', False))

    def test_a_line_of_the_sender_is_read_with_its_words(self):
        read = Request.of('s1 7 1.5 1.6 1.7 closed without a response\n')
        self.assertEqual(read, Request('s1', '7', 1.5, 1.6, 1.7, 'closed without a response'))


if __name__ == '__main__':
    unittest.main()
