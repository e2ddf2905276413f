"""Forms of the board: a row of evidence with a weight for each cause, and a cause that people add."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from incidents.pages.forms import UnknownIsNone
from rules.case.statements import SPOKEN

Choices = Sequence[tuple[str, str]]
_LINES = re.compile(
    r"\s*(?P<artifact>[0-9]{1,9})\s*(?::\s*(?P<first>[0-9]{1,15})\s*(?:[-–]\s*(?P<last>[0-9]{1,15})\s*)?)?"
)
WORDS: Choices = [("", "says nothing"), *((word, word) for word in SPOKEN)]


class ArgumentForm(UnknownIsNone):
    """Reason, a weight for each cause of the board, and cited lines. Fields `word_<code>` follow the board."""

    reason = forms.CharField(
        label="Why",
        strip=True,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="One sentence that others can check. It names the row, with your name.",
    )
    finding_key = forms.ChoiceField(required=False, label="About finding")
    lines = forms.CharField(
        required=False,
        label="About lines",
        max_length=60,
        widget=forms.TextInput(attrs={"placeholder": "3:91-107"}),
        help_text="Artifact and lines, such as 3:91-107.",
    )
    version = forms.IntegerField(min_value=1, required=False, widget=forms.HiddenInput)
    client_id = forms.UUIDField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, causes: Mapping[str, str], findings: Choices = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["finding_key"] = forms.ChoiceField(
            required=False, label="About finding", choices=[("", "none"), *findings]
        )
        self.codes = list(causes)
        for code, cause in causes.items():
            self.fields[f"word_{code}"] = forms.ChoiceField(required=False, label=cause, choices=WORDS)
        self.order_fields(["reason", *(f"word_{code}" for code in causes), "finding_key", "lines"])

    def clean_lines(self) -> tuple[int, int, int] | None:
        """Return artifact, first and last line; refuse an artifact without lines, since a row cites lines."""
        typed = self.cleaned_data["lines"]
        if not typed:
            return None
        match = _LINES.fullmatch(typed)
        if match is None or match["first"] is None:
            raise forms.ValidationError("Write artifact and lines as 3:91-107.")
        first = int(match["first"])
        return int(match["artifact"]), first, int(match["last"] or first)

    @property
    def words(self) -> list[tuple[str, forms.BoundField]]:
        return [(code, self[f"word_{code}"]) for code in self.codes]

    def said(self) -> dict[str, str]:
        """Return the chosen weights, by code."""
        return {code: word for code in self.codes if (word := self.cleaned_data.get(f"word_{code}"))}


class CauseForm(UnknownIsNone):
    """A hypothesis that a person adds. Its code stays the same once it is on the board."""

    cause = forms.CharField(
        max_length=200,
        required=False,
        label="What the cause would be",
        widget=forms.TextInput(attrs={"placeholder": "the nightly backup reads the same disks"}),
    )
    code = forms.CharField(
        max_length=60,
        required=False,
        label="Short code",
        widget=forms.TextInput(attrs={"placeholder": "H-BACKUP"}),
        help_text="H- and words of letters. It heads the column.",
    )
    layer = forms.ChoiceField(required=False, label="Layer")
    version = forms.IntegerField(min_value=1, required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, layers: Choices, fixed: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["layer"] = forms.ChoiceField(required=False, label="Layer", choices=[("", "not known"), *layers])
        self.fields["code"].disabled = fixed
