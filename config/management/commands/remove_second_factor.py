"""`manage.py remove_second_factor NAME`: let a person sign in again who lost the device, or whose secret key is lost."""

from __future__ import annotations

from typing import Any

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.core.management import BaseCommand, CommandError, CommandParser

from config.backup import reachable_database
from config.embedded import EmbeddedError


class Command(BaseCommand):
    help = "Remove the second factor and the recovery codes of one account; its password stays."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the user name")

    def handle(self, *args: Any, name: str, **options: Any) -> None:
        try:
            with reachable_database():
                user = User.objects.filter(username=name).first()
                if user is None:
                    raise CommandError(f"There is no account called {name}.")
                removed, _ = Authenticator.objects.filter(user=user).delete()
        except EmbeddedError as error:
            raise CommandError(str(error)) from None
        if not removed:
            raise CommandError(f"{name} has no second factor.")
        self.stdout.write(f"{name} signs in with the password alone now.")
