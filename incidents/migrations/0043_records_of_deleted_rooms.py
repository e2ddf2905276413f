"""Let the record and the frozen summaries of a room go with it, in one lawful way; keep held rooms; guard the site's record.

Such a row may be deleted only while all of this holds, in the same transaction:
  - a deletion of its room has begun, and its time has come;
  - that deletion is of this very room (the hash of its slug), and, if it did not wait, of one that was deleted before;
  - no legal hold is on the room;
  - the record of the site has its line for this deletion, with the hash of the last row that is about to go.
"""

from django.db import migrations

FORWARD = """
CREATE FUNCTION incidents_room_may_go(asked bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM incidents_roomdeletion gone
        JOIN incidents_incident room ON room.id = gone.room_id
        JOIN incidents_roomcounter counter ON counter.incident_id = room.id
        JOIN incidents_siterecord line ON line.deletion_id = gone.id
        WHERE room.id = asked
            AND gone.state = 'begun'
            AND (gone.again OR gone.due_at <= clock_timestamp())
            AND gone.slug_hash = encode(sha256(convert_to(room.slug, 'UTF8')), 'hex')
            AND (NOT gone.again OR EXISTS (
                SELECT FROM incidents_roomdeletion before
                WHERE before.slug_hash = gone.slug_hash AND before.state = 'done'))
            AND room.held_at IS NULL
            AND line.detail ->> 'last_hash' = counter.activity_head
    )
$$;

CREATE OR REPLACE FUNCTION incidents_activity_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF incidents_room_may_go(OLD.incident_id) THEN RETURN OLD; END IF;
    END IF;
    RAISE EXCEPTION 'the activity record is append-only';
END $$;

CREATE OR REPLACE FUNCTION incidents_summary_versions_are_frozen() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF NEW.struck_at IS NOT NULL
            AND (NEW.id, NEW.incident_id, NEW.number, NEW.content_hash, NEW.made_by_id, NEW.made_by_name, NEW.made_at,
                NEW.why)
              = (OLD.id, OLD.incident_id, OLD.number, OLD.content_hash, OLD.made_by_id, OLD.made_by_name, OLD.made_at,
                OLD.why)
            AND NEW.evaluation_id IS NOT DISTINCT FROM OLD.evaluation_id
        THEN
            RETURN NEW;
        END IF;
    ELSIF incidents_room_may_go(OLD.incident_id) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'a frozen version of a summary never changes';
END $$;

CREATE FUNCTION incidents_site_record_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the record of the site is append-only';
END $$;
CREATE TRIGGER site_record_is_append_only BEFORE UPDATE OR DELETE ON incidents_siterecord
    FOR EACH ROW EXECUTE FUNCTION incidents_site_record_is_append_only();
CREATE TRIGGER site_record_is_never_emptied BEFORE TRUNCATE ON incidents_siterecord
    FOR EACH STATEMENT EXECUTE FUNCTION incidents_site_record_is_append_only();

CREATE FUNCTION incidents_held_room_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM incidents_incident room
        WHERE room.held_at IS NOT NULL
            AND room.id = (to_jsonb(OLD) ->> CASE TG_TABLE_NAME WHEN 'incidents_incident' THEN 'id'
                ELSE 'incident_id' END)::bigint
    ) THEN
        RAISE EXCEPTION 'a legal hold keeps everything of this room';
    END IF;
    IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER held_room_stays BEFORE DELETE ON incidents_incident
    FOR EACH ROW EXECUTE FUNCTION incidents_held_room_stays();
CREATE TRIGGER held_artifact_stays BEFORE DELETE ON incidents_artifact
    FOR EACH ROW EXECUTE FUNCTION incidents_held_room_stays();
CREATE TRIGGER held_artifact_is_not_purged BEFORE UPDATE OF purged_at ON incidents_artifact
    FOR EACH ROW WHEN (OLD.purged_at IS NULL AND NEW.purged_at IS NOT NULL)
    EXECUTE FUNCTION incidents_held_room_stays();
CREATE TRIGGER held_note_stays BEFORE DELETE ON incidents_note
    FOR EACH ROW EXECUTE FUNCTION incidents_held_room_stays();
"""
BACKWARD = """
DROP TRIGGER held_note_stays ON incidents_note;
DROP TRIGGER held_artifact_is_not_purged ON incidents_artifact;
DROP TRIGGER held_artifact_stays ON incidents_artifact;
DROP TRIGGER held_room_stays ON incidents_incident;
DROP FUNCTION incidents_held_room_stays();
DROP TRIGGER site_record_is_never_emptied ON incidents_siterecord;
DROP TRIGGER site_record_is_append_only ON incidents_siterecord;
DROP FUNCTION incidents_site_record_is_append_only();
CREATE OR REPLACE FUNCTION incidents_summary_versions_are_frozen() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.struck_at IS NOT NULL
        AND (NEW.id, NEW.incident_id, NEW.number, NEW.content_hash, NEW.made_by_id, NEW.made_by_name, NEW.made_at, NEW.why)
          = (OLD.id, OLD.incident_id, OLD.number, OLD.content_hash, OLD.made_by_id, OLD.made_by_name, OLD.made_at, OLD.why)
        AND NEW.evaluation_id IS NOT DISTINCT FROM OLD.evaluation_id
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'a frozen version of a summary never changes';
END $$;
CREATE OR REPLACE FUNCTION incidents_activity_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the activity record is append-only';
END $$;
DROP FUNCTION incidents_room_may_go(bigint);
"""


class Migration(migrations.Migration):
    dependencies = [("incidents", "0042_deleted_rooms")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
