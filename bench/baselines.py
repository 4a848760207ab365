"""Our baselines beside the same methods by hand in numpy, on the Water shape."""

from __future__ import annotations

import json
from dataclasses import dataclass

from contenders import Bench
from process import python, timed, warm
from shapes import Shape

TITLES = {
    "tga": "TGA at 50 %, numpy by np.partition",
    "tga-tuned": "the same in f32, samples of a feature side by side",
    "pcp": "PCP, numpy inexact ALM with full SVDs",
}


@dataclass
class Baseline:
    """A method, ours and by hand, to the same tolerance."""

    name: str
    shape: Shape
    ours: float
    our_steps: int
    peer: float
    peer_steps: int

    @property
    def ratio(self) -> float:
        """How many times longer numpy takes."""
        return self.peer / self.ours


def baselines(bench: Bench, shape: Shape, rounds: int) -> list[Baseline]:
    """Both methods: ours the least of some rounds, numpy once, since it takes minutes."""
    path = shape.file(bench.folder)
    warm(path)
    found = []
    for name in TITLES:
        fits = [bench.fit(shape, "--method", name.split("-")[0])[1] for _ in range(rounds)]
        peer = json.loads(timed(python("baseline_peer.py", name, path, shape.components))[1])
        steps = json.loads(timed([str(bench.program), "inspect", str(bench.model), "--json"])[1])["iterations"]
        seconds = min(fit["seconds"] for fit in fits)
        found.append(Baseline(name, shape, seconds, sum(steps), peer["seconds"], peer["steps"]))
    return found
