"""Forms of requests and their links, and the form that a stranger fills in."""

from __future__ import annotations

from typing import Any

from django import forms

from incidents.content.moments import MomentField
from incidents.pages.forms import UnknownIsNone
from incidents.pages.plan.forms import Choices
from rules.collecting.blocks import SYMPTOMS, SYSTEMS

OSES = ("solaris", "illumos", "linux", "aix", "hpux", "freebsd", "macos", "windows")
BY_LINK = "link"


def _area(rows: int, **attrs: str) -> forms.Textarea:
    return forms.Textarea(attrs={"rows": rows, **attrs})


class RequestForm(UnknownIsNone):
    """What is asked for. `asked_of` is a member's id, "link" for somebody without an account, or empty."""

    what = forms.CharField(max_length=500, label="What is needed", widget=_area(2))
    command = forms.CharField(
        max_length=20_000,
        required=False,
        label="Command",
        widget=_area(3, **{"class": "mono", "spellcheck": "false"}),
        help_text="Fill in the names in capitals. Its cost is shown below it once it is saved.",
    )
    host = forms.CharField(
        max_length=120, required=False, label="On host", widget=forms.TextInput(attrs={"list": "hosts"})
    )
    os = forms.ChoiceField(required=False, label="System", choices=[("", "not known"), *((os, os) for os in OSES)])
    os_release = forms.CharField(
        max_length=60,
        required=False,
        label="Release",
        widget=forms.TextInput(attrs={"placeholder": "5.10, 7.2, 2.6.18"}),
    )
    decides = forms.CharField(max_length=5000, required=False, label="What it would decide", widget=_area(3))
    who = forms.CharField(max_length=120, required=False, label="Who can run it")
    asked_of = forms.ChoiceField(required=False, label="Ask")
    due_at = MomentField(required=False, label="Due")
    symptom = forms.ChoiceField(required=False, label="Collect block for", choices=[("", "none"), *SYMPTOMS.items()])
    ask = forms.RegexField(r"^[0-9a-f]{16}$", required=False, widget=forms.HiddenInput)
    client_id = forms.UUIDField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, people: Choices = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["asked_of"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [
            ("", "nobody in particular"),
            *((str(id), name) for id, name in people),
            (BY_LINK, "somebody without an account, by a link"),
        ]

    def said(self) -> dict[str, Any]:
        """Return what was typed in the form that the action expects."""
        fields = {name: value for name, value in self.cleaned_data.items() if name not in ("client_id", "ask")}
        asked = fields["asked_of"]
        return fields | {"asked_of": int(asked) if asked and asked != BY_LINK else None}

    @property
    def by_link(self) -> bool:
        return self.cleaned_data.get("asked_of") == BY_LINK


class LinkForm(UnknownIsNone):
    label = forms.CharField(
        max_length=80,
        required=False,
        label="Who asks, as the page says it",
        widget=forms.TextInput(attrs={"placeholder": "The team that works on it"}),
        help_text="The page shows this and the request, nothing of the room.",
    )
    hours = forms.IntegerField(min_value=1, max_value=14 * 24, label="Hours")
    most = forms.IntegerField(min_value=1, max_value=50, label="Files")
    mib = forms.IntegerField(min_value=1, max_value=4096, label="MiB each")


class RefuseForm(UnknownIsNone):
    reason = forms.CharField(max_length=1000, label="Why it is refused")


class AnswerFileForm(UnknownIsNone):
    file = forms.FileField(label="File", allow_empty_file=True, max_length=255)


class AnswerTextForm(UnknownIsNone):
    text = forms.CharField(label="Text", strip=False, widget=_area(8, **{"class": "mono", "spellcheck": "false"}))


class ArtifactForm(UnknownIsNone):
    artifact = forms.IntegerField(min_value=1, label="Artifact of the room, by its number")


class BlockForm(UnknownIsNone):
    """System and symptom of a collect block."""

    system = forms.ChoiceField(label="System", choices=list(SYSTEMS.items()))
    symptom = forms.ChoiceField(label="What is seen", choices=list(SYMPTOMS.items()))
