"""Plots: one axes in, the same axes out, and the picture shows what it should."""

from __future__ import annotations

import sys

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.testing.compare import compare_images  # noqa: E402
from matplotlib.testing.decorators import remove_ticks_and_titles  # noqa: E402

from steradian import PCA, AngularEmbedding, plot  # noqa: E402

BASELINES = __import__("pathlib").Path(__file__).parent / "baseline"
