"""Angular embedding: samples count by their direction from the center, not by their distance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steradian import _parameters as parameters
from steradian._subspace import Subspace

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Self

    from steradian import _engine
    from steradian._total_variance import TotalVariance

SCREENS = (None, "cone", "outlyingness")
LOSSES = ("squared_cosine", "sine")
CELLS = ("keep", "clean")
SCALES = ("none", "mad")
COSINES = ("abs", "signed")
TIES = ("index", "density")


class AngularEmbedding(Subspace):
    """Robust PCA by directions."""

    angular_shares_: npt.NDArray[np.float64]
    pivot_: int | None
    tau_: npt.NDArray[np.int64] | None
    max_angle_: float | None
    scale_: npt.NDArray[np.float64] | None
    cleaned_share_: float | None
    chosen_: str | None

    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        center: str | npt.ArrayLike = "spatial_median",
        scale: str = "none",
        screen: str | None = "outlyingness",
        max_angle: float | str = 60.0,
        cosine: str = "abs",
        ties: str = "index",
        recenter: bool = False,
        n_directions: int = 250,
        loss: str = "sine",
        cells: str = "keep",
        solver: str = "auto",
        tol: float = 1e-6,
        random_state: Any = 0,
        n_jobs: int | None = None,
        memory_limit: int | str | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_components = n_components
        self.center = center
        self.scale = scale
        self.screen = screen
        self.max_angle = max_angle
        self.cosine = cosine
        self.ties = ties
        self.recenter = recenter
        self.n_directions = n_directions
        self.loss = loss
        self.cells = cells
        self.solver = solver
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.verbose = verbose

    @classmethod
    def paper(cls, n_components: int, max_angle: float | str | None = None) -> Self:
        """The paper's AE around the mean; with an angle its trimmed form TAE.

        Parameters
        ----------
        n_components : int
            The number of components.
        max_angle : float or "auto", optional
            Half the opening of TAE's cone, in degrees.
        """
        trimmed = max_angle is not None
        return cls(
            n_components,
            center="mean",
            screen="cone" if trimmed else None,
            max_angle=60.0 if max_angle is None else max_angle,
            loss="squared_cosine",
        )

    def _settings(self) -> dict[str, Any]:
        screen = parameters.one_of("screen", self.screen, SCREENS)
        cells = parameters.one_of("cells", self.cells, CELLS)
        return {
            "method": self._method(),
            "n_components": parameters.n_components(self.n_components),
            "center": parameters.center(self.center),
            "scale": parameters.one_of("scale", self.scale, SCALES),
            "screen": "none" if screen is None else screen,
            "max_angle": parameters.angle(self.max_angle),
            "cosine": parameters.one_of("cosine", self.cosine, COSINES),
            "ties": parameters.one_of("ties", self.ties, TIES),
            "recenter": bool(self.recenter),
            "n_directions": parameters.count("n_directions", self.n_directions),
            "loss": parameters.one_of("loss", self.loss, LOSSES),
            "cells": cells,
            "solver": parameters.one_of("solver", self.solver, parameters.SOLVERS),
            "tol": parameters.real("tol", self.tol),
            "seed": parameters.seed(self.random_state),
            "memory_limit": parameters.memory_limit(self.memory_limit),
        }

    def _method(self) -> str:
        """The command line's name for these parameters, which model files hold."""
        if self.cells == "clean":
            return "cells"
        if self.screen is not None:
            return {"cone": "tae", "outlyingness": "robust"}[self.screen]
        return "ae" if isinstance(self.center, str) and self.center == "mean" else "angular"

    def _learn(self, model: _engine.Model, total: TotalVariance) -> None:
        super()._learn(model, total)
        shares = model.shares
        assert shares is not None, "only classical PCA has no shares"
        self.angular_shares_ = shares
        self.pivot_ = model.pivot
        self.tau_ = model.tau
        self.max_angle_ = model.cone_degrees
        self.scale_ = model.scale
        self.cleaned_share_ = model.cleaned_share
        self.chosen_ = model.chosen

    @classmethod
    def _parameters_of(cls, metadata: dict[str, Any], model: _engine.Model, path: str) -> dict[str, Any]:
        if model.method == "pca":
            msg = f"{path}: this is a model of classical PCA; use steradian.PCA.load"
            raise ValueError(msg)
        stored = metadata["parameters"]
        name = stored["center"].replace("-", "_")
        found: dict[str, Any] = {
            "n_components": stored["n_components"],
            "center": model.center if name == "given" else name,
            "screen": None if stored["screen"] == "none" else stored["screen"],
            "random_state": metadata["seed"],
            **{key: stored[key] for key in ("scale", "loss", "cells", "solver", "tol")},
        }
        if found["screen"] == "cone":
            found["max_angle"] = "auto" if stored["angle_auto"] else stored["angle"]
            found.update({key: stored[key] for key in ("cosine", "ties", "recenter")})
        if found["screen"] == "outlyingness":
            found["n_directions"] = stored["directions"]
        return found
