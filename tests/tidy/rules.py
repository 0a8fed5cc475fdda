"""The rules of the source tree. Each is a generator of (line, fix) over one Source, listed in RULES."""

import ast
import re

from citations import citation, missing_path
from claims import riddling_test_name
from source import cpp_functions
from wording import plain_wording

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
MAIN_LINES_MAX = 40
README_LINES_MAX = 60
ROOT_CMAKE_LINES_MAX = 150

EMPTY_NAMES = 'utils?|helpers?|managers?|handlers?|processors?|misc'
CORE_ROOMS = ('base', 'values', 'time', 'load', 'breaker', 'http', 'ring', 'messages', 'metrics', 'scaling')
NOT_CORE = re.compile(r'^common/(time/clock|metrics/page)\.')
# Cores in rooms of common that are io otherwise.
CORE_VALUES = re.compile(r'^common/(kube/(object_name|objects|request_scaler|labels|token_bucket)\.h$'
                         r'|(model/(host_rule|selector|placement_wish)|settings/knative_contract|certificates/(identity|plan|enrolment_text)|log/(request_log|go_text))\.)')
# Includes go from a higher rank to a lower one; rooms of one rank do not include each other.
RANKS = {'common': 0, 'queue-proxy': 1, 'injector': 1, 'activator': 1, 'autoscaler': 1, 'memory-pressure': 1,
         'load': 1, 'platform': 2, 'programs': 3, 'bench': 4, 'tests': 5}
# Ways in which a text becomes markup or code in a page.
UNSAFE_PAGE = (r'\b(?:innerHTML|outerHTML|insertAdjacentHTML|setHTMLUnsafe|parseFromString|createContextualFragment|srcdoc)\b'
               r'|\bdocument\.write|\beval\s*\(|\bFunction\s*\(|javascript:|\bset(?:Timeout|Interval)\s*\(\s*[\'"`]|<[^>]*\son\w+\s*=|<script(?![^>]*\bsrc=)')
MACHINE_PATH = '/' + r'(?:home/[a-z]\w*|root/|work/|Users/\w+|tmp/b-\w+)'


def file_length(source):
    if (source.is_cpp or source.is_python) and len(source.lines) - 1 > FILE_LINES_MAX:
        yield 1, f'{len(source.lines) - 1} lines, at most {FILE_LINES_MAX}; find the second concept'
    limits = {'main.cpp': MAIN_LINES_MAX, 'README.md': README_LINES_MAX}
    limit = limits.get(source.name)
    if source.path == 'README.md' or source.folders[:1] in (['bench'], ['load'], ['tests']):
        limit = None
    if source.path == 'CMakeLists.txt':
        limit = ROOT_CMAKE_LINES_MAX
    if limit and len(source.lines) - 1 > limit:
        yield 1, f'{len(source.lines) - 1} lines, at most {limit}'


def function_length(source):
    fix = f'lines in one function, at most {FUNCTION_LINES_MAX}; name its parts'
    if source.is_cpp:
        for line, length in cpp_functions(source.code):
            if length > FUNCTION_LINES_MAX:
                yield line, f'{length} {fix}'
    elif source.is_python:
        for node in ast.walk(ast.parse(source.text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                length = node.end_lineno - node.lineno + 1
                if length > FUNCTION_LINES_MAX:
                    yield node.lineno, f'{length} {fix}'


def empty_name(source):
    words = source.folders + source.stem.split('.')
    for word in words:
        if re.search(rf'(^|[_-])({EMPTY_NAMES})($|[_-])', word.lower()):
            yield 1, f"'{word}' says nothing; find the noun of the trade"
    if source.is_cpp:
        names = '|'.join(name.capitalize() for name in EMPTY_NAMES.split('|'))
        for line, match in source.find(rf'\b(?:class|struct|concept)\s+(\w*(?:{names}))\b'):
            yield line, f"'{match.group(1)}' says nothing; find the noun of the trade"


def clock_read(source):
    if source.is_cpp and not source.path.startswith('common/time/'):
        for line, _ in source.find(r'::now\s*\('):
            yield line, 'only common/time reads a clock; take a TimePoint or a sluice::Clock'


def detached_task(source):
    if source.is_cpp and not source.path.startswith('common/net/task_group'):
        for line, _ in source.find(r'\basio::detached\b|,\s*detached\s*\)'):
            yield line, 'a task has an owner; spawn it in a TaskGroup'


def sleeping(source):
    if source.is_cpp:
        pattern = r'\bsleep_for\b|\bthis_thread::sleep|\b(?:u|nano)sleep\s*\(|(?<![\w>])::sleep\s*\('
    elif source.is_python:
        pattern = r'\btime\.' + r'sleep\b|from time import .*\bsleep\b'
    else:
        return
    for line, _ in source.find(pattern):
        yield line, 'no sleeping; wait for the event itself, with a deadline'


def core_room(path):
    """The core room of a file, or None: 'common' for the cores all programs share."""
    parts = path.split('/')
    if parts[0] == 'common':
        is_core = len(parts) > 2 and parts[1] in CORE_ROOMS and not NOT_CORE.match(path)
        return 'common' if is_core or CORE_VALUES.match(path) else None
    if parts[0] != 'tests' and 'core' in parts[:-1]:
        return '/'.join(parts[:parts.index('core') + 1])
    return None


def core_include(source):
    room = core_room(source.path) if source.is_cpp else None
    if not room:
        return
    for line, target, quoted in source.includes():
        if quoted:
            same = core_room(target)
            if same and RANKS[same.split('/')[0]] <= RANKS[room.split('/')[0]]:
                continue
        elif re.fullmatch(r'[a-z_0-9]+|boost/system/.*', target):
            continue
        yield line, f"a core may not include '{target}': std, Boost.System and other cores only"


def leftward_include(source):
    if not source.is_cpp:
        return
    room = source.path.split('/')[0]
    for line, target, quoted in source.includes():
        if not quoted:
            continue
        to = target.split('/')[0]
        if to not in RANKS:
            yield line, f"write the path of '{target}' from the root of the tree"
        elif to != room and RANKS[to] >= RANKS.get(room, 0):
            yield line, f"'{room}' may not include '{target}': programs, platform, the rooms between, common"
        elif to == room == 'programs' and target.split('/')[1] != source.path.split('/')[1]:
            yield line, f"a program may not include another: '{target}'"
        elif 'node-agent' in source.folders + [room.replace('memory-pressure', 'node-agent')] and \
                target.startswith('common/kube/'):
            yield line, 'the node agent speaks to no Kubernetes API'


def using_namespace(source):
    if not source.is_cpp:
        return
    for line, match in source.find(r'\busing\s+namespace\s+([\w:]+)'):
        named = re.search(r'literals$|awaitable_operators$', match.group(1))
        if source.is_header or not named:
            yield line, f"'{match.group(1)}': name what you use; only literals may come whole, in .cpp"


def macro(source):
    if not source.is_cpp:
        return
    for line, match in source.find(r'^\s*#\s*define\s+(\w+)'):
        if match.group(1) != 'CHECK' or source.path != 'common/base/check.h':
            yield line, f"'{match.group(1)}': no macro but CHECK; a constant or a function"


def null_pointer(source):
    if source.is_cpp:
        for line, _ in source.find(r'\bNULL\b'):
            yield line, 'nullptr'


def pragma_once(source):
    if source.is_header and not re.match(r'\s*#pragma once\n', source.code):
        yield 1, 'a header begins with #pragma once'


def capturing_coroutine(source):
    if source.is_cpp:
        lambda_type = r'\[[^\[\]\s][^\[\]]*\]\s*(?:\([^()]*\))?[\w\s]*->\s*(?:\w+::)*awaitable\s*<'
        for line, _ in source.find(lambda_type):
            yield line, 'its captures die before it does; a function with by-value parameters'


def ownerless(source):
    if source.is_cpp:
        for line, _ in source.find(r'\b(?:enable_)?shared_from_this\b'):
            yield line, 'a session has an owner; make it a member or give it to a TaskGroup'


def type_query(source):
    if source.is_cpp:
        for line, _ in source.find(r'\bdynamic_cast\b|\btypeid\b'):
            yield line, 'no RTTI; a virtual function or a variant'


def shared_state(source):
    if not source.is_cpp:
        return
    pattern = (r'^[ \t]*(?:static|thread_local)\s+(?!const\b|constexpr\b|constinit\b|inline\b|_)'
               r'[\w:<>,\s*&]*?[\w>*&]\s+\w+\s*(?:=|;|\{)')
    for line, match in source.find(pattern):
        if '(' not in match.group() and 'const ' not in match.group():
            yield line, 'no mutable static; give it an owner and pass it'


def shell(source):
    if source.is_cpp:
        for line, _ in source.find(r'(?<![\w:.>])(?:std::|::)?(?:system|popen)\s*\('):
            yield line, 'nothing passes through a shell; exec an argument vector'


def unmarked_result(source):
    if not source.is_header:
        return
    for line, match in source.find(r'^[ \t]*((?:\w+\s+)*)(?:sluice::)?Result<.*>\s+\w+\s*\('):
        before = source.lines[line - 2] if line > 1 else ''
        if '[[nodiscard]]' not in before and 'using' not in match.group(1):
            yield line, 'a function that returns a Result is [[nodiscard]]'


def skipped_test(source):
    if source.is_cpp:
        pattern = r'\bGTEST_' + r'SKIP\b|\bDISABLED' + r'_\w+'
    elif source.is_python:
        pattern = r'\bunittest\.' + r'skip|\.skip' + r'Test\b'
    else:
        return
    for line, _ in source.find(pattern):
        yield line, 'a skipped test looks like a passed one; let it run or remove it'


def silenced_check(source):
    if source.is_cpp:
        for line, match in source.find(r'NOLINT\w*(.*)$', raw=True):
            if not re.match(r'\([a-z][\w.,* -]*\)\W*\w{3}', match.group(1)):
                yield line, 'a suppression names the check and the reason'


def unnumbered_promise(source):
    for line, _ in source.find(r'\b(?:TO' + r'DO|FIX' + r'ME|XX' + r'X)\b(?!\(#\d+\))', raw=True):
        yield line, 'do it, or write the number that tracks it: (#12)'


def unsafe_page(source):
    if source.path.startswith('common/dashboard/') and source.name.endswith(('.js', '.html')):
        for line, match in source.find(UNSAFE_PAGE, raw=True):
            yield line, f"'{match.group().strip()}': texts of others are set as text; el() and textContent"


def machine_path(source):
    for line, match in source.find(MACHINE_PATH, raw=True):
        yield line, f"'{match.group()}' exists on one machine only"


def globbed_source(source):
    if source.name == 'CMakeLists.txt' or source.name.endswith('.cmake'):
        for line, match in source.find(r'file\s*\(\s*GLOB[^)]*\)'):
            if '*.cmake' not in match.group():
                yield line, 'sources are listed, never globbed'


RULES = (file_length, function_length, empty_name, clock_read, detached_task, sleeping, core_include,
         leftward_include, using_namespace, macro, null_pointer, pragma_once, capturing_coroutine,
         ownerless, type_query, shared_state, shell, unmarked_result, skipped_test, silenced_check,
         unnumbered_promise, plain_wording, unsafe_page, machine_path, globbed_source, citation, missing_path,
         riddling_test_name)
