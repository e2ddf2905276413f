from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management import BaseCommand, CommandError, CommandParser
from django.urls import reverse

from incidents.actions.sample import open_sample


class Command(BaseCommand):
    help = "Open the sample room for a person and print its address."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")

    def handle(self, *args: Any, username: str, **options: Any) -> None:
        user = User.objects.filter(username=username).first()
        if user is None:
            raise CommandError(f"there is nobody called {username}")
        self.stdout.write(reverse("room", args=(open_sample(user).slug,)))
