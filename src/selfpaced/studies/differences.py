"""Differences between two experiments, as text for messages."""

from __future__ import annotations

_MAX_VALUES = 6  # of a list that is shown whole


def find_differences(existing: object, requested: object) -> list[str]:
    """Return the settings in which two plain descriptions differ, with both values.

    Examples:
        >>> from selfpaced.studies.differences import find_differences
        >>> find_differences({"teacher": {"zeta": 1.0}}, {"teacher": {"zeta": 2.0}})
        ['teacher.zeta (existing 1.0, requested 2.0)']
    """
    one, two = flatten(existing), flatten(requested)
    return [
        f"{name} (existing {_short(one.get(name))}, requested {_short(two.get(name))})"
        for name in {**two, **one}
        if one.get(name) != two.get(name)
    ]


def flatten(plain: object, prefix: str = "") -> dict[str, object]:
    """Return the values of nested plain data by their dotted names."""
    if not isinstance(plain, dict):
        return {prefix: plain}
    parts = (flatten(value, f"{prefix}.{key}" if prefix else key) for key, value in plain.items())
    return {name: value for part in parts for name, value in part.items()}


def _short(value: object) -> str:
    if isinstance(value, list) and len(value) > _MAX_VALUES:
        return f"{value[0]} … {value[-1]}, {len(value)} values"
    return str(value)
