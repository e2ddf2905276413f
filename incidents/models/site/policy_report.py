"""What browsers report of the content policy: what it stopped, on which page, how often. Grouped as it comes in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

from django.db import models
from django.utils import timezone

KEPT = timedelta(days=30)
"""Age from which a group is forgotten that nobody reported again."""
MOST = 300
"""Maximum number of groups. Further ones are counted together, so that nobody fills the table."""


@dataclass(frozen=True)
class Seen:
    """One report. Of an address it holds only the name of a route, an origin or the name of a file of ours."""

    directive: str
    blocked: str
    page: str
    source: str


FURTHER = Seen("", "", "", "")
"""The group of all reports that find no place of their own."""


class PolicyReportManager(models.Manager["PolicyReport"]):
    def forget_old(self) -> None:
        self.filter(last_at__lt=timezone.now() - KEPT).delete()


class PolicyReport(models.Model):
    """One group of reports.

    `directive` is the rule that stopped it, `blocked` what was stopped (an origin, a scheme, or `inline`, `eval` ...),
    `page` the name of a route, `source` the script that wanted it; all four are those of `FURTHER` for what found no place.
    `browser` is that of the last report.
    """

    directive = models.CharField(max_length=40, blank=True)
    blocked = models.CharField(max_length=120, blank=True)
    page = models.CharField(max_length=80, blank=True)
    source = models.CharField(max_length=120, blank=True)
    browser = models.CharField(max_length=40)
    count = models.PositiveBigIntegerField()
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()

    objects: ClassVar[PolicyReportManager] = PolicyReportManager()

    class Meta:
        ordering = ("-last_at", "-id")
        constraints = (
            models.UniqueConstraint(name="policy_report_group", fields=("directive", "blocked", "page", "source")),
        )

    def __str__(self) -> str:
        return f"{self.directive} stopped {self.blocked} on {self.page}: {self.count}"

    @property
    def further(self) -> bool:
        """Tell whether this is the group of all reports beyond the maximum number of groups."""
        return not self.directive
