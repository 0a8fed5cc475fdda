"""What the tests of deploy/ share: where things are, and the programs' metric names and labels read from their sources."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / 'deploy'
# What the programs of a cluster are made of; the command `sluice` is one machine's.
ROOMS = ('common', 'queue-proxy', 'injector', 'activator', 'autoscaler', 'memory-pressure', 'platform/kubernetes',
         'platform/knative', 'programs/queue-proxy', 'programs/injector', 'programs/activator', 'programs/autoscaler',
         'programs/node-agent')
FAMILY = re.compile(r'"((?:kn|sluice|http|node_agent|process|target)_[a-z0-9_]+)"')
LABEL = re.compile(r'(?:\{|, )\{?"([a-z][a-z0-9_]*)",|\\?"?\b([a-z_]+)=\\"')


def sources():
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob('*')):
            if path.suffix in ('.cpp', '.h'):
                yield path.read_text()


def metric_names():
    """Every name in quotation marks that looks like a family; a few are labels or fields: no harm."""
    return {name for text in sources() for name in FAMILY.findall(text)}


def label_names():
    return {name for text in sources() for found in LABEL.findall(text) for name in found if name}
