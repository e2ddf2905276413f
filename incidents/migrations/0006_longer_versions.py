"""The version of a format names its kind and variant: `oracle_net_config/tnsnames 1` has 28 characters."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("incidents", "0005_borders_masks"),
    ]

    operations = [
        migrations.AlterField(
            model_name="reading",
            name="version",
            field=models.CharField(blank=True, max_length=100, null=True),
        ),
    ]
