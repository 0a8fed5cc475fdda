"""Writes a source of the programs with a fault planted: plant_fault.py FAULT SOURCE OUT."""

import sys

# By the name that planted_faults_test.cpp gives it: the text that stands in the source once, and what the
# fault makes of it.
FAULTS = {
    # A pod may be stopped before activators have said that they avoid it.
    'RemovesAtOnce': ('return around_.hub.applied(facts_.id, version, now);',
                      'return around_.hub.applied(facts_.id, version, now) || version > 0;'),
    # Activators do not receive which pods leave.
    'KeepsLeaversSecret': ('state.avoid = avoided();', 'state.avoid = {};'),
    # Scale to zero does not require activators.
    'SleepsUnheard': ('inputs.activator_connected = around_.activator_connected();',
                      'inputs.activator_connected = true;'),
    # One pod stays.
    'NeverSleeps': ('facts_.chosen.value_or(scaler().want());',
                    'facts_.chosen.value_or(std::max(1, scaler().want()));'),
    # What was decided by one evaluation is published by the next.
    'PublishesLate': ('  announce();\n  if (state.probe) probe();', '  if (state.probe) probe();'),
    # An activator that has applied some version counts as having applied every later one.
    'BelievesApplied': ('applied != activator.applied.end() && applied->second >= needed',
                        'applied != activator.applied.end() && needed > 0'),
    # The first round of evaluations is the last.
    'TicksOnce': ('  }\n  arm();\n}\n\n}  // namespace', '  }\n}\n\n}  // namespace'),
    # Requests that wait at an activator are served newest first.
    'ServesNewestFirst': (""".previous = lane.last, .next = kNone, .lane = number};
  (lane.last == kNone ? lane.first : places_[lane.last].next) = index;
  lane.last = index;""", """.previous = kNone, .next = lane.first, .lane = number};
  (lane.first == kNone ? lane.last : places_[lane.first].previous) = index;
  lane.first = index;"""),
    # The room that some requests leave on their pod is not given to others.
    'ForgetsToLeave': ('revision.throttler.leave(state.pod_ref, admitted);',
                       'if (revision.requests % 4 != 0) revision.throttler.leave(state.pod_ref, admitted);'),
    # Some admitted requests go nowhere.
    'LosesAnAdmission': ('state.pod_ref = admission.pod;\n    send(exchange, now);',
                         'state.pod_ref = admission.pod;\n    if (revision.requests % 8 != 3) send(exchange, now);'),
    # An activator does not list the pods that its probes found.
    'LosesPods': ('if (whole) list(watch, change.dest);', ''),
    # Of several states, activators receive the first one.
    'TellsOnce': ('    news_posted_ = false;\n', ''),
    # The node agent looks at memory once, and when the runtime has news.
    'SamplesOnce': ('  plan_next();\n  check_restored();', '  check_restored();'),
    # It does not read what it has written before it was killed.
    'RecoversNothing': ('if (content) journal = std::move(*content);', ''),
    # It does not look again for a runtime that was down when it started.
    'FindsTheRuntimeOnce': ('[this] { connect(); }', '[] {}'),
    # It throttles before the journal has the original.
    'ThrottlesUnwritten': ('problem = parts_.journal->append(records);\n  if (!problem && parts_',
                           'problem;\n  if (!problem && parts_'),
    # Births are not held, whatever is expected of them.
    'HoldsNobodyAtBirth': ('hold(tick, i, member->admitted ? kDoesNotFit : kDoesNotFitAtBirth);', '++i;'),
    # What is held stays so until no other job runs.
    'LetsNobodyGo': ('if (!by_claims && (expected || !(by_expectation || try_it))) return;', 'return;'),
    # Running containers may need more than is left.
    'NeverBrakes': ('tick.free < std::max(tick.edge, least_need(tick) + tick.growth)', 'tick.free < -tick.cap'),
    # Containers of unknown kin are expected to stay as small as they begin.
    'ExpectsNothingOfStrangers': ('member.tried ? used : used + ', 'member.tried ? used : used + 0 * '),
    # Whoever was to be held once is held for good.
    'ThawsNobody': ('for (auto& [id, frost] : frosts_) frost.wanted = false;\n', ''),
}


def main(fault, source, out):
    found, planted = FAULTS[fault]
    with open(source, encoding='utf-8') as file:
        text = file.read()
    if text.count(found) != 1:
        sys.exit(f'{source} has {text.count(found)} times what {fault} changes: {found!r}; '
                 f'say in {__file__} what it changes now')
    with open(out, 'w', encoding='utf-8') as file:
        file.write(text.replace(found, planted))


if __name__ == '__main__':
    main(*sys.argv[1:])
