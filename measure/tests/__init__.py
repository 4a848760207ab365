"""Tests of the helpers, the contamination models and the reports; they need only NumPy."""
