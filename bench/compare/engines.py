"""Engines of `sluice up` that a benchmark starts as the integration tests do."""

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = '''apiVersion: serving.knative.dev/v1
kind: Service
metadata:
  name: {name}
spec:
  template:
    metadata:
      annotations:
        autoscaling.knative.dev/initial-scale: "0"
        autoscaling.knative.dev/max-scale: "1"
    spec:
      containers:
        - command: ["{sluice}", "demo-app"]
'''


def load_tests(binaries):
    """The engine as the integration tests start it."""
    os.environ['SLUICE_BIN'] = str(binaries)
    # Instead of this directory, whose activator.py has the name of a package there.
    sys.path[0] = str(ROOT / 'tests' / 'integration')
