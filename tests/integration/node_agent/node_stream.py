"""The autoscaler's end of the reports of node agents (protocols.md 4), for tests and replays."""

import dataclasses
import threading
import time
from concurrent import futures

import grpc

from protowire import fields, parse, parse_flat, signed
from wire import eventually

OK, HIGH, CRITICAL = 1, 2, 3
NUMBERS = {
    'protocol': 1, 'sequence': 4, 'pressure': 5, 'capacity_bytes': 6, 'used_bytes': 7,
    'reserve_bytes': 8, 'growth_bytes_per_second': 9, 'admit_bytes': 12}
THROTTLED = {'pod_uid': 1, 'namespace': 2, 'pod': 3, 'container': 4}
THROTTLED_NUMBERS = {'quota_us': 5, 'period_us': 6, 'since_ms': 7, 'ladder_step': 8}


@dataclasses.dataclass
class Report:
    """A NodeReport; what is absent on the wire is zero."""
    node: str
    boot_id: str
    throttled: list
    degraded: bool
    dry_run: bool
    numbers: dict
    arrived: float

    def __getattr__(self, name):
        return self.__dict__['numbers'][name]


def text(message, number):
    return message.get(number, b'').decode()


def parse_throttled(data):
    message = parse_flat(data)
    return {**{name: text(message, number) for name, number in THROTTLED.items()},
            **{name: signed(message.get(number, 0)) for name, number in THROTTLED_NUMBERS.items()}}


def parse_report(data):
    message = {number: values[-1] for number, values in parse(data).items()}
    return Report(
        node=text(message, 2), boot_id=text(message, 3),
        throttled=[parse_throttled(one) for one in parse(data).get(13, [])],
        degraded=bool(message.get(14)), dry_run=bool(message.get(15)),
        numbers={name: signed(message.get(number, 0)) for name, number in NUMBERS.items()},
        arrived=time.monotonic())


class NodeStream:
    """Receives reports and acknowledges each with the interval it wants. `heard` is called with every
    report, on a thread of gRPC's."""

    def __init__(self, interval_ms=250, heard=lambda report: None):
        self.interval_ms = interval_ms
        self.heard = heard
        self.reports = []
        self.guard = threading.Lock()
        self.server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
        report = grpc.stream_stream_rpc_method_handler(self.report)
        self.server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler('sluice.v1.NodeStream', {'Report': report}),))
        self.address = f'127.0.0.1:{self.server.add_insecure_port("127.0.0.1:0")}'
        self.server.start()

    def report(self, requests, context):
        context.send_initial_metadata(())  # this shows the agent that a server answers
        for data in requests:
            seen = parse_report(data)
            with self.guard:
                self.reports.append(seen)
            self.heard(seen)
            yield fields(f1=seen.sequence, f2=self.interval_ms)

    def last(self):
        with self.guard:
            return self.reports[-1] if self.reports else None

    def wait_for(self, condition, what, seconds=20):
        """The newest report, once condition(report)."""
        def met():
            seen = self.last()
            return seen if seen is not None and condition(seen) else None
        return eventually(met, f'a report: {what}', seconds)

    def close(self):
        self.server.stop(0).wait(5)
