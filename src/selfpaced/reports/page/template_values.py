"""Values of figures that depend on controls: resolved in the browser by `page.js`.

A figure is Plotly's JSON, in which these objects stand for values:

{"$pick": control, "of": {value: anything},
 "else": anything}                           what belongs to the value of a control
{"$at": [tensor, index, ...]}                part of a tensor; an index is a number, "*" for all,
                                             or the name of a control with such a value;
                                             "-" and null for nothing
{"$ellipse": [mean, covariance, frame, seed, i, j, axis]}  outlines of Gaussians, for a pair
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from selfpaced.records import Array

Template = dict[str, Any]

_GAP = 65535  # code of a missing value
_LEVELS = 65534


class Tensors:
    """Arrays of the page, packed for the browser under short names."""

    def __init__(self) -> None:
        self.packed: dict[str, Template] = {}

    def add(self, array: Array) -> str:
        """Keep an array in single precision; return its name."""
        content = np.ascontiguousarray(array, "<f4")
        return self._keep({"type": "f4"}, content)

    def add_coarse(self, array: Array, lower: Array, upper: Array) -> str:
        """Keep an array [..., C] in 16 bits, each component between its bounds; return its name."""
        share = (array - lower) / (upper - lower)
        codes = np.where(np.isfinite(share), np.clip(share, 0.0, 1.0) * _LEVELS, _GAP)
        content = np.ascontiguousarray(np.round(codes), "<u2")
        step = (upper - lower) / _LEVELS
        return self._keep({"type": "u2", "low": lower.tolist(), "step": step.tolist()}, content)

    def _keep(self, form: Template, content: Array) -> str:
        name = f"t{len(self.packed)}"
        data = base64.b64encode(content.tobytes()).decode()
        self.packed[name] = form | {"shape": list(content.shape), "data": data}
        return name


def at(tensor: str | Template, *place: str | int | Template) -> Template:
    """Return a part of a tensor; an index is a number, "*" or the name of a control."""
    return {"$at": [tensor, *place]}


def pick(control: str, of: dict[str, Any], other: Any = None) -> Template:
    """Return what belongs to the value of a control, and something else for other values."""
    return {"$pick": control, "of": of} | ({} if other is None else {"else": other})
