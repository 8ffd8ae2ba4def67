#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""s3_server.py DIRECTORY PORT KEY - as much of S3 as s3fs needs, for tests: one bucket named like any
first part of the path, kept as files below DIRECTORY, with the objects' types and s3fs's notes about them
in memory. Looks at the access key's id, not at signatures."""

import os
import sys
import urllib.parse
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape

ROOT, PORT, KEY = sys.argv[1], int(sys.argv[2]), sys.argv[3]
NOTES = {}  # key: list of headers


class S3(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, code, body=b"", headers=()):
        self.send_response(code)
        for name, value in headers:
            self.send_header(name, value)
        if not any(name == "Content-Length" for name, _ in headers):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def error(self, code, name):
        self.answer(code, f"<Error><Code>{name}</Code><Message>{name}</Message></Error>".encode())

    def handle_request(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if f"Credential={KEY}/" not in self.headers.get("Authorization", ""):
            return self.error(403, "InvalidAccessKeyId")
        url = urllib.parse.urlsplit(self.path)
        key = urllib.parse.unquote(url.path).lstrip("/").partition("/")[2]
        path = os.path.join(ROOT, urllib.parse.quote(key, safe=""))  # objects are flat
        if not key:
            return self.listing(urllib.parse.parse_qs(url.query))
        if self.command == "PUT":
            source = self.headers.get("x-amz-copy-source")
            if source:
                source = urllib.parse.unquote(source).lstrip("/").partition("/")[2]
                with open(os.path.join(ROOT, urllib.parse.quote(source, safe="")), "rb") as file:
                    body = file.read()
            with open(path, "wb") as file:
                file.write(body)
            NOTES[key] = [(name, value) for name, value in self.headers.items()
                          if name.lower().startswith("x-amz-meta-") or name.lower() == "content-type"]
            copied = b"<CopyObjectResult><ETag>0</ETag></CopyObjectResult>" if source else b""
            return self.answer(200, copied, [("ETag", '"0"')])
        if self.command == "DELETE":
            if os.path.exists(path):
                os.remove(path)
            return self.answer(204)
        if not os.path.exists(path):
            return self.error(404, "NoSuchKey")
        with open(path, "rb") as file:
            data = file.read()
        code, headers = 200, [("ETag", '"0"'), ("Last-Modified", formatdate(usegmt=True))] + NOTES.get(key, [])
        if "Range" in self.headers:
            first, last = self.headers["Range"].removeprefix("bytes=").split("-")
            whole = len(data)
            data = data[int(first) : int(last) + 1]
            code = 206
            headers.append(("Content-Range", f"bytes {first}-{last}/{whole}"))
        self.answer(code, data, headers + [("Content-Length", str(len(data)))])

    def listing(self, query):
        prefix, delimiter = query.get("prefix", [""])[0], query.get("delimiter", [""])[0]
        found = ""
        for name in sorted(map(urllib.parse.unquote, os.listdir(ROOT))):
            if name.startswith(prefix) and not (delimiter and delimiter in name[len(prefix) :].rstrip("/")):
                size = os.path.getsize(os.path.join(ROOT, urllib.parse.quote(name, safe="")))
                found += (f"<Contents><Key>{escape(name)}</Key><Size>{size}</Size><ETag>0</ETag>"
                          "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>")
        self.answer(200, f"<ListBucketResult><Prefix>{escape(prefix)}</Prefix><IsTruncated>false</IsTruncated>"
                         f"{found}</ListBucketResult>".encode())

    do_GET = do_PUT = do_HEAD = do_DELETE = handle_request


ThreadingHTTPServer(("0.0.0.0", PORT), S3).serve_forever()
