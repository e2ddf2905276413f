"""Check what people type into forms. Fields left empty return None: unknown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.utils import timezone

from incidents.actions.access_tokens import LONGEST_DAYS
from incidents.content.moments import MomentField, zones
from incidents.errors import Refused
from incidents.models.evidence.artifact import CorrectedField
from incidents.models.judging.case import MarkerKind
from incidents.models.judging.site_name import NameKind
from incidents.models.people.access_token import Scope
from incidents.models.people.membership import Role, Team
from incidents.models.room.incident import Incident, RoomSeverity
from rules.case.site_names import problem_of_name, problem_of_text

LONGEST_NOTE = 10_000
MOST_ROWS = 200


class UnknownIsNone(forms.Form):
    """A form whose empty answers are None: unknown is not the same as an empty text."""

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        for name, value in cleaned.items():
            if isinstance(value, float) and not math.isfinite(value):
                self.add_error(name, "Type a finite number.")
        return {name: None if value == "" else value for name, value in cleaned.items()}


def severity_field(empty: str) -> forms.TypedChoiceField:
    """Return a list of the severities of an incident; `empty` is what no answer is called."""
    choices = [("", empty), *((value, f"{value}: {name}") for value, name in RoomSeverity.choices)]
    return forms.TypedChoiceField(required=False, coerce=int, empty_value=None, label="Severity", choices=choices)


class SymptomForm(UnknownIsNone):
    """What is slow and what is known about it: the questions of a new room, editable at any time."""

    title = forms.CharField(
        max_length=200, label="Title", widget=forms.TextInput(attrs={"placeholder": "Logins take 3.9 s"})
    )
    symptom_text = forms.CharField(max_length=300, required=False, label="In words")
    measured_how = forms.CharField(
        required=False, max_length=2000, label="How was it measured", widget=forms.Textarea(attrs={"rows": 2})
    )
    symptom_bad = forms.FloatField(required=False, label="Bad value")
    symptom_normal = forms.FloatField(required=False, label="Normal value")
    symptom_unit = forms.CharField(
        max_length=20, required=False, label="Unit", widget=forms.TextInput(attrs={"placeholder": "s, ms, per minute"})
    )
    since = MomentField(required=False, label="Since when")
    ongoing = forms.NullBooleanField(
        required=False,
        label="Still going on",
        widget=forms.Select(choices=[("", "not known"), ("true", "yes"), ("false", "no")]),
    )
    affected = forms.CharField(max_length=200, required=False, label="How many are affected")
    last_change = forms.CharField(
        required=False, max_length=2000, label="What changed last", widget=forms.Textarea(attrs={"rows": 2})
    )


class NewRoomForm(SymptomForm):
    """The questions of a new room: the symptom, and how hard it hits people."""

    severity = severity_field("not known yet")


class RowForm(UnknownIsNone):
    """A row of a list; an existing row carries its id."""

    id = forms.IntegerField(required=False, widget=forms.HiddenInput)


class HostForm(RowForm):
    name = forms.CharField(max_length=100, label="Host")
    os = forms.ChoiceField(
        required=False,
        label="System",
        choices=[("", "not known")]
        + [(os, os) for os in ("solaris", "illumos", "linux", "aix", "hpux", "freebsd", "macos", "windows")],
    )
    os_release = forms.CharField(max_length=60, required=False, label="Release")
    role = forms.ChoiceField(
        required=False, label="Role", choices=[("", "not known"), ("client", "client"), ("db", "db"), ("app", "app")]
    )
    ncpu = forms.IntegerField(required=False, min_value=1, max_value=2**31 - 1, label="CPUs")
    mem_gib = forms.FloatField(required=False, min_value=0.001, label="Memory, GiB")
    tz = forms.CharField(
        max_length=60, required=False, label="Time zone", widget=forms.TextInput(attrs={"placeholder": "Europe/Warsaw"})
    )

    def clean_tz(self) -> str:
        zone: str = self.cleaned_data["tz"]
        if zone and zone not in zones():
            raise forms.ValidationError("Not a time zone: write it like Europe/Warsaw or UTC.")
        return zone


class MarkerForm(RowForm):
    label = forms.CharField(max_length=300, label="What happened")
    kind = forms.ChoiceField(choices=MarkerKind.choices, label="Kind", initial=MarkerKind.CHANGE)
    at = MomentField(required=False, label="At")
    from_phase = forms.CharField(max_length=40, required=False, label="or between phase")
    to_phase = forms.CharField(max_length=40, required=False, label="and phase")
    changed = forms.CharField(
        required=False,
        max_length=4000,
        label="All that changed, one per line",
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    hypothesis = forms.CharField(max_length=40, required=False, label="Tests hypothesis")

    def clean_changed(self) -> list[str]:
        return [line.strip() for line in self.cleaned_data["changed"].splitlines() if line.strip()]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if (
            not cleaned.get("at")
            and not (cleaned.get("from_phase") and cleaned.get("to_phase"))
            and "at" not in self.errors
        ):
            raise forms.ValidationError("Say when it was, or between which two phases.")
        return cleaned


class PhaseForm(RowForm):
    artifact = forms.TypedChoiceField(coerce=int, label="Artifact")
    line_from = forms.IntegerField(min_value=1, max_value=2**53, label="From line")
    line_to = forms.IntegerField(min_value=1, max_value=2**53, label="To line")
    phase = forms.CharField(max_length=40, label="Phase")

    def __init__(self, *args: Any, artifacts: list[tuple[int, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["artifact"]
        assert isinstance(field, forms.TypedChoiceField)
        field.choices = [("", "choose"), *artifacts]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if (cleaned.get("line_from") or 0) > (cleaned.get("line_to") or math.inf):
            raise forms.ValidationError("The last line comes before the first.")
        return cleaned


class StatementForm(RowForm):
    name = forms.CharField(max_length=60, label="Name")
    subject = forms.CharField(max_length=100, required=False, label="Of whom (host, phase, pid 12)")
    num = forms.FloatField(required=False, label="Number")
    unit = forms.CharField(max_length=20, required=False, label="Unit")
    text = forms.CharField(max_length=2000, label="Statement")
    author_label = forms.CharField(max_length=100, label="Said by")


class NameForm(RowForm):
    """What people call a thing that evidence names. A text that is too long is refused in words and stays as typed."""

    kind = forms.ChoiceField(choices=NameKind.choices, label="Kind", initial=NameKind.PORT)
    name = forms.CharField(
        label="Name, as written",
        error_messages={"required": "Type the name as the evidence writes it."},
        widget=forms.TextInput(attrs={"placeholder": "7001, 10.0.0.7, /u02/orders"}),
    )
    text = forms.CharField(
        label="What it is",
        error_messages={"required": "Say what it is."},
        widget=forms.TextInput(attrs={"placeholder": "our order service"}),
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if cleaned.get("name") and (why := problem_of_name(cleaned.get("kind") or "", cleaned["name"])):
            self.add_error("name", why)
        if cleaned.get("text") and (why := problem_of_text(cleaned["text"])):
            self.add_error("text", why)
        return cleaned


if TYPE_CHECKING:
    _FormSet = forms.BaseFormSet["RowForm"]
else:
    _FormSet = forms.BaseFormSet  # not subscriptable at run time


class Rows(_FormSet):
    """Rows of a list with empty ones at the end; `kept` returns those filled in and not marked for removal."""

    deletion_widget = forms.CheckboxInput

    def total_form_count(self) -> int:
        """Return the number of rows. Raises `Refused` for more than `MOST_ROWS` before any of them is made."""
        if self.is_bound and (self.management_form.cleaned_data["TOTAL_FORMS"] or 0) > MOST_ROWS:
            raise Refused(f"A list has at most {MOST_ROWS} rows. Nothing was stored.")
        return super().total_form_count()

    def add_fields(self, form: Any, index: int | None) -> None:
        super().add_fields(form, index)
        if "DELETE" in form.fields:
            form.fields["DELETE"].label = "Remove"

    @property
    def kept(self) -> list[dict[str, Any]]:
        rows = [form.cleaned_data for form in self.forms if form.has_changed() or form.initial.get("id")]
        return [
            {name: value for name, value in row.items() if name != "DELETE"}
            for row in rows
            if row and not row.get("DELETE")
        ]


def rows_of(form: type[RowForm], extra: int) -> type[Rows]:
    """Return the list class of a row form, with `extra` empty rows."""
    made = forms.formset_factory(form, formset=Rows, extra=extra, can_delete=True, max_num=MOST_ROWS)
    return cast("type[Rows]", made)


class SaidForm(UnknownIsNone):
    """What an uploader states about a file; it overrides every guess of the program."""

    kind = forms.CharField(
        max_length=80,
        required=False,
        label="Kind",
        widget=forms.TextInput(attrs={"placeholder": "truss, sqlnet/client"}),
    )
    host = forms.CharField(max_length=100, required=False, label="Host")
    os = forms.CharField(max_length=40, required=False, label="System")
    role = forms.CharField(
        max_length=40,
        required=False,
        label="Role",
        widget=forms.TextInput(attrs={"placeholder": "listener, server, client"}),
    )
    phase = forms.CharField(
        max_length=40, required=False, label="Phase", widget=forms.TextInput(attrs={"placeholder": "before, after-1"})
    )
    clock = forms.CharField(
        max_length=60, required=False, label="Same clock as", widget=forms.TextInput(attrs={"placeholder": "1.1:1"})
    )
    tz = forms.CharField(max_length=60, required=False, label="Time zone")
    year = forms.IntegerField(min_value=1970, max_value=2199, required=False, label="Year")
    interval_s = forms.FloatField(min_value=0.001, max_value=1e6, required=False, label="Seconds between samples")
    date = forms.DateField(
        required=False, label="Day of the first line", widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )
    date_order = forms.ChoiceField(
        required=False,
        label="Order of day and month",
        choices=(("", ""), ("dmy", "day first (31/12)"), ("mdy", "month first (12/31)")),
    )
    columns = forms.CharField(
        max_length=1000,
        required=False,
        label="Which column is what",
        widget=forms.TextInput(attrs={"placeholder": "time=1 elapsed=3:ms label=2"}),
    )

    def said(self) -> dict[str, str]:
        """Return the statements as texts, without fields left empty."""
        return {name: _plain(value) for name, value in self.cleaned_data.items() if value is not None}


class UploadForm(SaidForm):
    """One file through an ordinary form, for browsers without scripts; large files use tus."""

    field_order = ("file",)
    file = forms.FileField(label="File", allow_empty_file=True, max_length=255)


class PasteForm(UnknownIsNone):
    """Text typed or pasted into a field; it is stored exactly as the browser sends it."""

    name = forms.CharField(max_length=200, label="Name", required=False)
    text = forms.CharField(
        label="Text", strip=False, widget=forms.Textarea(attrs={"rows": 10, "class": "mono", "spellcheck": "false"})
    )

    def clean_name(self) -> str:
        return self.cleaned_data["name"] or f"paste-{timezone.now():%Y-%m-%d-%H%M%S}.txt"


class CorrectForm(SaidForm):
    """A person's correction of an artifact or a part. An empty field takes an earlier correction back."""

    def changed_values(self) -> dict[str, str | None]:
        """Return the fields that differ from the earlier correction; None takes a correction back."""
        return {
            name: None if self.cleaned_data[name] is None else _plain(self.cleaned_data[name])
            for name in CorrectedField.values
            if name in self.changed_data
        }


class WrittenField(forms.CharField):
    """A text that people write. A text that is too long is refused, not cut as by a browser's `maxlength`."""

    def __init__(self, label: str, rows: int) -> None:
        attrs = {"rows": rows, "data-most": LONGEST_NOTE, "data-complete": ""}
        super().__init__(label=label, widget=forms.Textarea(attrs=attrs))

    def to_python(self, value: Any) -> str:
        return (super().to_python(value) or "").replace("\r\n", "\n").strip()

    def validate(self, value: str) -> None:
        super().validate(value)
        if len(value) > LONGEST_NOTE:
            raise forms.ValidationError(
                f"This has {len(value):,} characters, {LONGEST_NOTE:,} are the most. Add longer texts as evidence and link to them.",
                code="max_length",
            )


class ReasonForm(UnknownIsNone):
    reason = WrittenField("Why", 3)


class AnswerForm(UnknownIsNone):
    answer = WrittenField("Answer", 3)


class ReplyForm(UnknownIsNone):
    """A text alone. `client`: the page's id for it, so that one sent twice is stored once; `again`: sent again."""

    text = WrittenField("Note", 2)
    client = forms.CharField(max_length=36, required=False, widget=forms.HiddenInput)
    again = forms.BooleanField(required=False, widget=forms.HiddenInput)


class NoteForm(ReplyForm):
    """A note with what it is about: a finding, lines of an artifact, a range of a clock, a lane, or the room itself."""

    lane = forms.CharField(max_length=200, required=False, widget=forms.HiddenInput)
    lane_label = forms.CharField(max_length=200, required=False, widget=forms.HiddenInput)
    finding_key = forms.RegexField("^[0-9a-f]{16}$", required=False, widget=forms.HiddenInput)
    artifact = forms.IntegerField(min_value=1, max_value=2**31 - 1, required=False, widget=forms.HiddenInput)
    line_from = forms.IntegerField(min_value=1, max_value=2**53, required=False, widget=forms.HiddenInput)
    line_to = forms.IntegerField(min_value=1, max_value=2**53, required=False, widget=forms.HiddenInput)
    clock = forms.CharField(max_length=60, required=False, widget=forms.HiddenInput)
    t_from = forms.FloatField(required=False, widget=forms.HiddenInput)
    t_to = forms.FloatField(required=False, widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        lines = [cleaned.get(name) for name in ("artifact", "line_from", "line_to")]
        times = [cleaned.get(name) for name in ("clock", "t_from", "t_to")]
        for group, what in ((lines, "lines"), (times, "times")):
            # An artifact (or, on a lane, a clock) may be given alone; half a range may not.
            alone = group[0] is not None and (what == "lines" or cleaned.get("lane") is not None)
            whole = group[1:] == [None, None] if alone else all(value is None for value in group)
            if not whole and any(value is None for value in group):
                raise forms.ValidationError(f"The {what} of the note are incomplete.")
            if group[1] is not None and group[2] is not None and group[1] > group[2]:
                raise forms.ValidationError(f"The {what} of the note end before they begin.")
        return cleaned


class NoteEditForm(UnknownIsNone):
    text = WrittenField("Note", 4)
    merged = forms.BooleanField(required=False, widget=forms.HiddenInput)  # whether the text is the proposal of a merge
    version = forms.IntegerField(min_value=1, required=False, widget=forms.HiddenInput)


class InviteForm(UnknownIsNone):
    role = forms.ChoiceField(choices=Role.choices, initial=Role.INVESTIGATOR, label="Role")
    team = forms.ChoiceField(choices=Team.choices, initial=Team.OTHER, label="Team")
    email = forms.EmailField(required=False, label="Send to (optional)")


class MemberForm(UnknownIsNone):
    role = forms.ChoiceField(choices=Role.choices)
    team = forms.ChoiceField(choices=Team.choices)


class TokenForm(UnknownIsNone):
    label = forms.CharField(max_length=100, label="For which machine")
    hours = forms.IntegerField(min_value=1, max_value=24 * 14, initial=24, label="Valid for hours")


class AccessTokenForm(UnknownIsNone):
    """A token for a program, in all rooms of the person or in one."""

    label = forms.CharField(max_length=100, label="For which program")
    scopes = forms.MultipleChoiceField(
        choices=Scope.choices, label="It may", widget=forms.CheckboxSelectMultiple, initial=[Scope.READ]
    )
    room = forms.CharField(
        max_length=80,
        required=False,
        label="In one room only",
        widget=forms.TextInput(attrs={"placeholder": "the last part of its address; empty: all my rooms"}),
    )
    days = forms.IntegerField(min_value=1, max_value=LONGEST_DAYS, initial=90, label="Valid for days")


def values_of_incident(incident: Incident) -> dict[str, Any]:
    """Return an incident's answers as initial values of `SymptomForm`."""
    return {name: getattr(incident, name) for name in SymptomForm.base_fields}


def _plain(value: object) -> str:
    """Write a number without a needless fraction."""
    return f"{value:g}" if isinstance(value, float) else str(value)
