"""The paper's experiment at 1/64 scale: jobs that fill a small node, and the program that starts them."""

import dataclasses
import itertools
import os
import threading
import time
from concurrent import futures

import grpc

from node_agent.cri import EXITED
from workloads import AT_ONCE, CORES, JOB_MIB, JOBS, MIB, NODE_BYTES

JOB = 'jobs'                 # the Job whose pods they are: of one template, so of one kin
LABELS = {'batch.kubernetes.io/job-name': JOB}
BACK_OFF_SCALE = 0.03        # of the kubelet's 10, 20, 40 ... 300 s
SHARES = 16384               # a part of a core is little, but that part it gets
POLL_SECONDS = 0.05
RUN_SECONDS = 600            # far more than any run takes
KILLED = (137, 143)          # SIGKILL, and SIGTERM of an orderly stop


@dataclasses.dataclass
class Job:
    seed: int
    arguments: list
    attempt: int = 0
    not_before: float = 0
    container: object = None
    starting: object = None      # the future of its container
    spent: float = 0             # CPU seconds of this attempt, as last seen


def small_node(lab):
    """One core at most half used, so that a run costs the same whatever else the machine does."""
    period = 10_000
    last = max(os.sched_getaffinity(0))
    return lab.node(NODE_BYTES, cpus=str(last), quota=(int(CORES * period), period), shares=SHARES)


class Workflow:
    """Keeps so many jobs at once in containers until all are done. A job that was killed keeps its
    place and starts from zero after its back-off. `gate` is asked before each start.

    Calls that take long on a busy machine are made beside each other, or it would be the starts that
    bound how many run at once.
    """

    def __init__(self, pod, conditions, workload, gate):
        self.pod = pod
        self.at_once = AT_ONCE[conditions.overcommit]
        self.gate = gate
        self.limit = conditions.limit_factor * JOB_MIB * MIB
        seeds = [conditions.seed * 1000 + number for number in range(JOBS)]
        self.waiting = [Job(seed, workload.arguments(seed)) for seed in seeds]
        self.numbers = itertools.count()
        self.started = []        # containers
        self.placed = []
        self.killed = []         # ids of the containers that were killed
        self.wasted = 0.0
        self.other_ends = []     # exit codes that are neither success nor a kill
        self.failed_starts = 0
        self.pause = threading.Event()

    def run(self, watch=lambda: None):
        """Runs them all; the seconds from the first start to the last end. `watch` sees every poll."""
        began = time.monotonic()
        with futures.ThreadPoolExecutor(max_workers=2 * self.at_once) as self.hands:
            while self.waiting or self.placed:
                if time.monotonic() - began > RUN_SECONDS:
                    raise RuntimeError(f'{len(self.waiting) + len(self.placed)} jobs are not done after '
                                       f'{RUN_SECONDS} s')
                self.meter()
                self.collect()
                self.fill()
                watch()
                self.pause.wait(POLL_SECONDS)
            return time.monotonic() - began

    def begun(self):
        """{container: when its program began, by its own clock}; without those that were killed before."""
        lines = {container.id: container.output() for container in self.started}
        return {one: float(said[0].split()[1]) for one, said in lines.items() if said}

    def running(self):
        return [job.container for job in self.placed if job.container]

    def meter(self):
        for job in self.placed:
            if job.container:
                try:
                    job.spent = job.container.group.cpu_seconds()
                except OSError:
                    continue  # its group is gone: it has ended, and collect() will find that

    def collect(self):
        for job in [job for job in self.placed if job.starting and job.starting.done()]:
            self.take_place(job)
        ended = {one.id for one in self.pod.lab.cri.containers(pod=self.pod.id, state=EXITED)}
        for job in [job for job in self.placed if job.container and job.container.id in ended]:
            self.finish(job)

    def take_place(self, job):
        """Its container was started; or was not: on a full node the kernel kills even what would
        become the container. That is no restart, since no work is lost, but it takes its time."""
        starting, job.starting = job.starting, None
        if isinstance(starting.exception(), grpc.RpcError):
            self.failed_starts += 1
            self.gate.ended(job.seed)
            self.back_off(job)
        else:
            job.container = starting.result()
            self.started.append(job.container)
            self.gate.started(job.seed)

    @staticmethod
    def back_off(job):
        job.not_before = time.monotonic() + min(10 * 2 ** job.attempt, 300) * BACK_OFF_SCALE
        job.attempt += 1

    def finish(self, job):
        container, job.container = job.container, None
        code = container.status().exit_code
        self.gate.ended(job.seed)
        self.hands.submit(self.remove, container)
        if code == 0:
            self.placed.remove(job)
            return
        if code in KILLED:
            self.killed.append(container.id)
            self.wasted += job.spent
        else:
            self.other_ends.append(code)
        self.back_off(job)

    @staticmethod
    def remove(container):
        try:
            container.remove()
        except grpc.RpcError:
            pass  # seen once in a few hundred on a busy machine: a ghost (row 69d); its job continues

    def fill(self):
        while len(self.placed) < self.at_once and self.waiting:
            self.placed.append(self.waiting.pop(0))
        for job in self.placed:
            idle = job.container is None and job.starting is None
            due = idle and time.monotonic() >= job.not_before
            if due and self.gate.admit(job.seed, self.limit):
                job.spent = 0.0
                # Of one name, as the containers of a Job's pods are. In one pod, its attempts tell them apart.
                job.starting = self.hands.submit(
                    self.pod.run, 'job', job.arguments, attempt=next(self.numbers), memory=self.limit)
