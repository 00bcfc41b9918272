/* SPDX-License-Identifier: MIT */
/* The terminal, through ncurses: lines on it, keys from it, and that it is as before when the program ends. */
#pragma once
#include <stdbool.h>

#include "base/error.h"
#include "top/page.h"

enum screen_key { SCREEN_NONE, SCREEN_QUIT, SCREEN_SORT, SCREEN_UP, SCREEN_DOWN, SCREEN_RESIZED };

/* Standard input and output are the terminal. */
must_check int screen_open(struct error *err);
/* The terminal is as before. Also when it was never opened. */
void screen_close(void);

unsigned screen_width(void);
/* Rows for lines below the head, with this head. */
unsigned screen_rows(const struct page *page);
/* first: of the lines below the head. */
void screen_draw(const struct page *page, size_t first);
/* Does not wait. */
enum screen_key screen_key(void);
