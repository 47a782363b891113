"""Findings about a problem: what was seen, a verdict, and a remedy."""

from __future__ import annotations

from typing import Literal, NamedTuple

Verdict = Literal["ok", "warning"]


class Finding(NamedTuple):
    """One line of a report."""

    name: str
    verdict: Verdict
    seen: str
    remedy: str = ""
    flags: tuple[tuple[str, str], ...] = ()  # of `selfpaced train` that carry the remedy out


class ProblemReport(NamedTuple):
    """What was found, and flags of `selfpaced train` that follow from it."""

    findings: tuple[Finding, ...]
    flags: tuple[str, ...]

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings that need attention."""
        return tuple(finding for finding in self.findings if finding.verdict == "warning")
