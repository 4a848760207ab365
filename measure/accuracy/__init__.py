"""Accuracy: estimates on synthetic data with known ground truth."""
