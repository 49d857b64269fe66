// SPDX-License-Identifier: LGPL-2.1-only
/* Requests to a ClickHouse server or a relay, with libcurl. */
#include "fleet/clickhouse.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#ifdef KS_HAVE_CURL
#include <curl/curl.h>
#include <zlib.h>
#endif

#include "base/escape.h"
#include "base/vec.h"
#ifdef KS_HAVE_CURL
#include "fleet/late-curl.h"
#endif

/* === Data ================================================================================= */

enum {
	ANSWER_MAX = 256 << 20,
	ERROR_MAX = 300, /* of a server's message: the rest of it is a stack */
	CONNECT_SECS = 10,
	BACKOFF_FIRST_MS = 1000,
	BACKOFF_MAX_MS = 300000,
};

/* Errors of the server itself, of its disks, its replicas and its load: the same request may succeed later. */
static const u16 again[] = { 74,  75,  76,  159, 202, 203, 204, 209, 210, 225, 236,
			     241, 242, 243, 252, 279, 285, 286, 319, 365, 999 };

/* The tables are missing or others, or the user may not: true of all requests until somebody changes that. */
static const u16 set_up[] = { 16, 60, 81, 115, 164, 192, 193, 194, 195, 291, 497, 516 };

/* === Internals ============================================================================ */

static bool has(const u16 *codes, size_t len, u32 code)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (codes[i] == code)
			return true;
	return false;
}

#ifdef KS_HAVE_CURL

struct ks_http {
	CURL *curl;
	char *base;
	char *auth;  /* "Authorization: ..." of a token; NULL = none */
	char *token; /* what must not be shown in messages is not kept elsewhere */
	struct ks_strbuf answer;
	bool plain, too_long;
	int stop_fd;
};

static size_t take_answer(char *data, size_t size, size_t count, void *arg)
{
	struct ks_http *http = arg;

	if (http->answer.len + size * count > ANSWER_MAX) {
		http->too_long = true;
		return 0;
	}
	ks_strbuf_add(&http->answer, data, size * count);
	return http->answer.failed ? 0 : size * count;
}

/* Called about once a second; what is not 0 ends the request. */
static int is_stopped(void *arg, curl_off_t down_all, curl_off_t down, curl_off_t up_all,
		      curl_off_t up)
{
	const struct ks_http *http = arg;
	struct pollfd fd = { .fd = http->stop_fd, .events = POLLIN };

	return poll(&fd, 1, 0) > 0;
}

/* gzip is what servers of all versions can read. */
static int compress_body(const void *data, size_t len, struct ks_strbuf *out)
{
	z_stream z = { .next_in = (void *)(uintptr_t)data };
	u8 buf[16384];
	int err;

	if (deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	do {
		if (!z.avail_in && len) {
			z.avail_in = (uInt)ks_min(len, (size_t)1 << 30);
			len -= z.avail_in;
		}
		z.next_out = buf;
		z.avail_out = sizeof(buf);
		err = deflate(&z, len ? Z_NO_FLUSH : Z_FINISH);
		ks_strbuf_add(out, buf, sizeof(buf) - z.avail_out);
	} while (err == Z_OK || (err == Z_BUF_ERROR && (len || z.avail_in)));
	deflateEnd(&z);
	return err == Z_STREAM_END && !out->failed ? 0 : -ENOMEM;
}

/* The server's own words, without line breaks and without its stack. */
static int fail(struct ks_http *http, CURLcode result, long status, struct ks_diag *diag)
{
	static const int errors[] = {
		[KS_HTTP_AGAIN] = -EAGAIN, [KS_HTTP_SET_UP] = -EPERM, [KS_HTTP_REFUSED] = -EPROTO
	};
	enum ks_http_verdict verdict;
	struct ks_strbuf text;
	size_t len;
	u32 code;
	int err;

	if (http->answer.failed || result == CURLE_OUT_OF_MEMORY)
		return ks_diag_nomem(diag, "reading an answer");
	if (http->too_long)
		return ks_diag_set(diag, -EPROTO, "%s: the answer is too long", http->base);
	if (result != CURLE_OK)
		return ks_diag_set(diag, -EAGAIN, "%s: %s", http->base, curl_easy_strerror(result));
	verdict = ks_http_judge(status, ks_strbuf_str(&http->answer), &code);
	len = strcspn(ks_strbuf_str(&http->answer), "\n");
	ks_strbuf_init(&text);
	ks_escape_tty(&text, ks_strbuf_str(&http->answer), ks_min(len, (size_t)ERROR_MAX));
	err = ks_diag_set(diag, errors[verdict], "%s: status %ld: %s", http->base, status,
			  text.len ? ks_strbuf_str(&text) : "no reason was given");
	ks_strbuf_deinit(&text);
	return err;
}

/*
 * Of a cluster's table, the answer comes when the shards have the rows, not when the server has taken them. A user who may only
 * read can't change a setting, so this goes with inserts alone.
 */
#define INSERTING "?wait_end_of_query=1&insert_distributed_sync=1"

/*
 * Rows that are added up by millions of series go to the server's disk from here on, in bytes: they need not fit into the
 * memory that a statement may have.
 */
#define ADDING "&max_bytes_before_external_group_by=1000000000"

static int request(struct ks_http *http, const char *path, const char *query, const void *data,
		   size_t len, const char *encoding, struct ks_diag *diag)
{
	struct curl_slist *headers = NULL, *more;
	char *escaped = query ? curl_easy_escape(http->curl, query, 0) : NULL;
	char *url = NULL;
	CURLcode result;
	long status = 0;
	int err = 0;

	if ((query && !escaped) ||
	    asprintf(&url, "%s%s%s%s", http->base, path, query ? INSERTING "&query=" : "",
		     escaped ? escaped : "") < 0) {
		curl_free(escaped);
		return ks_diag_nomem(diag, "sending a request");
	}
	headers = curl_slist_append(NULL, "Expect:");
	if (encoding && headers) {
		more = curl_slist_append(headers, encoding);
		err = more ? 0 : -ENOMEM;
	}
	if (http->auth && headers && !err) {
		more = curl_slist_append(headers, http->auth);
		err = more ? 0 : -ENOMEM;
	}
	if (!headers || err) {
		err = ks_diag_nomem(diag, "sending a request");
		goto out;
	}
	http->answer.len = 0;
	http->answer.failed = http->too_long = false;
	curl_easy_setopt(http->curl, CURLOPT_URL, url);
	curl_easy_setopt(http->curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(http->curl, CURLOPT_POST, 1L);
	curl_easy_setopt(http->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
	curl_easy_setopt(http->curl, CURLOPT_POSTFIELDS, data);
	result = curl_easy_perform(http->curl);
	curl_easy_getinfo(http->curl, CURLINFO_RESPONSE_CODE, &status);
	if (result != CURLE_OK || status != 200)
		err = fail(http, result, status, diag);
out:
	curl_slist_free_all(headers);
	curl_free(escaped);
	free(url);
	return err;
}

/* === Public =============================================================================== */

int ks_http_new(const struct ks_http_opts *opts, struct ks_http **ret_http, struct ks_diag *diag)
{
	struct ks_http *http;
	size_t len = strlen(opts->url);
	int err;
	bool ok;

	if (strncmp(opts->url, "http://", 7) && strncmp(opts->url, "https://", 8))
		return ks_diag_set(diag, -EINVAL, "'%s' does not begin with http:// or https://",
				   opts->url);
	if (strchr(opts->url, '?') || strchr(opts->url, '#'))
		return ks_diag_set(diag, -EINVAL, "'%s' has more than a server and a path",
				   opts->url);
	err = ks_late_curl(diag);
	if (err)
		return err;
	http = calloc(1, sizeof(*http));
	if (!http)
		return ks_diag_nomem(diag, "connecting");
	http->curl = curl_easy_init();
	http->plain = opts->plain;
	ok = http->curl &&
	     asprintf(&http->base, "%s%s", opts->url, opts->url[len - 1] == '/' ? "" : "/") >= 0;
	if (ok && opts->token)
		ok = asprintf(&http->auth, "Authorization: Bearer %s", opts->token) >= 0;
	if (!ok) {
		ks_http_free(http);
		return ks_diag_nomem(diag, "connecting");
	}
	curl_easy_setopt(http->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(http->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(http->curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECS);
	/* A server that has gone without a word is noticed while it is waited for. */
	curl_easy_setopt(http->curl, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(http->curl, CURLOPT_TIMEOUT,
			 opts->timeout_secs ? (long)opts->timeout_secs : 60L);
	curl_easy_setopt(http->curl, CURLOPT_WRITEFUNCTION, take_answer);
	curl_easy_setopt(http->curl, CURLOPT_WRITEDATA, http);
	if (opts->user)
		curl_easy_setopt(http->curl, CURLOPT_USERNAME, opts->user);
	if (opts->password)
		curl_easy_setopt(http->curl, CURLOPT_PASSWORD, opts->password);
	if (opts->ca)
		curl_easy_setopt(http->curl, CURLOPT_CAINFO, opts->ca);
	if (opts->cert)
		curl_easy_setopt(http->curl, CURLOPT_SSLCERT, opts->cert);
	if (opts->key)
		curl_easy_setopt(http->curl, CURLOPT_SSLKEY, opts->key);
	*ret_http = http;
	return 0;
}

void ks_http_stop_on(struct ks_http *http, int fd)
{
	http->stop_fd = fd;
	curl_easy_setopt(http->curl, CURLOPT_XFERINFOFUNCTION, is_stopped);
	curl_easy_setopt(http->curl, CURLOPT_XFERINFODATA, http);
	curl_easy_setopt(http->curl, CURLOPT_NOPROGRESS, 0L);
}

void ks_http_free(struct ks_http *http)
{
	if (!http)
		return;
	curl_easy_cleanup(http->curl);
	ks_strbuf_deinit(&http->answer);
	free(http->base);
	free(http->auth);
	free(http);
}

int ks_http_query(struct ks_http *http, const char *sql, struct ks_strbuf *answer,
		  struct ks_diag *diag)
{
	const char *how = strncmp(sql, "INSERT ", 7) ? "?wait_end_of_query=1" : INSERTING ADDING;
	int err = request(http, how, NULL, sql, strlen(sql), NULL, diag);

	if (!err && answer) {
		ks_strbuf_add(answer, http->answer.s, http->answer.len);
		if (answer->failed)
			return ks_diag_nomem(diag, "reading an answer");
	}
	return err;
}

int ks_http_insert(struct ks_http *http, const char *sql, const void *data, size_t len,
		   struct ks_diag *diag)
{
	struct ks_strbuf packed;
	int err;

	if (http->plain)
		return request(http, "", sql, data, len, NULL, diag);
	ks_strbuf_init(&packed);
	err = compress_body(data, len, &packed);
	if (err)
		err = ks_diag_nomem(diag, "compressing rows");
	else
		err = request(http, "", sql, packed.s, packed.len, "Content-Encoding: gzip", diag);
	ks_strbuf_deinit(&packed);
	return err;
}

int ks_http_post(struct ks_http *http, const char *path, const void *data, size_t len,
		 struct ks_diag *diag)
{
	return request(http, path, NULL, data, len, "Content-Type: application/octet-stream", diag);
}

#else

struct ks_http {
	char unused;
};

int ks_http_new(const struct ks_http_opts *opts, struct ks_http **ret_http, struct ks_diag *diag)
{
	return ks_diag_set(diag, -ENOSYS, "this kmemscope was built without libcurl");
}

void ks_http_free(struct ks_http *http)
{
}

void ks_http_stop_on(struct ks_http *http, int fd)
{
}

int ks_http_query(struct ks_http *http, const char *sql, struct ks_strbuf *answer,
		  struct ks_diag *diag)
{
	return -ENOSYS;
}

int ks_http_insert(struct ks_http *http, const char *sql, const void *data, size_t len,
		   struct ks_diag *diag)
{
	return -ENOSYS;
}

int ks_http_post(struct ks_http *http, const char *path, const void *data, size_t len,
		 struct ks_diag *diag)
{
	return -ENOSYS;
}

#endif

/*
 * "Code: 60, e.displayText() = ..." is at the beginning of an error's body. Without one the answer is of
 * something between us and the server, or of a relay: its status is all that there is. What is refused for a
 * reason that is not known here may be the fault of this one block.
 */
enum ks_http_verdict ks_http_judge(long status, const char *body, u32 *ret_code)
{
	u32 code = 0;

	if (!strncmp(body, "Code: ", 6))
		code = (u32)strtoul(body + 6, NULL, 10);
	*ret_code = code;
	if (has(again, ARRAY_SIZE(again), code))
		return KS_HTTP_AGAIN;
	if (has(set_up, ARRAY_SIZE(set_up), code))
		return KS_HTTP_SET_UP;
	if (code)
		return KS_HTTP_REFUSED;
	if (status == 200)
		return KS_HTTP_DONE;
	if (status == 401 || status == 403 || status == 404 || (status >= 300 && status < 400))
		return KS_HTTP_SET_UP;
	return status == 400 || status == 413 || status == 422 ? KS_HTTP_REFUSED : KS_HTTP_AGAIN;
}

/* Half of the time is by chance, so that those whom one failure stopped do not come back at once. */
u64 ks_http_backoff_ms(unsigned int tries, u64 random)
{
	u64 ms = BACKOFF_FIRST_MS;

	while (--tries && ms < BACKOFF_MAX_MS)
		ms *= 2;
	ms = ks_min(ms, (u64)BACKOFF_MAX_MS);
	return ms / 2 + random % (ms / 2 + 1);
}

void ks_sql_quote(struct ks_strbuf *sb, const char *s, size_t len)
{
	size_t i;

	ks_strbuf_puts(sb, "'");
	for (i = 0; i < len; i++) {
		if (s[i] == '\'' || s[i] == '\\')
			ks_strbuf_puts(sb, "\\");
		if ((unsigned char)s[i] < ' ')
			ks_strbuf_printf(sb, "\\x%02X", (unsigned char)s[i]);
		else
			ks_strbuf_add(sb, &s[i], 1);
	}
	ks_strbuf_puts(sb, "'");
}
