"""Observations in rows of their own, for the search; those of rooms that are there are carried over.

The last step reads each room's newest report once; it may be repeated, and judging writes the same from then on.
"""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
import incidents.models.words.wording
from django.db import migrations, models


def carry_over(apps, schema_editor):
    """Fill the rows from reports; the same as incidents/models/judging/observation.py does when a room is judged."""
    Evaluation = apps.get_model("incidents", "Evaluation")
    Observation = apps.get_model("incidents", "Observation")
    newest = Evaluation.objects.filter(accepted=True).order_by("incident_id", "-number").distinct("incident_id")
    for evaluation in newest.iterator(chunk_size=20):
        rows = []
        for one in evaluation.report.get("observations") or []:
            if one.get("idle") or not one.get("citations"):
                continue
            first = one["citations"][0]
            words = (one.get(name) for name in ("headline", "means", "subject", "host", "mechanism"))
            rows.append(
                Observation(
                    incident_id=evaluation.incident_id,
                    rank=one["rank"],
                    key=str(one.get("key") or "")[:16],
                    headline=str(one.get("headline") or ""),
                    said=" ".join(str(word) for word in words if word),
                    artifact_no=first["artifact"],
                    line_no=first["line_from"],
                    cited=sorted({cited["artifact"] for cited in one["citations"]}),
                )
            )
        Observation.objects.filter(incident_id=evaluation.incident_id).delete()
        Observation.objects.bulk_create(rows)


class Migration(migrations.Migration):
    dependencies = [
        ("incidents", "0020_job_turns"),
    ]

    operations = [
        migrations.CreateModel(
            name="Observation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("rank", models.PositiveIntegerField()),
                ("key", models.CharField(max_length=16)),
                ("headline", models.TextField()),
                ("said", models.TextField()),
                ("artifact_no", models.PositiveIntegerField()),
                ("line_no", models.PositiveBigIntegerField()),
                (
                    "cited",
                    django.contrib.postgres.fields.ArrayField(base_field=models.PositiveIntegerField(), size=None),
                ),
                (
                    "incident",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="observations",
                        to="incidents.incident",
                    ),
                ),
            ],
            options={
                "ordering": ("incident", "rank"),
                "indexes": [
                    django.contrib.postgres.indexes.GinIndex(
                        django.contrib.postgres.search.SearchVector(models.F("said"), config="simple"),
                        name="observation_words",
                    ),
                    django.contrib.postgres.indexes.GinIndex(
                        incidents.models.words.wording.Grams(models.F("said")), name="observation_grams"
                    ),
                ],
                "constraints": [models.UniqueConstraint(fields=("incident", "rank"), name="observation_rank_once")],
            },
        ),
        migrations.RunPython(carry_over, migrations.RunPython.noop),
    ]
