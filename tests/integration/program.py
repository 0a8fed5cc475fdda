"""A program of ours as tests run it: ready by its own line, what it writes kept in files."""

import json
import os
import select
import signal
import subprocess
import tempfile

from wire import Deadline

READY_SECONDS = 30
# A sanitizer that keeps what was freed would look like memory that grows.
SANITIZERS = {'ASAN_OPTIONS': 'quarantine_size_mb=0:thread_local_quarantine_size_kb=0'}


class Program:
    """A running program; `addresses` as it printed them. Its environment is ours, changed."""

    def __init__(self, command, environment):
        ready, inherited = os.pipe()
        # Files, not pipes: whatever it writes, it never waits for a reader.
        self.stdout = tempfile.TemporaryFile()
        self.stderr = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            command, pass_fds=[inherited], stderr=self.stderr, stdout=self.stdout,
            env={**os.environ, **SANITIZERS, 'SLUICE_READY_FD': str(inherited), **environment})
        self.pid = self.process.pid
        os.close(inherited)
        line = self.ready_line(ready)
        if not line.endswith(b'\n'):
            self.kill()
            raise AssertionError(f'{os.path.basename(command[0])} not ready: {self.errors()}')
        self.addresses = json.loads(line)['addresses']

    @staticmethod
    def ready_line(ready):
        """What it wrote to the descriptor, up to the end of a line, its own end or ours."""
        line = b''
        deadline = Deadline(READY_SECONDS)
        with os.fdopen(ready, 'rb', 0) as pipe:
            while not line.endswith(b'\n'):
                if not select.select([pipe], [], [], deadline.left())[0]:
                    break
                part = pipe.read(4096)
                if not part:
                    break
                line += part
        return line

    @staticmethod
    def written(file):
        return os.pread(file.fileno(), 1 << 26, 0).decode('utf-8', 'replace')

    def output(self):
        """What it has written to its standard output."""
        return self.written(self.stdout)

    def errors(self):
        return self.written(self.stderr)

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def kill(self):
        self.process.kill()
        self.process.wait(10)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        self.stdout.close()
        self.stderr.close()
