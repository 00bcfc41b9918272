#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""unit.py UNIT INSTANCE KEY: runs the commands of one key of a service unit as the manager would, as far as our
units need it: systemd.service(5), "Command lines", with the umask and, where no '+' says otherwise, no_new_privs
and the bounding set. Programs are those of the build; the last command takes this process's place. /etc is looked
for in the working directory."""
import os
import re
import shlex
import subprocess
import sys


def settings(path):
    """Key → its values, in their order."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in file.read().replace("\\\n", " ").splitlines():
            key, equals, value = line.strip().partition("=")
            if equals and key[0] not in "#;":
                found.setdefault(key, []).append(value)
    return found


def environment(unit, instance):
    """What Environment= and EnvironmentFile= add to ours."""
    words = [word for value in unit.get("Environment", []) for word in shlex.split(value)]
    for path in unit.get("EnvironmentFile", []):
        for key, values in settings("." + path.replace("%i", instance)).items():
            words += [f"{key}={value}" for value in shlex.split(values[-1]) or [""]]
    return os.environ | dict(word.split("=", 1) for word in words)


def command(line, variables, instance):
    """The words of a command: ${NAME} within a word, $NAME as one or more words; the instance, also as a path."""
    line = line.replace("%i", instance).replace("%I", instance.replace("-", "/"))
    line = line.replace("/usr/bin/datasetfs", f"{os.environ['DATASETFS_BUILD']}/root/usr/bin/datasetfs")
    words = []
    for word in shlex.split(line):
        if re.fullmatch(r"\$\w+", word):
            words += variables.get(word[1:], "").split()
        else:
            words.append(re.sub(r"\$\{(\w+)\}", lambda match: variables.get(match[1], ""), word))
    return words


def limits(unit):
    """The words of setpriv(1) before a command without '+'."""
    kept = ",".join("+" + name.removeprefix("CAP_").lower() for name in unit["CapabilityBoundingSet"][-1].split())
    return ["setpriv", "--no-new-privs", "--bounding-set", f"-all,{kept}"]


def split(unit, line, variables, instance):
    """The words to be executed, and whether their failure counts."""
    prefix = re.match("[-+]*", line)[0]
    words = command(line[len(prefix):], variables, instance)
    return words if "+" in prefix else limits(unit) + words, "-" not in prefix


def main(path, instance, key):
    unit = settings(path)
    variables = environment(unit, instance)
    *first, last = (split(unit, line, variables, instance) for line in unit[key])
    os.umask(int(unit["UMask"][-1], 8))
    for words, counts in first:
        if subprocess.run(words, env=variables, check=False).returncode and counts:
            sys.exit(f"failed: {words}")
    os.execvpe(last[0][0], last[0], variables)


main(*sys.argv[1:])
