from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("incidents", "0018_archived_rooms")]

    operations = [
        migrations.AlterModelOptions(name="milestone", options={"ordering": ("incident_id", "at")}),
    ]
