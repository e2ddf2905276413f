"""Forms of the summary page: the lead's words for a section, a link to a version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms

from incidents.models.words.summary import Way
from incidents.pages.forms import UnknownIsNone

LONGEST, DAYS, MOST_DAYS = 2_000, 7, 90


class WordsForm(UnknownIsNone):
    """`seen`: the number of the text that was there when the form was opened, 0 for none."""

    text = forms.CharField(
        required=False,
        max_length=LONGEST,
        label="Your words",
        widget=forms.Textarea(attrs={"rows": 5, "data-most": LONGEST}),
        help_text="Leave it empty to go back to Exhibit’s words.",
    )
    way = forms.ChoiceField(choices=Way.choices, initial=Way.INSTEAD, label="They stand")
    seen = forms.IntegerField(min_value=0, required=False, widget=forms.HiddenInput)
    merged = forms.BooleanField(required=False, widget=forms.HiddenInput)  # whether the text is the proposal of a merge


class LinkForm(UnknownIsNone):
    label = forms.CharField(
        max_length=100, label="Whom is it for?", widget=forms.TextInput(attrs={"placeholder": "the board, say"})
    )
    version = forms.TypedChoiceField(coerce=int, label="Version")
    days = forms.IntegerField(
        min_value=1, max_value=MOST_DAYS, initial=DAYS, label=f"Ends after days (at most {MOST_DAYS})"
    )

    def __init__(self, *args: Any, versions: Sequence[int] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["version"]
        assert isinstance(field, forms.TypedChoiceField)
        field.choices = [(number, f"Version {number}") for number in versions]
