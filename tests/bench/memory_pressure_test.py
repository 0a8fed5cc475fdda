"""The replay of memory pressure without a runtime: its command line, plan, file of runs, and what is said of them."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'bench' / 'replays' / 'memory-pressure'))

import births  # noqa: E402
import ledger  # noqa: E402
import options  # noqa: E402
import plan  # noqa: E402
import verdict  # noqa: E402
from policies import POLICIES  # noqa: E402
from workloads import JOBS  # noqa: E402

CONDITIONS = {'workload': 'harsh', 'starts': 'theirs', 'overcommit': 150, 'limit_factor': 1, 'seed': 1}


def run(policy='off', restarts=0, makespan=50.0, **more):
    return ledger.Run(**{'policy': policy, 'restarts_kernel': restarts, 'makespan_s': makespan, **CONDITIONS, **more})


class CommandLine(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)

    def refusal(self, *words):
        """What is written of a refused command line."""
        text = io.StringIO()
        with contextlib.redirect_stderr(text), self.assertRaises(SystemExit) as ended:
            options.parser().parse_args(words)
        self.assertEqual(ended.exception.code, 2)
        return text.getvalue().splitlines()[-1]

    def problem(self, *words):
        return options.problem_with(options.parser().parse_args(['--check', *words]))

    def test_lists_are_read_in_their_order(self):
        given = options.parser().parse_args(
            ['--policies', 'paper,off', '--overcommit', '150,110', '--limit-factor', '4,1', '--seeds', '7,2',
             '--workload', 'faithful', '--starts', 'ours'])
        self.assertEqual((given.policies, given.overcommit, given.limit_factor, given.seeds, given.workload, given.starts),
                         (['paper', 'off'], [150, 110], [4, 1], [7, 2], ['faithful'], 'ours'))

    def test_a_wrong_value_is_refused_with_its_flag_and_the_values_there_are(self):
        for words, expected in (
                (('--overcommit', '110,99'), "--overcommit: '99' is not among the values: 110, 125, 137, 150"),
                (('--workload', 'gentle'), "--workload: 'gentle' is not among the values: harsh, faithful"),
                (('--policies', 'off,fast'), "--policies: 'fast' is not among the values: " + ', '.join(POLICIES)),
                (('--starts', 'mine'), "--starts: 'mine' is not among the values: theirs, ours"),
                (('--limit-factor', '0'), "--limit-factor: '0' is not among the values: 1 to 8"),
                (('--seeds', '1,x'), "--seeds: 'x' is no whole number"),
                (('--seeds', ''), "--seeds: '' is no whole number"),
                (('--seeds', '1,2,1'), "--seeds: '1' is given twice in '1,2,1'")):
            self.assertIn(expected, self.refusal(*words))

    def test_policies_with_an_agent_need_a_build(self):
        self.assertIn('--build', self.problem('--only', 'runs', '--policies', 'off,paper'))
        self.assertIn('--build', self.problem('--policies', 'off'))
        self.assertEqual(self.problem('--only', 'runs', '--policies', 'off'), '')

    def test_a_file_that_cannot_be_continued_is_refused_before_anything_runs(self):
        other = self.folder / 'other.json'
        for text in ('no json', '{"runs": []}', '[{"policy": "off"}]', '[{"colour": 1}]', '[1]'):
            other.write_text(text, encoding='utf-8')
            self.assertIn(f'--json {other} is no list of runs', self.problem('--build', '.', '--json', str(other)), text)
        self.assertIn('is a folder', self.problem('--build', '.', '--json', str(self.folder)))
        missing = self.folder / 'missing' / 'runs.json'
        self.assertIn('is missing', self.problem('--build', '.', '--json', str(missing)))
        self.assertEqual(self.problem('--build', '.', '--json', str(self.folder / 'new.json')), '')


class Plan(unittest.TestCase):
    def rounds(self, *words):
        return list(plan.rounds(options.parser().parse_args(words)))

    def test_every_combination_is_one_round_with_every_policy(self):
        made = self.rounds('--seeds', '1,2', '--overcommit', '137,150', '--limit-factor', '1,2', '--workload', 'harsh')
        self.assertEqual(len({(one.seed, one.overcommit, one.limit_factor) for one in made}), 8)
        for one in made:
            self.assertEqual(sorted(one.policies), ['foresight', 'off', 'paper'])

    def test_each_policy_is_first_in_some_round_of_each_level_and_of_each_seed(self):
        made = self.rounds('--policies', 'off,foresight', '--workload', 'harsh')
        for name in ('overcommit', 'seed'):
            for value in {getattr(one, name) for one in made}:
                firsts = {one.policies[0] for one in made if getattr(one, name) == value}
                self.assertEqual(firsts, {'off', 'foresight'}, f'{name} {value}')


class Rounds(unittest.TestCase):
    """`others`: what other work takes in one run after the other; then nothing."""

    def measured(self, others, done=()):
        one = plan.Round('harsh', 'theirs', 1, 150, 1, ('off', 'paper'))
        kept = ledger.Ledger()
        for each in done:
            kept.add(each)
        shares, asked = iter(others), []

        def measure(_, policy):
            asked.append(policy)
            return run(policy, other_cores=next(shares, 0.0), restarts=len(asked))
        plan.run_all([one], kept, measure, say=lambda _: None)
        return asked, {each.policy: each for each in kept.all()}

    def test_in_quiet_each_policy_runs_once(self):
        asked, kept = self.measured([])
        self.assertEqual(asked, ['off', 'paper'])
        self.assertFalse(any(each.marked for each in kept.values()))

    def test_a_disturbed_round_is_broken_off_and_all_of_it_repeated(self):
        asked, kept = self.measured([0.0, 0.11])
        self.assertEqual(asked, ['off', 'paper', 'off', 'paper'])
        self.assertEqual([each.restarts() for each in kept.values()], [3, 4])
        self.assertFalse(any(each.marked for each in kept.values()))

    def test_the_last_repetition_is_kept_and_all_of_it_marked(self):
        asked, kept = self.measured([0.5, 0.5, 0.5])
        self.assertEqual(asked, ['off', 'off', 'off', 'paper'])
        self.assertTrue(all(each.marked for each in kept.values()))

    def test_runs_that_are_there_are_not_repeated(self):
        asked, kept = self.measured([], done=[run('off', restarts=9)])
        self.assertEqual(asked, ['paper'])
        self.assertEqual(kept['off'].restarts(), 9)


class File(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.path = pathlib.Path(place.name) / 'runs.json'

    def test_every_run_is_in_the_file_as_soon_as_it_is_added(self):
        kept = ledger.Ledger(self.path)
        for number, policy in enumerate(('off', 'paper'), 1):
            kept.add(run(policy))
            self.assertEqual(len(json.loads(self.path.read_text(encoding='utf-8'))), number)
        self.assertEqual([one.name for one in self.path.parent.iterdir()], ['runs.json'])

    def test_another_call_continues_the_file(self):
        ledger.Ledger(self.path).add(run('off', restarts=3, in_window=True, births_seen_ms_p99=4.5))
        kept = ledger.Ledger(self.path)
        self.assertEqual(kept.all(), [run('off', restarts=3, in_window=True, births_seen_ms_p99=4.5)])
        self.assertIn(run('off').key(), kept)
        self.assertNotIn(run('off', seed=2).key(), kept)
        self.assertNotIn(run('off', starts='ours').key(), kept)

    def test_a_run_has_the_promised_fields(self):
        promised = ('workload starts policy overcommit limit_factor seed restarts_kernel restarts_own failed_starts '
                    'makespan_s core_s updates freezes peak_mib births_seen_ms_p99 in_window marked').split()
        ledger.Ledger(self.path).add(run())
        self.assertLessEqual(set(promised), set(json.loads(self.path.read_text(encoding='utf-8'))[0]))

    def test_the_window_is_judged_again_with_every_run(self):
        kept = ledger.Ledger(self.path, verdict.judge)
        kept.add(run('paper', workload='faithful'))
        self.assertEqual([one.in_window for one in kept.all()], [None])
        kept.add(run('off', JOBS, workload='faithful'))
        self.assertEqual([one.in_window for one in ledger.read(self.path)], [True, True])
        kept.add(run('off', 1, workload='faithful', overcommit=110))
        self.assertEqual([one.in_window for one in ledger.read(self.path)], [False, False, False])


class Window(unittest.TestCase):
    @staticmethod
    def judged(**restarts):
        """Of off, one run a level, and of a policy with more than any window has."""
        runs = [run('off', count, workload='faithful', overcommit=int(level[1:])) for level, count in restarts.items()]
        return verdict.in_window([*runs, run('paper', 1000, workload='faithful')])

    def test_restarts_per_job_of_off_decide_at_every_level_that_has_bounds(self):
        self.assertTrue(self.judged(l110=0, l125=5, l137=0.4 * JOBS, l150=1.5 * JOBS))
        self.assertTrue(self.judged(l137=0.2 * JOBS, l150=2 * JOBS))
        self.assertFalse(self.judged(l110=1))
        self.assertFalse(self.judged(l137=0.4 * JOBS, l150=0.9 * JOBS))
        self.assertFalse(self.judged(l137=0.8 * JOBS, l150=1.5 * JOBS))
        self.assertIsNone(self.judged(l125=5))

    def test_the_mean_of_the_seeds_is_judged(self):
        runs = [run('off', restarts, workload='faithful', seed=seed) for seed, restarts in ((1, 0), (2, 3 * JOBS))]
        self.assertTrue(verdict.in_window(runs))

    def test_a_workload_without_a_window_is_not_judged(self):
        self.assertIsNone(verdict.in_window([run('off', 0)]))


class Verdict(unittest.TestCase):
    def printed(self, *runs):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            verdict.print_verdict(list(runs))
        return text.getvalue()

    def bar(self, what, *runs):
        return next(bar for bar in verdict.bars(list(runs)) if bar.what == what)

    def test_only_pairs_under_the_same_conditions_are_compared(self):
        bar = self.bar('restarts at 150 %', run('off', 10), run('off', 30, seed=2), run('off', 50, limit_factor=2),
                       run('foresight', 1), run('foresight', 7, seed=3), run('foresight', 9, limit_factor=2))
        self.assertEqual((bar.text, bar.ok), ('-90.0 %', True))

    def test_harsh_jobs_have_to_end_sooner_where_memory_is_shortest(self):
        pairs = [run('off', makespan=100.0), run('foresight', makespan=91.0)]
        self.assertFalse(self.bar('makespan at 150 %', *pairs).ok)
        for one in pairs:
            one.workload = 'faithful'
        self.assertTrue(self.bar('makespan at 150 %', *pairs).ok)

    def test_without_restarts_to_save_none_are_claimed(self):
        bar = self.bar('restarts at 150 %', run('off', 0), run('foresight', 0))
        self.assertIsNone(bar.reached)
        self.assertIn('off had none', bar.line())

    def test_failed_starts_are_compared_with_those_of_off(self):
        pairs = [run('off', failed_starts=1), run('foresight', failed_starts=2), run('foresight', failed_starts=9, seed=2)]
        bar = self.bar('failed starts', *pairs)
        self.assertEqual((bar.text, bar.wanted, bar.ok), ('2', '<= 1 (off)', False))

    def test_outside_its_window_the_table_calls_it_another_experiment(self):
        inside, outside = (self.printed(run('off', restarts, workload='faithful'), run('paper', 3, workload='faithful'))
                           for restarts in (JOBS, 0))
        self.assertIn('inside its window: off at 150 %: 1.00', inside)
        self.assertIn("not the paper's experiment: off at 150 %: 0.00", outside)

    def test_the_ablation_has_every_policy_of_two_seeds(self):
        runs = [run(policy, 10 - place, seed=seed) for place, policy in enumerate(POLICIES) for seed in (1, 2, 3)]
        rows = verdict.ablation(runs).splitlines()[1:]
        self.assertEqual([row.split()[0] for row in rows], list(POLICIES))
        self.assertTrue(all('2 runs' in row for row in rows))

    def test_births_are_judged_over_all_runs(self):
        text = self.printed(run('off'), run('foresight', births_held_ms=[1.0] * 98 + [20.0], births_held_mib=[4.9, 5.1]),
                            run('foresight', seed=2, births_held_ms=[30.0]))
        self.assertRegex(text, r'held within 20 ms of exec +99\.0 % of 100 +99 % +ok')
        self.assertRegex(text, r'held below 5 MiB +50\.0 % of 2 +99 % +short')

    def test_workloads_and_kinds_of_starts_are_judged_apart(self):
        text = self.printed(run('off'), run('off', starts='ours'), run('off', workload='faithful'))
        for heading in ('harsh workload, starts theirs', 'harsh workload, starts ours', 'faithful workload, starts theirs'):
            self.assertIn(heading, text)


class Births(unittest.TestCase):
    @staticmethod
    def event(message, container, second, outcome='ok', why='at its birth: it does not fit'):
        return {'message': message, 'id': container[:births.ID_SHOWN], 'outcome': outcome, 'why': why,
                'timestamp': f'2026-11-26T12:00:{second:09.6f}Z'}

    def test_a_delay_runs_from_the_begin_of_the_program_to_the_first_event_about_its_container(self):
        noon = births.seconds_of(self.event('freeze', 'a', 0))
        begun = {name * 64: noon + 1.0 for name in 'abcd'}
        events = [self.event('container began', 'a' * 64, 1.004), self.event('container began', 'b' * 64, 1.007),
                  self.event('freeze', 'a' * 64, 1.010), self.event('thaw', 'a' * 64, 1.2),
                  self.event('freeze', 'a' * 64, 1.9), self.event('freeze', 'b' * 64, 1.001, 'refused'),
                  self.event('freeze', 'b' * 64, 1.015), self.event('freeze', 'c' * 64, 1.05, why='it may need more than is free')]

        self.assertEqual(births.p99(births.seen(begun, events).values(), 1000), 7.0)
        self.assertEqual({one[0]: round(delay, 3) for one, delay in births.held_at_birth(begun, events).items()},
                         {'a': 0.010, 'b': 0.015})

    def test_a_container_that_was_held_before_it_read_its_clock_was_seen_at_once(self):
        noon = births.seconds_of(self.event('freeze', 'a', 0))
        self.assertEqual(births.seen({'a' * 64: noon + 3.0}, [self.event('container began', 'a' * 64, 1)]), {'a' * 64: 0.0})

    def test_without_births_there_is_no_figure(self):
        self.assertIsNone(births.p99(births.seen({'a' * 64: 1.0}, []).values()))

    def test_memory_is_compared_within_one_hold_of_three_seconds_or_more(self):
        noon = births.seconds_of(self.event('freeze', 'a', 0))
        one = 'a' * 64
        events = [self.event('freeze', one, 1), self.event('thaw', one, 5), self.event('freeze', one, 6),
                  self.event('freeze', 'b' * 64, 1), self.event('thaw', 'b' * 64, 1.5), self.event('freeze', 'b' * 64, 2)]
        samples = {one: [(noon + at, held) for at, held in ((1.1, 9000), (1.7, 1000), (4.7, 1600), (6.1, 90_000), (9.2, 90_000))],
                   'b' * 64: [(noon + 2.5, 8000)]}
        in_holds = births.memory_in_holds(samples, events)

        self.assertAlmostEqual(births.rate_max(in_holds), 200, places=2)
        self.assertEqual(births.bytes_at_birth([one, 'b' * 64], in_holds), [9000])

    def test_without_a_long_hold_no_rate_is_claimed(self):
        self.assertIsNone(births.rate_max(births.memory_in_holds({'a' * 64: [(1.0, 5)]}, [])))


if __name__ == '__main__':
    unittest.main()
