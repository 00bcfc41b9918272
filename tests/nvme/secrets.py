#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tests/run: once queue=fabric in=none timeout=900
"""Who may connect, and in transit: hosts and targets that prove who they are by DH-HMAC-CHAP, with right, wrong and
missing secrets; TLS, without a key, without tlshd, with both; a discovery controller; what is shown, and that no log
has a secret."""
import base64
import binascii
import json

from fabric import NQN, PORTALS, Fabric, check, check_contains, main, make_tree, say, sums, wait_for
from tlshd import CONF, START

HOST = "/etc/nvme/host.secret"
TARGET = "/etc/nvme/target.secret"
WRONG = "/etc/nvme/wrong.secret"
URI = [f"tcp://{portal}:4420" for portal in PORTALS]
PSK = "ABCDEFGH" * 4
DISCOVERY = "nqn.2014-08.org.nvmexpress.discovery"


def secret(byte, size=32):
    """As 'nvme gen-dhchap-key' prints one."""
    key = bytes([byte] * size)
    return f"DHHC-1:00:{base64.b64encode(key + binascii.crc32(key).to_bytes(4, 'little')).decode()}:"


SECRETS = {HOST: secret(17), TARGET: secret(34, 64), WRONG: secret(51, 48)}


def write_secrets(guest):
    guest.run("mkdir -p /etc/nvme; umask 077\n" +
              "".join(f"echo '{text}' >{path}\n" for path, text in SECRETS.items()))


def says(host, options, message, portal=0):
    """A connection that fails, with one line."""
    check(f"connect {options}", host.connect(PORTALS[portal], options=options, status=1),
          f"datasetfsctl: cannot connect: '{URI[portal]}': {message}\n")
    check("controllers after that", host.paths(), {})


def discovers(host, options, portal=0):
    """What the target offers there, asked with these options."""
    listed = host.run(f"datasetfsctl nvme discover {options} {URI[portal]}").splitlines()
    check(f"discover {options}", [line.split() for line in listed if URI[portal] in line], [[URI[portal], NQN]])
    check("controllers after that", host.paths(), {})


def security(host):
    """What list says of each path: the JSON's words."""
    listed = json.loads(host.run("datasetfsctl nvme list --json"))["namespaces"]
    return [(path["authentication"], path["tls"]) for one in listed for path in one["paths"]]


def is_shown(host, words, expected):
    check_contains("list", host.run("datasetfsctl nvme list"), words)
    check("list --json", security(host), [expected])


def disconnects(host):
    host.disconnect()
    wait_for("the device is gone", lambda: not host.run("ls /sys/class/nvme"))


def lose_path(net, host, meanwhile=lambda: None):
    """The only path goes, and comes back by itself."""
    net.target.nvmet(f"port-down {NQN} {PORTALS[0]}")
    wait_for("no path", lambda: [state for _, state in host.paths().values()] == ["connecting"])
    meanwhile()
    net.target.nvmet(f"port-up {NQN} {PORTALS[0]}")
    wait_for("the path is back", lambda: [state for _, state in host.paths().values()] == ["live"])


def allow_anew(net, host):
    """The target forgets the secrets."""
    net.target.nvmet(f"deny {NQN} {host.nqn}")
    net.target.nvmet(f"allow {NQN} {host.nqn}")


def authentications(host):
    return int(host.run("dmesg | grep -c 'qid 0: authenticated with hash'", status=None))


def one_way(net, host):
    target = net.target
    says(host, "", "the target asks this host for its secret: --dhchap-secret-file")
    wrong = "authentication failed: the secret of this host is not the one that the target has"
    says(host, f"--dhchap-secret-file {WRONG}", wrong)
    host.run(f"chmod 644 {HOST}")
    check_contains("a secret for everybody", host.connect(options=f"--dhchap-secret-file {HOST}", status=1),
                   f"'{HOST}' has the mode 0644, so others may know the secret")
    host.run(f"chmod 600 {HOST}")
    check_contains("connect", host.connect(options=f"--dhchap-secret-file {HOST}"), f"{URI[0]} is connected as nvme")
    is_shown(host, "authenticated", ("host", False))
    check("modes", host.run("stat -c %a /sys/class/nvme/nvme*/dhchap_*secret").split(), ["600", "600"])
    target.run(f"echo ffdhe2048 >/sys/kernel/config/nvmet/hosts/{host.nqn}/dhchap_dhgroup")
    lose_path(net, host)
    check_contains("the host's log", host.run("dmesg"), "dhgroup ffdhe2048")
    say("a host proves who it is")


def unasked_discovery(host):
    """That of a Linux target asks nobody."""
    discovers(host, "")
    discovers(host, f"--dhchap-secret-file {HOST}")
    check_contains("discover", host.run(f"datasetfsctl nvme discover --dhchap-secret-file {HOST} "
                                        f"--dhchap-ctrl-secret-file {TARGET} {URI[0]}", status=1),
                   f"'{URI[0]}': the target does not ask for authentication, so it may be another one")
    check("controllers after that", host.paths(), {})
    say("a discovery controller that does not ask")


def serves(net, host, source, network):
    """The volume on the connection that is there; status says how it is connected."""
    volume = f"nvme:uuid:{net.uuid()}"
    host.device(net.uuid())
    if not host.run(f"datasetfsctl list {volume} 2>/dev/null || true").strip():
        host.run(f"mkdatasetfs --progress none {volume} /src/tree")
    host.mount(volume)
    check("the files", host.sums(), sums(source))
    check_contains("status", " ".join(host.run("datasetfsctl status /mnt").split()), f"network {network} ")
    host.run("umount /mnt")


def both_ways(net, host):
    both = f"--dhchap-secret-file {HOST} --dhchap-ctrl-secret-file"
    wrong = "authentication failed: the secret of this host or that of the target is not the one that the target has"
    says(host, f"{both} {TARGET}", wrong)  # the target has none
    net.target.nvmet(f"secret {host.nqn} {HOST} {TARGET}")
    check_contains("show", net.target.nvmet("show"), f"  host {host.nqn} with a secret, and one of the target\n")
    says(host, f"{both} {WRONG}", wrong)
    host.run(f"key add user target @u <{TARGET}")
    host.connect(options=f"--dhchap-secret-file {HOST} --dhchap-ctrl-secret-key target")
    is_shown(host, "authenticated both ways", ("both", False))
    # Linux does not insist when a path comes back.
    before = authentications(host)
    lose_path(net, host, lambda: allow_anew(net, host))
    check("authentications by a target that does not ask any more", authentications(host), before)
    disconnects(host)
    say("a target proves who it is")


def unasked(net, host):
    """A target that asks for no secret: perhaps somebody else's."""
    said = host.connect(options=f"--dhchap-secret-file {HOST}")
    check_contains("a secret too many", said, "the target connects this host without its secret as well: set it there")
    # The target gets the secret later: the connection stays, and a path that comes back is authenticated.
    net.target.nvmet(f"secret {host.nqn} {HOST}")
    check("paths", [state for _, state in host.paths().values()], ["live"])
    check("authentications by then", authentications(host), 0)
    lose_path(net, host)
    check("authentications", authentications(host), 1)
    disconnects(host)
    allow_anew(net, host)
    says(host, f"--dhchap-secret-file {HOST} --dhchap-ctrl-secret-file {TARGET}",
         "the target does not ask for authentication, so it may be another one: set the secrets there")
    host.connect()
    check_contains("a connection that is there", host.connect(options=f"--dhchap-secret-file {HOST}", status=1),
                   "but without a secret of this host: disconnect it first")
    disconnects(host)
    say("a target that does not ask")


def adds_key(guest, host, payload=PSK, nqn=NQN):
    return guest.run(f"printf %s {payload} | key add psk 'NVMe0R01 {host.nqn} {nqn}' .nvme").strip()


def tls(net, host, source):
    target = net.target
    target.nvmet(f"--tls port-up {NQN} {PORTALS[1]}")
    check_contains("show", target.nvmet("show"), f"  portal tcp {PORTALS[1]} 4420 TLS\n")
    says(host, "--tls", "the keyring '.nvme' has no TLS key for this host and this subsystem, see datasetfs-nvme(7), "
         "or the target asks for a secret", portal=1)
    for guest in (target, host):
        adds_key(guest, host)
    says(host, "--tls", "the kernel found no TLS handshake service: is tlshd running (package ktls-utils)?", portal=1)
    for guest in (target, host):
        guest.run(f"cat >/etc/tlshd.conf <<'END'\n{CONF}END\n")
        guest.start(f"exec {START}")
        wait_for("tlshd", lambda guest=guest: "tlshd" in guest.run("ps"))
    host.connect(PORTALS[1], options="--tls")
    is_shown(host, "TLS", ("none", True))
    serves(net, host, source, "1 path, 0 authenticated, 1 encrypted (TLS)")
    disconnects(host)
    check_contains("discover without a key of its own",
                   host.run(f"datasetfsctl nvme discover --tls {URI[1]}", status=1),
                   "the keyring '.nvme' has no TLS key")
    for guest in (target, host):
        adds_key(guest, host, nqn=DISCOVERY)
    discovers(host, "--tls", portal=1)
    say("TLS")


def tls_refused(net, host):
    lost = "no answer, no TLS there, or another key; the logs of tlshd and of the kernel say which"
    says(host, "--tls", lost)
    says(host, "", "the target hung up: it may want TLS", portal=1)
    says(host, "--tls --tls-key 12345", "the kernel has no key 12345", portal=1)
    number = adds_key(host, host, PSK.lower())
    says(host, f"--tls --tls-key {number}", lost, portal=1)
    adds_key(host, host)
    net.target.nvmet(f"secret {host.nqn} {HOST}")
    host.connect(PORTALS[1], options=f"--tls --dhchap-secret-file {HOST}")
    is_shown(host, "authenticated, TLS", ("host", True))
    disconnects(host)
    say("what TLS refuses")


def keeps_quiet(guest):
    """Neither secret is in a log or in a command line."""
    for text in SECRETS.values():
        body = text.split(":")[2]
        # The brackets keep grep from finding its own command line.
        found = guest.run("{ dmesg; cat /run/messages; cat /proc/[0-9]*/cmdline; } 2>/dev/null | "
                          f"grep -c '[{body[0]}]{body[1:12]}'", status=None).strip()
        check(f"{guest.name}: lines with a secret", found, "0")


def old_kernel():
    """Linux 6.1 of Debian 12, which has neither."""
    with Fabric("stable", ["a"]) as net:
        host, = net.hosts
        write_secrets(host)
        net.target.nvmet(f"up {NQN} /dev/vda {PORTALS[0]}")
        net.target.nvmet(f"allow {NQN} {host.nqn}")
        says(host, f"--dhchap-secret-file {HOST}", "this kernel has no authentication of hosts (CONFIG_NVME_HOST_AUTH)")
        says(host, "--tls", "this kernel has no TLS for NVMe/TCP (CONFIG_NVME_TCP_TLS, Linux 6.7)")
        check_contains("a target without it", net.target.nvmet(f"secret {host.nqn} /dev/null", status=1),
                       "this kernel's target has no authentication (CONFIG_NVME_TARGET_AUTH)")
        keeps_quiet(host)
        say("a kernel without")


def scenarios():
    source = make_tree("tree", 4, count=30)
    with Fabric("newest", ["a", "b"], {"tree": source}, security=True) as net:
        host, other = net.hosts
        for guest in (net.target, host, other):
            write_secrets(guest)
        net.target.nvmet(f"up {NQN} /dev/vda")
        net.target.nvmet(f"allow {NQN} {host.nqn} {other.nqn}")
        net.target.nvmet(f"secret {host.nqn} {HOST}")
        net.target.nvmet(f"port-up {NQN} {PORTALS[0]}")
        one_way(net, host)
        serves(net, host, source, "1 path, 1 authenticated, 0 encrypted (TLS)")
        disconnects(host)
        unasked_discovery(host)
        both_ways(net, host)
        unasked(net, other)
        tls(net, other, source)
        tls_refused(net, other)
        for guest in (net.target, host, other):
            keeps_quiet(guest)
    old_kernel()


if __name__ == "__main__":
    main(scenarios)
