"""Kubeconfig files, written as JSON, which is YAML too."""

import base64
import json
import pathlib


def encoded(path):
    return base64.b64encode(pathlib.Path(path).read_bytes()).decode()


def write(path, server, ca, token, namespace='default'):
    """One cluster, one user, one context called `lab`; the path."""
    pathlib.Path(path).write_text(json.dumps({
        'apiVersion': 'v1', 'kind': 'Config', 'current-context': 'lab',
        'clusters': [{'name': 'lab', 'cluster': {
            'server': server, 'certificate-authority-data': encoded(ca)}}],
        'users': [{'name': 'lab', 'user': {'token': token}}],
        'contexts': [{'name': 'lab', 'context': {
            'cluster': 'lab', 'user': 'lab', 'namespace': namespace}}]}, indent=1), encoding='utf-8')
    pathlib.Path(path).chmod(0o600)
    return str(path)
