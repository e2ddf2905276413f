from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("incidents", "0012_requests")]

    operations = [
        migrations.AddIndex(
            model_name="finding",
            index=models.Index(fields=["rule", "incident"], name="finding_by_rule"),
        ),
    ]
