"""Seal the secrets of second factors that an earlier release stored in the clear."""

from django.db import migrations

from incidents.storage import seals

SECRETS = ("secret", "seed")


def seal(apps, _editor):
    for row in apps.get_model("mfa", "Authenticator").objects.all():
        plain = {name: row.data[name] for name in SECRETS if name in row.data and seals.is_plain(row.data[name])}
        if plain:
            row.data |= {name: seals.seal(text) for name, text in plain.items()}
            row.save(update_fields=("data",))


def unseal(apps, _editor):
    for row in apps.get_model("mfa", "Authenticator").objects.all():
        told = {name: seals.unseal(row.data[name]) for name in SECRETS if name in row.data}
        row.data |= {name: text for name, text in told.items() if text is not None}
        row.save(update_fields=("data",))


class Migration(migrations.Migration):
    dependencies = [("incidents", "0027_record_is_never_emptied"), ("mfa", "0003_authenticator_type_uniq")]
    operations = [migrations.RunPython(seal, unseal)]
