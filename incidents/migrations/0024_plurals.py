from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("incidents", "0023_verdict_severity")]

    operations = [
        migrations.AlterModelOptions(
            name="activity", options={"ordering": ("incident", "seq"), "verbose_name_plural": "activity"}
        ),
        migrations.AlterModelOptions(
            name="askedquery", options={"ordering": ("-asked_at", "-id"), "verbose_name_plural": "asked queries"}
        ),
        migrations.AlterModelOptions(
            name="delivery", options={"ordering": ("-created_at", "id"), "verbose_name_plural": "deliveries"}
        ),
        migrations.AlterModelOptions(
            name="savedquery", options={"ordering": ("title", "id"), "verbose_name_plural": "saved queries"}
        ),
    ]
