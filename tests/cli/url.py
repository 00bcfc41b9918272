#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/run: in=gcc,asan
"""Archives that are fetched by their URL: the digest of the same archives in files, through whatever a server does that
may be repeated; everything else is one line, and publishes nothing. Who may see what."""
import ctypes
import io
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import zipfile

sys.path.insert(0, os.path.join(os.environ["DATASETFS_SOURCE"], "tests", "lib"))
import object_server as faults  # noqa: E402
from object_server import Server  # noqa: E402
from patience import Patience  # noqa: E402
from processes import children, memory  # noqa: E402

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
SECRET = "X-Amz-Signature=5ec3e7"


def check(what, found, expected):
    if found != expected:
        sys.exit(f"fail: {what}: found {str(found)[:600]}, expected {str(expected)[:600]}")


def archive(seed, count=60, prefix="d"):
    rng, file = random.Random(seed), io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for number in range(count):
            data = rng.randbytes(rng.randrange(60000))
            member = tarfile.TarInfo(f"{prefix}/{number:04d}")
            member.size, member.mtime = len(data), 1600000000
            tar.addfile(member, io.BytesIO(data))
    return file.getvalue()


def run(*words, stdin=subprocess.DEVNULL):
    pathlib.Path("v.vol").unlink(missing_ok=True)
    return subprocess.run(["mkdatasetfs", "--progress", "none", "--json", *words], stdin=stdin, capture_output=True,
                          text=True, env=ENVIRONMENT, check=False)


def digest(*sources, warnings=(), stdin=subprocess.DEVNULL):
    done = run("v.vol", *sources, stdin=stdin)
    check(f"exit status of {sources}: {done.stderr}", done.returncode, 0)
    lines = done.stderr.splitlines()
    if len(lines) != len(warnings) or not all(re.search(*pair) for pair in zip(warnings, lines)):
        sys.exit(f"fail: the lines of {sources} are {lines}, expected {warnings}")
    return json.loads(done.stdout)["digest"]


def refused(pattern, *sources, lines=1):
    done = run("v.vol", *sources)
    found = done.stderr.splitlines()
    check(f"exit status of {sources}: {found}", done.returncode, 1)
    check(f"lines of {sources}: {found}", len(found), lines)
    if not re.search(pattern, found[-1]) or SECRET in done.stderr:
        sys.exit(f"fail: {sources}: {found}, expected {pattern}")
    check(f"a volume is left of {sources}", os.path.exists("v.vol"), False)


def until(condition):
    limit = Patience(60)
    while not condition():
        if limit.is_over():
            sys.exit("fail: it takes too long")
        time.sleep(0.02)


def ranges(server):
    return [asked for _, asked, _ in server.requests]


TAR, OTHER = archive(1), archive(2, prefix="e")
AGAIN = "trying again$"


def check_kinds(server):
    """Plain, compressed, zip; several, with files and standard input between them; names of folders."""
    pathlib.Path("a.tar").write_bytes(TAR)
    pathlib.Path("b.tar").write_bytes(OTHER)
    one, both = digest("a.tar"), digest("a.tar", "b.tar")
    check("a tar", digest(server.put("/a.tar", TAR)), one)
    check("the requests", ranges(server), [None])
    packed = subprocess.run(["xz", "-0"], input=TAR, capture_output=True, check=True).stdout
    check("a tar.xz", digest(server.put("/a.tar.xz", packed) + "?versionId=7&" + SECRET), one)
    check("the query", server.requests[0][0], "/a.tar.xz?versionId=7&" + SECRET)
    first, second = server.put("/a.tar", TAR), server.put("/b.tar", OTHER)
    check("two URLs", digest(first, second), both)
    check("a file and a URL", digest("a.tar", second), both)
    with open("b.tar", "rb") as stdin:
        check("a URL and standard input", digest(first, "-", stdin=stdin), both)
    check("folders", digest("--into-folders", first + "?" + SECRET, "b.tar"),
          digest("--into-folders", "a.tar", "b.tar"))
    check("an empty query", digest(first + "?"), one)
    check("in capitals", digest(first.replace("http", "HTTP")), one)
    with zipfile.ZipFile("c.zip", "w", zipfile.ZIP_DEFLATED) as file:
        for number in range(30):
            member = zipfile.ZipInfo(f"z/{number}")
            member.external_attr = 0o100644 << 16
            file.writestr(member, random.Random(number).randbytes(20000))
    zipped = pathlib.Path("c.zip").read_bytes()
    check("a zip between others", digest(first, server.put("/c.zip", zipped), second),
          digest("a.tar", "c.zip", "b.tar"))
    refused("'http://127.0.0.1:[0-9]*/none': is not a tar or zip archive", server.put("/none", b"no archive" * 99))
    refused("'http://127.0.0.1:[0-9]*/empty' is empty", server.put("/empty", b""))
    refused("'http://127.0.0.1:[0-9]*/cut.tar': the archive ends in the middle", server.put("/cut.tar", TAR[:50000]))
    done = run("--dry-run", "v.vol", first)
    check("files that a dry run counts", (done.returncode, json.loads(done.stdout)["files"]), (0, 60))


def check_repeated(server):
    """What may be repeated is; no byte is asked for twice."""
    one = digest("a.tar")
    half = len(TAR) // 2
    url = server.put("/a.tar", TAR, faults.cut(0.5))
    check("half of it", digest(url, warnings=[f"'{url}': .*, at byte {half}: {AGAIN}"]), one)
    check("the requests", ranges(server), [None, f"bytes={half}-"])
    check("the condition", server.requests[1][2]["If-Match"], server.objects["/a.tar"].headers["ETag"])
    url = server.put("/a.tar", TAR, faults.status(503), faults.status(429, Retry_After="0"),
                     faults.status(500, b"x" * 200000), faults.reset, faults.cut(0.3), faults.reset,
                     faults.status(408), faults.cut(0.9), faults.cut(0))
    check("everything", digest(url, warnings=[f"the server answers with status 503 .Service.*{AGAIN}"]), one)
    check("the ranges", ranges(server)[:5], [None] * 5)
    begun = [int(asked[6:-1]) for asked in ranges(server)[5:]]
    check("they grow", (begun, len(begun)), (sorted(begun), 5))
    url = server.put("/a.tar", TAR, faults.cut(0.5))
    server.plans["/a.tar"].append(faults.raw(
        b"HTTP/1.1 206 Partial Content\r\nTransfer-Encoding: chunked\r\nContent-Range: bytes %d-%d/%d\r\n"
        b"ETag: %s\r\n\r\n%x\r\n" % (half, len(TAR) - 1, len(TAR), server.objects["/a.tar"].headers["ETag"].encode(),
                                    len(TAR) - half) + TAR[half:]))
    check("a connection that ends after the last byte", digest(url, warnings=[AGAIN]), one)
    url = server.put("/a.tar", TAR, faults.hang)
    check("nothing comes", digest("--timeout", "3", url, warnings=["nothing came for 3 seconds"]), one)
    url = server.put("/a.tar", TAR, faults.cut(0.5, then=lambda handler: handler.server.released.wait()))
    check("nothing more comes", digest("--timeout", "3", url, warnings=["nothing came for 3 seconds"]), one)
    url = server.put("/a.tar", TAR, faults.cut(0.5), faults.without_ranges)
    check("a server without ranges", digest(url, warnings=[AGAIN]), one)
    modified = {"Last-Modified": server.objects["/a.tar"].headers["Last-Modified"], "ETag": 'W/"weak"'}
    url = server.put("/a.tar", TAR, faults.cut(0.5, modified), faults.without("ETag"))
    check("a server without strong ETags", digest(url, warnings=[AGAIN]), one)
    check("the condition", server.requests[1][2]["If-Unmodified-Since"], modified["Last-Modified"])
    url = server.put("/a.tar", TAR, faults.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nETag: \"x\"\r\n\r\n" +
                                               b"%x\r\n" % half + TAR[:half] + b"\r\n"))
    server.objects["/a.tar"].headers["ETag"] = '"x"'
    check("in pieces, without a length", digest(url, warnings=[f"at byte {half}"]), one)


def check_given_up(server):
    url = server.put("/a.tar", TAR, *[faults.status(503)] * 9)
    refused(f"cannot read '{url}': the server answers with status 503 .Service Unavailable., at byte 0 .3 attempts",
            "--retries", "2", url + "?" + SECRET, lines=2)
    check("the requests", len(server.requests), 3)
    refused("status 503.*1 attempt.$", "--retries", "0", url)
    url = server.put("/a.tar", TAR, faults.hang)
    refused("nothing came for 1 second, .*1 attempt.$", "--retries", "0", "--timeout", "1", url)
    for number, text in ((404, "404 .Not Found."), (403, "403 .Forbidden."), (401, "401 .Unauthorized."), (410, "410")):
        url = server.put("/a.tar", TAR, faults.status(number, b"why" * 9))
        refused(f"cannot read '{url}': the server answers with status {text}", url + "?" + SECRET)
    refused("Failed to connect", "http://127.0.0.1:1/a.tar")
    refused("Could not resolve host", "http://does-not-exist.invalid/a.tar")
    refused("cannot read 'http://[^']*'", "http://127.0.0.1:99999/a.tar")
    url = server.put("/a.tar", TAR, faults.raw(b"SSH-2.0-other\r\n"))
    refused("cannot read", "--retries", "0", url)


def answers_range(first, total, part=b"123456789"):
    """Another part of the object than was asked for, of another length than it has."""
    def answer(handler):
        headers = {**handler.server.objects["/a.tar"].headers, "Content-Range": f"bytes {first}-{total - 1}/{total}"}
        handler.begin(206, len(part), headers)
        handler.wfile.write(part)
    return answer


def check_changed(server):
    """Never the beginning of one object and the end of another."""
    changed, half = "cannot read '{}': it has changed while it was read", len(TAR) // 2
    for plan in ([faults.replaced(OTHER)], [faults.replaced(TAR[:100])], [answers_range(half, len(TAR) + 512)],
                 [lambda handler: faults.replaced(OTHER)(handler) and faults.without_ranges(handler)]):
        url = server.put("/a.tar", TAR, faults.cut(0.5), *plan)
        refused(changed.format(url), url, lines=2)
    url = server.put("/a.tar", TAR, faults.cut(0.5), answers_range(half + 1, len(TAR)))
    refused(f"the server sends other bytes than those from {half} on", url, lines=2)
    url = server.put("/a.tar", TAR, faults.cut(0.5), answers_range(half, len(TAR), TAR[half:] + b"more"))
    refused(f"the server sends more than the {len(TAR)} bytes that it announced", url, lines=2)
    url = server.put("/a.tar", TAR, answers_range(0, len(TAR)), *[answers_range(9, len(TAR), b"")] * 9)
    refused(f"9 of {len(TAR)} bytes came, at byte 9 .3 attempts", "--retries", "2", url, lines=2)
    url = server.put("/a.tar", TAR, faults.cut(0.5, {}))
    refused("and the server gives neither ETag nor Last-Modified", url)
    url = server.put("/a.tar", TAR, faults.raw(b"HTTP/1.1 206 Partial\r\nContent-Length: 5\r\n\r\n12345"))
    refused("sends other bytes than those from 0 on", url)


def pieces(data, end=b""):
    """An answer without a length."""
    return faults.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nETag: \"x\"\r\n\r\n%x\r\n" % len(data) + data +
                      b"\r\n" + end)


def part(range_text, data):
    return faults.raw(b"HTTP/1.1 206 Partial\r\nContent-Length: %d\r\nETag: \"x\"\r\nContent-Range: bytes %s\r\n\r\n" %
                      (len(data), range_text.encode()) + data)


def check_truncated(server):
    """An answer that ends too early never passes for the whole."""
    one, half, size, end = digest("a.tar"), len(TAR) // 2, len(TAR), b"0\r\n\r\n"

    def put(*plan):
        url = server.put("/a.tar", TAR, *plan)
        server.objects["/a.tar"].headers["ETag"] = '"x"'
        return url

    check("less than before", digest(put(pieces(TAR[:half]), pieces(TAR[:100], end)), warnings=[AGAIN]), one)
    check("a part of the rest", digest(put(pieces(TAR[:half]), part(f"{half}-{size - 1}/*", TAR[half:half + 9])),
                                       warnings=[AGAIN]), one)
    refused(f"the server sends the bytes {half} to {size}, expected those from {half} to the end, which is at {size}",
            put(faults.cut(0.5, {"ETag": '"x"'}), part(f"{half}-{size}/{size}", TAR[half:])), lines=2)
    refused("it has changed", put(pieces(TAR[:half]), part(f"{half}-{size - 1}/100", TAR[half:])), lines=2)
    check("nothing follows", digest(put(pieces(TAR)), warnings=[AGAIN]), one)
    check("the last request", ranges(server), [None, f"bytes={size}-"])
    refused("it has changed", put(pieces(TAR), faults.status(416, Content_Range=f"bytes */{size + 1}")), lines=2)
    refused("it has changed", put(pieces(TAR), faults.status(416, Content_Range=f"bytes */{size}", ETag='"y"')),
            lines=2)
    check("no length", digest(put(faults.raw(b"HTTP/1.1 200 OK\r\n\r\n" + TAR)),
                              warnings=["the server does not say how long it is, .* --require-end"]), one)


def check_redirects(server):
    one, other = digest("a.tar"), Server()
    url = server.put("/a.tar", TAR, *(faults.redirect("/b.tar", number) for number in (301, 302, 303, 307, 308)))
    server.objects["/b.tar"] = faults.Object(TAR)
    for _ in range(5):
        check("a redirect", digest(url), one)
    target = other.put("/there", TAR, faults.cut(0.5))
    server.put("/a.tar", TAR, faults.redirect(target + "?" + SECRET), faults.redirect("b.tar"))
    check("to another host, and to this one when that fails", digest(url, warnings=[f"'{url}': .*{AGAIN}"]), one)
    for to, text in (("file:///etc/passwd", "'file:///etc/passwd', expected https:// or http://"),
                     ("ftp://127.0.0.1/a", "'ftp://127.0.0.1/a', expected"), ("gopher://x/", "expected https:// or"),
                     ("http://u:pass@127.0.0.1/", "the URL for '127.0.0.1' has a user or a password")):
        server.put("/a.tar", TAR, faults.redirect(to))
        refused(f"cannot read '{url}': .*{text}", url)
    server.put("/a.tar", TAR, *[faults.redirect("/a.tar")] * 20)
    refused("redirects more than 10 times", url)
    server.put("/a.tar", TAR, faults.status(302))
    refused("redirects to '', expected https:// or http://", url)


def check_command_line(server):
    refused("the URL for '127.0.0.1' has a user or a password in front of '@'",
            "http://me:secret@127.0.0.1/a.tar?" + SECRET)
    for others in ([], ["a.tar"]):
        for more in ("", "0" * 300):
            refused("'gs://bucket/a.tar': of URLs only https://, http:// and s3:// are read",
                    "gs://bucket/a.tar?" + SECRET + more, *others)
    url = server.put("/a.tar", TAR)
    refused("option '--trust-mtime' is for a directory, and 'http://[^?]*' is none", "--trust-mtime",
            url + "?" + SECRET)
    refused("option '--ca-file': cannot open 'missing': No such file", "--ca-file", "missing", url)
    refused("'d/0000' is in 'http://[^?]*/a.tar' and 'http://[^?]*/a.tar'", url + "?1", url + "?2")


# --- the processes

def waiting(server, *words):
    """A packer whose server is silent after the first half, and its two children: which fetches, which decodes."""
    url = server.put("/a.tar", TAR, faults.cut(0.5, then=lambda handler: handler.server.released.wait()))
    pathlib.Path("v.vol").unlink(missing_ok=True)
    packer = subprocess.Popen(["mkdatasetfs", "--progress", "none", *words, "v.vol", url + "?" + SECRET],
                              stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    until(lambda: len(children(packer.pid)) == 2 and any(map(has_socket, children(packer.pid))))
    fetcher = next(child for child in children(packer.pid) if has_socket(child))
    decoder = next(child for child in children(packer.pid) if child != fetcher)
    until(lambda: fields(decoder)["Seccomp"] == "2")
    return packer, fetcher, decoder


def has_socket(process):
    try:
        return any(os.readlink(entry).startswith("socket:") for entry in pathlib.Path(f"/proc/{process}/fd").iterdir())
    except OSError:
        return False


def fields(process):
    lines = pathlib.Path(f"/proc/{process}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def check_rights(server):
    if os.geteuid() != 0:
        return
    packer, fetcher, decoder = waiting(server)
    for process in (fetcher, decoder):
        found = fields(process)
        check("capabilities", {found[name] for name in ("CapPrm", "CapEff")}, {"0" * 16})
        check("no_new_privs", found["NoNewPrivs"], "1")
        check("user", found["Uid"].split(), ["65534"] * 4)
    targets = sorted(re.sub(r":.*", "", os.readlink(entry)) for entry in pathlib.Path(f"/proc/{fetcher}/fd").iterdir())
    check("what the process that fetches has open", [name for name in targets if name not in ("socket", "anon_inode")],
          ["/dev/null"] * 3 + ["pipe"] * 2)
    check("the one that decodes has no socket", has_socket(decoder), False)
    for process in (packer.pid, fetcher, decoder):
        line = pathlib.Path(f"/proc/{process}/cmdline").read_bytes()
        check(f"a secret in a command line: {line}", SECRET.encode() in line, False)
    check("the secret is where it is needed", SECRET.encode() in memory(fetcher), True)
    for process in (packer.pid, decoder):
        check("it is in no other process", SECRET.encode() in memory(process), False)
    packer.terminate()
    check("the line", packer.communicate()[1], "mkdatasetfs: interrupted\n")
    for process in (fetcher, decoder):
        check("a process is left", os.path.exists(f"/proc/{process}"), False)


def check_killed(server):
    if os.geteuid() != 0:
        return
    packer, fetcher, _ = waiting(server)
    os.kill(fetcher, signal.SIGKILL)
    check("the line", re.sub("[0-9]{2,}", "N", packer.communicate()[1]),
          "mkdatasetfs: 'http://N.0.0.1:N/a.tar': the process that fetches archives has ended\n")
    packer, fetcher, decoder = waiting(server)
    packer.kill()
    packer.communicate()
    until(lambda: not any(os.path.exists(f"/proc/{process}") for process in (fetcher, decoder)))


# --- TLS

def certify(name):
    """Makes a certificate that has signed itself, of a name of its own, by which libcurl finds it."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", "key.pem", "-out", name, "-days", "2", "-subj", f"/CN={name}", "-addext",
                    "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)


def check_only_ca(url):
    """The option takes the place of the folder of certificates that Debian's libcurl looks into."""
    folder = pathlib.Path("/etc/ssl/certs")
    if os.geteuid() != 0 or not folder.is_dir() or \
            subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode != 0:
        return
    os.makedirs("certs", exist_ok=True)
    certify("other.pem")
    shutil.copy("other.pem", "certs/ca-certificates.crt")
    shutil.copy("ca.pem", "certs/ca.pem")
    os.chmod("certs/ca.pem", 0o644)
    subprocess.run(["openssl", "rehash", "certs"], check=True, capture_output=True)
    inside = ["unshare", "--mount", "sh", "-c", f'mount --bind certs {folder} && exec "$@"', "sh", "mkdatasetfs",
              "--progress", "none", "--json", "--force", "v.vol"]
    for words, expected in (([], 0), (["--ca-file", "other.pem"], 1)):
        done = subprocess.run([*inside, *words, url], capture_output=True, text=True, env=ENVIRONMENT, check=False)
        if not words and done.returncode:
            return  # this libcurl looks elsewhere
        check(f"with {words}: {done.stderr}", (done.returncode, "certificate" in done.stderr),
              (expected, bool(expected)))
    pathlib.Path("v.vol").unlink()


def check_tls(server):
    if not shutil.which("openssl"):
        print("no openssl: TLS is not tested")
        return
    certify("ca.pem")
    pathlib.Path("both.pem").write_text(pathlib.Path("key.pem").read_text() + pathlib.Path("ca.pem").read_text())
    secure, one = Server("both.pem"), digest("a.tar")
    os.chmod("ca.pem", 0o600)  # it is read before root's rights are given up
    url = secure.put("/a.tar", TAR, faults.cut(0.5))
    check("TLS", digest("--ca-file", "ca.pem", url, warnings=[AGAIN]), one)
    refused("cannot read 'https://.*certificate", url)
    refused("cannot read 'https://", "--ca-file", "a.tar", url)
    for name, size in (("empty.pem", 0), ("long.pem", 8000001)):
        pathlib.Path(name).write_bytes(bytes(size))
        refused(f"option '--ca-file': '{name}' is no file of certificates, or it is empty or has more than 8000000 ",
                "--ca-file", name, url)
    check_only_ca(url)
    plain = server.put("/a.tar", TAR)
    secure.put("/a.tar", TAR, faults.redirect(plain))
    refused(f"the server redirects to '{plain}', which is not encrypted", "--ca-file", "ca.pem", url)
    server.put("/a.tar", TAR, faults.redirect(secure.put("/a.tar", TAR)))
    check("from HTTP to HTTPS", digest("--ca-file", "ca.pem", plain), one)


def main():
    try:
        ctypes.CDLL("libcurl.so.4")
    except OSError:
        print("skip: there is no libcurl.so.4")
        sys.exit(77)
    server = Server()
    for step in (check_kinds, check_repeated, check_given_up, check_changed, check_truncated, check_redirects,
                 check_command_line, check_rights, check_killed, check_tls):
        began = time.monotonic()
        step(server)
        print(f"{step.__name__}: {time.monotonic() - began:.1f} s", flush=True)
    server.released.set()


main()
