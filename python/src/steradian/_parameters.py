"""Validation of estimator parameters, with messages that use the names of the parameters.

Checks that need the data are in the engine.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

if TYPE_CHECKING:
    from steradian import _engine

CENTERS = ("mean", "median", "spatial_median", "none")
SOLVERS = ("auto", "scatter", "gram", "krylov")
COSINES = ("abs", "signed")
TIES = ("index", "density")

LARGEST = 2**63 - 1
"""The largest integer of the engine."""

SCREEN_ALONE = {"n_components": 1, "solver": "auto", "tol": 1e-6}
"""Settings of the engine that a screen without a decomposition does not use."""


def one_of(name: str, value: object, allowed: tuple[object, ...], more: str = "") -> Any:
    """The value, if it is among the allowed ones."""
    if isinstance(value, (str, type(None))) and value in allowed:
        return value
    listed = ", ".join(map(repr, allowed)) + (f", {more}" if more else "")
    msg = f"{name} = {value!r} is not supported; expected {listed}"
    raise ValueError(msg)


def center(value: object) -> str | list[float]:
    """The name of a center, or its coordinates."""
    if isinstance(value, str) or value is None:
        return str(one_of("center", value, CENTERS, "or an array with one value per feature"))
    try:
        point = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        msg = f"center = {value!r} is not supported; expected a name, or an array with one number per feature"
        raise ValueError(msg) from error
    if point.ndim != 1:
        msg = (
            f"center has shape {point.shape}; expected an array with one value per feature, or one of "
            f"{', '.join(map(repr, CENTERS))}"
        )
        raise ValueError(msg)
    return [float(x) for x in point]


def stored_center(value: object, model: _engine.Model) -> Any:
    """The parameter `center` of a model file: a name, or the center of the model if coordinates were given."""
    return value.replace("-", "_") if isinstance(value, str) and value != "given" else model.center


def n_components(value: object) -> int | float | str:
    """The number of components, the fraction of the variance that they explain, or "auto"."""
    if isinstance(value, Integral) and not isinstance(value, bool) and value < 1:
        msg = f"n_components = {value}; use at least 1"
        raise ValueError(msg)
    if isinstance(value, str) and value == "auto":
        return "auto"
    if isinstance(value, Integral) and not isinstance(value, bool) and value <= LARGEST:
        return int(value)
    if isinstance(value, Real) and not isinstance(value, Integral) and 0 < float(value) < 1:
        return float(value)
    msg = f"n_components = {value!r} is not supported; expected an integer >= 1, a fraction in (0, 1), or 'auto'"
    raise ValueError(msg)


def count(name: str, value: object, least: int = 1) -> int:
    """An integer of at least `least`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or not least <= int(value) <= LARGEST:
        limit = f" and at most {LARGEST}" if isinstance(value, Integral) and int(value) > LARGEST else ""
        msg = f"{name} = {value!r} is not supported; expected an integer >= {least}{limit}"
        raise ValueError(msg)
    return int(value)


def angle(value: object) -> float | str:
    """The half-angle of a cone in degrees, or "auto"."""
    if isinstance(value, str):
        return str(one_of("max_angle", value, ("auto",), "or an angle above 0 and at most 90 degrees"))
    return real("max_angle", value)


def real(name: str, value: object) -> float:
    """A real number; booleans are rejected."""
    try:
        if isinstance(value, Real) and not isinstance(value, (bool, np.bool_)):
            return float(value)
    except OverflowError:
        pass
    msg = f"{name} = {value!r} is not supported; expected a real number"
    raise ValueError(msg)


def optional_bool(name: str, value: object) -> bool | None:
    """True, False or None."""
    if value is not None and not isinstance(value, (bool, np.bool_)):
        msg = f"{name} = {value!r} is not supported; expected True, False or None"
        raise ValueError(msg)
    return None if value is None else bool(value)


def flag(name: str, value: object) -> bool:
    """True or False."""
    if value is None:
        msg = f"{name} = None is not supported; expected True or False"
        raise ValueError(msg)
    return bool(optional_bool(name, value))


def seed(random_state: Any) -> int:
    """The seed: an integer as it is, as on the command line; otherwise one drawn from the random state."""
    if isinstance(random_state, Integral) and not isinstance(random_state, bool):
        if not 0 <= int(random_state) <= LARGEST:
            msg = f"random_state = {random_state}; expected an integer >= 0 and at most {LARGEST}"
            raise ValueError(msg)
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def memory_limit(value: object) -> int | None:
    """The limit in bytes, from a number or a string such as "512M", as on the command line."""
    if value is None:
        return None
    if isinstance(value, str):
        number, unit = value[:-1], value[-1:].upper()
        if unit in "KMG" and number.isdecimal():
            return min(int(number) << (10 * (1 + "KMG".index(unit))), LARGEST)
        if value.isdecimal():
            return min(int(value), LARGEST)
    elif isinstance(value, Integral) and not isinstance(value, bool) and int(value) > 0:
        return min(int(value), LARGEST)
    msg = f"memory_limit = {value!r} is not supported; expected bytes, a string such as '512M' or '2G', or None"
    raise ValueError(msg)
