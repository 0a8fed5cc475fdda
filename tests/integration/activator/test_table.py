"""The table in README.md: every row of activator.md 12 has a test, and every test named there is."""

import pathlib
import unittest

from edge_cases import EdgeCases


class Table(EdgeCases, unittest.TestCase):
    folder = pathlib.Path(__file__).resolve().parent
    rows = set(range(1, 76)) - {21}  # 21 waits for span export
