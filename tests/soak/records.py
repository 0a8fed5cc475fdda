"""What was seen of a run: at the clients, in the applications' journal, and what was done to it."""

import dataclasses

# How an attempt ended, as its client saw it.
ANSWERED = 'answered'        # 200, whole, with its own id
WRONG = 'wrong'              # an answer that is not its own, or not what was asked
REFUSED = 'refused'          # a status of ours that says so
ABORTED = 'aborted'          # sent, then cut: before, in or after the head
UNTAKEN = 'untaken'          # by the protocol no program took it: it may go elsewhere
CLOSED = 'closed'            # a WebSocket that was closed with 1001
LEFT = 'left'                # the client went away on purpose
SILENT = 'silent'            # nothing at all within the client's patience


@dataclasses.dataclass(slots=True)
class Attempt:
    """One sending of one request. `id` is its own; `request` is shared with others."""

    id: str
    request: int
    revision: str
    kind: str           # get, post, stream, grpc, websocket ...
    door: str           # the activator's name
    sent: float         # seconds, monotonic
    ended: float = 0.0
    outcome: str = SILENT
    status: int = 0
    cause: str = ''     # of Sluice-Error
    pod: str = ''       # who said it was
    note: str = ''


@dataclasses.dataclass(slots=True)
class Incident:
    """Something that was done, and for how long it may explain what clients see."""

    kind: str           # pod-killed, app-killed, pod-drained, activator-drained ...
    subject: str        # a pod or an activator
    revision: str       # of the pod
    began: float
    ended: float


@dataclasses.dataclass(slots=True)
class Line:
    """One line of the journal."""

    what: str           # B, E, A, X, M
    id: str
    pod: str
    at: float
    running: int


def read_journal(text):
    """The lines of a journal; one that is no line of a journal is an error of the test itself."""
    lines = []
    for line in text.splitlines():
        what, name, pod, at, running = line.split(' ')
        lines.append(Line(what, name, pod, float(at), int(running)))
    return lines
