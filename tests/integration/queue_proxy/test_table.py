"""The table in README.md: every row of queue-proxy.md 13 has a test, and every test named there is."""

import pathlib
import unittest

from edge_cases import EdgeCases


class Table(EdgeCases, unittest.TestCase):
    folder = pathlib.Path(__file__).resolve().parent
    rows = set(range(1, 75)) - {70}  # 70 waits for span export
