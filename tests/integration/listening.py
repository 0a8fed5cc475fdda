"""A port that a test serves."""

import socket
import threading


class Listening:
    """A port of `host`; each connection is given to `take(sock)`, on a thread of ours."""

    def __init__(self, take, port=0, host='127.0.0.1'):
        self.take = take
        self.listener = socket.create_server((host, port), backlog=256)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            self.take(sock)

    def stop(self):
        """Nothing listens on the port from now on, not even the thread that waits in accept."""
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
