"""Forms of the review: its texts, and one follow-up."""

from __future__ import annotations

from typing import Any

from django import forms

from incidents.content.review import PARTS
from incidents.pages.plan.forms import Choices, SeenForm, area


class ReviewForm(SeenForm):
    texts = tuple(PARTS)
    surprised = forms.CharField(max_length=5000, required=False, label=PARTS["surprised"], widget=area(5))
    helped = forms.CharField(max_length=5000, required=False, label=PARTS["helped"], widget=area(5))
    hindered = forms.CharField(max_length=5000, required=False, label=PARTS["hindered"], widget=area(5))


class FollowUpForm(SeenForm):
    """One follow-up; `people`: who may own it."""

    texts = ("text",)
    text = forms.CharField(max_length=5000, label="What is to be done", widget=area(2))
    owner = forms.TypedChoiceField(required=False, coerce=int, empty_value=None, label="Owner")
    due_on = forms.DateField(
        required=False, label="By the day", widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )
    client_id = forms.UUIDField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, people: Choices = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._people = people
        field = self.fields["owner"]
        assert isinstance(field, forms.TypedChoiceField)
        field.choices = [("", "nobody yet"), *people]

    def extra(self) -> dict[str, Any]:
        return {"people": self._people}
