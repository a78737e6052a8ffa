"""A server that answers as the Hugging Face hub does where one model is fetched; everything on this computer."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SHA = "0123456789abcdef0123456789abcdef01234567"


@contextmanager
def serving(name: str, folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Serve the files of ``folder`` as the model ``name``; gives the address, and the files asked for."""
    asked: list[str] = []
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == f"/api/models/{name}/revision/main":
                listed = [{"rfilename": each} for each in files]
                self.reply(json.dumps({"id": name, "sha": SHA, "siblings": listed}).encode())
            elif path == f"/api/models/{name}/tree/{SHA}":
                tree = [
                    {"type": "file", "path": each, "size": at.stat().st_size, "oid": _etag(at)}
                    for each, at in files.items()
                ]
                self.reply(json.dumps(tree).encode())
            elif path.startswith(f"/{name}/resolve/") and path.split("/", 5)[5] in files:
                wanted = path.split("/", 5)[5]
                asked.append(wanted)
                self.reply(files[wanted].read_bytes(), ETag=f'"{_etag(files[wanted])}"')
            else:
                self.send_response(404)
                self.send_header("X-Error-Code", "RepoNotFound")
                self.send_header("Content-Length", "0")
                self.end_headers()

        do_HEAD = do_GET  # noqa: N815

        def reply(self, body: bytes, **headers: str) -> None:
            self.send_response(200)
            for key, value in {"X-Repo-Commit": SHA, "Content-Length": str(len(body)), **headers}.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


def _etag(path: Path) -> str:
    return hashlib.sha1(path.read_bytes()).hexdigest()
