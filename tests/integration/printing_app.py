"""An application that prints: GET /?print=TEXT prints TEXT, /?lines=N&size=S N lines of S bytes.

/?close=1 gets no answer.
"""

import os
import sys
import urllib.parse
from http.server import BaseHTTPRequestHandler, HTTPServer


class Printing(BaseHTTPRequestHandler):
    def do_GET(self):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        if 'close' in query:
            self.close_connection = True
            return
        for text in query.get('print', []):
            print(text)
        for _ in range(int(query.get('lines', ['0'])[0])):
            print('x' * int(query['size'][0]))
        sys.stdout.flush()
        self.send_response(200)
        self.send_header('Content-Length', '0')
        self.end_headers()

    def log_message(self, *arguments):
        pass


HTTPServer(('127.0.0.1', int(os.environ['PORT'])), Printing).serve_forever()
