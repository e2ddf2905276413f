from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("incidents", "0015_summary")]

    operations = [
        migrations.AddIndex(
            model_name="incident",
            index=models.Index(fields=["archived_at"], name="incident_archived"),
        ),
    ]
