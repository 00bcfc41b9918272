#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/run: in=gcc,asan
"""Archives in an object store: names of keys, keys of users from where other tools take them, none for public buckets,
and nothing secret where it does not belong. The server checks the signature of each request."""
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

sys.path.insert(0, os.path.join(os.environ["DATASETFS_SOURCE"], "tests", "lib"))
import object_server as faults  # noqa: E402
from object_server import Server  # noqa: E402
from patience import Patience  # noqa: E402
from processes import children, memory  # noqa: E402

HOME = os.path.abspath("home")
CLEAN = {name: value for name, value in os.environ.items()
         if not name.lower().endswith("_proxy") and not name.startswith("AWS_")} | {"HOME": HOME}
KEYS = {"AKIDEXAMPLE": ("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", None),
        "ASIATEMPORARY": ("temporary/secret+", "token/of+temporary==keys")}
OWN = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": KEYS["AKIDEXAMPLE"][0]}
TEMPORARY = {"AWS_ACCESS_KEY_ID": "ASIATEMPORARY", "AWS_SECRET_ACCESS_KEY": KEYS["ASIATEMPORARY"][0],
             "AWS_SESSION_TOKEN": KEYS["ASIATEMPORARY"][1]}
SECRETS = [text for pair in KEYS.values() for text in pair if text]


def check(what, found, expected):
    if found != expected:
        sys.exit(f"fail: {what}: found {str(found)[:600]}, expected {str(expected)[:600]}")


def archive(seed, count=20):
    rng, file = random.Random(seed), io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for number in range(count):
            data = rng.randbytes(rng.randrange(60000))
            member = tarfile.TarInfo(f"d{seed}/{number:04d}")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return file.getvalue()


def run(words, environment):
    pathlib.Path("v.vol").unlink(missing_ok=True)
    done = subprocess.run(["mkdatasetfs", "--progress", "none", "--json", "v.vol", *words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, env=CLEAN | environment, check=False)
    for secret in SECRETS:
        check(f"a secret in the output: {done.stderr}", secret in done.stderr + done.stdout, False)
    return done


def digest(*words, warnings=0, **environment):
    done = run(words, environment)
    check(f"{words}: {done.stderr}", (done.returncode, len(done.stderr.splitlines())), (0, warnings))
    return json.loads(done.stdout)["digest"]


def refused(pattern, *words, lines=1, **environment):
    done = run(words, environment)
    found = done.stderr.splitlines()
    check(f"{words}: {found}", (done.returncode, len(found), os.path.exists("v.vol")), (1, lines, False))
    if not re.search(pattern, found[-1]):
        sys.exit(f"fail: {words}: {found}, expected {pattern}")


TAR, OTHER = archive(1), archive(2)
NAMES = ["a.tar", "deep/er/a.tar", "blank here.tar", "plus+.tar", "percent%25%.tar", "é.tar", "?query=1&b.tar",
         "hash#.tar", "../up/./a.tar", "a//b.tar", "=;,'\"()*!$&@:~[]{}|<>^`\\.tar", "-", "Ünï/日本.tar"]


def check_names(server):
    """A key is what the user writes, each byte of it, and is signed as such."""
    one = digest("a.tar")
    for name in NAMES:
        server.put(f"/bucket/{name}", TAR)
        check(name, digest("--endpoint", server.url, f"s3://bucket/{name}", **OWN), one)
        check(f"the requests for {name}", len(server.requests), 1)
    server.put("/bucket/a.tar", TAR)
    server.put("/bucket/b.tar", OTHER)
    check("two, and a file", digest("--endpoint", server.url, "s3://bucket/b.tar", "a.tar", **OWN),
          digest("b.tar", "a.tar"))
    server.put("/bucket/a.tar", TAR, faults.cut(0.5), faults.cut(0.5))
    check("the rest is signed too", digest("--endpoint", server.url, "s3://bucket/a.tar", warnings=1, **TEMPORARY), one)
    check("with the condition", ["if-match" in headers["Authorization"] for _, _, headers in server.requests],
          [False, True, True])


def check_keys(server):
    """The environment, then the profile in the files; temporary ones; none."""
    os.makedirs(f"{HOME}/.aws", exist_ok=True)
    server.put("/bucket/a.tar", TAR)
    words = ("--endpoint", server.url, "s3://bucket/a.tar")
    one = digest("a.tar")
    check("temporary", digest(*words, **TEMPORARY), one)
    refused("status 403 .Forbidden., and no keys for it were found$", *words)
    refused("status 403 .Forbidden.$", *words, AWS_ACCESS_KEY_ID="AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY="wrong")
    refused("of the access key and the secret key for the object store only one is set", *words,
            AWS_ACCESS_KEY_ID="AKIDEXAMPLE")
    pathlib.Path(f"{HOME}/.aws/credentials").write_text(
        f"# keys\n[other]\naws_access_key_id = x\n\n[default]\r\n aws_secret_access_key = indented\n"
        f"aws_access_key_id=AKIDEXAMPLE\naws_secret_access_key = {KEYS['AKIDEXAMPLE'][0]} \n[temporary]\n"
        f"aws_access_key_id = ASIATEMPORARY\naws_secret_access_key = {KEYS['ASIATEMPORARY'][0]}\n"
        f"aws_session_token={KEYS['ASIATEMPORARY'][1]}\n")
    pathlib.Path(f"{HOME}/.aws/config").write_text(
        "[default]\noutput = json\n[profile far]\nregion = eu-central-1\ns3 =\n  region = inner\n"
        f"aws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = {KEYS['AKIDEXAMPLE'][0]}\n"
        "[profile sso]\nsso_session = me\nregion = eu-central-1\n[bare]\nregion = never\n")
    os.chmod(f"{HOME}/.aws/credentials", 0o600)
    check("the default", digest(*words), one)
    check("a profile", digest(*words, AWS_PROFILE="temporary"), one)
    check("the environment comes first", digest(*words, AWS_PROFILE="other", **OWN), one)
    refused("the files of AWS have no profile 'nobody', which AWS_PROFILE names", *words, AWS_PROFILE="nobody")
    refused("have no profile 'bare'", *words, AWS_PROFILE="bare")
    refused("profile 'sso' gets its keys by 'sso_session', which is not known here", *words, AWS_PROFILE="sso")
    server.region = "eu-central-1"
    check("the region of a profile", digest(*words, AWS_PROFILE="far"), one)
    for profile in ("far", "sso"):
        check("for keys in the environment", digest(*words, AWS_PROFILE=profile, **OWN), one)
    check("a region in the environment", digest(*words, AWS_REGION="eu-central-1"), one)
    check("an option", digest(*words, "--region", "eu-central-1", AWS_REGION="us-west-2"), one)
    server.region = "us-east-1"
    os.rename(f"{HOME}/.aws", "moved")
    check("files elsewhere", digest(*words, AWS_SHARED_CREDENTIALS_FILE=os.path.abspath("moved/credentials")), one)
    check("an endpoint in the environment", digest("s3://bucket/a.tar", AWS_ENDPOINT_URL=server.url, **OWN), one)
    check("one with a place for the bucket",
          digest("--endpoint", server.url + "/{bucket}/", "s3://bucket/a.tar", **OWN), one)


def check_public(server):
    public = Server()
    public.put("/bucket/a.tar", TAR, faults.cut(0.5))
    check("a public bucket", digest("--endpoint", public.url, "s3://bucket/a.tar", warnings=1), digest("a.tar"))
    check("nothing is signed", [headers.get("Authorization") for _, _, headers in public.requests], [None, None])
    server.put("/bucket/a.tar", TAR, faults.redirect(public.url + "/bucket/a.tar", 307))
    public.requests.clear()
    refused("the server redirects, and a request that is signed does not follow", "--endpoint", server.url,
            "s3://bucket/a.tar", **TEMPORARY)
    check("no request reaches the other host", public.requests, [])
    for status in (301, 400, 403):
        server.put("/bucket/a.tar", TAR, faults.status(status, x_amz_bucket_region="eu-west-3"))
        refused("'s3://bucket/a.tar': the bucket is in region 'eu-west-3', not in 'us-east-1': use --region",
                "--endpoint", server.url, "s3://bucket/a.tar", **OWN)


def check_other_source(server):
    """Only the object store gets signatures."""
    other = Server()
    server.put("/bucket/a.tar", TAR)
    url = other.put("/b.tar", OTHER)
    expected = digest("a.tar", "b.tar")
    for sources in (("s3://bucket/a.tar", url), (url, "s3://bucket/a.tar")):
        check(f"{sources}", digest("--endpoint", server.url, *sources, **TEMPORARY),
              expected if sources[1] == url else digest("b.tar", "a.tar"))
    check("headers for the other server",
          [name for _, _, headers in other.requests for name in headers
           if name.lower() == "authorization" or name.lower().startswith("x-amz")], [])
    check("its requests", len(other.requests), 2)


def tree(files):
    """A directory as the packer makes it of objects."""
    shutil.rmtree("tree", ignore_errors=True)
    os.mkdir("tree")
    for name, data in files.items():
        path = os.path.join("tree", name)
        os.makedirs(path if name.endswith("/") else os.path.dirname(path), exist_ok=True)
        if not name.endswith("/"):
            with open(path, "wb") as file:
                file.write(data)
            os.utime(path, (1700000000, 1700000000))
            os.chmod(path, 0o644)
    for folder, _, _ in os.walk("tree"):
        os.chmod(folder, 0o755)
        os.utime(folder, (0, 0))
    return "tree"


def check_prefix(server):
    """Objects become files, in pages, many at a time, small and large ones."""
    rng = random.Random(4)
    files = {f"d{number % 7}/{number:04d} é+%&.jpg": rng.randbytes(rng.randrange(3000)) for number in range(100)}
    files |= {"empty": b"", "large": rng.randbytes(3 << 20), "megabyte": bytes(1 << 20), "n" * 255: b"long",
              "/".join(["deep" * 20] * 8): b"x", "\x01\n\t\x7f": b"y"}
    server.objects.clear()
    for name, data in files.items():
        server.put(f"/bucket/pre fix/{name}", data)
    server.put("/bucket/pre fiz", b"no")
    server.page = 30
    expected = digest("--all-root", tree(files))
    words = ("--endpoint", server.url, "s3://bucket/pre fix/")
    for number in (1, 32, 64):
        check(f"{number} requests", digest(*words, "--requests", str(number), **TEMPORARY), expected)
    server.plans["/bucket/"] = [faults.status(503), faults.reset, faults.normal, faults.status(500)]
    for name in list(files)[::5]:
        server.plans[f"/bucket/pre fix/{name}"] = [rng.choice((faults.status(503), faults.reset, faults.cut(0.5)))]
    done = run(words, OWN)
    check("after faults", (done.returncode, json.loads(done.stdout)["digest"]), (0, expected))
    check("lines", len(done.stderr.splitlines()), 10)
    server.requests.clear()
    done = run((*words, "--dry-run"), OWN)
    check("a dry run", json.loads(done.stdout)["files"], len(files))
    check("its requests", {path.partition("?")[0] for path, _, _ in server.requests}, {"/bucket/"})
    server.requests.clear()
    check("without some", digest(*words, "--exclude", "d*/", **OWN),
          digest("--all-root", tree({name: data for name, data in files.items() if not name.startswith("d")})))
    check("they are not fetched", any("/d" in path for path, _, _ in server.requests), False)
    both = digest(*words, "a.tar", **OWN)
    with tarfile.open("a.tar") as tar:
        members = {member.name: tar.extractfile(member).read() for member in tar}
    tree(files | members)
    for name in members:
        os.utime(f"tree/{name}", (0, 0))
    check("beside an archive", both, digest("--all-root", "tree"))


def cut_listing(handler):
    handler.begin(200, 1000)
    handler.wfile.write(b"<" * 500)
    handler.close_connection = True


def check_broken_listing():
    """A listing that always breaks off is asked for as often as any other answer."""
    public = Server()
    public.put("/bucket/a", b"1")
    public.plans["/bucket/"] = [cut_listing] * 9
    refused("with 500 bytes remaining to read, .* .3 attempts", "--endpoint", public.url, "--retries", "2",
            "s3://bucket/", lines=2)
    check("the requests", len(public.requests), 3)


def check_refused_connection():
    """A connection that fails is made again once the server has answered any thread."""
    if not shutil.which("openssl"):
        return
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", "key.pem", "-out", "ca.pem", "-days", "2", "-subj", "/CN=test", "-addext",
                    "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    pathlib.Path("both.pem").write_text(pathlib.Path("key.pem").read_text() + pathlib.Path("ca.pem").read_text())
    secure, connections = Server("both.pem"), []
    secure.verify_request = lambda *_: connections.append(1) or len(connections) != 2
    secure.put("/bucket/a", b"1")
    digest("--endpoint", secure.url, "--ca-file", "ca.pem", "s3://bucket/", warnings=1)
    check("connections", len(connections), 3)


def check_one_changed(server):
    """The line names the object, though others are still being fetched."""
    server.objects.clear()
    for number in range(300):
        server.put(f"/bucket/p/{number:04d}", b"12345" * 999)
    server.plans["/bucket/p/0040"] = [faults.replaced(b"54321" * 999)]
    refused("cannot read 's3://bucket/p/0040': it has changed while it was read$", "--endpoint", server.url,
            "s3://bucket/p/", "--requests", "64", **OWN)


def check_wrong_listings(server):
    words = ("--endpoint", server.url, "s3://bucket/p/")
    for size in ("", "<Size></Size>", "<Size>-1</Size>", "<Size>5x</Size>", f"<Size>{1 << 60}</Size>",
                 f"<Size>{1 << 70}</Size>"):
        server.put("/bucket/", b"", faults.status(200, b"<ListBucketResult><Contents><Key>p/good</Key><Size>0</Size>"
                   b"</Contents><Contents><Key>p/bad</Key>" + size.encode() + b"</Contents></ListBucketResult>"))
        refused("'s3://bucket/p/': the listing gives no size of 'p/bad', or none from 0 to 50 TiB$", *words,
                "--dry-run", **OWN)
    page = faults.status(200, b"<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>next"
                         b"</NextContinuationToken></ListBucketResult>")
    server.put("/bucket/", b"", *[page] * 9)
    refused("'s3://bucket/p/': the listing does not end: each page names itself as the next$", *words, **OWN)
    check("its requests", len(server.requests), 2)
    del server.objects["/bucket/"], server.plans["/bucket/"]


def check_folders(server):
    """--into-folders takes the last part of a prefix, or the bucket."""
    server.objects.clear()
    for name, data in {"a.tar/1": b"1", "a.tar/b/2": b"2", "../3": b"3"}.items():
        server.put(f"/bucket/{name}", data)
    words = ("--into-folders", "--endpoint", server.url)
    for prefix, folder, names in (("a.tar/", "a.tar", {"1": b"1", "b/2": b"2"}), ("a.tar/b/", "b", {"2": b"2"}),
                                  ("", "bucket", {"a.tar/1": b"1", "a.tar/b/2": b"2"})):
        check(prefix, digest(*words, f"s3://bucket/{prefix}", warnings=int(not prefix), **OWN),
              digest("--all-root", tree({f"{folder}/{name}": data for name, data in names.items()})))
    refused("option '--into-folders': 's3://bucket/../' has no name for a folder", *words, "s3://bucket/../", **OWN)


def check_nested(server):
    """Filters see an archive below a prefix as the folder that it becomes, and a dry run needs its content."""
    server.objects.clear()
    server.put("/bucket/p/x.tar", TAR)
    server.put("/bucket/p/y.tar", OTHER)
    words = ("--nested", "--endpoint", server.url, "s3://bucket/p/")
    expected = digest(*words, **OWN)
    check("the names of archives", digest(*words, "--exclude", "*.tar", **OWN), expected)
    check("files", digest(*words, "--exclude", "/x/", **OWN),
          digest(*words, "--include", "/y/", "--exclude", "/*", **OWN))
    done = run((*words, "--dry-run"), OWN)
    check(f"a dry run: {done.stderr}", (done.returncode, json.loads(done.stdout or "{}").get("files")), (0, 40))


def check_odd_keys(server):
    server.objects.clear()
    plain, words = {"a": b"1", "b/c": b"2", "folder/": b""}, ("--endpoint", server.url, "s3://bucket/p/")
    for name, data in plain.items():
        server.put(f"/bucket/p/{name}", data)
    server.put("/bucket/p/", b"")
    expected = digest(*words, **OWN)
    odd = ("x//y", "/z", "../up", "q/../r", "./dot", "n" * 256, "not-a-folder/", "zero\0byte")
    for name in odd:
        server.put(f"/bucket/p/{name}", b"odd")
    done = run(words, OWN)
    check("the line", done.stderr, "mkdatasetfs: 's3://bucket/p/': 8 objects have keys that cannot be paths of files, "
          "such as '../up': left out\n")
    check("the others", json.loads(done.stdout)["digest"], expected)
    refused("the key 's3://bucket/p/../up' cannot be the path of a file", *words, "--special", "fail", **OWN)
    server.put("/bucket/p/a/below", b"3")
    for name in odd:
        del server.objects[f"/bucket/p/{name}"]
    refused("'a/below' in the archive lies below 'a', which is a regular file", *words, **OWN)
    refused("'s3://bucket/none/' has nothing to pack", "--endpoint", server.url, "s3://bucket/none/", **OWN)
    server.objects.clear()
    server.put("/bucket/p/a", b"12345", faults.replaced(b"54321"))
    refused("cannot read 's3://bucket/p/a': it has changed while it was read", *words, **OWN)
    server.put("/bucket/", b"", faults.status(200, b"<html></html>"))
    refused("'s3://bucket/p/': the server sends no listing, expected that of ListObjectsV2", *words, **OWN)


def check_command_line(server):
    for name in ("s3://", "s3:///a.tar", "s3://buck?et/a.tar", "s3://bucket@host/a.tar"):
        refused("is no name of a bucket", "--endpoint", server.url, name)
    refused("'s3://bucket' names no object: s3://BUCKET/a.tar is an archive", "s3://bucket")
    for words, text in ((("--endpoint", "ftp://x"), "begins neither with https:// nor with http://"),
                        (("--endpoint", "https://u:p@x"), "has a user or a password"),
                        (("--region", "a/b"), "'a/b' is no name of a region")):
        done = run([*words, "s3://bucket/a.tar"], OWN)
        check(f"{words}: {done.stderr}", (done.returncode, text in done.stderr), (2, True))
    os.makedirs("d", exist_ok=True)
    for words in (("--requests", "32"), ("--retries", "0"), ("--timeout", "60"), ("--ca-file", "a.tar"),
                  ("--endpoint", server.url), ("--region", "us-east-1")):
        for sources in (["d"], ["a.tar", "b.tar"]):
            done = run([*words, *sources], OWN)
            check(f"{words}, {sources}", (done.returncode, done.stderr), (2, f"mkdatasetfs: option '{words[0]}' is for "
                  "sources that begin with https://, http:// or s3://, and none does\n"))


# --- the processes

def check_secrets(server):
    """Only the process that fetches has them."""
    if os.geteuid() != 0:
        return
    server.put("/bucket/a.tar", TAR, faults.cut(0.5, then=faults.hang))
    packer = subprocess.Popen(["mkdatasetfs", "--progress", "none", "--endpoint", server.url, "v.vol",
                               "s3://bucket/a.tar"], stderr=subprocess.PIPE, text=True, env=CLEAN | TEMPORARY)
    limit = Patience(60)
    while not (server.requests and len(children(packer.pid)) == 2 and
               "Seccomp:\t2" in pathlib.Path(f"/proc/{children(packer.pid)[1]}/status").read_text()):
        if limit.is_over():
            sys.exit("fail: it takes too long")
        time.sleep(0.02)
    fetcher, decoder = children(packer.pid)
    for process, expected in ((fetcher, True), (decoder, False), (packer.pid, False)):
        found = memory(process)
        if not expected and "san.so" in pathlib.Path(f"/proc/{process}/maps").read_text():
            continue  # a sanitizer has a copy of the environment
        check(f"secrets of {process}", [secret.encode() in found for secret in SECRETS[1:]], [expected] * 2)
    packer.send_signal(signal.SIGTERM)
    check("the line", packer.communicate()[1], "mkdatasetfs: interrupted\n")


def main():
    try:
        ctypes.CDLL("libcurl.so.4")
    except OSError:
        print("skip: there is no libcurl.so.4")
        sys.exit(77)
    pathlib.Path("a.tar").write_bytes(TAR)
    pathlib.Path("b.tar").write_bytes(OTHER)
    server = Server()
    server.keys = KEYS
    check_broken_listing()
    check_refused_connection()
    for step in (check_names, check_keys, check_public, check_other_source, check_prefix, check_one_changed,
                 check_wrong_listings, check_folders, check_nested, check_odd_keys, check_command_line,
                 check_secrets):
        began = time.monotonic()
        step(server)
        print(f"{step.__name__}: {time.monotonic() - began:.1f} s", flush=True)
    server.released.set()


main()
