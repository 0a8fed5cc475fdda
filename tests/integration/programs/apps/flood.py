"""The Flask application, while a thread writes to stderr as fast as it can."""

import os
import sys
import threading

from flask_app import app


def flood():
    while True:
        sys.stderr.write('flood ' + 'x' * 4000 + '\n')


threading.Thread(target=flood, daemon=True).start()
app.run(host='127.0.0.1', port=int(os.environ['PORT']))
