# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Ends the server at named steps, see src/base/program/step.h. A test sources it after common.sh, before it mounts.
DATASETFS_STEPS=$PWD/steps
export DATASETFS_STEPS
mkdir "$DATASETFS_STEPS"

# at_step NAME LETTERS: as the header says
at_step() {
    printf %s "$2" >"$DATASETFS_STEPS/.$1"
    mv "$DATASETFS_STEPS/.$1" "$DATASETFS_STEPS/$1"
}

# passed NAME: all letters of the step are taken
passed() {
    [ ! -e "$DATASETFS_STEPS/$1" ]
}

# restarts MOUNTPOINT
restarts() {
    stats "$1" restarts
}

# more_than COUNT: so many servers of mnt have ended
more_than() {
    [ "$(restarts mnt)" -gt "$1" ]
}
