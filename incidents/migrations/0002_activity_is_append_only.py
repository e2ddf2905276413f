"""Make the database itself refuse to change or delete a line of the activity record."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION incidents_activity_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the activity record is append-only';
END $$;
CREATE TRIGGER activity_is_append_only BEFORE UPDATE OR DELETE ON incidents_activity
    FOR EACH ROW EXECUTE FUNCTION incidents_activity_is_append_only();
"""
BACKWARD = """
DROP TRIGGER activity_is_append_only ON incidents_activity;
DROP FUNCTION incidents_activity_is_append_only();
"""


class Migration(migrations.Migration):
    dependencies = [("incidents", "0001_rooms")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
