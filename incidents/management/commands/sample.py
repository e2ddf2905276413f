"""`manage.py sample USERNAME [NUMBER]`: open a sample room for a person."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management import BaseCommand, CommandError, CommandParser
from django.urls import reverse

from incidents.actions.sample import FIRST, SAMPLES, open_sample


class Command(BaseCommand):
    help = "Open a sample room for a person and print its address."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        numbers = [one.number for one in SAMPLES]
        parser.add_argument("number", nargs="?", default=FIRST, choices=numbers, help="which published incident")

    def handle(self, *args: Any, username: str, number: str, **options: Any) -> None:
        user = User.objects.filter(username=username).first()
        if user is None:
            raise CommandError(f"there is nobody called {username}")
        self.stdout.write(reverse("room", args=(open_sample(user, number).slug,)))
