"""Forms of the log: what somebody did, when, and who."""

from __future__ import annotations

from typing import Any

from django import forms

from incidents.content.course import DECISION
from incidents.content.moments import MomentField
from incidents.models.plan.entry import EntryKind
from incidents.pages.plan.forms import Choices, SeenForm, area


class EntryForm(SeenForm):
    """One entry of the log; `people`: who may have done it."""

    texts = ("text",)
    kind = forms.ChoiceField(choices=EntryKind.choices, label="Kind", initial=EntryKind.STEP)
    text = forms.CharField(max_length=5000, label="What was done", widget=area(2))
    at = MomentField(label="At")
    who = forms.TypedChoiceField(coerce=int, label="By")
    client_id = forms.UUIDField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, people: Choices = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._people = people
        field = self.fields["who"]
        assert isinstance(field, forms.TypedChoiceField)
        field.choices = [*people]

    def extra(self) -> dict[str, Any]:
        return {"people": self._people}


class WriteForm(EntryForm):
    """A new row of the log: an entry, or a decision that was taken."""

    kind = forms.ChoiceField(
        choices=[(DECISION, "decision"), *EntryKind.choices],
        label="Kind",
        initial=DECISION,
        help_text="A change becomes a marker of the case.",
    )
    #: Path of the page on which somebody wrote it down, to go back to.
    back = forms.CharField(required=False, max_length=500, widget=forms.HiddenInput)
