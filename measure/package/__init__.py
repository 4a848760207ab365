"""The Python package beside the command line and NumPy."""
