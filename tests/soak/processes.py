"""Processes that report when they are ready and when they end, and a folder that is watched."""

import asyncio
import ctypes
import json
import os
import signal
import struct
import subprocess

READY_SECONDS = 60
MOVED_TO, CLOSE_WRITE = 0x80, 0x08
NONBLOCK, CLOEXEC = os.O_NONBLOCK, os.O_CLOEXEC


class Child:
    """A process. `ready` (a future) has the addresses of its ready line, when it writes one."""

    def __init__(self, command, environment, log, tells_ready=True):
        self.loop = asyncio.get_running_loop()
        self.name = os.path.basename(command[0])
        self.ready = self.loop.create_future()
        self.ended = self.loop.create_future()  # its exit status
        self.line = b''
        self.ready_fd = None
        pass_fds = ()
        if tells_ready:
            self.ready_fd, inherited = os.pipe()
            os.set_blocking(self.ready_fd, False)
            environment = {**environment, 'SLUICE_READY_FD': str(inherited)}
            pass_fds = (inherited,)
        try:
            self.process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, pass_fds=pass_fds)
        finally:
            if tells_ready:
                os.close(inherited)
        self.pid = self.process.pid
        if tells_ready:
            self.loop.add_reader(self.ready_fd, self.read_ready)
        self.pidfd = os.pidfd_open(self.pid)
        self.loop.add_reader(self.pidfd, self.take_end)

    def read_ready(self):
        part = os.read(self.ready_fd, 4096)
        self.line += part
        if part and not self.line.endswith(b'\n'):
            return
        self.close_ready()
        if not self.ready.done():
            if self.line.endswith(b'\n'):
                self.ready.set_result(json.loads(self.line)['addresses'])
            else:
                self.ready.cancel()

    def close_ready(self):
        if self.ready_fd is not None:
            self.loop.remove_reader(self.ready_fd)
            os.close(self.ready_fd)
            self.ready_fd = None

    def take_end(self):
        self.loop.remove_reader(self.pidfd)
        os.close(self.pidfd)
        self.pidfd = None
        self.close_ready()
        status = self.process.wait()
        if not self.ready.done():
            self.ready.cancel()
        self.ended.set_result(status)

    @property
    def running(self):
        return not self.ended.done()

    async def addresses(self):
        """The ready line; an error when it ended before, or was too slow."""
        done, _ = await asyncio.wait([self.ready], timeout=READY_SECONDS)
        if not done or self.ready.cancelled():
            raise RuntimeError(f'{self.name} was not ready within {READY_SECONDS} s; '
                               f'exit status {self.process.returncode}')
        return self.ready.result()

    def send(self, number):
        if self.running:
            self.process.send_signal(number)

    def terminate(self):
        self.send(signal.SIGTERM)

    def kill(self):
        self.send(signal.SIGKILL)

    async def end(self, seconds):
        """Whether it has ended within `seconds`."""
        done, _ = await asyncio.wait([self.ended], timeout=seconds)
        return bool(done)


class FolderWatch:
    """Calls `changed(name)` for each file that was put into `folder`."""

    def __init__(self, folder, changed):
        self.changed = changed
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(NONBLOCK | CLOEXEC)
        if self.fd < 0 or libc.inotify_add_watch(self.fd, os.fsencode(folder),
                                                 MOVED_TO | CLOSE_WRITE) < 0:
            raise OSError(ctypes.get_errno(), f'cannot watch {folder}')
        asyncio.get_running_loop().add_reader(self.fd, self.read)

    def read(self):
        try:
            data = os.read(self.fd, 1 << 16)
        except BlockingIOError:
            return
        at, names = 0, []
        while at < len(data):
            size = struct.unpack_from('iIII', data, at)[3]
            name = os.fsdecode(data[at + 16:at + 16 + size].rstrip(b'\0'))
            if name not in names:
                names.append(name)
            at += 16 + size
        for name in names:
            self.changed(name)

    def close(self):
        asyncio.get_running_loop().remove_reader(self.fd)
        os.close(self.fd)
