"""The application that is moved: takes START_SECONDS until it listens on PORT, and writes the body of each POST as a
line to the file JOURNAL once it has handled it, before it answers with the same body.
"""

import os
import socketserver
import threading


class Counting(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self):
        while self.rfile.readline():
            length = 0
            while (header := self.rfile.readline().strip()):
                name, _, value = header.partition(b':')
                if name.lower() == b'content-length':
                    length = int(value)
            body = self.rfile.read(length)
            # One write with O_APPEND: lines of several processes do not mix.
            os.write(self.server.journal, body + b'\n')
            self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s' % (len(body), body))


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 1024

    def __init__(self):
        super().__init__(('127.0.0.1', int(os.environ['PORT'])), Counting)
        self.journal = os.open(os.environ['JOURNAL'], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


if __name__ == '__main__':
    threading.Event().wait(float(os.environ['START_SECONDS']))
    Server().serve_forever()
