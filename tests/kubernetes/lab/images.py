"""Images for pods, made by hand: a program of ours and the libraries it needs, and nothing else."""

import pathlib
import re
import subprocess

from node_agent.image import EMPTY_FOLDERS, Layout, packed

SOURCE = pathlib.Path(__file__).resolve().parent / 'pod_app.c'
APP = 'localhost/app:1'      # pod_app.c says what it does
PAUSE = 'localhost/pause:1'
QUEUE_PROXY = 'localhost/queue-proxy:1'


def compiled(folder):
    target = pathlib.Path(folder, 'pod_app')
    subprocess.run(['gcc', '-O2', '-Wall', '-Wextra', '-static', '-s', '-pthread', '-o', str(target),
                    str(SOURCE)], check=True, capture_output=True, timeout=120)
    return target


def libraries(program):
    """Shared libraries that a program loads, its loader among them; none of a static one."""
    done = subprocess.run(['ldd', str(program)], capture_output=True, text=True, timeout=20, check=False)
    return sorted(set(re.findall(r'(/\S+) \(0x', done.stdout))) if done.returncode == 0 else []


def root_of(program, name):
    """A layer with /NAME and its libraries where it looks for them."""
    entries = [(name, pathlib.Path(program).read_bytes(), 0o755)]
    folders = set(EMPTY_FOLDERS)
    for library in libraries(program):
        entries.append((library.lstrip('/'), pathlib.Path(library).read_bytes(), 0o755))
        folders |= {str(parent) for parent in pathlib.Path(library.lstrip('/')).parents if parent.name}
    return packed([*((folder, None, 0o755) for folder in sorted(folders)), *entries])


def archive(target, programs, user='0'):
    """An archive of images at `target`: {reference: (program, arguments)}."""
    layout = Layout()
    layers = {}
    for reference, (program, arguments) in programs.items():
        name = pathlib.Path(program).name
        if program not in layers:
            layers[program] = root_of(program, name)
        layout.image(reference, layers[program], [f'/{name}', *arguments], user)
    pathlib.Path(target).write_bytes(layout.archive())
    return target
