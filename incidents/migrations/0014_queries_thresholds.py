"""Queries that people keep, thresholds that a room set, findings that it hides for a while."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("incidents", "0017_findings_by_rule"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
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
            },
        ),
        migrations.CreateModel(
            name='AskedQuery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sql', models.TextField()),
                ('sha256', models.CharField(max_length=64)),
                ('asked_at', models.DateTimeField()),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='asked_queries', to='incidents.incident')),
                ('person', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-asked_at', '-id'),
                'indexes': [models.Index(fields=['incident', 'person', '-asked_at'], name='asked_query_newest')],
                'constraints': [models.UniqueConstraint(fields=('incident', 'person', 'sha256'), name='asked_query_once'), models.CheckConstraint(condition=models.Q(('sql', ''), _negated=True), name='asked_query_has_text')],
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
                'ordering': ('title', 'id'),
                'indexes': [models.Index(fields=['incident', 'author', 'shared'], name='query_by_author')],
                'constraints': [models.UniqueConstraint(fields=('incident', 'author', 'client_id'), name='query_sent_once'), models.CheckConstraint(condition=models.Q(models.Q(('sql', ''), _negated=True), models.Q(('title', ''), _negated=True)), name='query_has_text')],
            },
        ),
        migrations.AddIndex(
            model_name='suppression',
            index=models.Index(condition=models.Q(('deleted_at__isnull', True), ('ended_at__isnull', True)), fields=['until'], name='suppression_to_end'),
        ),
        migrations.AddConstraint(
            model_name='suppression',
            constraint=models.UniqueConstraint(condition=models.Q(('deleted_at__isnull', True), ('ended_at__isnull', True)), fields=('incident', 'rule', 'subject', 'host'), name='suppression_once', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='suppression',
            constraint=models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='suppression_has_reason'),
        ),
        migrations.AddIndex(
            model_name='threshold',
            index=models.Index(condition=models.Q(('deleted_at__isnull', True), ('ended_at__isnull', True)), fields=['until'], name='threshold_to_end'),
        ),
        migrations.AddConstraint(
            model_name='threshold',
            constraint=models.UniqueConstraint(condition=models.Q(('deleted_at__isnull', True), ('ended_at__isnull', True)), fields=('incident', 'rule', 'param'), name='threshold_once'),
        ),
        migrations.AddConstraint(
            model_name='threshold',
            constraint=models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='threshold_has_reason'),
        ),
    ]
