/* SPDX-License-Identifier: LGPL-2.1-only */
/* Who may send to a relay, for which host, and how often. */
#ifndef KS_FLEET_TOKENS_H
#define KS_FLEET_TOKENS_H

#include "base/diag.h"
#include "base/map64.h"
#include "base/vec.h"

struct ks_token {
	char *secret;
	u64 host;    /* an id; 0 = any */
	u64 credit;  /* requests that it has left, in 1/1000 */
	u64 last_ms; /* when that was */
};

struct ks_tokens {
	KS_VEC(struct ks_token) items;
	struct ks_map64 index; /* hashes of secrets: their numbers */
	u64 seed;
};

/*
 * Takes the text of a file apart: a line has a token, of 16 characters or more, and the name of its host, or "*". Empty lines
 * and those that begin with # are left out. KS_EBADINPUT names the line.
 */
int ks_tokens_parse(struct ks_tokens *tokens, const char *name, const char *text,
		    struct ks_diag *diag);
void ks_tokens_deinit(struct ks_tokens *tokens);

/* The one with this secret, or NULL. Takes as long for any secret that is wrong. */
struct ks_token *ks_tokens_find(const struct ks_tokens *tokens, const char *secret);

/* Whether it may send now: @rate requests a minute, a minute's worth at once. */
bool ks_token_spend(struct ks_token *token, u64 rate, u64 now_ms);

#endif
