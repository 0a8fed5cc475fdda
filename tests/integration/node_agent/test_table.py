"""The table in README.md: every row of memory-pressure.md 9 has a test, and every test named there is."""

import pathlib
import unittest

from edge_cases import EdgeCases


class Table(EdgeCases, unittest.TestCase):
    folder = pathlib.Path(__file__).resolve().parent
    rows = set(range(1, 71))
