/* SPDX-License-Identifier: MIT */
/* The decisions of a site: the arguments of the plugin in plugstack.conf. */
#pragma once
#include "base/error.h"

struct site {
	const char *folder;  /* with the places of data sets for which a job names none; they are made there */
	const char *places;  /* more folders, with : between them, below which jobs may name places; NULL: none */
	const char *control; /* datasetfsctl */
	unsigned timeout;    /* seconds that an attach may take */
};

#define SITE_DEFAULT \
	((struct site){ .folder = "/datasets", .control = SITE_CONTROL, .timeout = 300 })

/* Takes an argument, NAME=VALUE, which must live as long as the site. */
must_check int site_say(struct site *site, const char *argument, struct error *err);
