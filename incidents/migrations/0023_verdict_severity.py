from django.db import migrations, models

from incidents.work.verdict_rows import severity_of


def fill(apps, schema_editor):
    """Give the rows of rooms judged before this migration their severity."""
    Verdict = apps.get_model("incidents", "Verdict")
    for row in Verdict.objects.select_related("evaluation").only("pk", "evaluation__report").iterator(50):
        severity = severity_of(row.evaluation.report)
        if severity:
            Verdict.objects.filter(pk=row.pk).update(severity=severity)


class Migration(migrations.Migration):
    dependencies = [("incidents", "0022_site_names")]

    operations = [
        migrations.AddField(
            model_name="verdict",
            name="severity",
            field=models.CharField(blank=True, db_default="", default="", max_length=12),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
