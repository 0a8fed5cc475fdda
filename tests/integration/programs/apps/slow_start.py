"""The Flask application after 20 seconds in which nothing listens, as of a program that loads a model."""

import os
import threading

from flask_app import app

print('loading a model', flush=True)
threading.Event().wait(20)
app.run(host='127.0.0.1', port=int(os.environ['PORT']))
