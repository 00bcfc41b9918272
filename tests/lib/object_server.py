# SPDX-License-Identifier: MIT
"""A server of objects over HTTP that fails on purpose. A test gives it objects, and for each request of an object to
come what the server does wrong; without that it does as RFC 9110 says, with ranges and conditions."""
import email.utils
import hashlib
import hmac
import http.server
import re
import socket
import ssl
import struct
import threading
import time
import urllib.parse
from xml.sax.saxutils import escape

TOKEN = "1/a+b c=&é<%20 "  # begins those of pages


class Object:
    def __init__(self, data, modified=1700000000):
        self.data = data
        self.listed = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(modified))
        self.headers = {"ETag": f'"{hashlib.md5(data).hexdigest()}"',
                        "Last-Modified": email.utils.formatdate(modified, usegmt=True)}


class Server(http.server.ThreadingHTTPServer):
    """plans: path → functions, one for each request to come, which get the handler and answer instead of it, or
    return a true value if it is to answer. requests: (path, value of Range, headers) of all that came."""
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, certificate=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.objects, self.plans, self.requests = {}, {}, []
        self.keys = {}  # access key → (secret key, session token or None); with one, all requests must be signed
        self.region = "us-east-1"
        self.page = 1000  # most keys in a page of a listing
        self.released = threading.Event()  # lets go what hangs
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def put(self, path, data, *plan):
        self.objects[path] = Object(data)
        self.plans[path] = list(plan)
        self.requests.clear()
        return self.url + path

    def handle_error(self, request, client_address):
        pass  # clients that end in the middle are part of the tests


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        path = urllib.parse.unquote(self.path.partition("?")[0], errors="surrogateescape")
        self.server.requests.append((self.path, self.headers["Range"], dict(self.headers)))
        wrong = signature_problem(self) if self.server.keys else None
        if wrong:
            self.refuse(403, wrong.encode())
            return
        plan = self.server.plans.get(path)
        if plan and not plan.pop(0)(self):
            return
        if "list-type=2" in self.path:
            self.list(path, dict(urllib.parse.parse_qsl(self.path.partition("?")[2], keep_blank_values=True)))
        else:
            self.answer(self.server.objects.get(path))

    def list(self, bucket, asked):
        """A page of ListObjectsV2."""
        token, encode_key = asked.get("continuation-token"), urllib.parse.quote_plus
        after = token.removeprefix(TOKEN) if token else ""
        keys = sorted(path.removeprefix(bucket) for path in self.server.objects if path.startswith(bucket))
        keys = [key for key in keys if key.startswith(asked["prefix"]) and key > after]
        page, more = keys[:self.server.page], len(keys) > self.server.page
        found = [(key, self.server.objects[bucket + key]) for key in page]
        text = "".join(f"<Contents><Key>{encode_key(key, errors='surrogateescape')}</Key>"
                       f"<LastModified>{one.listed}</LastModified><ETag>{escape(one.headers['ETag'])}</ETag>"
                       f"<Size>{len(one.data)}</Size><Owner><ID>Key</ID></Owner></Contents>" for key, one in found)
        token = f"<NextContinuationToken>{escape(TOKEN + page[-1])}</NextContinuationToken>" if more else ""
        self.refuse(200, f'<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="x"><Name>b</Name>{text}'
                         f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}<EncodingType>url</EncodingType>"
                         "</ListBucketResult>".encode(), Content_Type="application/xml")

    def answer(self, found, headers=None, ranges=True):
        """The whole object, or the range that is asked for; headers replace those of the object."""
        if not found:
            self.refuse(404)
            return
        headers = found.headers if headers is None else headers
        if self.headers["If-Match"] not in (None, found.headers["ETag"]) or \
                self.headers["If-Unmodified-Since"] not in (None, found.headers["Last-Modified"]):
            self.refuse(412)
            return
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers["Range"] or "") if ranges else None
        first, total = int(asked[1]) if asked else 0, len(found.data)
        if asked and first >= total:
            self.refuse(416, Content_Range=f"bytes */{total}")
            return
        self.begin(206 if asked else 200, total - first, headers,
                   {"Content-Range": f"bytes {first}-{total - 1}/{total}"} if asked else {})
        self.wfile.write(found.data[first:])

    def begin(self, status, length, *headers):
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        for more in headers:
            for name, value in more.items():
                self.send_header(name, value)
        self.end_headers()

    def refuse(self, status, text=b"", **headers):
        self.begin(status, len(text), {name.replace("_", "-"): value for name, value in headers.items()})
        self.wfile.write(text)

    def break_off(self):
        """Ends the connection by a reset."""
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        socket.socket.close(self.connection)


# --- signatures

def encode(text, safe="-_.~"):
    return urllib.parse.quote(urllib.parse.unquote(text, errors="surrogateescape").encode(errors="surrogateescape"),
                              safe=safe)


def signature_problem(handler):
    """Why the request is not signed as AWS's documentation of version 4 says; None: it is."""
    match = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, ?"
                         r"SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})",
                         handler.headers["Authorization"] or "")
    if not match:
        return "not signed"
    key, day, region, names, signature = match.groups()
    if key not in handler.server.keys or region != handler.server.region:
        return f"unknown key {key}, or wrong region {region}"
    secret, token = handler.server.keys[key]
    names, when = names.split(";"), handler.headers["X-Amz-Date"]
    if names != sorted(names) or "host" not in names or handler.headers["x-amz-security-token"] != token or \
            any(name.lower().startswith("x-amz-") and name.lower() not in names for name in handler.headers):
        return f"wrong headers: {names}"
    if not when.startswith(day) or abs(time.time() - time.mktime(time.strptime(when, "%Y%m%dT%H%M%SZ")) +
                                       time.timezone) > 900:
        return f"wrong date {when}"
    path, _, query = handler.path.partition("?")
    query = "&".join("=".join(encode(word) for word in (*pair.split("=", 1), "")[:2])
                     for pair in sorted(query.split("&"))) if query else ""
    request = "\n".join([handler.command, encode(path, "/-_.~"), query,
                         *(f"{name}:{' '.join(handler.headers[name].split())}" for name in names), "",
                         ";".join(names), handler.headers["X-Amz-Content-Sha256"]])
    text = "\n".join(["AWS4-HMAC-SHA256", when, f"{day}/{region}/s3/aws4_request",
                      hashlib.sha256(request.encode()).hexdigest()])
    mac = b"AWS4" + secret.encode()
    for word in (day, region, "s3", "aws4_request", text):
        mac = hmac.digest(mac, word.encode(), "sha256")
    return None if mac.hex() == signature else f"wrong signature of {request!r}"


# --- what can go wrong

def normal(_):
    return True


def status(number, text=b"", **headers):
    return lambda handler: handler.refuse(number, text, **headers)


def redirect(location, number=302):
    return lambda handler: handler.refuse(number, Location=location)


def reset(handler):
    handler.break_off()


def cut(part, headers=None, then=None):
    """Announces all of the rest, and sends a part of it: a number between 0 and 1. then: called at its end."""
    def answer(handler):
        found = handler.server.objects[handler.path.partition("?")[0]]
        asked = re.fullmatch(r"bytes=(\d+)-", handler.headers["Range"] or "")
        first, total = int(asked[1]) if asked else 0, len(found.data)
        handler.begin(206 if asked else 200, total - first, found.headers if headers is None else headers,
                      {"Content-Range": f"bytes {first}-{total - 1}/{total}"} if asked else {})
        handler.wfile.write(found.data[first:first + int((total - first) * part)])
        handler.wfile.flush()
        if then:
            then(handler)
        handler.close_connection = True
    return answer


def hang(handler):
    handler.server.released.wait()
    handler.close_connection = True


def without(*headers):
    """The object without some of its headers."""
    def answer(handler):
        found = handler.server.objects[handler.path]
        handler.answer(found, {name: value for name, value in found.headers.items() if name not in headers})
    return answer


def without_ranges(handler):
    handler.answer(handler.server.objects[handler.path], ranges=False)


def replaced(data):
    """From now on the object is another one."""
    def answer(handler):
        handler.server.objects[handler.path] = Object(data, 1700000001)
        return True
    return answer


def raw(text):
    """Bytes as they are, and the end of the connection."""
    def answer(handler):
        handler.wfile.write(text)
        handler.close_connection = True
    return answer
