"""Sign-in, sign-up and keys as allauth has them, with the words of Exhibit: a person has a user name."""

from __future__ import annotations

from typing import Any

from allauth.account.forms import LoginForm as AccountLoginForm
from allauth.account.forms import SignupForm as AccountSignupForm
from allauth.mfa.webauthn.forms import AddWebAuthnForm

USER_NAME = "User name"


class LoginForm(AccountLoginForm):
    """Ask for a user name, or for the mail address instead."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["login"].label = USER_NAME
        self.fields["login"].widget.attrs |= {"placeholder": "or mail address", "autocomplete": "username"}


class SignupForm(AccountSignupForm):
    """Ask for a new account."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].label = USER_NAME
        self.fields["username"].widget.attrs.pop("placeholder", None)


class AddKeyForm(AddWebAuthnForm):
    """Ask for the name of a security key, and whether it is a passkey."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        passkey = self.fields["passwordless"]
        passkey.label = "As a passkey: sign in with it alone, without the password"
        passkey.help_text = (
            "The key then asks for your PIN, finger or face. Otherwise it is asked for after the password."
        )
