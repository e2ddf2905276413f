from django.db import migrations, models

SEVERITIES = ("critical", "major", "minor", "info")


def severity_of(report):
    """Return what judging writes at this migration: the worst severity of what carries the verdict, else of all."""
    rules = (report.get("verdict") or {}).get("rules") or []
    found = [one for one in report.get("findings") or [] if one.get("kind") != "clear"]
    carriers = [one for one in found if one.get("rule") in rules]
    severities = {str(one.get("severity") or "") for one in carriers or found}
    return next((one for one in SEVERITIES if one in severities), "")


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
