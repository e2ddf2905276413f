"""Forms of the status, decisions, actions and webhooks. Each carries the values that the person saw at its opening."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django import forms
from django.http import QueryDict

from incidents.actions.standing import MOST_MINUTES
from incidents.content.merging import merge
from incidents.content.moments import MomentField
from incidents.models.people.duty import DutyKind
from incidents.models.plan.action import ActionState
from incidents.models.room.webhook import HookForm, HookKind
from incidents.pages.forms import UnknownIsNone, severity_field

Choices = Sequence[tuple[Any, str]]


class SeenForm(UnknownIsNone):
    """A form of one row with hidden fields that hold the values from when it was opened."""

    texts: tuple[str, ...] = ()  # long texts: the versions of two people are merged instead of shown side by side

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.show_hidden_initial = True

    def clean(self) -> dict[str, Any]:
        return {name: _lines(value) for name, value in super().clean().items()}

    @property
    def seen(self) -> dict[str, Any] | None:
        """Return the values that the person saw; None if the form did not send them (a script may leave them out)."""
        if not any(self[name].html_initial_name in self.data for name in self.fields):
            return None
        return {name: _lines(self._was(name)) for name in self.fields}

    def _was(self, name: str) -> Any:
        field, bound = self.fields[name], self[name]
        raw = field.hidden_widget().value_from_datadict(self.data, self.files, bound.html_initial_name)
        required, field.required = field.required, False
        try:
            value = field.clean(raw)
        except forms.ValidationError:  # a person or finding that can no longer be chosen
            value = field.to_python(raw)
        finally:
            field.required = required
        return None if value == "" else value

    def beside(self, now: Mapping[str, Any], who: str, show: Mapping[str, str]) -> SeenForm:
        """Return the same form after `Overtaken`: each field names its present value and keeps what was typed.

        Long texts are merged (`merging.merge`), so that nobody's words are missing in the proposal. `show` has the
        values in words. If it is saved again, the form overwrites what it shows.
        """
        data = self.data.copy() if isinstance(self.data, QueryDict) else dict(self.data)
        for name, value in now.items():
            bound = self[name]
            if name in self.texts:
                was = str(self._was(name) or "")
                data[bound.html_name] = merge(was, str(value or ""), str(self.cleaned_data.get(name) or ""), who).text
            data[bound.html_initial_name] = self.fields[name].prepare_value(_typed(value))
        form = type(self)(data, initial=self.initial, auto_id=self.auto_id, **self.extra())
        form.full_clean()
        for name in now:
            theirs = show.get(name) or "nothing"
            if name in self.texts:
                words = f"{who} changed it meanwhile to: {theirs} — Both texts are merged above; edit the result and save it."
            else:
                words = f"{who} changed it meanwhile to: {theirs}. Save again to put yours over it."
            form.add_error(name, words)
        return form

    def extra(self) -> dict[str, Any]:
        """Return the arguments needed to make a form like this one again."""
        return {}


def _lines(value: Any) -> Any:
    return value.replace("\r\n", "\n") if isinstance(value, str) else value


def _typed(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    return "" if value is None else value


def area(rows: int, **attrs: str) -> forms.Textarea:
    """Return a field for a text of some rows."""
    return forms.Textarea(attrs={"rows": rows, **attrs})


class _WithPeople(SeenForm):
    """A form that names people of the room and its findings."""

    def __init__(
        self, *args: Any, people: Choices = (), findings: Choices = (), decisions: Choices = (), **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._extra: dict[str, Any] = {"people": people, "findings": findings, "decisions": decisions}
        offered = {
            "owner": people,
            "asked_of": people,
            "decided_by": people,
            "next_update_by": people,
            "finding_key": findings,
        }
        for name, choices in (offered | {"decision": decisions}).items():
            field = self.fields.get(name)
            if isinstance(field, forms.ChoiceField):
                field.choices = [("", "nobody yet" if choices is people else "none"), *choices]

    def extra(self) -> dict[str, Any]:
        return self._extra


class StatusForm(_WithPeople):
    """The standing of the incident. `holders`: for each duty the people who may have it."""

    severity = severity_field("nobody said it")
    lead = forms.TypedChoiceField(
        required=False, coerce=int, empty_value=None, label="Lead", help_text="Of several leads, the one who leads now."
    )
    communications = forms.TypedChoiceField(
        required=False, coerce=int, empty_value=None, label="Communications", help_text="Tells the others."
    )
    scribe = forms.TypedChoiceField(
        required=False, coerce=int, empty_value=None, label="Scribe", help_text="Writes down what people do."
    )
    started = MomentField(required=False, label="Started")
    detected = MomentField(required=False, label="Detected")
    mitigated = MomentField(required=False, label="Mitigated")
    resolved = MomentField(required=False, label="Resolved")
    next_update_at = MomentField(required=False, label="Next update at")
    next_update_by = forms.TypedChoiceField(required=False, coerce=int, empty_value=None, label="Next update by")
    next_update_duty = forms.ChoiceField(
        required=False,
        label="or by duty",
        choices=[("", "the person above"), *DutyKind.choices],
        help_text="Whoever has the duty then.",
    )
    next_update_every = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_MINUTES,
        label="Then every (minutes)",
        help_text="When one was given, the next is promised.",
    )

    def __init__(self, *args: Any, holders: Mapping[str, Choices] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._extra["holders"] = holders or {}
        for duty, people in (holders or {}).items():
            field = self.fields[duty]
            assert isinstance(field, forms.TypedChoiceField)
            field.choices = [("", "nobody in particular" if duty == DutyKind.LEAD else "nobody yet"), *people]


class DecisionForm(_WithPeople):
    texts = ("question", "outcome")
    question = forms.CharField(
        max_length=5000,
        required=False,
        label="What must be decided",
        widget=area(2),
        help_text="May stay empty once it is decided.",
    )
    needed_by = MomentField(required=False, label="Needed by")
    asked_of = forms.TypedChoiceField(
        required=False, coerce=int, empty_value=None, label="Of whom", help_text="Whose word is needed."
    )
    finding_key = forms.ChoiceField(required=False, label="On finding")
    outcome = forms.CharField(
        max_length=5000,
        required=False,
        label="What was decided",
        widget=area(2),
        help_text="Leave it empty until it is decided.",
    )
    decided_by = forms.TypedChoiceField(
        required=False, coerce=int, empty_value=None, label="Decided by", help_text="You, unless you choose somebody."
    )
    decided_at = MomentField(required=False, label="Decided at", help_text="Now, unless you say when.")
    client_id = forms.UUIDField(required=False, widget=forms.HiddenInput)


class ActionForm(_WithPeople):
    texts = ("text", "expected")
    text = forms.CharField(max_length=5000, label="What is to be done", widget=area(2))
    owner = forms.TypedChoiceField(required=False, coerce=int, empty_value=None, label="Owner")
    due_at = MomentField(required=False, label="Due")
    finding_key = forms.ChoiceField(required=False, label="On finding")
    decision = forms.TypedChoiceField(required=False, coerce=int, empty_value=None, label="Asked for by decision")
    expected = forms.CharField(
        max_length=5000,
        required=False,
        label="Expected effect",
        widget=area(3),
        help_text="How you will see that it helped. For a finding, its rule proposes this.",
    )
    client_id = forms.UUIDField(required=False, widget=forms.HiddenInput)


class DoneForm(UnknownIsNone):
    """When an action was done and what it changed; this becomes a marker of the case."""

    at = MomentField(label="Done at")
    changed = forms.CharField(
        required=False,
        max_length=4000,
        label="All that it changed, one per line",
        widget=area(3),
        help_text="Becomes a marker on the timeline. Leave it empty if nothing was changed.",
    )
    from_phase = forms.CharField(
        max_length=40,
        required=False,
        label="Measured before in phase",
        widget=forms.TextInput(attrs={"list": "phases"}),
    )
    to_phase = forms.CharField(
        max_length=40, required=False, label="and after in phase", widget=forms.TextInput(attrs={"list": "phases"})
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        cleaned["changed"] = [line.strip() for line in (cleaned.get("changed") or "").splitlines() if line.strip()]
        if bool(cleaned.get("from_phase")) != bool(cleaned.get("to_phase")):
            raise forms.ValidationError("A comparison needs both phases: the one before and the one after.")
        if cleaned.get("from_phase") and not cleaned["changed"]:
            self.add_error("changed", "Name what was changed between the two phases.")
        return cleaned


class StateForm(UnknownIsNone):
    state = forms.ChoiceField(choices=[choice for choice in ActionState.choices if choice[0] != ActionState.DONE])


class OfferForm(UnknownIsNone):
    """The role of lead, offered to another member."""

    to = forms.TypedChoiceField(coerce=int, label="To")
    words = forms.CharField(max_length=1000, required=False, label="What the next lead should know", widget=area(2))

    def __init__(self, *args: Any, people: Choices = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["to"]
        assert isinstance(field, forms.TypedChoiceField)
        field.choices = [("", "choose"), *people]


class WebhookForm(UnknownIsNone):
    url = forms.CharField(
        max_length=500,
        label="Address",
        widget=forms.URLInput(attrs={"placeholder": "https://chat.example.com/hooks/..."}),
    )
    form = forms.ChoiceField(
        choices=[("", "as the address suggests"), *HookForm.choices],
        required=False,
        label="Form of the messages",
        help_text="Slack and Teams are known by their addresses; for Mattermost choose it here.",
    )
    kinds = forms.MultipleChoiceField(
        choices=HookKind.choices,
        label="News of",
        widget=forms.CheckboxSelectMultiple,
        initial=[HookKind.VERDICT, HookKind.ROOM, HookKind.DECISION, HookKind.ACTION, HookKind.UPDATE],
    )
