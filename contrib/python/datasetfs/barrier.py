# SPDX-License-Identifier: MIT
"""All ranks of a job switch to the same version between two epochs, or none does."""


def _gather(group, value):
    import torch.distributed as dist

    values = [None] * dist.get_world_size(group)
    dist.all_gather_object(values, value, group=group)
    return values


def _attempt(action, *arguments, **words):
    try:
        return action(*arguments, **words), None
    except Exception as error:  # any failure of one rank must reach all of them, not leave them waiting
        return None, f"{type(error).__name__}: {error}"


def _first_failure(failures):
    return next((f"rank {rank}: {failure}" for rank, failure in enumerate(failures) if failure), None)


def epoch_barrier(mount, group=None, *, gather=None):
    """Rank 0 takes the volume's current version; every rank prepares it; only if all could, every rank switches.

    Every rank of the group calls it between two epochs; several may have the same mount. Returns the label that all
    ranks serve and None, or, when a rank failed, the label that this rank still serves (None: it cannot be asked) and
    the reason, the same on every rank. A rank that fails in the switch itself (after it prepared) makes the others go
    back; if one cannot, the reason says so.
    gather(value) returns the values of all ranks in order; it is for tests and for other ways of communication than
    torch.distributed.
    """
    gather = gather or (lambda value: _gather(group, value))
    found = None
    before, failure = _attempt(lambda: mount.version)
    if not failure:
        found, failure = _attempt(mount.prepare)
    label = before["label"] if before else None
    uuids, failures = zip(*gather((found.uuid if found else None, failure)))
    failure = _first_failure(failures)
    if failure:
        return label, failure
    _, failure = _attempt(mount.prepare, uuid=uuids[0])
    failure = _first_failure(gather(failure))
    if failure:
        return label, failure
    now, failure = _attempt(mount.switch, uuid=uuids[0])
    failure = _first_failure(gather(failure))
    if not failure:
        return now.label, None
    stuck = _attempt(mount.switch, uuid=before["uuid"])[1] if now else None
    others = _first_failure(gather(stuck))
    if others:
        failure += f"; not all went back, {others}"
    return now.label if stuck else label, failure
