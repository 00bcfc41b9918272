#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""unit.py UNIT INSTANCE KEY: runs the commands of one key of a service unit as the manager would, as far as our units need it:
systemd.service(5), "Command lines". Programs are those of the build; the last command takes this process's place. /etc is
looked for in the working directory."""
import os
import re
import shlex
import subprocess
import sys


def settings(path):
    """Key → its values, in their order."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            key, equals, value = line.strip().partition("=")
            if equals and key[0] not in "#;":
                found.setdefault(key, []).append(value)
    return found


def environment(unit, instance):
    """What Environment= and EnvironmentFile= add to ours."""
    words = [word for value in unit["Environment"] for word in shlex.split(value)]
    for path in unit["EnvironmentFile"]:
        for key, values in settings("." + path.replace("%i", instance)).items():
            words += [f"{key}={value}" for value in shlex.split(values[-1]) or [""]]
    return os.environ | dict(word.split("=", 1) for word in words)


def command(line, variables):
    """The words of a command: ${NAME} within a word, $NAME as one or more words."""
    line = line.replace("/usr/bin/datasetfs", f"{os.environ['DATASETFS_BUILD']}/root/usr/bin/datasetfs")
    words = []
    for word in shlex.split(line):
        if re.fullmatch(r"\$\w+", word):
            words += variables.get(word[1:], "").split()
        else:
            words.append(re.sub(r"\$\{(\w+)\}", lambda match: variables.get(match[1], ""), word))
    return words


def main(path, instance, key):
    unit = settings(path)
    variables = environment(unit, instance)
    *first, last = unit[key]
    for line in first:
        if subprocess.run(command(line.lstrip("-"), variables), env=variables, check=False).returncode and line[0] != "-":
            sys.exit(f"failed: {line}")
    words = command(last.lstrip("-"), variables)
    os.execvpe(words[0], words, variables)


main(*sys.argv[1:])
