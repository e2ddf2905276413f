"""All steps up to 0029 as one, for a new database: Django builds all its models anew for each step.

A database that has some of the steps goes on with those, and one that has all is taken as it is. What the database itself
guards (records that are only added to, frozen versions of summaries) stands at the end, the function behind an index at the
beginning.
"""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
import django.db.models.functions.text
import django.utils.timezone
import incidents.models.words.wording
import uuid
from django.conf import settings
from django.db import migrations, models

GRAMS = """
create function incidents_grams(text) returns text[] language sql immutable strict parallel safe as $$
    select coalesce(array_agg(distinct gram), '{}') from (
        select letter || lead(letter, 1) over following || lead(letter, 2) over following as gram
        from unnest(string_to_array(lower($1), null)) with ordinality as letters(letter, place)
        window following as (order by place)
    ) as grams where gram is not null
$$
"""
NO_GRAMS = """
drop function incidents_grams(text)
"""
ACTIVITY_IS_APPEND_ONLY = """
CREATE FUNCTION incidents_activity_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the activity record is append-only';
END $$;
CREATE TRIGGER activity_is_append_only BEFORE UPDATE OR DELETE ON incidents_activity
    FOR EACH ROW EXECUTE FUNCTION incidents_activity_is_append_only();
"""
NO_ACTIVITY_IS_APPEND_ONLY = """
DROP TRIGGER activity_is_append_only ON incidents_activity;
DROP FUNCTION incidents_activity_is_append_only();
"""
SUMMARY_VERSIONS_ARE_FROZEN = """
CREATE FUNCTION incidents_summary_versions_are_frozen() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER summary_versions_are_frozen BEFORE UPDATE OR DELETE ON incidents_summaryversion
    FOR EACH ROW EXECUTE FUNCTION incidents_summary_versions_are_frozen();
"""
NO_SUMMARY_VERSIONS_ARE_FROZEN = """
DROP TRIGGER summary_versions_are_frozen ON incidents_summaryversion;
DROP FUNCTION incidents_summary_versions_are_frozen();
"""
ACTIVITY_IS_NEVER_EMPTIED = """
CREATE TRIGGER activity_is_never_emptied BEFORE TRUNCATE ON incidents_activity
    FOR EACH STATEMENT EXECUTE FUNCTION incidents_activity_is_append_only();
"""
NO_ACTIVITY_IS_NEVER_EMPTIED = """
DROP TRIGGER activity_is_never_emptied ON incidents_activity;
"""


class Migration(migrations.Migration):

    replaces = [
        ("incidents", "0001_rooms"),
        ("incidents", "0002_activity_is_append_only"),
        ("incidents", "0003_archives"),
        ("incidents", "0004_questions"),
        ("incidents", "0005_borders_masks"),
        ("incidents", "0006_longer_versions"),
        ("incidents", "0007_threads"),
        ("incidents", "0008_plan_and_standing"),
        ("incidents", "0009_sent_once"),
        ("incidents", "0010_layouts"),
        ("incidents", "0011_arguments"),
        ("incidents", "0012_requests"),
        ("incidents", "0014_queries_thresholds"),
        ("incidents", "0015_summary"),
        ("incidents", "0016_search_and_verdicts"),
        ("incidents", "0017_findings_by_rule"),
        ("incidents", "0018_archived_rooms"),
        ("incidents", "0019_milestones_by_room"),
        ("incidents", "0020_job_turns"),
        ("incidents", "0021_observations"),
        ("incidents", "0022_site_names"),
        ("incidents", "0023_verdict_severity"),
        ("incidents", "0024_plurals"),
        ("incidents", "0025_invitation_account"),
        ("incidents", "0026_artifact_by_sender"),
        ("incidents", "0027_record_is_never_emptied"),
        ("incidents", "0028_seal_second_factors"),
        ("incidents", "0029_job_failed"),
    ]

    initial = True

    dependencies = [
        ("account", "0009_emailaddress_unique_primary_email"),
        ("admin", "0003_logentry_add_action_flag_choices"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("mfa", "0003_authenticator_type_uniq"),
        ("socialaccount", "0006_alter_socialaccount_extra_data"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunSQL(GRAMS, NO_GRAMS),
        migrations.CreateModel(
            name='Evaluation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('inputs_hash', models.CharField(max_length=64)),
                ('version', models.CharField(max_length=64)),
                ('report', models.JSONField()),
                ('accepted', models.BooleanField(default=True)),
                ('made_at', models.DateTimeField(auto_now_add=True)),
                ('scores', models.GeneratedField(db_persist=True, expression=models.Func('report', template="jsonb_path_query_array(%(expressions)s, '$.verdict.state') || jsonb_path_query_array(%(expressions)s, '$.hypotheses[*].code') || jsonb_path_query_array(%(expressions)s, '$.hypotheses[*].score')"), output_field=models.JSONField())),
            ],
            options={
                'ordering': ('incident', '-number'),
            },
        ),
        migrations.CreateModel(
            name='Finding',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=16)),
                ('rule', models.CharField(max_length=80)),
                ('kind', models.CharField(choices=[('finding', 'finding'), ('clear', 'clearing finding')], max_length=8)),
                ('group', models.CharField(max_length=14)),
                ('rank', models.PositiveIntegerField(default=0)),
                ('first_seen', models.DateTimeField(auto_now_add=True)),
                ('gone_since', models.DateTimeField(blank=True, null=True)),
                ('withdrawn', models.BooleanField(default=False)),
                ('host', models.CharField(blank=True, max_length=100)),
                ('subject', models.CharField(blank=True, max_length=200)),
                ('said', models.TextField(blank=True)),
            ],
            options={
                'ordering': ('rank', 'id'),
            },
        ),
        migrations.CreateModel(
            name='Incident',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(max_length=80, unique=True)),
                ('title', models.CharField(max_length=200)),
                ('status', models.CharField(choices=[('open', 'open'), ('mitigated', 'mitigated'), ('resolved', 'resolved'), ('closed', 'closed')], default='open', max_length=12)),
                ('symptom_text', models.CharField(blank=True, max_length=300, null=True)),
                ('symptom_unit', models.CharField(blank=True, max_length=20, null=True)),
                ('symptom_bad', models.FloatField(blank=True, null=True)),
                ('symptom_normal', models.FloatField(blank=True, null=True)),
                ('symptom_clock', models.CharField(blank=True, max_length=60, null=True)),
                ('symptom_from', models.FloatField(blank=True, null=True)),
                ('symptom_to', models.FloatField(blank=True, null=True)),
                ('measured_how', models.TextField(blank=True, null=True)),
                ('since', models.DateTimeField(blank=True, null=True)),
                ('ongoing', models.BooleanField(blank=True, null=True)),
                ('affected', models.CharField(blank=True, max_length=200, null=True)),
                ('last_change', models.TextField(blank=True, null=True)),
                ('t_zero', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('closed_at', models.DateTimeField(blank=True, null=True)),
                ('closing_at', models.DateTimeField(blank=True, null=True)),
                ('archived_at', models.DateTimeField(blank=True, null=True)),
                ('next_update_at', models.DateTimeField(blank=True, null=True)),
                ('standing_version', models.PositiveIntegerField(default=1)),
                ('archived_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('closed_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('closing_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='rooms_created', to=settings.AUTH_USER_MODEL)),
                ('next_update_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-created_at',),
                'indexes': [models.Index(fields=['status', '-created_at'], name='incident_by_status'), models.Index(fields=['archived_at'], name='incident_archived'), django.contrib.postgres.indexes.GinIndex(django.contrib.postgres.search.SearchVector(django.db.models.functions.text.Concat(models.F('title'), models.Value(' '), models.F('symptom_text'), models.Value(' '), models.F('affected'), models.Value(' '), models.F('last_change'), models.Value(' '), models.F('measured_how'), output_field=models.TextField()), config='simple'), name='incident_words'), django.contrib.postgres.indexes.GinIndex(incidents.models.words.wording.Grams(django.db.models.functions.text.Concat(models.F('title'), models.Value(' '), models.F('symptom_text'), models.Value(' '), models.F('affected'), models.Value(' '), models.F('last_change'), models.Value(' '), models.F('measured_how'), output_field=models.TextField())), name='incident_grams')],
                'constraints': [models.CheckConstraint(condition=models.Q(('status__in', ['open', 'mitigated', 'resolved', 'closed'])), name='incident_status_known'), models.CheckConstraint(condition=models.Q(models.Q(('closed_at__isnull', False), ('status', 'closed')), models.Q(models.Q(('status', 'closed'), _negated=True), ('closed_at__isnull', True)), _connector='OR'), name='incident_closed_has_time'), models.CheckConstraint(condition=models.Q(('archived_at__isnull', True), ('status', 'closed'), _connector='OR'), name='incident_archived_is_closed')],
            },
        ),
        migrations.CreateModel(
            name='MailChoice',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='mail_choice', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('mentions', models.BooleanField(default=True)),
            ],
        ),
        migrations.CreateModel(
            name='Artifact',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('sha256', models.CharField(max_length=64)),
                ('name', models.CharField(max_length=255)),
                ('size', models.PositiveBigIntegerField()),
                ('way', models.CharField(choices=[('page', 'page'), ('paste', 'paste'), ('tus', 'resumable upload'), ('put', 'curl -T'), ('sample', 'sample room'), ('archive', 'an archive'), ('link', "a request's link")], max_length=8)),
                ('received_at', models.DateTimeField(auto_now_add=True)),
                ('state', models.CharField(choices=[('received', 'received'), ('queued', 'waiting to be read'), ('reading', 'being read'), ('read', 'read'), ('unpacked', 'unpacked'), ('failed', 'not read'), ('stopped', 'stopped'), ('purged', 'purged')], default='received', max_length=10)),
                ('cause', models.TextField(blank=True, null=True)),
                ('lines_read', models.PositiveBigIntegerField(blank=True, null=True)),
                ('bytes_read', models.PositiveBigIntegerField(blank=True, null=True)),
                ('borders_before', models.JSONField(blank=True, default=list)),
                ('version', models.PositiveIntegerField(default=1)),
                ('purged_at', models.DateTimeField(blank=True, null=True)),
                ('purge_reason', models.TextField(blank=True, null=True)),
                ('purged_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('uploader', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='artifacts', to='incidents.incident')),
            ],
            options={
                'ordering': ('number',),
            },
        ),
        migrations.CreateModel(
            name='Decision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('question', models.TextField()),
                ('needed_by', models.DateTimeField(blank=True, null=True)),
                ('finding_key', models.CharField(blank=True, max_length=16, null=True)),
                ('outcome', models.TextField(blank=True, null=True)),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('edited_at', models.DateTimeField(blank=True, null=True)),
                ('deleted_at', models.DateTimeField(blank=True, null=True)),
                ('version', models.PositiveIntegerField(default=1)),
                ('client_id', models.UUIDField(blank=True, null=True)),
                ('asked_of', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('decided_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('deleted_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('edited_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='decisions', to='incidents.incident')),
            ],
            options={
                'ordering': ('id',),
                'indexes': [models.Index(fields=['incident', 'needed_by', 'id'], name='decision_by_need'), models.Index(fields=['incident', 'finding_key'], name='decision_by_finding'), django.contrib.postgres.indexes.GinIndex(django.contrib.postgres.search.SearchVector(django.db.models.functions.text.Concat(models.F('question'), models.Value(' '), models.F('outcome'), output_field=models.TextField()), config='simple'), name='decision_words'), django.contrib.postgres.indexes.GinIndex(incidents.models.words.wording.Grams(django.db.models.functions.text.Concat(models.F('question'), models.Value(' '), models.F('outcome'), output_field=models.TextField())), name='decision_grams')],
                'constraints': [models.UniqueConstraint(fields=('incident', 'author', 'client_id'), name='decision_sent_once'), models.CheckConstraint(condition=models.Q(('question', ''), _negated=True), name='decision_has_question'), models.CheckConstraint(condition=models.Q(models.Q(('decided_at__isnull', True), ('decided_by__isnull', True), ('outcome__isnull', True)), models.Q(('decided_at__isnull', False), ('decided_by__isnull', False), ('outcome__isnull', False)), _connector='OR'), name='decision_outcome_has_author')],
            },
        ),
        migrations.CreateModel(
            name='EvidenceRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('what', models.CharField(max_length=500)),
                ('command', models.TextField(blank=True)),
                ('cost', models.TextField(blank=True)),
                ('decides', models.TextField(blank=True)),
                ('who', models.CharField(blank=True, max_length=120)),
                ('host', models.CharField(blank=True, max_length=120)),
                ('os', models.CharField(blank=True, max_length=20)),
                ('os_release', models.CharField(blank=True, max_length=60)),
                ('rule', models.CharField(blank=True, max_length=80)),
                ('ask_id', models.CharField(blank=True, max_length=16)),
                ('tables', models.JSONField(blank=True, default=list)),
                ('symptom', models.CharField(blank=True, max_length=20)),
                ('worth', models.FloatField(default=0)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('due_at', models.DateTimeField(blank=True, null=True)),
                ('state', models.CharField(choices=[('open', 'open'), ('answered', 'answered'), ('withdrawn', 'withdrawn'), ('expired', 'expired')], default='open', max_length=10)),
                ('settled_at', models.DateTimeField(blank=True, null=True)),
                ('changed', models.TextField(blank=True, null=True)),
                ('changed_at', models.DateTimeField(blank=True, null=True)),
                ('client_id', models.UUIDField(blank=True, null=True)),
                ('version', models.PositiveIntegerField(default=1)),
                ('asked_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('asked_of', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('settled_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='requests', to='incidents.incident')),
            ],
            options={
                'ordering': ('-worth', 'id'),
                'indexes': [models.Index(fields=['incident', 'state', '-worth'], name='request_in_order'), models.Index(condition=models.Q(('changed__isnull', True), ('state', 'answered')), fields=['settled_at'], name='request_to_be_judged')],
                'constraints': [models.UniqueConstraint(fields=('incident', 'asked_by', 'client_id'), name='request_sent_once'), models.CheckConstraint(condition=models.Q(('state__in', ['open', 'answered', 'withdrawn', 'expired'])), name='request_state_known'), models.CheckConstraint(condition=models.Q(('what', ''), _negated=True), name='request_says_what'), models.CheckConstraint(condition=models.Q(models.Q(('settled_at__isnull', True), ('state', 'open')), models.Q(models.Q(('state', 'open'), _negated=True), ('settled_at__isnull', False)), _connector='OR'), name='request_settled_has_time')],
            },
        ),
        migrations.CreateModel(
            name='FindingVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('content', models.JSONField()),
                ('content_hash', models.CharField(max_length=64)),
                ('made_at', models.DateTimeField(auto_now_add=True)),
                ('evaluation', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='incidents.evaluation')),
                ('finding', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='incidents.finding')),
            ],
            options={
                'ordering': ('finding', 'number'),
                'constraints': [models.UniqueConstraint(fields=('finding', 'number'), name='finding_version_once')],
            },
        ),
        migrations.AddField(
            model_name='finding',
            name='current',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='incidents.findingversion'),
        ),
        migrations.CreateModel(
            name='FirstAdminLink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token_hash', models.CharField(max_length=64, unique=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField()),
                ('used_at', models.DateTimeField(blank=True, null=True)),
                ('used_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='GiveLink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token_hash', models.CharField(max_length=64, unique=True)),
                ('label', models.CharField(max_length=80)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField()),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('most_files', models.PositiveIntegerField(default=10)),
                ('most_bytes', models.PositiveBigIntegerField()),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('request', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='links', to='incidents.evidencerequest')),
            ],
            options={
                'ordering': ('-created_at',),
                'indexes': [models.Index(condition=models.Q(('revoked_at__isnull', True)), fields=['expires_at'], name='give_link_by_age')],
                'constraints': [models.CheckConstraint(condition=models.Q(('most_files__gte', 1)), name='give_link_takes_files')],
            },
        ),
        migrations.CreateModel(
            name='RoomCounter',
            fields=[
                ('incident', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='counter', serialize=False, to='incidents.incident')),
                ('artifact_number', models.PositiveIntegerField(default=0)),
                ('event_seq', models.PositiveBigIntegerField(default=0)),
                ('activity_seq', models.PositiveBigIntegerField(default=0)),
                ('activity_head', models.CharField(default='', max_length=64)),
            ],
        ),
        migrations.CreateModel(
            name='Verdict',
            fields=[
                ('incident', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='verdict', serialize=False, to='incidents.incident')),
                ('state', models.CharField(max_length=20)),
                ('support', models.CharField(max_length=40)),
                ('support_step', models.PositiveSmallIntegerField(default=0)),
                ('severity', models.CharField(blank=True, db_default='', default='', max_length=12)),
                ('sentence', models.TextField(blank=True)),
                ('layer', models.CharField(blank=True, max_length=40)),
                ('hypothesis', models.CharField(blank=True, max_length=40)),
                ('host', models.CharField(blank=True, max_length=100)),
                ('recurs_by', models.CharField(blank=True, max_length=240)),
                ('carriers', models.JSONField(default=list)),
                ('cleared', models.JSONField(default=list)),
                ('cleared_count', models.PositiveSmallIntegerField(default=0)),
                ('compared', models.JSONField(default=list)),
                ('judged_at', models.DateTimeField()),
                ('first_at', models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Host',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('os', models.CharField(blank=True, max_length=40, null=True)),
                ('os_release', models.CharField(blank=True, max_length=60, null=True)),
                ('model', models.CharField(blank=True, max_length=100, null=True)),
                ('role', models.CharField(blank=True, max_length=40, null=True)),
                ('ncpu', models.PositiveIntegerField(blank=True, null=True)),
                ('mem_gib', models.FloatField(blank=True, null=True)),
                ('tz', models.CharField(blank=True, max_length=60, null=True)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='hosts', to='incidents.incident')),
            ],
            options={
                'ordering': ('name',),
                'indexes': [django.contrib.postgres.indexes.GinIndex(incidents.models.words.wording.Grams(models.F('name')), name='host_grams')],
                'constraints': [models.UniqueConstraint(fields=('incident', 'name'), name='host_name_once'), models.CheckConstraint(condition=models.Q(('ncpu__isnull', True), ('ncpu__gte', 1), _connector='OR'), name='host_ncpu_from_1'), models.CheckConstraint(condition=models.Q(('mem_gib__isnull', True), ('mem_gib__gt', 0), _connector='OR'), name='host_memory_positive')],
            },
        ),
        migrations.CreateModel(
            name='HandOver',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('words', models.CharField(blank=True, max_length=1000)),
                ('offered_at', models.DateTimeField(auto_now_add=True)),
                ('answer', models.CharField(blank=True, choices=[('accepted', 'accepted'), ('declined', 'declined'), ('withdrawn', 'taken back')], max_length=10, null=True)),
                ('answered_at', models.DateTimeField(blank=True, null=True)),
                ('offered_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('offered_to', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='handovers', to='incidents.incident')),
            ],
            options={
                'ordering': ('-offered_at',),
                'constraints': [models.UniqueConstraint(condition=models.Q(('answer__isnull', True)), fields=('incident',), name='handover_one_open'), models.CheckConstraint(condition=models.Q(models.Q(('answer__isnull', True), ('answered_at__isnull', True)), models.Q(('answer__in', ['accepted', 'declined', 'withdrawn']), ('answered_at__isnull', False)), _connector='OR'), name='handover_answer_known'), models.CheckConstraint(condition=models.Q(('offered_by', models.F('offered_to')), _negated=True), name='handover_between_two')],
            },
        ),
        migrations.CreateModel(
            name='FreeCause',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(max_length=40)),
                ('cause', models.CharField(max_length=200)),
                ('layer', models.CharField(blank=True, max_length=20, null=True)),
                ('author_label', models.CharField(max_length=100)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('removed_at', models.DateTimeField(blank=True, null=True)),
                ('version', models.PositiveIntegerField(default=1)),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='free_causes', to='incidents.incident')),
            ],
            options={
                'ordering': ('id',),
                'constraints': [models.UniqueConstraint(fields=('incident', 'code'), name='free_cause_code_once'), models.CheckConstraint(condition=models.Q(('code__regex', '^H-[A-Z]+(-[A-Z]+)*$')), name='free_cause_code_spelled'), models.CheckConstraint(condition=models.Q(('cause', ''), _negated=True), name='free_cause_has_text')],
            },
        ),
        migrations.AddField(
            model_name='finding',
            name='incident',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='findings', to='incidents.incident'),
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seq', models.PositiveBigIntegerField()),
                ('kind', models.CharField(max_length=20)),
                ('object', models.CharField(max_length=40)),
                ('version', models.PositiveIntegerField(default=1)),
                ('made_at', models.DateTimeField(auto_now_add=True)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='events', to='incidents.incident')),
            ],
            options={
                'ordering': ('incident', 'seq'),
                'indexes': [models.Index(fields=['made_at'], name='event_by_age')],
                'constraints': [models.UniqueConstraint(fields=('incident', 'seq'), name='event_seq_once')],
            },
        ),
        migrations.AddField(
            model_name='evaluation',
            name='incident',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='evaluations', to='incidents.incident'),
        ),
        migrations.CreateModel(
            name='Dispute',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.TextField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                ('answer', models.TextField(blank=True, null=True)),
                ('answered_at', models.DateTimeField(blank=True, null=True)),
                ('answered_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('finding', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='disputes', to='incidents.finding')),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='disputes', to='incidents.incident')),
            ],
            options={
                'ordering': ('created_at',),
                'indexes': [models.Index(condition=models.Q(('answered_at__isnull', True), ('withdrawn_at__isnull', True)), fields=['incident', 'finding'], name='dispute_open')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('answered_at__isnull', True), ('withdrawn_at__isnull', True)), fields=('finding', 'author'), name='dispute_one_open'), models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='dispute_has_reason'), models.CheckConstraint(condition=models.Q(models.Q(('answer__isnull', True), ('answered_at__isnull', True), ('answered_by__isnull', True)), models.Q(('answer__isnull', False), ('answered_at__isnull', False), ('answered_by__isnull', False), models.Q(('answer', ''), _negated=True)), _connector='OR'), name='dispute_answer_complete')],
            },
        ),
        migrations.CreateModel(
            name='ClockOffset',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('clock', models.CharField(max_length=60)),
                ('ref', models.CharField(max_length=60)),
                ('lo', models.FloatField()),
                ('hi', models.FloatField()),
                ('text', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='clock_offsets', to='incidents.incident')),
            ],
            options={
                'ordering': ('id',),
                'constraints': [models.UniqueConstraint(fields=('incident', 'clock', 'ref'), name='offset_once'), models.CheckConstraint(condition=models.Q(('lo__lte', models.F('hi'))), name='offset_in_order'), models.CheckConstraint(condition=models.Q(('clock', models.F('ref')), _negated=True), name='offset_of_two_clocks')],
            },
        ),
        migrations.CreateModel(
            name='AskedQuery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sql', models.TextField()),
                ('sha256', models.CharField(max_length=64)),
                ('asked_at', models.DateTimeField()),
                ('person', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='asked_queries', to='incidents.incident')),
            ],
            options={
                'verbose_name_plural': 'asked queries',
                'ordering': ('-asked_at', '-id'),
                'indexes': [models.Index(fields=['incident', 'person', '-asked_at'], name='asked_query_newest')],
                'constraints': [models.UniqueConstraint(fields=('incident', 'person', 'sha256'), name='asked_query_once'), models.CheckConstraint(condition=models.Q(('sql', ''), _negated=True), name='asked_query_has_text')],
            },
        ),
        migrations.CreateModel(
            name='Argument',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.TextField()),
                ('words', models.JSONField()),
                ('finding_key', models.CharField(blank=True, max_length=16, null=True)),
                ('line_from', models.PositiveBigIntegerField(blank=True, null=True)),
                ('line_to', models.PositiveBigIntegerField(blank=True, null=True)),
                ('author_label', models.CharField(max_length=100)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('edited_at', models.DateTimeField(blank=True, null=True)),
                ('removed_at', models.DateTimeField(blank=True, null=True)),
                ('version', models.PositiveIntegerField(default=1)),
                ('client_id', models.UUIDField(blank=True, null=True)),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('artifact', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='incidents.artifact')),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='arguments', to='incidents.incident')),
            ],
            options={
                'ordering': ('id',),
                'indexes': [models.Index(fields=['incident', 'removed_at', 'id'], name='argument_by_room')],
                'constraints': [models.UniqueConstraint(fields=('incident', 'author', 'client_id'), name='argument_sent_once'), models.UniqueConstraint(condition=models.Q(('removed_at__isnull', True)), fields=('incident', 'author_label', 'reason'), name='argument_said_once'), models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='argument_has_reason'), models.CheckConstraint(condition=models.Q(models.Q(('artifact__isnull', True), ('line_from__isnull', True), ('line_to__isnull', True)), models.Q(('artifact__isnull', False), ('line_from__gte', 1), ('line_to__gte', models.F('line_from'))), _connector='OR'), name='argument_lines_in_order')],
            },
        ),
        migrations.CreateModel(
            name='Activity',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seq', models.PositiveBigIntegerField()),
                ('at', models.DateTimeField()),
                ('actor_name', models.CharField(max_length=150)),
                ('verb', models.CharField(max_length=40)),
                ('object', models.CharField(max_length=100)),
                ('detail', models.JSONField(default=dict)),
                ('previous', models.CharField(max_length=64)),
                ('hash', models.CharField(max_length=64)),
                ('actor', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='activity', to='incidents.incident')),
            ],
            options={
                'verbose_name_plural': 'activity',
                'ordering': ('incident', 'seq'),
                'indexes': [models.Index(fields=['incident', 'verb', '-seq'], name='activity_by_verb')],
                'constraints': [models.UniqueConstraint(fields=('incident', 'seq'), name='activity_seq_once')],
            },
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token_hash', models.CharField(max_length=64, unique=True)),
                ('role', models.CharField(choices=[('lead', 'lead'), ('investigator', 'investigator'), ('viewer', 'viewer')], max_length=12)),
                ('team', models.CharField(choices=[('dba', 'DBA'), ('network', 'network'), ('system', 'system'), ('other', 'other')], default='other', max_length=10)),
                ('email', models.EmailField(blank=True, max_length=254, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField()),
                ('used_at', models.DateTimeField(blank=True, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('account', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to='incidents.incident')),
                ('used_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-created_at',),
                'constraints': [models.CheckConstraint(condition=models.Q(('role__in', ['lead', 'investigator', 'viewer'])), name='invitation_role_known'), models.CheckConstraint(condition=models.Q(('team__in', ['dba', 'network', 'system', 'other'])), name='invitation_team_known')],
            },
        ),
        migrations.CreateModel(
            name='Job',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('ingest', 'read an artifact'), ('judge', 'judge the room')], max_length=8)),
                ('queue', models.CharField(choices=[('small', 'small'), ('large', 'large'), ('judge', 'judge')], max_length=8)),
                ('state', models.CharField(choices=[('queued', 'waiting'), ('running', 'running'), ('done', 'done'), ('failed', 'failed')], default='queued', max_length=8)),
                ('attempt', models.PositiveIntegerField(default=0)),
                ('turns', models.PositiveIntegerField(db_default=0, default=0)),
                ('worker', models.CharField(blank=True, max_length=100, null=True)),
                ('lease_until', models.DateTimeField(blank=True, null=True)),
                ('heartbeat_at', models.DateTimeField(blank=True, null=True)),
                ('cause', models.TextField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('not_before', models.DateTimeField(blank=True, null=True)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('artifact', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='jobs', to='incidents.artifact')),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='jobs', to='incidents.incident')),
            ],
            options={
                'ordering': ('created_at', 'id'),
                'indexes': [models.Index(condition=models.Q(('state', 'queued')), fields=['queue', 'created_at'], name='job_waiting'), models.Index(condition=models.Q(('state', 'running')), fields=['lease_until'], name='job_leases'), models.Index(fields=['incident', '-created_at'], name='job_by_room'), models.Index(condition=models.Q(('state', 'failed')), fields=['finished_at'], name='job_failed')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('kind', 'ingest'), ('state__in', ('queued', 'running'))), fields=('artifact',), name='job_one_ingest'), models.UniqueConstraint(condition=models.Q(('kind', 'judge'), ('state', 'queued')), fields=('incident',), name='job_one_judge_waiting'), models.UniqueConstraint(condition=models.Q(('kind', 'judge'), ('state', 'running')), fields=('incident',), name='job_one_judge_running'), models.CheckConstraint(condition=models.Q(models.Q(('artifact__isnull', False), ('kind', 'ingest')), models.Q(('artifact__isnull', True), ('kind', 'judge')), _connector='OR'), name='job_kind_known'), models.CheckConstraint(condition=models.Q(('state__in', ['queued', 'running', 'done', 'failed'])), name='job_state_known'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'running'), _negated=True), ('lease_until__isnull', False), _connector='OR'), name='job_running_has_lease')],
            },
        ),
        migrations.CreateModel(
            name='Layout',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('lanes', models.JSONField(default=dict)),
                ('kept_at', models.DateTimeField(auto_now=True)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='layouts', to='incidents.incident')),
                ('kept_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('incident', 'owner'), name='layout_once', nulls_distinct=False)],
            },
        ),
        migrations.CreateModel(
            name='LiftedMask',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sha256', models.CharField(max_length=64)),
                ('line', models.PositiveBigIntegerField()),
                ('begin', models.PositiveBigIntegerField()),
                ('end', models.PositiveBigIntegerField()),
                ('kind', models.CharField(max_length=40)),
                ('reason', models.TextField()),
                ('lifted_at', models.DateTimeField(auto_now_add=True)),
                ('artifact', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='lifted_masks', to='incidents.artifact')),
                ('lifted_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('artifact', 'line', 'begin'),
                'constraints': [models.UniqueConstraint(fields=('artifact', 'line', 'begin', 'end'), name='mask_lifted_once'), models.CheckConstraint(condition=models.Q(('line__gte', 1)), name='mask_line_from_1'), models.CheckConstraint(condition=models.Q(('end__gt', models.F('begin'))), name='mask_not_empty')],
            },
        ),
        migrations.CreateModel(
            name='Marker',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(blank=True, null=True)),
                ('from_phase', models.CharField(blank=True, max_length=40, null=True)),
                ('to_phase', models.CharField(blank=True, max_length=40, null=True)),
                ('kind', models.CharField(choices=[('change', 'change'), ('start', 'start'), ('end', 'end')], default='change', max_length=8)),
                ('label', models.CharField(max_length=300)),
                ('changed', models.JSONField(blank=True, default=list)),
                ('hypothesis', models.CharField(blank=True, max_length=40, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='markers', to='incidents.incident')),
            ],
            options={
                'ordering': ('id',),
                'constraints': [models.CheckConstraint(condition=models.Q(('kind__in', ['change', 'start', 'end'])), name='marker_kind_known'), models.CheckConstraint(condition=models.Q(('at__isnull', False), models.Q(('from_phase__isnull', False), ('to_phase__isnull', False)), _connector='OR'), name='marker_has_place')],
            },
        ),
        migrations.CreateModel(
            name='Action',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.TextField()),
                ('due_at', models.DateTimeField(blank=True, null=True)),
                ('state', models.CharField(choices=[('open', 'open'), ('doing', 'doing'), ('done', 'done'), ('dropped', 'dropped')], default='open', max_length=8)),
                ('finding_key', models.CharField(blank=True, max_length=16, null=True)),
                ('expected', models.TextField(blank=True, null=True)),
                ('done_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('edited_at', models.DateTimeField(blank=True, null=True)),
                ('deleted_at', models.DateTimeField(blank=True, null=True)),
                ('version', models.PositiveIntegerField(default=1)),
                ('client_id', models.UUIDField(blank=True, null=True)),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('deleted_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('done_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('edited_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('decision', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='actions', to='incidents.decision')),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='actions', to='incidents.incident')),
                ('marker', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='incidents.marker')),
            ],
            options={
                'ordering': ('id',),
                'indexes': [models.Index(fields=['incident', 'due_at', 'id'], name='action_by_due'), models.Index(fields=['incident', 'finding_key'], name='action_by_finding'), django.contrib.postgres.indexes.GinIndex(django.contrib.postgres.search.SearchVector(django.db.models.functions.text.Concat(models.F('text'), models.Value(' '), models.F('expected'), output_field=models.TextField()), config='simple'), name='action_words'), django.contrib.postgres.indexes.GinIndex(incidents.models.words.wording.Grams(django.db.models.functions.text.Concat(models.F('text'), models.Value(' '), models.F('expected'), output_field=models.TextField())), name='action_grams')],
                'constraints': [models.UniqueConstraint(fields=('incident', 'author', 'client_id'), name='action_sent_once'), models.CheckConstraint(condition=models.Q(('text', ''), _negated=True), name='action_has_text'), models.CheckConstraint(condition=models.Q(('state__in', ['open', 'doing', 'done', 'dropped'])), name='action_state_known'), models.CheckConstraint(condition=models.Q(models.Q(('done_at__isnull', False), ('done_by__isnull', False), ('state', 'done')), models.Q(models.Q(('state', 'done'), _negated=True), ('done_at__isnull', True), ('done_by__isnull', True)), _connector='OR'), name='action_done_has_time')],
            },
        ),
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('lead', 'lead'), ('investigator', 'investigator'), ('viewer', 'viewer')], max_length=12)),
                ('team', models.CharField(choices=[('dba', 'DBA'), ('network', 'network'), ('system', 'system'), ('other', 'other')], default='other', max_length=10)),
                ('joined_at', models.DateTimeField(auto_now_add=True)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='incidents.incident')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='memberships', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('joined_at', 'id'),
                'indexes': [models.Index(fields=['user', 'incident'], name='membership_by_user')],
                'constraints': [models.UniqueConstraint(fields=('incident', 'user'), name='membership_once'), models.CheckConstraint(condition=models.Q(('role__in', ['lead', 'investigator', 'viewer'])), name='membership_role_known'), models.CheckConstraint(condition=models.Q(('team__in', ['dba', 'network', 'system', 'other'])), name='membership_team_known')],
            },
        ),
        migrations.CreateModel(
            name='Milestone',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('started', 'started'), ('detected', 'detected'), ('mitigated', 'mitigated'), ('resolved', 'resolved')], max_length=10)),
                ('at', models.DateTimeField()),
                ('set_at', models.DateTimeField(auto_now=True)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='milestones', to='incidents.incident')),
                ('set_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('incident_id', 'at'),
                'constraints': [models.UniqueConstraint(fields=('incident', 'kind'), name='milestone_once'), models.CheckConstraint(condition=models.Q(('kind__in', ['started', 'detected', 'mitigated', 'resolved'])), name='milestone_kind_known')],
            },
        ),
        migrations.CreateModel(
            name='Note',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.TextField()),
                ('finding_key', models.CharField(blank=True, max_length=16, null=True)),
                ('sha256', models.CharField(blank=True, max_length=64, null=True)),
                ('line_from', models.PositiveBigIntegerField(blank=True, null=True)),
                ('line_to', models.PositiveBigIntegerField(blank=True, null=True)),
                ('clock', models.CharField(blank=True, max_length=60, null=True)),
                ('t_from', models.FloatField(blank=True, null=True)),
                ('t_to', models.FloatField(blank=True, null=True)),
                ('lane', models.CharField(blank=True, max_length=200, null=True)),
                ('lane_label', models.CharField(blank=True, max_length=200, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('client_id', models.CharField(blank=True, max_length=36, null=True)),
                ('edited_at', models.DateTimeField(blank=True, null=True)),
                ('deleted_at', models.DateTimeField(blank=True, null=True)),
                ('resolved_at', models.DateTimeField(blank=True, null=True)),
                ('version', models.PositiveIntegerField(default=1)),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('deleted_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('edited_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notes', to='incidents.incident')),
                ('reply_to', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='replies', to='incidents.note')),
                ('resolved_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('created_at', 'id'),
                'indexes': [models.Index(fields=['incident', 'finding_key'], name='note_by_finding'), models.Index(fields=['incident', 'sha256', 'line_from'], name='note_by_lines'), models.Index(condition=models.Q(('reply_to__isnull', True)), fields=['incident', 'created_at', 'id'], name='note_threads'), models.Index(condition=models.Q(('clock__isnull', False)), fields=['incident', 'clock'], name='note_by_clock'), django.contrib.postgres.indexes.GinIndex(django.contrib.postgres.search.SearchVector(models.F('text'), config='simple'), name='note_words'), django.contrib.postgres.indexes.GinIndex(incidents.models.words.wording.Grams(models.F('text')), name='note_grams')],
                'constraints': [models.CheckConstraint(condition=models.Q(('text', ''), _negated=True), name='note_has_text'), models.CheckConstraint(condition=models.Q(models.Q(('line_from__isnull', True), ('line_to__isnull', True)), models.Q(('line_from__gte', 1), ('line_to__gte', models.F('line_from')), ('sha256__isnull', False)), _connector='OR'), name='note_lines_complete'), models.CheckConstraint(condition=models.Q(models.Q(('t_from__isnull', True), ('t_to__isnull', True)), models.Q(('clock__isnull', False), ('t_from__isnull', False), ('t_to__gte', models.F('t_from'))), _connector='OR'), name='note_times_complete'), models.CheckConstraint(condition=models.Q(('reply_to__isnull', True), models.Q(('clock__isnull', True), ('finding_key__isnull', True), ('lane__isnull', True), ('resolved_at__isnull', True), ('sha256__isnull', True)), _connector='OR'), name='note_reply_has_no_place'), models.UniqueConstraint(condition=models.Q(('client_id__isnull', False)), fields=('incident', 'author', 'client_id'), name='note_sent_once')],
            },
        ),
        migrations.CreateModel(
            name='NoteVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('text', models.TextField()),
                ('made_at', models.DateTimeField()),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('note', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='incidents.note')),
            ],
            options={
                'ordering': ('note', 'number'),
                'constraints': [models.UniqueConstraint(fields=('note', 'number'), name='note_version_once')],
            },
        ),
        migrations.CreateModel(
            name='Notification',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('mention', 'mentioned you'), ('reply', 'replied to you'), ('answer', 'answered your dispute'), ('collect', 'asked you to collect something'), ('waiting', 'sent a file by your link'), ('brought', 'answered your request'), ('changed', 'has judged what you asked for')], max_length=8)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('read_at', models.DateTimeField(blank=True, null=True)),
                ('mail', models.CharField(choices=[('none', 'none wanted'), ('waiting', 'waiting'), ('sent', 'sent'), ('failed', 'failed')], default='none', max_length=8)),
                ('mail_after', models.DateTimeField(blank=True, null=True)),
                ('mail_attempts', models.PositiveIntegerField(default=0)),
                ('mail_cause', models.TextField(blank=True, null=True)),
                ('actor', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('dispute', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='notifications', to='incidents.dispute')),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='incidents.incident')),
                ('note', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='notifications', to='incidents.note')),
                ('request', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='notifications', to='incidents.evidencerequest')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notifications', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-id',),
                'indexes': [models.Index(fields=['user', '-id'], name='notification_in_order'), models.Index(condition=models.Q(('read_at__isnull', True)), fields=['user', 'incident'], name='notification_unread'), models.Index(condition=models.Q(('mail', 'waiting')), fields=['mail_after'], name='notification_mails')],
                'constraints': [models.UniqueConstraint(fields=('user', 'kind', 'note'), name='notification_note_once'), models.UniqueConstraint(fields=('user', 'kind', 'dispute'), name='notification_dispute_once'), models.UniqueConstraint(fields=('user', 'kind', 'request'), name='notification_request_once'), models.CheckConstraint(condition=models.Q(models.Q(('dispute__isnull', True), ('note__isnull', False), ('request__isnull', True)), models.Q(('dispute__isnull', False), ('note__isnull', True), ('request__isnull', True)), models.Q(('dispute__isnull', True), ('note__isnull', True), ('request__isnull', False)), _connector='OR'), name='notification_has_cause'), models.CheckConstraint(condition=models.Q(('kind__in', ['mention', 'reply', 'answer', 'collect', 'waiting', 'brought', 'changed'])), name='notification_kind_known'), models.CheckConstraint(condition=models.Q(('mail__in', ['none', 'waiting', 'sent', 'failed'])), name='notification_mail_known')],
            },
        ),
        migrations.CreateModel(
            name='Observation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('rank', models.PositiveIntegerField()),
                ('key', models.CharField(max_length=16)),
                ('headline', models.TextField()),
                ('said', models.TextField()),
                ('artifact_no', models.PositiveIntegerField()),
                ('line_no', models.PositiveBigIntegerField()),
                ('cited', django.contrib.postgres.fields.ArrayField(base_field=models.PositiveIntegerField(), size=None)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='observations', to='incidents.incident')),
            ],
            options={
                'ordering': ('incident', 'rank'),
                'indexes': [django.contrib.postgres.indexes.GinIndex(django.contrib.postgres.search.SearchVector(models.F('said'), config='simple'), name='observation_words'), django.contrib.postgres.indexes.GinIndex(incidents.models.words.wording.Grams(models.F('said')), name='observation_grams')],
                'constraints': [models.UniqueConstraint(fields=('incident', 'rank'), name='observation_rank_once')],
            },
        ),
        migrations.CreateModel(
            name='Phase',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('line_from', models.PositiveBigIntegerField()),
                ('line_to', models.PositiveBigIntegerField()),
                ('phase', models.CharField(max_length=40)),
                ('artifact', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='phases', to='incidents.artifact')),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='phases', to='incidents.incident')),
            ],
            options={
                'ordering': ('artifact', 'line_from'),
                'constraints': [models.CheckConstraint(condition=models.Q(('line_from__gte', 1), ('line_to__gte', models.F('line_from'))), name='phase_lines_in_order')],
            },
        ),
        migrations.CreateModel(
            name='QuarantinedFile',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=255)),
                ('size', models.PositiveBigIntegerField()),
                ('sha256', models.CharField(max_length=64)),
                ('address', models.CharField(blank=True, max_length=60)),
                ('received_at', models.DateTimeField(auto_now_add=True)),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('taken', 'taken in'), ('refused', 'refused'), ('expired', 'expired')], default='waiting', max_length=8)),
                ('reason', models.TextField(blank=True)),
                ('settled_at', models.DateTimeField(blank=True, null=True)),
                ('artifact', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='incidents.artifact')),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='quarantined', to='incidents.incident')),
                ('link', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='files', to='incidents.givelink')),
                ('settled_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('received_at', 'id'),
                'indexes': [models.Index(condition=models.Q(('state', 'waiting')), fields=['received_at'], name='quarantine_waiting'), models.Index(fields=['incident', 'state'], name='quarantine_by_room')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'waiting')), fields=('link', 'sha256'), name='quarantined_content_once'), models.CheckConstraint(condition=models.Q(('state__in', ['waiting', 'taken', 'refused', 'expired'])), name='quarantined_state_known'), models.CheckConstraint(condition=models.Q(('sha256__regex', '^[0-9a-f]{64}$')), name='quarantined_sha256_hex'), models.CheckConstraint(condition=models.Q(models.Q(('settled_at__isnull', True), ('state', 'waiting')), models.Q(('settled_at__isnull', False), ('state', 'expired')), models.Q(('state__in', ('taken', 'refused')), ('settled_at__gte', models.F('received_at')), ('settled_by__isnull', False)), _connector='OR'), name='quarantined_tombstone_complete')],
            },
        ),
        migrations.CreateModel(
            name='Reading',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('state', models.CharField(choices=[('running', 'being read'), ('complete', 'read'), ('failed', 'not read'), ('replaced', 'replaced')], default='running', max_length=10)),
                ('hints', models.JSONField(default=dict)),
                ('version', models.CharField(blank=True, max_length=100, null=True)),
                ('kind', models.CharField(blank=True, max_length=40, null=True)),
                ('variant', models.CharField(blank=True, max_length=40, null=True)),
                ('encoding', models.CharField(blank=True, max_length=40, null=True)),
                ('lines', models.PositiveBigIntegerField(blank=True, null=True)),
                ('account', models.JSONField(default=dict)),
                ('tables', models.JSONField(default=dict)),
                ('claims', models.JSONField(default=list)),
                ('cause', models.TextField(blank=True, null=True)),
                ('error', models.CharField(blank=True, max_length=40, null=True)),
                ('started_at', models.DateTimeField(auto_now_add=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('artifact', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='readings', to='incidents.artifact')),
            ],
            options={
                'ordering': ('artifact', 'number'),
                'constraints': [models.UniqueConstraint(fields=('artifact', 'number'), name='reading_number_once'), models.UniqueConstraint(condition=models.Q(('state', 'running')), fields=('artifact',), name='reading_one_running'), models.CheckConstraint(condition=models.Q(('state__in', ['running', 'complete', 'failed', 'replaced'])), name='reading_state_known')],
            },
        ),
        migrations.CreateModel(
            name='Part',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('part', models.PositiveIntegerField()),
                ('line_from', models.PositiveBigIntegerField()),
                ('line_to', models.PositiveBigIntegerField()),
                ('kind', models.CharField(blank=True, max_length=40, null=True)),
                ('variant', models.CharField(blank=True, max_length=40, null=True)),
                ('system', models.CharField(blank=True, max_length=40, null=True)),
                ('host', models.CharField(blank=True, max_length=100, null=True)),
                ('os', models.CharField(blank=True, max_length=40, null=True)),
                ('role', models.CharField(blank=True, max_length=40, null=True)),
                ('phase', models.CharField(blank=True, max_length=40, null=True)),
                ('account', models.JSONField(default=dict)),
                ('facts', models.JSONField(default=dict)),
                ('domains', models.JSONField(default=list)),
                ('claims', models.JSONField(default=list)),
                ('reading', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='parts', to='incidents.reading')),
            ],
            options={
                'ordering': ('reading', 'part'),
                'constraints': [models.UniqueConstraint(fields=('reading', 'part'), name='part_once'), models.CheckConstraint(condition=models.Q(('line_from__gte', 1), ('line_to__gte', models.F('line_from'))), name='part_lines_in_order')],
            },
        ),
        migrations.AddField(
            model_name='artifact',
            name='reading',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='incidents.reading'),
        ),
        migrations.CreateModel(
            name='RequestAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('taken', models.BooleanField(default=True)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('artifact', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='answered', to='incidents.artifact')),
                ('by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('request', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='answers', to='incidents.evidencerequest')),
            ],
            options={
                'ordering': ('id',),
                'constraints': [models.UniqueConstraint(fields=('request', 'artifact'), name='answer_once')],
            },
        ),
        migrations.CreateModel(
            name='SavedQuery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('title', models.CharField(max_length=200)),
                ('sql', models.TextField()),
                ('chart', models.JSONField(blank=True, default=dict)),
                ('shared', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('edited_at', models.DateTimeField(blank=True, null=True)),
                ('deleted_at', models.DateTimeField(blank=True, null=True)),
                ('version', models.PositiveIntegerField(default=1)),
                ('client_id', models.UUIDField(blank=True, null=True)),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('deleted_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('edited_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='queries', to='incidents.incident')),
            ],
            options={
                'verbose_name_plural': 'saved queries',
                'ordering': ('title', 'id'),
                'indexes': [models.Index(fields=['incident', 'author', 'shared'], name='query_by_author')],
                'constraints': [models.UniqueConstraint(fields=('incident', 'author', 'client_id'), name='query_sent_once'), models.CheckConstraint(condition=models.Q(models.Q(('sql', ''), _negated=True), models.Q(('title', ''), _negated=True)), name='query_has_text')],
            },
        ),
        migrations.CreateModel(
            name='ShareLink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token_hash', models.CharField(max_length=64, unique=True)),
                ('label', models.CharField(max_length=100)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField()),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('opened', models.PositiveIntegerField(default=0)),
                ('opened_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='share_links', to='incidents.incident')),
                ('revoked_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-created_at', '-id'),
            },
        ),
        migrations.CreateModel(
            name='ShareOpening',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('address', models.CharField(max_length=60)),
                ('hour', models.DateTimeField()),
                ('first_at', models.DateTimeField()),
                ('last_at', models.DateTimeField()),
                ('count', models.PositiveIntegerField(default=1)),
                ('link', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='openings', to='incidents.sharelink')),
            ],
            options={
                'ordering': ('-last_at',),
                'constraints': [models.UniqueConstraint(fields=('link', 'address', 'hour'), name='share_opening_once')],
            },
        ),
        migrations.CreateModel(
            name='SiteName',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('port', 'port'), ('host', 'host or address'), ('path', 'path'), ('process', 'process'), ('parameter', 'parameter'), ('log text', 'log text')], max_length=10)),
                ('name', models.CharField(max_length=200)),
                ('text', models.CharField(max_length=200)),
                ('author_label', models.CharField(max_length=100)),
                ('said_at', models.DateTimeField()),
                ('removed_at', models.DateTimeField(blank=True, null=True)),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('incident', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='site_names', to='incidents.incident')),
            ],
            options={
                'ordering': ('id',),
                'constraints': [models.UniqueConstraint(condition=models.Q(('incident__isnull', False), ('removed_at__isnull', True)), fields=('incident', 'kind', 'name'), name='site_name_once_in_room'), models.UniqueConstraint(condition=models.Q(('incident__isnull', True), ('removed_at__isnull', True)), fields=('kind', 'name'), name='site_name_once'), models.CheckConstraint(condition=models.Q(('kind__in', ['port', 'host', 'path', 'process', 'parameter', 'log text'])), name='site_name_kind_known'), models.CheckConstraint(condition=models.Q(models.Q(('name', ''), _negated=True), models.Q(('text', ''), _negated=True)), name='site_name_has_words')],
            },
        ),
        migrations.CreateModel(
            name='Statement',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60)),
                ('subject', models.CharField(blank=True, max_length=100, null=True)),
                ('num', models.FloatField(blank=True, null=True)),
                ('unit', models.CharField(blank=True, max_length=20, null=True)),
                ('text', models.TextField()),
                ('author_label', models.CharField(max_length=100)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='statements', to='incidents.incident')),
            ],
            options={
                'ordering': ('id',),
                'indexes': [models.Index(fields=['incident', 'name'], name='statement_by_name'), django.contrib.postgres.indexes.GinIndex(django.contrib.postgres.search.SearchVector(django.db.models.functions.text.Concat(models.F('name'), models.Value(' '), models.F('text'), models.Value(' '), models.F('author_label'), output_field=models.TextField()), config='simple'), name='statement_words'), django.contrib.postgres.indexes.GinIndex(incidents.models.words.wording.Grams(django.db.models.functions.text.Concat(models.F('name'), models.Value(' '), models.F('text'), models.Value(' '), models.F('author_label'), output_field=models.TextField())), name='statement_grams')],
            },
        ),
        migrations.CreateModel(
            name='SummaryText',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('section', models.CharField(max_length=12)),
                ('number', models.PositiveIntegerField()),
                ('text', models.TextField(blank=True)),
                ('way', models.CharField(choices=[('instead', 'instead of Exhibit’s words'), ('beside', 'after Exhibit’s words')], default='instead', max_length=8)),
                ('machine', models.TextField(blank=True)),
                ('made_at', models.DateTimeField(auto_now_add=True)),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='summary_texts', to='incidents.incident')),
            ],
            options={
                'ordering': ('section', '-number'),
                'constraints': [models.UniqueConstraint(fields=('incident', 'section', 'number'), name='summary_text_once'), models.CheckConstraint(condition=models.Q(('way__in', ['instead', 'beside'])), name='summary_text_way_known')],
            },
        ),
        migrations.CreateModel(
            name='SummaryVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('content', models.JSONField()),
                ('content_hash', models.CharField(max_length=64)),
                ('made_by_name', models.CharField(max_length=150)),
                ('made_at', models.DateTimeField(auto_now_add=True)),
                ('why', models.CharField(max_length=300)),
                ('struck_at', models.DateTimeField(blank=True, null=True)),
                ('evaluation', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='incidents.evaluation')),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='summary_versions', to='incidents.incident')),
                ('made_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('incident', '-number'),
                'constraints': [models.UniqueConstraint(fields=('incident', 'number'), name='summary_version_once')],
            },
        ),
        migrations.AddField(
            model_name='sharelink',
            name='version',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='links', to='incidents.summaryversion'),
        ),
        migrations.CreateModel(
            name='Suppression',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('rule', models.CharField(max_length=80)),
                ('reason', models.CharField(max_length=500)),
                ('until', models.DateField()),
                ('author_label', models.CharField(max_length=150)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('deleted_at', models.DateTimeField(blank=True, null=True)),
                ('subject', models.CharField(default='*', max_length=200)),
                ('host', models.CharField(blank=True, max_length=100, null=True)),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('deleted_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='suppressions', to='incidents.incident')),
            ],
            options={
                'ordering': ('rule', 'subject', 'id'),
                'indexes': [models.Index(condition=models.Q(('deleted_at__isnull', True), ('ended_at__isnull', True)), fields=['until'], name='suppression_to_end')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('deleted_at__isnull', True), ('ended_at__isnull', True)), fields=('incident', 'rule', 'subject', 'host'), name='suppression_once', nulls_distinct=False), models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='suppression_has_reason')],
            },
        ),
        migrations.CreateModel(
            name='Threshold',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('rule', models.CharField(max_length=80)),
                ('reason', models.CharField(max_length=500)),
                ('until', models.DateField()),
                ('author_label', models.CharField(max_length=150)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('deleted_at', models.DateTimeField(blank=True, null=True)),
                ('param', models.CharField(max_length=80)),
                ('value', models.JSONField()),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('deleted_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='thresholds', to='incidents.incident')),
            ],
            options={
                'ordering': ('rule', 'param', 'id'),
                'indexes': [models.Index(condition=models.Q(('deleted_at__isnull', True), ('ended_at__isnull', True)), fields=['until'], name='threshold_to_end')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('deleted_at__isnull', True), ('ended_at__isnull', True)), fields=('incident', 'rule', 'param'), name='threshold_once'), models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='threshold_has_reason')],
            },
        ),
        migrations.CreateModel(
            name='UploadToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token_hash', models.CharField(max_length=64, unique=True)),
                ('label', models.CharField(max_length=100)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField()),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('last_used_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='upload_tokens', to='incidents.incident')),
            ],
            options={
                'ordering': ('-created_at',),
            },
        ),
        migrations.CreateModel(
            name='Upload',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=255)),
                ('size', models.PositiveBigIntegerField()),
                ('said', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('artifact', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='incidents.artifact')),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='uploads', to='incidents.incident')),
                ('uploader', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('token', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='incidents.uploadtoken')),
            ],
            options={
                'indexes': [models.Index(fields=['created_at'], name='upload_by_age')],
            },
        ),
        migrations.AddField(
            model_name='artifact',
            name='token',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='artifacts', to='incidents.uploadtoken'),
        ),
        migrations.CreateModel(
            name='Webhook',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('url', models.CharField(max_length=500)),
                ('kinds', models.JSONField(default=list)),
                ('salt', models.CharField(max_length=32)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('paused_at', models.DateTimeField(blank=True, null=True)),
                ('removed_at', models.DateTimeField(blank=True, null=True)),
                ('lease_until', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='webhooks', to='incidents.incident')),
            ],
            options={
                'ordering': ('created_at', 'id'),
            },
        ),
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(max_length=20)),
                ('object', models.CharField(max_length=40)),
                ('body', models.TextField(blank=True, null=True)),
                ('state', models.CharField(choices=[('queued', 'waiting'), ('sent', 'delivered'), ('failed', 'given up')], default='queued', max_length=8)),
                ('attempt', models.PositiveIntegerField(default=0)),
                ('next_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('tried_at', models.DateTimeField(blank=True, null=True)),
                ('status', models.PositiveIntegerField(blank=True, null=True)),
                ('answer', models.CharField(blank=True, max_length=600, null=True)),
                ('took_ms', models.PositiveIntegerField(blank=True, null=True)),
                ('webhook', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='incidents.webhook')),
            ],
            options={
                'verbose_name_plural': 'deliveries',
                'ordering': ('-created_at', 'id'),
                'indexes': [models.Index(fields=['webhook', '-created_at'], name='delivery_by_hook'), models.Index(condition=models.Q(('state', 'queued')), fields=['next_at'], name='delivery_due')],
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['queued', 'sent', 'failed'])), name='delivery_state_known')],
            },
        ),
        migrations.CreateModel(
            name='ArchiveMember',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('path', models.TextField()),
                ('size', models.PositiveBigIntegerField(blank=True, null=True)),
                ('why', models.TextField(blank=True, null=True)),
                ('wanted', models.BooleanField(default=False)),
                ('told', models.JSONField(default=dict)),
                ('archive', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='members', to='incidents.artifact')),
                ('became', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='came_in', to='incidents.artifact')),
            ],
            options={
                'ordering': ('archive', 'position'),
                'constraints': [models.UniqueConstraint(fields=('archive', 'position'), name='member_once'), models.CheckConstraint(condition=models.Q(('became__isnull', False), ('why__isnull', False), _connector='OR'), name='member_became_or_why')],
            },
        ),
        migrations.CreateModel(
            name='Correction',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('line_from', models.PositiveBigIntegerField(blank=True, null=True)),
                ('line_to', models.PositiveBigIntegerField(blank=True, null=True)),
                ('field', models.CharField(choices=[('kind', 'kind'), ('host', 'host'), ('os', 'operating system'), ('role', 'role'), ('phase', 'phase'), ('clock', 'clock'), ('tz', 'time zone'), ('year', 'year'), ('interval_s', 'seconds between samples'), ('date', 'day of the first line'), ('date_order', 'order of day and month'), ('columns', 'which column is what'), ('border', 'what lines are')], max_length=12)),
                ('value', models.CharField(blank=True, max_length=1000, null=True)),
                ('corrected_at', models.DateTimeField(auto_now=True)),
                ('artifact', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='corrections', to='incidents.artifact')),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('line_from', 'field'),
                'constraints': [models.UniqueConstraint(fields=('artifact', 'line_from', 'line_to', 'field'), name='correction_once', nulls_distinct=False), models.CheckConstraint(condition=models.Q(('field__in', ['kind', 'host', 'os', 'role', 'phase', 'clock', 'tz', 'year', 'interval_s', 'date', 'date_order', 'columns', 'border'])), name='correction_field_known'), models.CheckConstraint(condition=models.Q(models.Q(('line_from__isnull', True), ('line_to__isnull', True)), models.Q(('line_from__gte', 1), ('line_to__gte', models.F('line_from'))), _connector='OR'), name='correction_lines_in_order')],
            },
        ),
        migrations.AddField(
            model_name='verdict',
            name='evaluation',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='incidents.evaluation'),
        ),
        migrations.AddIndex(
            model_name='finding',
            index=models.Index(fields=['incident', 'gone_since', 'rank'], name='finding_in_order'),
        ),
        migrations.AddIndex(
            model_name='finding',
            index=models.Index(fields=['rule', 'incident'], name='finding_by_rule'),
        ),
        migrations.AddIndex(
            model_name='finding',
            index=models.Index(condition=models.Q(('gone_since__isnull', True), ('group__in', ('cause', 'along', 'contributing')), ('withdrawn', False), models.Q(('host', ''), _negated=True)), fields=['host', 'incident'], name='finding_by_host'),
        ),
        migrations.AddIndex(
            model_name='finding',
            index=models.Index(condition=models.Q(('gone_since__isnull', True), ('group__in', ('cause', 'along', 'contributing')), ('withdrawn', False), models.Q(('subject', ''), _negated=True)), fields=['subject', 'incident'], name='finding_by_subject'),
        ),
        migrations.AddIndex(
            model_name='finding',
            index=django.contrib.postgres.indexes.GinIndex(django.contrib.postgres.search.SearchVector(models.F('said'), config='simple'), name='finding_words'),
        ),
        migrations.AddIndex(
            model_name='finding',
            index=django.contrib.postgres.indexes.GinIndex(incidents.models.words.wording.Grams(models.F('said')), name='finding_grams'),
        ),
        migrations.AddConstraint(
            model_name='finding',
            constraint=models.UniqueConstraint(fields=('incident', 'key'), name='finding_key_once'),
        ),
        migrations.AddConstraint(
            model_name='finding',
            constraint=models.CheckConstraint(condition=models.Q(('key__regex', '^[0-9a-f]{16}$')), name='finding_key_hex'),
        ),
        migrations.AddConstraint(
            model_name='evaluation',
            constraint=models.UniqueConstraint(fields=('incident', 'number'), name='evaluation_number_once'),
        ),
        migrations.AddIndex(
            model_name='sharelink',
            index=models.Index(fields=['incident', '-created_at'], name='share_link_of_room'),
        ),
        migrations.AddIndex(
            model_name='artifact',
            index=django.contrib.postgres.indexes.GinIndex(django.contrib.postgres.search.SearchVector(models.F('name'), config='simple'), name='artifact_words'),
        ),
        migrations.AddIndex(
            model_name='artifact',
            index=django.contrib.postgres.indexes.GinIndex(incidents.models.words.wording.Grams(models.F('name')), name='artifact_grams'),
        ),
        migrations.AddIndex(
            model_name='artifact',
            index=models.Index(fields=['uploader', 'token', 'received_at'], name='artifact_by_sender'),
        ),
        migrations.AddConstraint(
            model_name='artifact',
            constraint=models.UniqueConstraint(fields=('incident', 'number'), name='artifact_number_once'),
        ),
        migrations.AddConstraint(
            model_name='artifact',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'purged'), _negated=True), fields=('incident', 'sha256'), name='artifact_content_once'),
        ),
        migrations.AddConstraint(
            model_name='artifact',
            constraint=models.CheckConstraint(condition=models.Q(('number__gte', 1)), name='artifact_number_from_1'),
        ),
        migrations.AddConstraint(
            model_name='artifact',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['received', 'queued', 'reading', 'read', 'unpacked', 'failed', 'stopped', 'purged'])), name='artifact_state_known'),
        ),
        migrations.AddConstraint(
            model_name='artifact',
            constraint=models.CheckConstraint(condition=models.Q(('sha256__regex', '^[0-9a-f]{64}$')), name='artifact_sha256_hex'),
        ),
        migrations.AddConstraint(
            model_name='artifact',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'purged'), _negated=True), models.Q(('purge_reason__isnull', False), ('purged_at__isnull', False), ('purged_by__isnull', False)), _connector='OR'), name='artifact_tombstone_complete'),
        ),
        migrations.AddConstraint(
            model_name='artifact',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'failed'), _negated=True), ('cause__isnull', False), _connector='OR'), name='artifact_failure_has_cause'),
        ),
        migrations.AddIndex(
            model_name='verdict',
            index=models.Index(condition=models.Q(('recurs_by', ''), _negated=True), fields=['recurs_by', 'incident'], name='verdict_recurs'),
        ),
        migrations.RunSQL(ACTIVITY_IS_APPEND_ONLY, NO_ACTIVITY_IS_APPEND_ONLY),
        migrations.RunSQL(SUMMARY_VERSIONS_ARE_FROZEN, NO_SUMMARY_VERSIONS_ARE_FROZEN),
        migrations.RunSQL(ACTIVITY_IS_NEVER_EMPTIED, NO_ACTIVITY_IS_NEVER_EMPTIED),
    ]
