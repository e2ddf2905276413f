"""Passwords: refuse those that a guesser tries soon, by an estimate that needs no network."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError

MOST = 72
"""So many characters are estimated: zxcvbn takes no more, and what follows makes a password no weaker."""
GOOD = 3
"""Of 0 to 4: over 10^8 guesses, so safe against somebody who tries at the page or has the hashes for a while."""


class GuessableValidator:
    """Refuse a password below `GOOD` in zxcvbn, whose lists hold the commonest of known breaches, names and words."""

    def validate(self, password: str, user: Any = None) -> None:
        from zxcvbn import zxcvbn  # 30,000 words, loaded where somebody sets a password

        known = [str(getattr(user, name, "") or "") for name in ("username", "email", "first_name", "last_name")]
        told = zxcvbn(password[:MOST], user_inputs=["exhibit", *filter(None, known)])
        if told["score"] < GOOD:
            hints = [told["feedback"]["warning"], *told["feedback"]["suggestions"]]
            raise ValidationError(
                " ".join(["This password is guessed soon.", *(hint for hint in hints if hint)]), code="guessable"
            )

    def get_help_text(self) -> str:
        return "Four words that do not belong together are long, easy to remember and hard to guess."
