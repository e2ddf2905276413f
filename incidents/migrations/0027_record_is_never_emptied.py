"""Make the database itself refuse to empty the activity record: TRUNCATE fires no trigger of rows."""

from django.db import migrations

FORWARD = """
CREATE TRIGGER activity_is_never_emptied BEFORE TRUNCATE ON incidents_activity
    FOR EACH STATEMENT EXECUTE FUNCTION incidents_activity_is_append_only();
"""
BACKWARD = "DROP TRIGGER activity_is_never_emptied ON incidents_activity;"


class Migration(migrations.Migration):
    dependencies = [("incidents", "0026_artifact_by_sender")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
