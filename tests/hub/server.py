# SPDX-License-Identifier: Apache-2.0
"""A Hub on loopback: a real HTTP server with the part of the API that pulling, pushing and loading a tokenizer use.

Written from what `huggingface_hub` sends and reads, versions 0.36 to 2.4. Repositories live in memory. Everything that
arrives is kept in `requests`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

READER, WRITER = "hf_readerreaderreader", "hf_writerwriterwriter"
_API = re.compile(
    r"/api/models/(?P<repo>[\w.-]+/[\w.-]+)(?:/(?P<action>revision|tree|preupload|commit|discussions)(?:/(?P<rest>.*))?)?"
)
_RESOLVE = re.compile(r"/(?P<repo>[\w.-]+/[\w.-]+)/resolve/(?P<rest>.*)")


@dataclass
class Commit:
    """One state of a repository."""

    files: dict[str, bytes]
    parent: str | None = None
    summary: str = ""
    description: str = ""

    @property
    def oid(self) -> str:
        state = [self.parent, self.summary, self.description, sorted((p, f.hex()) for p, f in self.files.items())]
        return hashlib.sha1(json.dumps(state).encode()).hexdigest()


@dataclass
class PullRequest:
    """A pull request; its number is its place in the repository's list, from 1 on."""

    author: str
    title: str
    base: str
    status: str = "open"
    comments: list[str] = field(default_factory=list)


@dataclass
class Repo:
    """A model repository. `access`: who may read it, "all", "private" or "gated"; only WRITER has the rights."""

    access: str = "all"
    commits: dict[str, Commit] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    pull_requests: list[PullRequest] = field(default_factory=list)

    def add(self, commit: Commit, branch: str = "main") -> str:
        """Put a commit on a branch; its oid."""
        self.commits[commit.oid] = commit
        self.branches[branch] = commit.oid
        return commit.oid

    def write(self, branch: str = "main", **files: bytes) -> str:
        """Somebody else's commit; file names have `_` for a dot."""
        head = self.head(branch)
        named = {name.replace("__", "."): content for name, content in files.items()}
        return self.add(Commit({**head.files, **named}, head.oid, "another commit"), branch)

    def head(self, branch: str = "main") -> Commit:
        """The newest commit of a branch."""
        return self.commits[self.branches[branch]]

    def find(self, revision: str) -> Commit | None:
        """The commit of a branch, or with this oid."""
        return self.commits.get(self.branches.get(revision, revision))


class Answer(Exception):  # noqa: N818 -- an answer is no error
    """An answer other than success."""

    def __init__(self, status: int, code: str = "", message: str = "") -> None:
        self.status = status
        self.headers = {"X-Error-Code": code} if code else {}
        if message:
            self.headers["X-Error-Message"] = message
        super().__init__(message)


class FakeHub:
    """The server. `before_commit` is called once, when a commit comes in, before it is looked at."""

    def __init__(self) -> None:
        self.repos: dict[str, Repo] = {}
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.before_commit: Callable[[], None] | None = None
        self.lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": self}))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def create(self, repo_id: str, *, access: str = "all", **files: bytes) -> Repo:
        """A new repository; file names have `__` for a dot."""
        repo = self.repos[repo_id] = Repo(access)
        repo.add(Commit({}, None, "initial commit"))
        if files:
            repo.write(**files)
        return repo

    def commits_sent(self, repo_id: str) -> list[dict[str, Any]]:
        """The header and the query of each commit request for a repository, in order."""
        found = []
        for method, path, _, body in self.requests:
            url = urlsplit(path)
            if method == "POST" and url.path.startswith(f"/api/models/{repo_id}/commit/"):
                header = json.loads(body.splitlines()[0])["value"]
                found.append({**header, "query": parse_qs(url.query), "revision": unquote(url.path.rpartition("/")[2])})
        return found


class _Handler(BaseHTTPRequestHandler):
    hub: FakeHub
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._serve()

    do_HEAD = do_POST = do_GET  # noqa: N815 -- http.server's names

    def log_message(self, *arguments: Any) -> None:
        """Quiet."""

    def _serve(self) -> None:
        body = self._body()
        with self.hub.lock:
            self.hub.requests.append((self.command, self.path, dict(self.headers), body))
            try:
                status, headers, content = self._answer(body)
            except Answer as answer:
                status, headers = answer.status, answer.headers
                content = json.dumps({"error": str(answer) or "error"}).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    @property
    def _token(self) -> str:
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if token not in ("", READER, WRITER):
            raise Answer(401, message="Invalid credentials in Authorization header")
        return token

    @property
    def _user(self) -> str:
        return "somebody" if self._token == WRITER else "reader"

    def _answer(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        url = urlsplit(self.path)
        path = unquote(url.path)
        if path == "/api/whoami-v2":
            if not self._token:
                raise Answer(401, message="Invalid username or password.")
            return self._json({"type": "user", "name": self._user, "auth": {"accessToken": {"role": "write"}}})
        if path == "/api/repos/create":
            return self._create(json.loads(body))
        if path == "/api/validate-yaml":
            return self._json({"errors": [], "warnings": []})
        if match := _RESOLVE.fullmatch(path):
            repo = self._repo(match["repo"])
            revision, name = self._revision(repo, match["rest"])
            return self._file(repo, revision, name)
        # The revision is one part of the path, with its slashes quoted.
        if match := _API.fullmatch(url.path):
            repo = self._repo(match["repo"])
            parts = [unquote(part) for part in (match["rest"] or "main").split("/")]
            return self._model(match["repo"], repo, match["action"] or "revision", parts, parse_qs(url.query), body)
        raise Answer(404)

    @staticmethod
    def _json(value: Any) -> tuple[int, dict[str, str], bytes]:
        return 200, {}, json.dumps(value).encode()

    def _repo(self, repo_id: str) -> Repo:
        repo = self.hub.repos.get(repo_id)
        token = self._token
        if repo is None or (repo.access == "private" and token != WRITER):
            # The Hub doesn't tell strangers whether a repository exists.
            raise Answer(404 if token else 401, "RepoNotFound", "Repository not found")
        return repo

    @staticmethod
    def _revision(repo: Repo, rest: str) -> tuple[Commit, str]:
        """The commit and the file of `main/file`, `<oid>/folder/file`, `refs/pr/1/file`."""
        for revision in sorted(repo.branches, key=len, reverse=True):
            if rest.startswith(f"{revision}/"):
                return repo.head(revision), rest.removeprefix(f"{revision}/")
        revision, _, name = rest.partition("/")
        commit = repo.find(revision)
        if commit is None:
            raise Answer(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return commit, name

    def _file(self, repo: Repo, commit: Commit, name: str) -> tuple[int, dict[str, str], bytes]:
        if repo.access == "gated" and self._token != WRITER:
            raise Answer(403 if self._token else 401, "GatedRepo", "Access to this model is restricted")
        content = commit.files.get(name)
        headers = {"X-Repo-Commit": commit.oid}
        if content is None:
            answer = Answer(404, "EntryNotFound", "Entry not found")
            answer.headers.update(headers)
            raise answer
        return 200, {**headers, "ETag": f'"{_blob_id(content)}"', "Content-Type": "application/octet-stream"}, content

    def _model(
        self, repo_id: str, repo: Repo, action: str, parts: list[str], query: dict[str, list[str]], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        if action == "discussions":
            return self._discussions(repo_id, repo, parts if parts != ["main"] else [], query, body)
        commit = repo.find(parts[0])
        if commit is None:
            raise Answer(404, "RevisionNotFound", f"Invalid rev id: {parts[0]}")
        if action == "revision":
            siblings = [{"rfilename": name} for name in sorted(commit.files)]
            info = {"id": repo_id, "modelId": repo_id, "sha": commit.oid, "siblings": siblings, "tags": []}
            return self._json({**info, "private": repo.access == "private", "gated": False, "downloads": 0, "likes": 0})
        if action == "tree":
            folder = "/".join(parts[1:])
            names = [name for name in sorted(commit.files) if name.startswith(f"{folder}/" if folder else "")]
            if folder and not names:
                raise Answer(404, "EntryNotFound", f"{folder} does not exist")
            return self._json(
                [
                    {"type": "file", "path": n, "size": len(commit.files[n]), "oid": _blob_id(commit.files[n])}
                    for n in names
                ]
            )
        if action == "preupload":
            files = [file["path"] for file in json.loads(body)["files"]]
            return self._json(
                {"files": [{"path": path, "uploadMode": "regular", "shouldIgnore": False} for path in files]}
            )
        return self._commit(repo_id, repo, parts[0], query, [json.loads(line) for line in body.splitlines()])

    def _commit(
        self, repo_id: str, repo: Repo, branch: str, query: dict[str, list[str]], lines: list[dict[str, Any]]
    ) -> tuple[int, dict[str, str], bytes]:
        create_pr = query.get("create_pr") == ["1"]
        if not self._token:
            raise Answer(401, message="Invalid username or password.")
        number = int(branch.removeprefix("refs/pr/")) if branch.startswith("refs/pr/") else 0
        own = bool(number) and repo.pull_requests[number - 1].author == self._user
        if self._token != WRITER and not create_pr and not own:
            raise Answer(403, message="Forbidden: you don't have the right to write to this repository")
        if self.hub.before_commit is not None:
            before, self.hub.before_commit = self.hub.before_commit, None
            before()
        header = next(line["value"] for line in lines if line["key"] == "header")
        parent = header.get("parentCommit") or repo.branches[branch]
        if not create_pr and parent != repo.branches[branch]:
            raise Answer(412, message="A commit has happened since. Please refresh and try again.")
        files = dict(repo.commits[parent].files)
        for line in lines:
            if line["key"] == "file":
                assert line["value"]["encoding"] == "base64"
                files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
        answer = {"success": True, "hookOutput": ""}
        if create_pr:
            repo.pull_requests.append(PullRequest(self._user, header["summary"], branch))
            branch = f"refs/pr/{len(repo.pull_requests)}"
            answer["pullRequestUrl"] = f"{self.hub.endpoint}/{repo_id}/discussions/{len(repo.pull_requests)}"
        oid = repo.add(Commit(files, parent, header["summary"], header.get("description", "")), branch)
        return self._json({**answer, "commitOid": oid, "commitUrl": f"{self.hub.endpoint}/{repo_id}/commit/{oid}"})

    def _discussions(
        self, repo_id: str, repo: Repo, parts: list[str], query: dict[str, list[str]], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        """The list (in pages of two, newest first), one of them, or a new comment."""
        moment = "2026-01-02T03:04:05.000Z"
        shown = [
            {
                "num": number,
                "author": {"name": pull.author},
                "title": pull.title,
                "status": pull.status,
                "createdAt": moment,
                "isPullRequest": True,
                "repo": {"name": repo_id, "type": "model"},
            }
            for number, pull in enumerate(repo.pull_requests, 1)
        ]
        if not parts or not parts[0]:
            wanted = {"author": query.get("author", [""])[0], "status": query.get("status", [""])[0]}
            kept = [
                one
                for one in reversed(shown)
                if wanted["author"] in ("", one["author"]["name"]) and wanted["status"] in ("", one["status"])  # type: ignore[index]
            ]
            start = 2 * int(query.get("p", ["0"])[0])
            return self._json({"discussions": kept[start : start + 2], "count": len(kept), "start": start})
        number = int(parts[0])
        pull = repo.pull_requests[number - 1]
        if len(parts) == 1:
            base = {"base": f"refs/heads/{pull.base}"}
            return self._json(
                {**shown[number - 1], "changes": base, "filesWithConflicts": [], "diff": "", "events": []}
            )
        pull.comments.append(json.loads(body)["comment"])
        latest = {"raw": pull.comments[-1], "html": "", "updatedAt": moment, "author": {"name": self._user}}
        data = {"edited": False, "hidden": False, "latest": latest, "history": [latest]}
        message = {"id": "1", "type": "comment", "createdAt": moment, "author": {"name": self._user}, "data": data}
        return self._json({"newMessage": message})

    def _create(self, asked: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        if self._token != WRITER:
            raise Answer(401, message="Invalid username or password.")
        repo_id = f"{asked.get('organization') or 'somebody'}/{asked['name']}"
        url = f"{self.hub.endpoint}/{repo_id}"
        if repo_id in self.hub.repos:
            return 409, {}, json.dumps({"error": "You already created this model repo", "url": url}).encode()
        self.hub.create(repo_id)
        return self._json({"url": url, "id": repo_id, "name": repo_id})


def _blob_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
