"""The application under test: answers with its pid and the request's id, and keeps a journal.

GET /?id=X&ms=N waits N ms and answers X. With JOURNAL set, each request appends one line
`start X pid running` when it begins, so a test sees what ran twice and how many ran at once.
"""

import os
import socketserver
import sys
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, HTTPServer

lock = threading.Lock()
running = 0


def journal(line):
    path = os.environ.get('JOURNAL')
    if path:
        # One write of less than a page with O_APPEND: lines of several processes do not mix.
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(fd, (line + '\n').encode())
        os.close(fd)


class Server(socketserver.ThreadingMixIn, HTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    # A client that left is no error of the application.
    def handle_error(self, request, client_address):
        pass


class Answering(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    disable_nagle_algorithm = True
    # An answer is one write: a kill between head and body would be a half answer of our own making.
    wbufsize = 65536

    def do_GET(self):
        global running
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        name = query.get('id', ['-'])[0]
        with lock:
            running += 1
            now_running = running
        journal(f'start {name} {os.getpid()} {now_running}')
        threading.Event().wait(float(query.get('ms', ['0'])[0]) / 1000)
        with lock:
            running -= 1
        body = f'{name} {os.getpid()}\n'.encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.rfile.read(int(self.headers.get('Content-Length', 0)))
        self.do_GET()

    def log_message(self, *arguments):
        pass


if __name__ == '__main__':
    port = int(os.environ['PORT'])
    if len(sys.argv) > 1:
        port = int(sys.argv[1])
    server = Server(('127.0.0.1', port), Answering)
    journal(f'listen - {os.getpid()} 0')
    server.serve_forever()
