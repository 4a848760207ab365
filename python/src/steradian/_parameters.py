"""Parameters of estimators: what is allowed, said with the names that users typed.

The engine checks numbers against the data; here is what can be told without data.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

CENTERS = ("mean", "median", "spatial_median", "none")
SOLVERS = ("auto", "scatter", "gram", "krylov")
COSINES = ("abs", "signed")
TIES = ("index", "density")

SCREEN_ALONE = {"n_components": 1, "solver": "auto", "tol": 1e-6}
"""What the engine wants to hear of components where there are none: one that every data have."""


def one_of(name: str, value: object, allowed: tuple[object, ...], more: str = "") -> Any:
    """The value, when it is one of those allowed."""
    if isinstance(value, (str, type(None))) and value in allowed:
        return value
    listed = ", ".join(map(repr, allowed)) + (f", {more}" if more else "")
    msg = f"{name} = {value!r} is not known; allowed: {listed}"
    raise ValueError(msg)


def center(value: object) -> str | list[float]:
    """A center by name, or a point of the user's."""
    if isinstance(value, str) or value is None:
        return str(one_of("center", value, CENTERS, "or an array of one number per feature"))
    point = np.asarray(value, dtype=np.float64)
    if point.ndim != 1:
        msg = f"center has shape {point.shape}; give one number per feature, or one of {', '.join(map(repr, CENTERS))}"
        raise ValueError(msg)
    return [float(x) for x in point]


def n_components(value: object) -> int | float | str:
    """The number of components, the share of the variance that they are to explain, or "auto"."""
    if isinstance(value, str):
        return str(one_of("n_components", value, ("auto",), "a whole number, or a share between 0 and 1"))
    if isinstance(value, Integral) and not isinstance(value, bool):
        if value < 1:
            msg = f"n_components = {value}; ask for at least 1"
            raise ValueError(msg)
        return int(value)
    if isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < 1:
        return float(value)
    msg = (
        f'n_components = {value!r} is no number of components; give a whole number, a share between 0 and 1, or "auto"'
    )
    raise ValueError(msg)


def count(name: str, value: object) -> int:
    """A whole number of at least 1."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        msg = f"{name} = {value!r} is not a count; give a whole number of at least 1"
        raise ValueError(msg)
    return int(value)


def angle(value: object) -> float | str:
    """Half the opening of a cone, in degrees, or how it is found."""
    if isinstance(value, str):
        return str(one_of("max_angle", value, ("auto",), "or degrees above 0 and at most 90"))
    return real("max_angle", value)


def real(name: str, value: object) -> float:
    """A number that is not a truth value."""
    if not isinstance(value, Real) or isinstance(value, (bool, np.bool_)):
        msg = f"{name} = {value!r} is not a number; give a number"
        raise ValueError(msg)
    return float(value)


def seed(random_state: Any) -> int:
    """An int is the seed, as on the command line; anything else is asked for one in scikit-learn's way."""
    if isinstance(random_state, Integral) and not isinstance(random_state, bool):
        if random_state < 0:
            msg = f"random_state = {random_state}; a seed is 0 or more"
            raise ValueError(msg)
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def memory_limit(value: object) -> int | None:
    """Bytes, or a text such as "512M", as on the command line."""
    if value is None:
        return None
    if isinstance(value, str):
        number, unit = value[:-1], value[-1:].upper()
        if unit in "KMG" and number.isdecimal():
            return int(number) << (10 * (1 + "KMG".index(unit)))
        if value.isdecimal():
            return int(value)
    elif isinstance(value, Integral) and not isinstance(value, bool) and int(value) > 0:
        return int(value)
    msg = f'memory_limit = {value!r} is no size; give bytes, or a text such as "512M" or "2G", or None'
    raise ValueError(msg)
