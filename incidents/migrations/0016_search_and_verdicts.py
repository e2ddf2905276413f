"""Verdicts of rooms in a row of their own, and indexes for the search; what is there already is carried over.

`incidents_grams` stands in for pg_trgm, which the PostgreSQL that Exhibit brings along has not (docs/decisions/0013).
The last step reads each room's newest report once; it may be repeated, and judging writes the same from then on.
"""

import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
import django.db.models.functions.text
from django.db import migrations, models

import incidents.models.words.wording

GRAMS = """
create function incidents_grams(text) returns text[] language sql immutable strict parallel safe as $$
    select coalesce(array_agg(distinct gram), '{}') from (
        select letter || lead(letter, 1) over following || lead(letter, 2) over following as gram
        from unnest(string_to_array(lower($1), null)) with ordinality as letters(letter, place)
        window following as (order by place)
    ) as grams where gram is not null
$$
"""
_STEPS = {"none": 0, "weak": 1, "fair": 2, "good": 3, "strong": 4}
_LEADS = ("cause", "suspect")


def carry_over(apps, schema_editor):
    """Fill the new rows from reports; the same as incidents/work/verdict_rows.py does when a room is judged."""
    Evaluation = apps.get_model("incidents", "Evaluation")
    Finding = apps.get_model("incidents", "Finding")
    Verdict = apps.get_model("incidents", "Verdict")
    accepted = Evaluation.objects.filter(accepted=True)
    leading = accepted.filter(report__verdict__state__in=_LEADS).order_by("incident_id", "number")
    first = dict(leading.distinct("incident_id").values_list("incident_id", "made_at"))
    newest = accepted.order_by("incident_id", "-number").distinct("incident_id")
    for evaluation in newest.iterator(chunk_size=20):
        report = evaluation.report
        verdict = report.get("verdict") or {}
        rules = verdict.get("rules") or []
        carriers = [f for f in report.get("findings") or [] if f.get("rule") in rules]
        lead = carriers[0] if carriers else {}
        state, support = str(verdict.get("state") or "cannot tell"), str(verdict.get("support") or "none")
        what = str(verdict.get("hypothesis") or lead.get("rule") or "")
        where = str(lead.get("host") or lead.get("subject") or "")
        cleared = {}
        for entry in report.get("cleared") or []:
            cleared.setdefault(str(entry.get("layer") or ""), []).append(str(entry.get("bound") or ""))
        Verdict.objects.update_or_create(
            incident_id=evaluation.incident_id,
            defaults={
                "evaluation": evaluation,
                "state": state[:20],
                "support": support[:40],
                "support_step": _STEPS.get(support.split(" ")[0], 0),
                "sentence": str(verdict.get("sentence") or ""),
                "layer": str(verdict.get("layer") or "")[:40],
                "hypothesis": str(verdict.get("hypothesis") or "")[:40],
                "host": str(lead.get("host") or "")[:100],
                "recurs_by": f"{what} {where}".strip()[:240] if what and state in _LEADS else "",
                "carriers": [str(f.get("key") or "") for f in carriers],
                "cleared": [
                    {"layer": layer, "bound": "; ".join(dict.fromkeys(filter(None, bounds)))}
                    for layer, bounds in cleared.items()
                ],
                "cleared_count": len(cleared),
                "compared": report.get("compared") or [],
                "judged_at": evaluation.made_at,
                "first_at": first.get(evaluation.incident_id),
            },
        )
    batch = []
    for finding in Finding.objects.filter(current__isnull=False).select_related("current").iterator(chunk_size=500):
        content = finding.current.content
        finding.host = str(content.get("host") or "")[:100]
        finding.subject = str(content.get("subject") or "")[:200]
        finding.said = " ".join(filter(None, (content.get("headline"), content.get("expert"), content.get("rule"))))
        batch.append(finding)
        if len(batch) == 500:
            Finding.objects.bulk_update(batch, ["host", "subject", "said"])
            batch = []
    Finding.objects.bulk_update(batch, ["host", "subject", "said"])


class Migration(migrations.Migration):
    dependencies = [("incidents", "0014_queries_thresholds")]

    operations = [
        migrations.RunSQL(GRAMS, "drop function incidents_grams(text)"),
        migrations.AddField(
            model_name="finding",
            name="host",
            field=models.CharField(blank=True, max_length=100),
        ),
        migrations.AddField(
            model_name="finding",
            name="said",
            field=models.TextField(blank=True),
        ),
        migrations.AddField(
            model_name="finding",
            name="subject",
            field=models.CharField(blank=True, max_length=200),
        ),
        migrations.CreateModel(
            name="Verdict",
            fields=[
                (
                    "incident",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="verdict",
                        serialize=False,
                        to="incidents.incident",
                    ),
                ),
                ("state", models.CharField(max_length=20)),
                ("support", models.CharField(max_length=40)),
                ("support_step", models.PositiveSmallIntegerField(default=0)),
                ("sentence", models.TextField(blank=True)),
                ("layer", models.CharField(blank=True, max_length=40)),
                ("hypothesis", models.CharField(blank=True, max_length=40)),
                ("host", models.CharField(blank=True, max_length=100)),
                ("recurs_by", models.CharField(blank=True, max_length=240)),
                ("carriers", models.JSONField(default=list)),
                ("cleared", models.JSONField(default=list)),
                ("cleared_count", models.PositiveSmallIntegerField(default=0)),
                ("compared", models.JSONField(default=list)),
                ("judged_at", models.DateTimeField()),
                ("first_at", models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.AddField(
            model_name="verdict",
            name="evaluation",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="incidents.evaluation"
            ),
        ),
        migrations.AddIndex(
            model_name="action",
            index=django.contrib.postgres.indexes.GinIndex(
                django.contrib.postgres.search.SearchVector(
                    django.db.models.functions.text.Concat(
                        models.F("text"), models.Value(" "), models.F("expected"), output_field=models.TextField()
                    ),
                    config="simple",
                ),
                name="action_words",
            ),
        ),
        migrations.AddIndex(
            model_name="action",
            index=django.contrib.postgres.indexes.GinIndex(
                incidents.models.words.wording.Grams(
                    django.db.models.functions.text.Concat(
                        models.F("text"), models.Value(" "), models.F("expected"), output_field=models.TextField()
                    )
                ),
                name="action_grams",
            ),
        ),
        migrations.AddIndex(
            model_name="artifact",
            index=django.contrib.postgres.indexes.GinIndex(
                django.contrib.postgres.search.SearchVector(models.F("name"), config="simple"), name="artifact_words"
            ),
        ),
        migrations.AddIndex(
            model_name="artifact",
            index=django.contrib.postgres.indexes.GinIndex(
                incidents.models.words.wording.Grams(models.F("name")), name="artifact_grams"
            ),
        ),
        migrations.AddIndex(
            model_name="decision",
            index=django.contrib.postgres.indexes.GinIndex(
                django.contrib.postgres.search.SearchVector(
                    django.db.models.functions.text.Concat(
                        models.F("question"), models.Value(" "), models.F("outcome"), output_field=models.TextField()
                    ),
                    config="simple",
                ),
                name="decision_words",
            ),
        ),
        migrations.AddIndex(
            model_name="decision",
            index=django.contrib.postgres.indexes.GinIndex(
                incidents.models.words.wording.Grams(
                    django.db.models.functions.text.Concat(
                        models.F("question"), models.Value(" "), models.F("outcome"), output_field=models.TextField()
                    )
                ),
                name="decision_grams",
            ),
        ),
        migrations.AddIndex(
            model_name="finding",
            index=models.Index(
                condition=models.Q(
                    ("gone_since__isnull", True),
                    ("group__in", ("cause", "along", "contributing")),
                    ("withdrawn", False),
                    models.Q(("host", ""), _negated=True),
                ),
                fields=["host", "incident"],
                name="finding_by_host",
            ),
        ),
        migrations.AddIndex(
            model_name="finding",
            index=models.Index(
                condition=models.Q(
                    ("gone_since__isnull", True),
                    ("group__in", ("cause", "along", "contributing")),
                    ("withdrawn", False),
                    models.Q(("subject", ""), _negated=True),
                ),
                fields=["subject", "incident"],
                name="finding_by_subject",
            ),
        ),
        migrations.AddIndex(
            model_name="finding",
            index=django.contrib.postgres.indexes.GinIndex(
                django.contrib.postgres.search.SearchVector(models.F("said"), config="simple"), name="finding_words"
            ),
        ),
        migrations.AddIndex(
            model_name="finding",
            index=django.contrib.postgres.indexes.GinIndex(
                incidents.models.words.wording.Grams(models.F("said")), name="finding_grams"
            ),
        ),
        migrations.AddIndex(
            model_name="host",
            index=django.contrib.postgres.indexes.GinIndex(
                incidents.models.words.wording.Grams(models.F("name")), name="host_grams"
            ),
        ),
        migrations.AddIndex(
            model_name="incident",
            index=django.contrib.postgres.indexes.GinIndex(
                django.contrib.postgres.search.SearchVector(
                    django.db.models.functions.text.Concat(
                        models.F("title"),
                        models.Value(" "),
                        models.F("symptom_text"),
                        models.Value(" "),
                        models.F("affected"),
                        models.Value(" "),
                        models.F("last_change"),
                        models.Value(" "),
                        models.F("measured_how"),
                        output_field=models.TextField(),
                    ),
                    config="simple",
                ),
                name="incident_words",
            ),
        ),
        migrations.AddIndex(
            model_name="incident",
            index=django.contrib.postgres.indexes.GinIndex(
                incidents.models.words.wording.Grams(
                    django.db.models.functions.text.Concat(
                        models.F("title"),
                        models.Value(" "),
                        models.F("symptom_text"),
                        models.Value(" "),
                        models.F("affected"),
                        models.Value(" "),
                        models.F("last_change"),
                        models.Value(" "),
                        models.F("measured_how"),
                        output_field=models.TextField(),
                    )
                ),
                name="incident_grams",
            ),
        ),
        migrations.AddIndex(
            model_name="note",
            index=django.contrib.postgres.indexes.GinIndex(
                django.contrib.postgres.search.SearchVector(models.F("text"), config="simple"), name="note_words"
            ),
        ),
        migrations.AddIndex(
            model_name="note",
            index=django.contrib.postgres.indexes.GinIndex(
                incidents.models.words.wording.Grams(models.F("text")), name="note_grams"
            ),
        ),
        migrations.AddIndex(
            model_name="statement",
            index=django.contrib.postgres.indexes.GinIndex(
                django.contrib.postgres.search.SearchVector(
                    django.db.models.functions.text.Concat(
                        models.F("name"),
                        models.Value(" "),
                        models.F("text"),
                        models.Value(" "),
                        models.F("author_label"),
                        output_field=models.TextField(),
                    ),
                    config="simple",
                ),
                name="statement_words",
            ),
        ),
        migrations.AddIndex(
            model_name="statement",
            index=django.contrib.postgres.indexes.GinIndex(
                incidents.models.words.wording.Grams(
                    django.db.models.functions.text.Concat(
                        models.F("name"),
                        models.Value(" "),
                        models.F("text"),
                        models.Value(" "),
                        models.F("author_label"),
                        output_field=models.TextField(),
                    )
                ),
                name="statement_grams",
            ),
        ),
        migrations.AddIndex(
            model_name="verdict",
            index=models.Index(
                condition=models.Q(("recurs_by", ""), _negated=True),
                fields=["recurs_by", "incident"],
                name="verdict_recurs",
            ),
        ),
        migrations.RunPython(carry_over, migrations.RunPython.noop),
    ]
