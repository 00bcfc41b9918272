/* SPDX-License-Identifier: MIT */
/* Opens with an index from the daemon. The version that the mount serves comes with its index; for another one the
 * catalogue is read, as the mount would, and the index comes from the daemon if it is open there, else from the
 * volume. */
#include "lib/direct/linked.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/direct/trusted.h"

/* Opens the version that was handed over. Takes got's parts and the link, also on failure. */
static int linked_new(struct link *link, struct link_version *got, const struct query *query, struct opened **ret,
		      struct error *err)
{
	int r = trusted_handed(got, query, err);
	struct direct_volume *volume = NULL;

	if (r == 0)
		r = direct_check_digest(&got->opened, query, err);
	if (r == 0)
		r = direct_volume_new(got->volume, &volume, err);
	if (r == 0) {
		got->volume = NULL;
		r = direct_new(&got->opened, volume, ret, err);
	}
	link_version_close(got);
	if (r < 0) {
		link_close(link);
		return r;
	}
	direct_link(*ret, link);
	r = link_place(link)->folder ? lib_set_root(&(*ret)->info, link_place(link)->folder, err) : 0;
	if (r < 0)
		(*ret)->backend->close(*ret);
	return r;
}

/* Opens a version that the daemon has not opened. Takes volume's use and the link, also on failure. */
static int linked_load(struct link *link, uint32_t hidden_mode, struct direct_volume *volume, const struct query *query,
		       struct opened **ret, struct error *err)
{
	int r = direct_load_current(volume, NULL, query, NULL, ret, err);

	direct_volume_put(volume);
	if (r < 0) {
		link_close(link);
		return r;
	}
	direct_link(*ret, link);
	((struct direct *)*ret)->version.hidden_mode = hidden_mode;
	return 0;
}

/* Opens a version by its label. got: the one that the mount serves. Takes got's parts and the link, also on failure. */
static int linked_choose(struct link *link, struct link_version *got, const struct query *query, struct opened **ret,
			 struct error *err)
{
	struct link_version other = { .volume = NULL };
	struct link *to_other = NULL;
	struct dsfs_info chosen;
	struct direct_volume *volume;
	uint32_t hidden_mode = got->opened.hidden_mode;
	int r = direct_find(&got->volume->source, query, &chosen, err);

	if (r == 0 && direct_is(&chosen, &got->opened.version))
		return linked_new(link, got, query, ret, err);
	if (r == 0)
		r = link_open(link_place(link), chosen.sequence, chosen.uuid, &to_other, &other, err);
	if (r == 0 && other.opened.index) {
		link_version_close(got);
		link_close(link);
		return linked_new(to_other, &other, query, ret, err);
	}
	link_version_close(&other);
	link_close(to_other);
	if (r == 0)
		r = direct_volume_new(got->volume, &volume, err);
	if (r == 0) {
		got->volume = NULL;
		link_version_close(got);
		return linked_load(link, hidden_mode, volume, query, ret, err);
	}
	link_version_close(got);
	link_close(link);
	return r;
}

/* Opens the version of a folder that is mounted alone. Takes got's parts and the link, also on failure. */
static int linked_folder(struct link *link, struct link_version *got, const struct query *query, struct opened **ret,
			 struct error *err)
{
	int r = 0;

	if (!got->opened.index)
		r = error_set(err, -ESTALE, "the daemon has closed the version of the folder '%s'", query->where);
	else if (query->version && strcmp(query->version, got->opened.version.label) != 0)
		r = lib_refuse_version(query, got->opened.version.label, err);
	if (r == 0)
		return linked_new(link, got, query, ret, err);
	link_version_close(got);
	link_close(link);
	return r;
}

int linked_open(const struct link_place *place, const struct query *query, struct opened **ret, bool *ret_final,
		struct error *err)
{
	struct link_version got;
	struct link *link;
	int r = link_open(place, place->sequence, place->uuid, &link, &got, err);

	*ret_final = false;
	if (r < 0)
		return r;
	if (place->folder)
		r = linked_folder(link, &got, query, ret, err);
	else if (query->version)
		r = linked_choose(link, &got, query, ret, err);
	else
		r = linked_new(link, &got, query, ret, err);
	/* No such version, or with another digest, or without a trusted signature. */
	*ret_final = r == -ENOENT || r == -EBADMSG || r == -EKEYREJECTED;
	return r;
}

/* Whether the query means this opened version now. */
static int linked_is_current(const struct direct *direct, const struct query *query, bool *ret, struct error *err)
{
	struct dsfs_info chosen;
	int r;

	if (link_place(direct->link)->folder) {
		*ret = link_lives(direct->link) && !link_has_moved(direct->link);
		return 0;
	}
	*ret = link_is_current(direct->link);
	if (!query->version)
		return 0;
	/* The daemon has a newer descriptor, or ours was closed. */
	if (link_has_moved(direct->link) || direct_check_volume(direct->volume, NULL) < 0) {
		*ret = false;
		return 0;
	}
	r = direct_find(&direct->volume->array->source, query, &chosen, err);
	if (r == 0)
		*ret = lib_is_same(&chosen, &direct->opened.info);
	return r;
}

int linked_renew(const struct direct *direct, const struct query *query, struct opened **ret, struct error *err)
{
	bool lives = link_goes_on(direct->link), is_current, is_final;
	int r = linked_is_current(direct, query, &is_current, err);

	if (r < 0)
		return r;
	if (is_current) {
		*ret = NULL;
		return 0;
	}
	if (lives && linked_open(link_place(direct->link), query, ret, &is_final, NULL) == 0)
		return 0;
	return 1;
}
