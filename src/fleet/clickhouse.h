/* SPDX-License-Identifier: LGPL-2.1-only */
/*
 * A ClickHouse server over HTTP. Whether a request is to be sent again is decided by the server's own error code,
 * which is in the body: the status of the answer is ambiguous.
 */
#ifndef KS_FLEET_CLICKHOUSE_H
#define KS_FLEET_CLICKHOUSE_H

#include "base/diag.h"
#include "base/strbuf.h"

struct ks_http_opts {
	const char *url;	   /* "http://HOST:PORT/", "https://..." */
	const char *user;	   /* NULL = that of the URL, or the server's default */
	const char *password;	   /* NULL = none */
	const char *ca;		   /* a file with the certificates to trust; NULL = the system's */
	const char *cert, *key;	   /* of the client; NULL = none */
	const char *token;	   /* of a relay's agents; NULL = none */
	bool plain;		   /* requests are not compressed */
	unsigned int timeout_secs; /* of one request; 0 = a minute */
};

/* What the answer to a request means for the one who sent it. */
enum ks_http_verdict {
	KS_HTTP_DONE,
	KS_HTTP_AGAIN,	/* nobody knows whether it was done, or it was not: send it again, later */
	KS_HTTP_SET_UP, /* no request will be done until somebody changes the set-up: wait long */
	KS_HTTP_REFUSED /* this one will never be done */
};

struct ks_http;

/* -ENOSYS: built without libcurl. */
int ks_http_new(const struct ks_http_opts *opts, struct ks_http **ret_http, struct ks_diag *diag);
void ks_http_free(struct ks_http *http);

/* From now on requests end, with -EAGAIN, when this descriptor has something to read. */
void ks_http_stop_on(struct ks_http *http, int fd);

/*
 * Sends a statement; what comes back is appended to @answer, which may be NULL. @data goes behind the statement:
 * the rows of an INSERT, compressed on the way. 0, or -EAGAIN, -EPERM or -EPROTO for the verdicts above.
 */
int ks_http_query(struct ks_http *http, const char *sql, struct ks_strbuf *answer,
		  struct ks_diag *diag);
int ks_http_insert(struct ks_http *http, const char *sql, const void *data, size_t len,
		   struct ks_diag *diag);

/* Sends bytes to a path below the URL, as they are. The same errors. */
int ks_http_post(struct ks_http *http, const char *path, const void *data, size_t len,
		 struct ks_diag *diag);

/* What an answer means: its status (0 = there was none) and its body. *ret_code is the server's, or 0. */
enum ks_http_verdict ks_http_judge(long status, const char *body, u32 *ret_code);

/* Seconds to wait before try number @tries (from 1), in 1/1000: it doubles up to five minutes, by chance less. */
u64 ks_http_backoff_ms(unsigned int tries, u64 random);

/* A string as a literal of SQL. */
void ks_sql_quote(struct ks_strbuf *sb, const char *s, size_t len);

#endif
