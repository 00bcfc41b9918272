/* SPDX-License-Identifier: MIT */
/* The service csi.v1.Node: shows data sets to pods, takes them away, and says how they are. */
#pragma once
#include "csi/job.h"
#include "csi/server.h"
#include "csi/target.h"

struct node {
	const char *name; /* of the machine in the cluster */
	const char *conf; /* path of csi.conf, which each publish reads, as it does the names of data sets */
	struct target_root root;
	struct jobs *jobs;
};

must_check int node_open(struct node *node, struct error *err); /* once name, conf and root are set */
void node_close(struct node *node);

/* argument: the node. */
void node_info(void *argument, struct call *call, struct span message);
void node_capabilities(void *argument, struct call *call, struct span message);
void node_publish(void *argument, struct call *call, struct span message);
void node_unpublish(void *argument, struct call *call, struct span message);
void node_stats(void *argument, struct call *call, struct span message);
