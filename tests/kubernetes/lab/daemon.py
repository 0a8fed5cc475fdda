"""A long-running program of the cluster, with its output in a file."""

import pathlib
import signal
import subprocess
import urllib.request
import ssl

from wire import eventually

START_SECONDS = 60  # on a machine that is busy with other things
STOP_SECONDS = 20
LOG_TAIL = 3000


class Daemon:
    """`command` runs until it is stopped; started again by the same words."""

    def __init__(self, name, command, log, health, environment=None):
        self.name = name
        self.command = [str(word) for word in command]
        self.log_path = pathlib.Path(log)
        self.health = health  # () -> is it up?
        self.environment = environment
        self.process = None

    def start(self):
        self.launch()
        return self.wait()

    def launch(self):
        with open(self.log_path, 'ab') as log:
            # In a session of its own: an interrupt from the terminal is for the tests, not for it.
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, env=self.environment,
                                            stdin=subprocess.DEVNULL, start_new_session=True)

    def wait(self):
        eventually(self.up, f'{self.name} is up; its log: {self.log_path}', START_SECONDS)
        return self

    def up(self):
        if self.process.poll() is not None:
            raise AssertionError(f'{self.name} ended with {self.process.returncode}:\n{self.tail()}')
        return self.health()

    def tail(self):
        return self.log_path.read_text(encoding='utf-8', errors='replace')[-LOG_TAIL:]

    def running(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        if self.running():
            self.process.kill()
            self.process.wait(STOP_SECONDS)

    def stop(self):
        """SIGTERM, and SIGKILL where that does not help in time."""
        if not self.running():
            return
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def restart(self):
        """Killed and started again, as after a crash."""
        self.kill()
        return self.start()

    def pause(self):
        """It exists, holds its connections and does nothing, until resume()."""
        self.signal(signal.SIGSTOP)

    def resume(self):
        self.signal(signal.SIGCONT)

    def memory(self):
        """Bytes resident."""
        text = pathlib.Path(f'/proc/{self.process.pid}/status').read_text(encoding='ascii')
        return next(int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith('VmRSS'))


def answers(url, token=None):
    """A health check: does the URL answer 200? No certificate is verified, only a pulse felt."""
    context = ssl._create_unverified_context() if url.startswith('https') else None
    headers = {'Authorization': f'Bearer {token}'} if token else {}

    def check():
        try:
            with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=2,
                                        context=context) as answer:
                return answer.status == 200
        except (OSError, ValueError):
            return False

    return check
