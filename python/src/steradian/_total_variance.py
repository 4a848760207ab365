"""The total variance, measured when it is cheap or when it is asked for.

On wide data the total costs as much as the fit: a robust scale for every feature. So a fit measures it at once for
small data only; for others it remembers the data until somebody asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steradian import _engine

if TYPE_CHECKING:
    from steradian._elsewhere import Elsewhere

SMALL = 1 << 18
"""Numbers among which the total is found in about a millisecond."""


class TotalVariance:
    """The total variance of the data of a fit."""

    def __init__(self, model: _engine.Model, samples: _engine.Samples | Elsewhere | None, threads: int) -> None:
        self._value = model.total_variance
        self._samples = samples
        self._threads = threads
        if isinstance(samples, _engine.Samples) and samples.shape[0] * samples.shape[1] <= SMALL:
            self.measured(model)

    def measured(self, model: _engine.Model) -> float | None:
        """The total; `None` when it was never measured and the data are gone."""
        if self._value is None and self._samples is not None:
            if isinstance(self._samples, _engine.Samples):
                self._value = model.measure_total_variance(self._samples, threads=self._threads)
            else:
                self._value = self._samples.total_variance(model, self._threads)
        self._samples = None
        return self._value

    def __getstate__(self) -> dict[str, Any]:
        # Data do not travel with a model.
        return {**vars(self), "_samples": None}
