"""A Label Studio server of one's own: kept on this machine, with a login for every rater.

It listens on the loopback interface only, and whatever it would fetch from elsewhere is sent to a closed port. All it
keeps lies in one folder: its database, its log, and two files that only their owner can read: ``logins.json`` with the
passwords and ``api-key`` with the key that ``push`` and ``pull`` need.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

from bedside.core.errors import LabelStudioError
from bedside.core.files import holding, read_json, replacing, saying_where, write_json
from bedside.core.locks import hold

# -- Who may log in to a Label Studio of one's own ------------------------------------------------------
# They lie in the server's folder, in two files that only their owner can read.

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
    request = urllib.request.Request(page, urllib.parse.urlencode(fields).encode(), {"Referer": page}, method="POST")
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


# -- The environment of a Label Studio of one's own -----------------------------------------------------
# It is kept apart, since Label Studio's libraries don't go together with those of a scoring environment.

#: The release of Label Studio that is installed; the one all this is tested with.
VERSION = "1.23.2"
#: Names an environment that has Label Studio already.
ENVIRONMENT = "BEDSIDE_LABEL_STUDIO"
#: Says that an environment was installed to the end.
_COMPLETE = ".complete"

#: Takes a line that is shown to the user.
ShowLine = Callable[[str], None]


def environment_folder() -> Path:
    """Where the server's environment is, or would be put: the user's cache folder, or what the variable names."""
    named = os.environ.get(ENVIRONMENT)
    if named:
        return Path(named)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "bedside" / f"label-studio-{VERSION}"


def ensure_environment(folder: Path | None = None, say: ShowLine = lambda line: None) -> Path:
    """The program ``label-studio``, installed first where it isn't yet.

    Args:
        folder: a virtual environment; :func:`environment_folder` unless given. Where it has Label Studio it is used as
            it is, whoever made it.
        say: takes a line about what is fetched.

    Raises:
        LabelStudioError: it can't be installed.
    """
    target = (folder or environment_folder()).expanduser().absolute()
    program = _program(target)
    # An environment of the user's own has no mark; one that bedside began and did not finish has none either.
    theirs = folder is not None or ENVIRONMENT in os.environ
    if program.is_file() and (theirs or (target / _COMPLETE).is_file()):
        return program
    if theirs and target.exists() and any(target.iterdir()):
        raise LabelStudioError(
            "the environment has no Label Studio",
            where=str(target),
            todo=f"install it there: pip install label-studio=={VERSION}",
        )
    with saying_where(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        held = hold(target.parent / f".{target.name}.lock", -1)
    assert held is not None  # it is waited for without end
    with held:
        if program.is_file() and (target / _COMPLETE).is_file():
            return program
        say(
            f"Label Studio {VERSION} is fetched once from the Python package index, about 250 MB (0.8 GB when "
            f"installed), into {target}. This takes some minutes."
        )
        shutil.rmtree(target, ignore_errors=True)
        _install(target)
        (target / _COMPLETE).touch()
    return program


def _program(environment: Path) -> Path:
    scripts = environment / ("Scripts" if os.name == "nt" else "bin")
    return scripts / ("label-studio.exe" if os.name == "nt" else "label-studio")


def _install(target: Path) -> None:
    python = _program(target).with_name("python.exe" if os.name == "nt" else "python")
    pip = ["-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--quiet", "--no-compile"]
    steps = ([sys.executable, "-m", "venv", str(target)], [str(python), *pip, f"label-studio=={VERSION}"])
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode:
            last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "no message")
            shutil.rmtree(target, ignore_errors=True)
            raise LabelStudioError(
                f"Label Studio can't be installed ({last.strip()})",
                where=str(target),
                todo=f"see that the package index can be reached, or name an environment in {ENVIRONMENT}",
            )


# -- A Label Studio server of one's own -----------------------------------------------------------------

#: Where it listens, unless told otherwise.
PORT = 8085

_STATE = "server.json"
_LOG = "server.log"
#: Nothing listens on the discard port: what the server would fetch fails at once, and stays here.
_NOWHERE = "http://127.0.0.1:9"
_SETTINGS = {
    "SENTRY_DSN": "",
    "FRONTEND_SENTRY_DSN": "",
    "LABEL_STUDIO_COLLECT_ANALYTICS": "false",
    "LATEST_VERSION_CHECK": "false",
    "LABEL_STUDIO_DISABLE_SIGNUP_WITHOUT_LINK": "true",
    "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
    "DJANGO_DB": "sqlite",
    "PYTHONUNBUFFERED": "1",
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), _NOWHERE),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost"),
}
#: What a server's process may know of the user's environment: no key of anyone is among it.
_PASSED = ("PATH", "LANG", "LC_ALL", "TMPDIR", "TEMP", "SYSTEMROOT", "TZ")
#: A first start makes a database, which took over 300 s on a machine that was busy.
_START_SECONDS = 600
_STOP_SECONDS = 15


@dataclass(frozen=True, slots=True)
class OwnServer:
    """A server that runs.

    Attributes:
        folder: where it keeps everything.
        url: its address.
        process: its process id.
        version: its release of Label Studio.
        logins: the raters' logins, in the order they were made.
        started: whether this call started it.
    """

    folder: Path
    url: str
    process: int
    version: str
    logins: tuple[Login, ...]
    started: bool

    @property
    def key_file(self) -> Path:
        """The file with the administrator's API key."""
        return self.folder / KEY_FILE

    @property
    def logins_file(self) -> Path:
        """The file with all passwords, the administrator's among them."""
        return self.folder / LOGINS_FILE


# -- starting, finding, stopping --------------------------------------------------------------------


def serve(
    folder: Path,
    *,
    raters: Sequence[str] = (),
    port: int | None = None,
    environment: Path | None = None,
    say: ShowLine = lambda line: None,
) -> OwnServer:
    """Start the server of a folder, or find the one that runs, and see that every rater can log in.

    Args:
        folder: where its database, log and passwords are; made if it isn't there.
        raters: names; an address is a name too. Raters there already keep their passwords.
        port: where it listens, on this machine only; where it listened last, or :data:`PORT`, unless given.
        environment: see :func:`ensure_environment`.
        say: takes lines about what takes long.

    Raises:
        LabelStudioError: the port is taken, a name can't be one, the server doesn't start, or this is Windows, where
            bedside starts none.
    """
    if not hasattr(os, "killpg"):
        raise LabelStudioError(
            "bedside starts Label Studio on Linux and macOS only",
            todo="start it yourself, and give its address to push and pull by `url`",
        )
    for name in raters:
        if not _LOGIN_NAME.fullmatch(name):
            raise LabelStudioError(
                f"{name!r} can't be a rater's name",
                where="`raters`",
                todo="use letters, digits, . _ and -, or an address",
            )
    folder = folder.absolute()
    with saying_where(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        server = running_server(folder)
        if server is not None and port is not None and server.url != _url(port):
            raise LabelStudioError(
                f"the server of this folder runs at {server.url}",
                where=str(folder),
                todo="stop it first with `stop`, or leave out `port`",
            )
        started = server is None
        if server is None:
            program = ensure_environment(environment, say)
            last = read_state(folder / _STATE)
            _start(folder, program, port or (int(last["url"].rpartition(":")[2]) if last else PORT), say)
            server = running_server(folder)
            assert server is not None
        add_raters(folder, server.url, raters)
        return replace(server, logins=read_logins(folder), started=started)


def running_server(folder: Path) -> OwnServer | None:
    """The server of this folder that runs; None where none does.

    It is known by the folder's own key: another server at the same address is not taken for it.
    """
    folder = folder.absolute()
    state = read_state(folder / _STATE)
    if state is None or not _is_ours(state["process"], folder):
        return None
    try:
        about = server_answer(state["url"], "/api/version", read_key(folder))
    except (OSError, ValueError, http.client.HTTPException):
        return None
    version = str(about.get("release", "unknown"))
    return OwnServer(folder, state["url"], state["process"], version, read_logins(folder), False)


def stop_server(folder: Path) -> bool:
    """Stop the server of a folder; its data stay.

    Returns:
        Whether one was running.
    """
    folder = folder.absolute()
    state = read_state(folder / _STATE)
    if state is None:
        return False
    with _locked(folder):
        process = int(state["process"])
        running = _is_ours(process, folder)
        if running:
            _end(process)
        # Where it listened is kept: the next start is at the same address.
        write_json(folder / _STATE, {**state, "process": 0})
    return running


def _start(folder: Path, program: Path, port: int, say: ShowLine) -> None:
    if _taken(port):
        raise LabelStudioError(
            f"port {port} is taken", where="`port`", todo=f"choose another, such as `port={port + 1}`"
        )
    fresh = not (folder / "data" / "label_studio.sqlite3").is_file()
    for name in ("data", "home"):
        with saying_where(folder / name):
            (folder / name).mkdir(exist_ok=True)
    folder.chmod(0o700)
    settings = {name: os.environ[name] for name in _PASSED if name in os.environ}
    settings |= _SETTINGS | {
        "HOME": str(folder / "home"),
        "LABEL_STUDIO_BASE_DATA_DIR": str(folder / "data"),
        **administrator_settings(folder),
    }
    say(f"Label Studio starts in {folder}" + (": about a minute the first time." if fresh else "."))
    command = [str(program), "start", "--no-browser", "--internal-host", "127.0.0.1"]
    command += ["--port", str(port), "--data-dir", str(folder / "data")]
    with open(folder / _LOG, "wb") as log:
        process = subprocess.Popen(
            command,
            env=settings,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        # Noted before it answers, so that one whose start was interrupted is found and stopped.
        write_json(folder / _STATE, {"url": _url(port), "process": process.pid})
        _wait(folder, process, _url(port))
    except BaseException:
        _end(process.pid)
        write_json(folder / _STATE, {"url": _url(port), "process": 0})
        raise


def _wait(folder: Path, process: subprocess.Popen[bytes], url: str) -> None:
    key = read_key(folder)
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            lines = (folder / _LOG).read_text(errors="replace").splitlines()
            last = next((line for line in reversed(lines) if line.strip()), "no message")
            raise LabelStudioError(f"Label Studio ended before it answered ({last.strip()})", where=str(folder / _LOG))
        try:
            # Its own key: the health page says too early that all is well, and says so of a stranger as well.
            server_answer(url, "/api/version", key)
            return
        except (OSError, ValueError, http.client.HTTPException):
            time.sleep(0.3)
    raise LabelStudioError(
        f"Label Studio didn't answer within {_START_SECONDS} s", where=str(folder / _LOG), todo="read its log"
    )


def _end(process: int) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process, number)
        except ProcessLookupError:
            return
        until = time.monotonic() + _STOP_SECONDS
        while time.monotonic() < until:
            # Takes the exit state where the process is our own child, which would stay otherwise.
            with suppress(ChildProcessError):
                os.waitpid(process, os.WNOHANG)
            if not _command(process):
                return
            time.sleep(0.05)


def _is_ours(process: int, folder: Path) -> bool:
    """Whether this process is the folder's server, and not one that got the number later."""
    return process > 0 and str(folder / "data") in _command(process)


def _command(process: int) -> str:
    listing = subprocess.run(
        ["ps", "-ww", "-o", "stat=,command=", "-p", str(process)], capture_output=True, text=True, check=False
    )
    state, _, command = listing.stdout.strip().partition(" ")
    return "" if state.startswith("Z") else command


def _taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


def _url(port: int) -> str:
    return f"http://127.0.0.1:{port}"


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    refusal = LabelStudioError("another bedside process is starting or stopping this server", where=str(folder))
    with holding(folder / ".lock", refusal, _START_SECONDS):
        yield


# -- who may come in --------------------------------------------------------------------------------
