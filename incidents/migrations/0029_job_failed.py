from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("incidents", "0028_seal_second_factors")]

    operations = [
        migrations.AddIndex(
            model_name="job",
            index=models.Index(condition=models.Q(("state", "failed")), fields=["finished_at"], name="job_failed"),
        ),
    ]
