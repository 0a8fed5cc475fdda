"""Flask: / answers, /slow takes a second."""

import os
import threading

import flask

app = flask.Flask(__name__)


@app.get('/')
def hello():
    return 'hello from flask'


@app.get('/slow')
def slow():
    threading.Event().wait(1)
    return 'slow'


if __name__ == '__main__':
    app.run(host='127.0.0.1', port=int(os.environ['PORT']))
