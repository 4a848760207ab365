"""Measurements of steradian: speed, accuracy, video clips, large data, the Python package, memory.

Run from the root of the repository: `python -m measure COMMAND --help`.
"""
