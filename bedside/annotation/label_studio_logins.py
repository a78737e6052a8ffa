"""Who may log in to a Label Studio of one's own: the administrator and the raters, their passwords and the key.

They lie in the server's folder, in two files that only their owner can read.
"""

from __future__ import annotations

import json
import re
import secrets
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

from bedside.core.errors import LabelStudioError
from bedside.core.files import read_json, replacing

#: Raters log in with an address; this ending belongs to nobody, and no mail is ever sent.
MAIL = "raters.example"
ADMINISTRATOR = f"administrator@{MAIL}"
#: The administrator's API key, and the passwords of everybody.
KEY_FILE = "api-key"
LOGINS_FILE = "logins.json"
#: Letters and digits that are not mistaken for one another when read from paper.
_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
_LOGIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,40}(@[A-Za-z0-9.-]+\.[A-Za-z]{2,})?")
_CSRF = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


@dataclass(frozen=True, slots=True)
class Login:
    """How somebody gets in.

    Attributes:
        rater: the rater's name in plans and ratings.
        email: what the log-in page asks for.
        password: for the log-in page.
    """

    rater: str
    email: str
    password: str


def administrator_settings(folder: Path) -> dict[str, str]:
    """The settings that make the administrator; what was made before is kept."""
    logins = read_state(folder / LOGINS_FILE)
    if logins is None:
        logins = {"administrator": {"email": ADMINISTRATOR, "password": _password()}, "raters": {}}
        _write_secret(folder / KEY_FILE, secrets.token_hex(20) + "\n")
        _write_secret(folder / LOGINS_FILE, json.dumps(logins, indent=2) + "\n")
    return {
        "LABEL_STUDIO_USERNAME": logins["administrator"]["email"],
        "LABEL_STUDIO_PASSWORD": logins["administrator"]["password"],
        "LABEL_STUDIO_USER_TOKEN": read_key(folder),
    }


def read_key(folder: Path) -> str:
    """The administrator's API key."""
    return (folder / KEY_FILE).read_text().strip()


def read_logins(folder: Path) -> tuple[Login, ...]:
    """The raters' logins, in the order they were made; none where there is no server yet."""
    logins = read_state(folder / LOGINS_FILE) or {"raters": {}}
    return tuple(Login(name, entry["email"], entry["password"]) for name, entry in logins["raters"].items())


def check_login_names(raters: Sequence[str]) -> None:
    """See that raters can log in by their names.

    Raises:
        LabelStudioError: a name has characters that no login may have.
    """
    for name in raters:
        if not _LOGIN_NAME.fullmatch(name):
            raise LabelStudioError(
                f"{name!r} can't be a rater's name",
                where="`raters`",
                todo="use letters, digits, . _ and -, or an address",
            )


def add_raters(folder: Path, url: str, raters: Sequence[str]) -> None:
    """Let raters in who are not in yet; a password is kept before it is used, so that none is lost.

    Args:
        folder: the server's folder.
        url: the address that it answers at.
        raters: their names.
    """
    key = read_key(folder)
    logins = read_state(folder / LOGINS_FILE)
    assert logins is not None
    new_names = [name for name in dict.fromkeys(raters) if name not in logins["raters"]]
    logins["raters"] |= {
        name: {"email": (name if "@" in name else f"{name}@{MAIL}").lower(), "password": _password()}
        for name in new_names
    }
    if new_names:
        _write_secret(folder / LOGINS_FILE, json.dumps(logins, indent=2) + "\n")
    users = {user["email"] for user in server_answer(url, "/api/users", key)}
    missing = [entry for entry in logins["raters"].values() if entry["email"] not in users]
    if missing:
        invitation = server_answer(url, "/api/invite", key)["token"]
        for entry in missing:
            _sign_up(url, invitation, entry["email"], entry["password"])


def _sign_up(url: str, invitation: str, email: str, password: str) -> None:
    """Fill in the sign-up form: the API takes no passwords, and a command line would show them to others."""
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(CookieJar()), NoRedirects()
    )
    page = f"{url}/user/signup/?{urllib.parse.urlencode({'token': invitation})}"
    with opener.open(page, timeout=60) as answer:
        code = _CSRF.search(answer.read().decode())
    fields = {"csrfmiddlewaretoken": code[1] if code else "", "email": email, "password": password}
    request = urllib.request.Request(
        page, urllib.parse.urlencode(fields).encode(), {"Referer": page}, method="POST"
    )
    try:
        with opener.open(request, timeout=60) as answer:
            status = answer.status
    except urllib.error.HTTPError as error:
        status = error.code
    # The form leads on where it took the rater in, and is shown again where it did not.
    if status != 302:
        raise LabelStudioError(f"Label Studio did not take in {email} (status {status})", where=url)


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Doesn't go where a server redirects to."""

    def redirect_request(self, *_: Any) -> None:
        return None


def server_answer(url: str, path: str, key: str) -> Any:
    """What the server answers to a request by the administrator; no proxy of the environment is asked.

    Raises:
        OSError: it can't be reached or refuses.
        ValueError: the answer is no JSON.
    """
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url + path, headers={"Authorization": f"Token {key}"})
    with opener.open(request, timeout=60) as answer:
        return json.load(answer)


def _password() -> str:
    return "-".join("".join(secrets.choice(_ALPHABET) for _ in range(4)) for _ in range(3))


def _write_secret(target: Path, text: str) -> None:
    # The temporary file is made for its owner alone, and stays so when it takes its place.
    with replacing(target) as temporary:
        temporary.write_text(text, encoding="utf-8")


def read_state(path: Path) -> Any:
    """What a file of the server's folder holds; None where there is none.

    Raises:
        LabelStudioError: it is no JSON.
    """
    todo = "restore it, or name another folder"
    return read_json(path, "file", kind=LabelStudioError, todo=todo) if path.exists() else None
