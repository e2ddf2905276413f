"""Notes become threads with a history, disputes are answered, people are told what concerns them."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


FIRST_VERSIONS = """
insert into incidents_noteversion (note_id, number, text, author_id, made_at)
select id, version, text, coalesce(edited_by_id, author_id), coalesce(edited_at, created_at) from incidents_note
"""


class Migration(migrations.Migration):
    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("incidents", "0006_longer_versions"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="MailChoice",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="mail_choice",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("mentions", models.BooleanField(default=True)),
            ],
        ),
        migrations.CreateModel(
            name="NoteVersion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("text", models.TextField()),
                ("made_at", models.DateTimeField()),
            ],
            options={
                "ordering": ("note", "number"),
            },
        ),
        migrations.CreateModel(
            name="Notification",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("mention", "mentioned you"),
                            ("reply", "replied to you"),
                            ("answer", "answered your dispute"),
                        ],
                        max_length=8,
                    ),
                ),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("read_at", models.DateTimeField(blank=True, null=True)),
                (
                    "mail",
                    models.CharField(
                        choices=[
                            ("none", "none wanted"),
                            ("waiting", "waiting"),
                            ("sent", "sent"),
                            ("failed", "failed"),
                        ],
                        default="none",
                        max_length=8,
                    ),
                ),
                ("mail_after", models.DateTimeField(blank=True, null=True)),
                ("mail_attempts", models.PositiveIntegerField(default=0)),
                ("mail_cause", models.TextField(blank=True, null=True)),
            ],
            options={
                "ordering": ("-id",),
            },
        ),
        migrations.RemoveConstraint(
            model_name="dispute",
            name="dispute_one_open",
        ),
        migrations.RemoveConstraint(
            model_name="note",
            name="note_lines_complete",
        ),
        migrations.RemoveConstraint(
            model_name="note",
            name="note_times_complete",
        ),
        migrations.AddField(
            model_name="dispute",
            name="answer",
            field=models.TextField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="dispute",
            name="answered_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="dispute",
            name="answered_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="note",
            name="client_id",
            field=models.CharField(blank=True, max_length=36, null=True),
        ),
        migrations.AddField(
            model_name="note",
            name="lane",
            field=models.CharField(blank=True, max_length=200, null=True),
        ),
        migrations.AddField(
            model_name="note",
            name="lane_label",
            field=models.CharField(blank=True, max_length=200, null=True),
        ),
        migrations.AddField(
            model_name="note",
            name="reply_to",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="replies",
                to="incidents.note",
            ),
        ),
        migrations.AddField(
            model_name="note",
            name="resolved_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="note",
            name="resolved_by",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddIndex(
            model_name="dispute",
            index=models.Index(
                condition=models.Q(("answered_at__isnull", True), ("withdrawn_at__isnull", True)),
                fields=["incident", "finding"],
                name="dispute_open",
            ),
        ),
        migrations.AddIndex(
            model_name="note",
            index=models.Index(
                condition=models.Q(("reply_to__isnull", True)),
                fields=["incident", "created_at", "id"],
                name="note_threads",
            ),
        ),
        migrations.AddIndex(
            model_name="note",
            index=models.Index(
                condition=models.Q(("clock__isnull", False)), fields=["incident", "clock"], name="note_by_clock"
            ),
        ),
        migrations.AddConstraint(
            model_name="dispute",
            constraint=models.UniqueConstraint(
                condition=models.Q(("answered_at__isnull", True), ("withdrawn_at__isnull", True)),
                fields=("finding", "author"),
                name="dispute_one_open",
            ),
        ),
        migrations.AddConstraint(
            model_name="dispute",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("answer__isnull", True), ("answered_at__isnull", True), ("answered_by__isnull", True)),
                    models.Q(
                        ("answer__isnull", False),
                        ("answered_at__isnull", False),
                        ("answered_by__isnull", False),
                        models.Q(("answer", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="dispute_answer_complete",
            ),
        ),
        migrations.AddConstraint(
            model_name="note",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("line_from__isnull", True), ("line_to__isnull", True)),
                    models.Q(("line_from__gte", 1), ("line_to__gte", models.F("line_from")), ("sha256__isnull", False)),
                    _connector="OR",
                ),
                name="note_lines_complete",
            ),
        ),
        migrations.AddConstraint(
            model_name="note",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("t_from__isnull", True), ("t_to__isnull", True)),
                    models.Q(("clock__isnull", False), ("t_from__isnull", False), ("t_to__gte", models.F("t_from"))),
                    _connector="OR",
                ),
                name="note_times_complete",
            ),
        ),
        migrations.AddConstraint(
            model_name="note",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("reply_to__isnull", True),
                    models.Q(
                        ("clock__isnull", True),
                        ("finding_key__isnull", True),
                        ("lane__isnull", True),
                        ("resolved_at__isnull", True),
                        ("sha256__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="note_reply_has_no_place",
            ),
        ),
        migrations.AddConstraint(
            model_name="note",
            constraint=models.UniqueConstraint(
                condition=models.Q(("client_id__isnull", False)),
                fields=("incident", "author", "client_id"),
                name="note_sent_once",
            ),
        ),
        migrations.AddField(
            model_name="noteversion",
            name="author",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="noteversion",
            name="note",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="versions", to="incidents.note"
            ),
        ),
        migrations.AddField(
            model_name="notification",
            name="actor",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="notification",
            name="dispute",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="notifications",
                to="incidents.dispute",
            ),
        ),
        migrations.AddField(
            model_name="notification",
            name="incident",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="incidents.incident"
            ),
        ),
        migrations.AddField(
            model_name="notification",
            name="note",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="notifications",
                to="incidents.note",
            ),
        ),
        migrations.AddField(
            model_name="notification",
            name="user",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="notifications", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddConstraint(
            model_name="noteversion",
            constraint=models.UniqueConstraint(fields=("note", "number"), name="note_version_once"),
        ),
        migrations.AddIndex(
            model_name="notification",
            index=models.Index(fields=["user", "-id"], name="notification_in_order"),
        ),
        migrations.AddIndex(
            model_name="notification",
            index=models.Index(
                condition=models.Q(("read_at__isnull", True)), fields=["user", "incident"], name="notification_unread"
            ),
        ),
        migrations.AddIndex(
            model_name="notification",
            index=models.Index(
                condition=models.Q(("mail", "waiting")), fields=["mail_after"], name="notification_mails"
            ),
        ),
        migrations.AddConstraint(
            model_name="notification",
            constraint=models.UniqueConstraint(fields=("user", "kind", "note"), name="notification_note_once"),
        ),
        migrations.AddConstraint(
            model_name="notification",
            constraint=models.UniqueConstraint(fields=("user", "kind", "dispute"), name="notification_dispute_once"),
        ),
        migrations.AddConstraint(
            model_name="notification",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("dispute__isnull", True), ("note__isnull", False)),
                    models.Q(("dispute__isnull", False), ("note__isnull", True)),
                    _connector="OR",
                ),
                name="notification_has_cause",
            ),
        ),
        migrations.AddConstraint(
            model_name="notification",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["mention", "reply", "answer"])), name="notification_kind_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="notification",
            constraint=models.CheckConstraint(
                condition=models.Q(("mail__in", ["none", "waiting", "sent", "failed"])), name="notification_mail_known"
            ),
        ),
        # Last: rows written before a table is altered would stand in its way.
        migrations.RunSQL(FIRST_VERSIONS, migrations.RunSQL.noop),
    ]
