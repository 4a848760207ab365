"""The background subtractor MOG2 of OpenCV, for comparison of speed and masks."""

from __future__ import annotations

import time
from pathlib import Path

from measure.clips.footage import Footage, frames
from measure.clips.masks import FOREGROUND, Counts, ground_truth, read_gray, region_of

RUNS = 3


def frame_rate(clip: Path) -> float:
    """Frames per second on gray frames in memory with all threads; the fastest of three runs."""
    import cv2

    images = frames(clip)
    best = float("inf")
    for _ in range(RUNS):
        model = cv2.createBackgroundSubtractorMOG2(detectShadows=False)
        start = time.perf_counter()
        for image in images:
            model.apply(image)
        best = min(best, time.perf_counter() - start)
    return len(images) / best


def scores(footage: Footage) -> dict[str, float]:
    """Precision, recall and F1 with the default settings; pixels marked as shadow are background.

    The other methods are trained on the whole clip, so MOG2 sees the clip once before its masks are scored.
    """
    import cv2

    truth, region, counts = ground_truth(footage), region_of(footage), Counts()
    model = cv2.createBackgroundSubtractorMOG2()
    images = frames(footage.clip)
    for image in images:
        model.apply(image)
    for index, image in enumerate(images):
        mask = model.apply(image) == FOREGROUND
        if index in truth:
            counts.add(mask, read_gray(truth[index]), region)
    return counts.report()
