// SPDX-License-Identifier: LGPL-2.1-only
/* Tokens of a relay's agents. */
#include "fleet/tokens.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "fleet/batch.h"

/* === Data ================================================================================= */

enum { SECRET_LEAST = 16 };

/* === Internals ============================================================================ */

static u64 hash(const struct ks_tokens *tokens, const char *secret)
{
	return ks_hash_bytes(secret, strlen(secret), tokens->seed);
}

/* Does not tell by its time how much of a guess was right. */
static bool same_secret(const char *a, const char *b)
{
	size_t len = strlen(a), i;
	unsigned int differ = 0;

	if (len != strlen(b))
		return false;
	for (i = 0; i < len; i++)
		differ |= (unsigned char)(a[i] ^ b[i]);
	return !differ;
}

static int add(struct ks_tokens *tokens, const char *secret, size_t len, const char *host,
	       size_t host_len)
{
	struct ks_token *token = ks_vec_push(&tokens->items);

	if (!token)
		return -ENOMEM;
	token->secret = strndup(secret, len);
	if (!token->secret)
		return -ENOMEM;
	if (host_len != 1 || *host != '*')
		token->host = ks_fleet_id(KS_FLEET_HOST, host, host_len);
	if (ks_map64_find(&tokens->index, hash(tokens, token->secret)) != KS_NONE)
		return -EEXIST;
	return ks_map64_add(&tokens->index, hash(tokens, token->secret)) == KS_NONE ? -ENOMEM : 0;
}

/* === Public =============================================================================== */

int ks_tokens_parse(struct ks_tokens *tokens, const char *name, const char *text,
		    struct ks_diag *diag)
{
	unsigned int line = 1;
	const char *end;
	int err = 0;

	*tokens = (struct ks_tokens){ .seed = ks_hash_seed() };
	if (ks_map64_init(&tokens->index))
		return ks_diag_nomem(diag, "reading tokens");
	for (; !err && *text; text = *end ? end + 1 : end, line++) {
		size_t secret = strcspn(text, " \t\n"), gap, host;
		const char *rest;

		end = text + strcspn(text, "\n");
		if (*text == '#' || end == text)
			continue;
		rest = text + secret;
		gap = strspn(rest, " \t");
		host = (size_t)(end - rest) - gap;
		if (secret < SECRET_LEAST || !gap || !host)
			err = ks_diag_set(diag, KS_EBADINPUT,
					  "%s:%u: not a token of %d characters or more, and a host",
					  name, line, (int)SECRET_LEAST);
		else
			err = add(tokens, text, secret, rest + gap, host);
		if (err == -EEXIST)
			err = ks_diag_set(diag, KS_EBADINPUT, "%s:%u: this token is there already",
					  name, line);
		else if (err == -ENOMEM)
			ks_diag_nomem(diag, "reading tokens");
	}
	if (!err && !tokens->items.len)
		err = ks_diag_set(diag, KS_EBADINPUT, "%s: has no token", name);
	if (err)
		ks_tokens_deinit(tokens);
	return err;
}

void ks_tokens_deinit(struct ks_tokens *tokens)
{
	size_t i;

	for (i = 0; i < tokens->items.len; i++)
		if (tokens->items.items[i].secret) {
			explicit_bzero(tokens->items.items[i].secret,
				       strlen(tokens->items.items[i].secret));
			free(tokens->items.items[i].secret);
		}
	ks_vec_free(&tokens->items);
	ks_map64_deinit(&tokens->index);
}

struct ks_token *ks_tokens_find(const struct ks_tokens *tokens, const char *secret)
{
	u32 number = ks_map64_find(&tokens->index, hash(tokens, secret));
	struct ks_token *token = number == KS_NONE ? NULL : &tokens->items.items[number];

	return token && same_secret(token->secret, secret) ? token : NULL;
}

bool ks_token_spend(struct ks_token *token, u64 rate, u64 now_ms)
{
	u64 most = rate * 1000;

	if (!token->last_ms)
		token->credit = most;
	else if (now_ms > token->last_ms)
		token->credit = ks_min(most, token->credit + (now_ms - token->last_ms) * rate / 60);
	token->last_ms = ks_max(now_ms, (u64)1);
	if (token->credit < 1000)
		return false;
	token->credit -= 1000;
	return true;
}
