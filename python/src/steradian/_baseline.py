"""The base class of the baselines (published methods): parameters, iterations, model files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from steradian import _parameters as parameters
from steradian._subspace import Subspace

if TYPE_CHECKING:
    import numpy.typing as npt

    from steradian import _engine


class Baseline(Subspace):
    """A published method on the same passes and threads, for fair comparisons.

    Subclasses have the parameters `n_components`, `center`, `tol`, `random_state`, `n_jobs`, `memory_limit`, `verbose`.
    """

    _METHODS: ClassVar[tuple[str, ...]]
    """The command line's names of the methods of the class."""

    n_components: int
    center: str | npt.ArrayLike
    tol: float
    random_state: Any
    memory_limit: int | str | None
    n_iter_: int

    def _method(self) -> str:
        """The command line's name of the method with these parameters."""
        return self._METHODS[0]

    def _settings(self) -> dict[str, Any]:
        return {
            "method": self._method(),
            "n_components": parameters.n_components(self.n_components),
            "center": parameters.center(self.center),
            "solver": "auto",
            "tol": parameters.real("tol", self.tol),
            "seed": parameters.seed(self.random_state),
            "memory_limit": parameters.memory_limit(self.memory_limit),
        }

    def _set_fitted_attributes(self, model: _engine.Model) -> None:
        super()._set_fitted_attributes(model)
        self.n_iter_ = sum(model.iterations)

    @classmethod
    def _parameters_of(cls, metadata: dict[str, Any], model: _engine.Model, path: str) -> dict[str, Any]:
        if model.method not in cls._METHODS:
            msg = f"{path}: this is a model of method {model.method}; use steradian.load"
            raise ValueError(msg)
        stored = metadata["parameters"]
        return {
            "n_components": stored["n_components"],
            "center": parameters.stored_center(stored["center"], model),
            "tol": stored["tol"],
            "random_state": metadata["seed"],
        }
