/* SPDX-License-Identifier: MIT */
/* Keeps a bounded list of damaged chunks. */
#include "verify/damage.h"

#include <stdio.h>

void damage_init(struct damage_list *list)
{
	*list = (struct damage_list){ .lock = PTHREAD_MUTEX_INITIALIZER };
}

void damage_end(struct damage_list *list)
{
	pthread_mutex_destroy(&list->lock);
}

void damage_add(struct damage_list *list, const struct item *item, const struct error *err)
{
	unsigned at;

	pthread_mutex_lock(&list->lock);
	list->count++;
	if (list->shown_count < DAMAGE_SHOWN)
		list->shown_count++;
	else if (item_compare(item, &list->shown[DAMAGE_SHOWN - 1].item) >= 0)
		goto out;
	for (at = list->shown_count - 1; at > 0 && item_compare(item, &list->shown[at - 1].item) < 0; at--)
		list->shown[at] = list->shown[at - 1];
	list->shown[at].item = *item;
	snprintf(list->shown[at].reason, sizeof(list->shown[at].reason), "%.191s", err->reason);
out:
	pthread_mutex_unlock(&list->lock);
}
