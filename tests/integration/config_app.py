"""A program that shows what it was given, and whose health a file decides.

GET /env?name=X: the variable; GET /file?path=X: the file; GET /args: its arguments; GET /live: 200 until the
file named by SICK exists. LATE: seconds before /started answers 200.
"""

import json
import os
import pathlib
import sys
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BEGUN = time.monotonic()


class Answering(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        address = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(address.query))
        status, body = 200, b'ok'
        if address.path == '/env':
            value = os.environ.get(query['name'])
            status, body = (404, b'') if value is None else (200, os.fsencode(value))
        elif address.path == '/file':
            path = pathlib.Path(query['path'])
            status, body = (200, path.read_bytes()) if path.is_file() else (404, b'')
        elif address.path == '/args':
            body = json.dumps(sys.argv[1:]).encode()
        elif address.path == '/live' and pathlib.Path(os.environ['SICK']).exists():
            status = 503
        elif address.path == '/started' and time.monotonic() - BEGUN < float(os.environ.get('LATE', '0')):
            status = 503
        self.send_response(status)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)


ThreadingHTTPServer(('127.0.0.1', int(os.environ['PORT'])), Answering).serve_forever()
