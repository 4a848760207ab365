"""Speed: steradian beside NumPy, SciPy and scikit-learn, and two builds beside each other."""
