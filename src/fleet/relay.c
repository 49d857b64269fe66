// SPDX-License-Identifier: LGPL-2.1-only
/*
 * The relay's server, with libmicrohttpd. Its threads write to the queue together: while one of them syncs a message to
 * the disk, what others have received is gathered and becomes the next message, with one sync for all of them.
 */
#include "fleet/relay.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "fleet/batch.h"
#include "fleet/client-cert.h"
#include "fleet/tokens.h"

#ifdef KS_HAVE_MICROHTTPD
#include <arpa/inet.h>
#include <microhttpd.h>

#include "fleet/late-microhttpd.h"

/* === Data ================================================================================= */

enum {
	THREADS = 8,
	REQUEST_MAX = 8 << 20,
	MEMORY_MAX = 64 << 20, /* of all requests that are being received */
	ROWS_MAX =
		40000, /* of one request: those of all threads must fit into one load of the database */
	CONNECTIONS_MAX = 4000,
	IDLE_SECS = 30,
	FUTURE_SECS = 3600,
	NAMES_A_ROW = 8,
};

/* What several threads put into one message. The last one that has seen the result frees it. */
struct group {
	struct ks_strbuf data;
	unsigned int users;
	bool done;
	int err;
};

struct ks_relay {
	struct MHD_Daemon *daemon;
	struct ks_queue *queue;
	struct ks_relay_opts opts;
	struct ks_tokens tokens;
	bool has_tokens, has_clients;
	pthread_mutex_t lock;		   /* guards the rest */
	struct ks_map64 client_hosts;	   /* hosts that showed a certificate: their numbers */
	KS_VEC(struct ks_token *) clients; /* by number */
	pthread_cond_t written;
	struct group *group; /* what is gathered for the next message; NULL = nothing yet */
	bool writing, news;
	u64 memory;
	struct ks_relay_counters counters;
};

/* One request, from its first byte to its answer. */
struct request {
	struct ks_relay *relay;
	struct ks_token *token;
	struct ks_strbuf body;
	u64 reserved; /* of memory */
};

/* === Internals: the queue ================================================================= */

/* Writes what was gathered so far, with the lock given up meanwhile. */
static void write_group(struct ks_relay *relay, struct group *group)
{
	int err;

	relay->group = NULL;
	relay->writing = true;
	pthread_mutex_unlock(&relay->lock);
	err = group->data.failed ? -ENOMEM
				 : ks_queue_put(relay->queue, group->data.s, group->data.len, NULL);
	pthread_mutex_lock(&relay->lock);
	relay->writing = false;
	group->err = err;
	group->done = true;
	pthread_cond_broadcast(&relay->written);
}

/* Returns 0 when the bytes are on the disk. The first thread that finds nobody writing writes. */
static int commit(struct ks_relay *relay, const struct ks_strbuf *body)
{
	struct group *group;
	int err = -ENOMEM;

	pthread_mutex_lock(&relay->lock);
	if (!relay->group)
		relay->group = calloc(1, sizeof(*relay->group));
	group = relay->group;
	if (group) {
		ks_strbuf_add(&group->data, body->s, body->len);
		group->users++;
		while (!group->done) {
			if (relay->writing)
				pthread_cond_wait(&relay->written, &relay->lock);
			else
				write_group(relay, group);
		}
		err = group->err;
		relay->news |= !err;
		if (!--group->users) {
			ks_strbuf_deinit(&group->data);
			free(group);
		}
	}
	pthread_mutex_unlock(&relay->lock);
	return err;
}

/* === Internals: requests ================================================================== */

static u64 now_ms(void)
{
	return ks_clock_ns(CLOCK_MONOTONIC) / 1000000;
}

static void count(struct ks_relay *relay, u64 *counter, u64 more)
{
	pthread_mutex_lock(&relay->lock);
	*counter += more;
	pthread_mutex_unlock(&relay->lock);
}

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned int status,
			      const char *text)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	if (status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result refuse(struct ks_relay *relay, struct MHD_Connection *connection,
			      u64 *counter, unsigned int status, const char *text)
{
	count(relay, counter, 1);
	return answer(connection, status, text);
}

/* Why a batch is not taken, or NULL. A partition of the database is an hour, so times must be sane. */
static const char *check_batch(const struct request *request, const struct ks_fleet_batch *batch)
{
	u64 now = (u64)time(NULL), oldest = request->relay->opts.oldest_secs;

	if (request->token->host && batch->host != request->token->host)
		return "this token or certificate is of another host\n";
	if (batch->at > now + FUTURE_SECS)
		return "the interval is in the future: look at the clock\n";
	if (batch->at + oldest < now)
		return "the interval is too old\n";
	if (batch->names.len > NAMES_A_ROW * (batch->rows.len + 1))
		return "more names than its rows can have\n";
	return NULL;
}

static const char *check_body(const struct request *request, u64 *ret_batches, u64 *ret_rows,
			      struct ks_diag *diag)
{
	struct ks_fleet_batch batch;
	const char *why = NULL;
	size_t pos = 0;
	int got;

	*ret_batches = *ret_rows = 0;
	do {
		ks_fleet_batch_init(&batch);
		got = ks_fleet_batch_unpack(&batch, ks_strbuf_str(&request->body),
					    request->body.len, &pos, diag);
		if (got == 1) {
			why = check_batch(request, &batch);
			*ret_batches += 1;
			*ret_rows += batch.rows.len;
		}
		ks_fleet_batch_deinit(&batch);
	} while (got == 1 && !why);
	if (got < 0)
		why = diag->text;
	else if (!why && !*ret_batches)
		why = "no batch\n";
	else if (!why && *ret_rows > ROWS_MAX)
		why = "too many rows for one request\n";
	return why;
}

static enum MHD_Result take(struct request *request, struct MHD_Connection *connection)
{
	struct ks_relay *relay = request->relay;
	struct ks_relay_counters *counters = &relay->counters;
	struct ks_diag diag = { 0 };
	u64 batches, rows;
	const char *why;
	int err;

	if (request->body.failed)
		return refuse(relay, connection, &counters->limited, 503, "out of memory\n");
	why = check_body(request, &batches, &rows, &diag);
	if (why && diag.err == -ENOMEM)
		return refuse(relay, connection, &counters->limited, 503, "out of memory\n");
	if (why)
		return refuse(relay, connection, &counters->refused, 422, why);
	err = commit(relay, &request->body);
	if (err)
		return refuse(relay, connection, &counters->failed, err == -ENOSPC ? 507 : 503,
			      err == -ENOSPC ? "the spool is full\n" : "the spool does not work\n");
	count(relay, &counters->accepted, batches);
	count(relay, &counters->rows, rows);
	return answer(connection, 200, "");
}

static enum MHD_Result show_health(struct ks_relay *relay, struct MHD_Connection *connection)
{
	struct ks_relay_counters c;
	struct ks_queue_state state;
	char text[512];

	ks_relay_count(relay, &c);
	ks_queue_state(relay->queue, &state);
	snprintf(text, sizeof(text),
		 "{\"spooled\": %" PRIu64 ", \"spooled_bytes\": %" PRIu64 ", \"accepted\": %" PRIu64
		 ", \"rows\": %" PRIu64 ", \"refused\": %" PRIu64 ", \"denied\": %" PRIu64
		 ", \"limited\": %" PRIu64 ", \"failed\": %" PRIu64 "}\n",
		 state.messages, state.bytes, c.accepted, c.rows, c.refused, c.denied, c.limited,
		 c.failed);
	return answer(connection, 200, text);
}

/* The account of a host that shows a certificate; NULL where it shows none, or there is no memory. */
static struct ks_token *find_client(struct ks_relay *relay, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	char name[KS_CLIENT_NAME_MAX];
	struct ks_token *token = NULL, **slot;
	u64 host;
	u32 number;

	if (!info || !ks_client_name(info->tls_session, name))
		return NULL;
	host = ks_fleet_id(KS_FLEET_HOST, name, strlen(name));
	pthread_mutex_lock(&relay->lock);
	number = ks_map64_find(&relay->client_hosts, host);
	if (number != KS_NONE) {
		token = relay->clients.items[number];
	} else {
		token = calloc(1, sizeof(*token));
		slot = token ? ks_vec_push(&relay->clients) : NULL;
		if (slot && ks_map64_add(&relay->client_hosts, host) != KS_NONE) {
			token->host = host;
			*slot = token;
		} else {
			relay->clients.len -= !!slot;
			free(token);
			token = NULL;
		}
	}
	pthread_mutex_unlock(&relay->lock);
	return token;
}

/* Whether a request may go on, by its head alone; else it was answered. */
static struct ks_token *admit(struct ks_relay *relay, struct MHD_Connection *connection,
			      enum MHD_Result *result)
{
	static const char bearer[] = "Bearer ";
	struct ks_relay_counters *counters = &relay->counters;
	const char *auth =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");
	const char *length =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
	struct ks_token *token = NULL;
	bool ok;

	if (relay->has_clients)
		token = find_client(relay, connection);
	if (!token && relay->has_tokens && auth && !strncmp(auth, bearer, strlen(bearer)))
		token = ks_tokens_find(&relay->tokens, auth + strlen(bearer));
	if (!token) {
		*result = refuse(relay, connection, &counters->denied, MHD_HTTP_UNAUTHORIZED,
				 relay->has_clients
					 ? "no certificate of a host, and no such token\n"
					 : "no such token\n");
		return NULL;
	}
	pthread_mutex_lock(&relay->lock);
	ok = ks_token_spend(token, relay->opts.rate, now_ms());
	pthread_mutex_unlock(&relay->lock);
	if (!ok) {
		*result = refuse(relay, connection, &counters->limited, 429, "too many requests\n");
		return NULL;
	}
	if (length && strtoull(length, NULL, 10) > REQUEST_MAX) {
		*result = refuse(relay, connection, &counters->refused, 413, "too large\n");
		return NULL;
	}
	return token;
}

static bool reserve(struct request *request, u64 bytes)
{
	struct ks_relay *relay = request->relay;
	bool ok;

	pthread_mutex_lock(&relay->lock);
	ok = relay->memory + bytes <= MEMORY_MAX;
	if (ok) {
		relay->memory += bytes;
		request->reserved += bytes;
	}
	pthread_mutex_unlock(&relay->lock);
	return ok;
}

static enum MHD_Result handle(void *ctx, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *data,
			      size_t *size, void **slot)
{
	struct ks_relay *relay = ctx;
	struct request *request = *slot;
	enum MHD_Result result = MHD_YES;
	struct ks_token *token;

	if (!request) {
		if (!strcmp(method, "GET") && !strcmp(url, "/health"))
			return show_health(relay, connection);
		if (strcmp(method, "POST") || strcmp(url, "/v1/batches"))
			return answer(connection, 404, "POST /v1/batches, or GET /health\n");
		token = admit(relay, connection, &result);
		if (!token)
			return result;
		request = calloc(1, sizeof(*request));
		if (!request)
			return MHD_NO;
		request->relay = relay;
		request->token = token;
		*slot = request;
		return MHD_YES;
	}
	if (!*size)
		return take(request, connection);
	/* Without a length, or with more than it said: the connection is closed. */
	if (request->body.len + *size > REQUEST_MAX || !reserve(request, *size)) {
		count(relay, &relay->counters.limited, 1);
		return MHD_NO;
	}
	ks_strbuf_add(&request->body, data, *size);
	*size = 0;
	return MHD_YES;
}

static void forget(void *ctx, struct MHD_Connection *connection, void **slot,
		   enum MHD_RequestTerminationCode how)
{
	struct request *request = *slot;

	if (!request)
		return;
	pthread_mutex_lock(&request->relay->lock);
	request->relay->memory -= request->reserved;
	pthread_mutex_unlock(&request->relay->lock);
	ks_strbuf_deinit(&request->body);
	free(request);
	*slot = NULL;
}

/* === Internals: start ===================================================================== */

static int parse_address(const char *text, struct sockaddr_in *address, struct ks_diag *diag)
{
	const char *colon = strrchr(text, ':');
	char host[64];
	char *end;
	unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;

	*address = (struct sockaddr_in){ .sin_family = AF_INET };
	if (!colon || end == colon + 1 || *end || port > 65535 ||
	    (size_t)(colon - text) >= sizeof(host))
		return ks_diag_set(diag, -EINVAL, "'%s' is no address: ADDRESS:PORT", text);
	memcpy(host, text, (size_t)(colon - text));
	host[colon - text] = '\0';
	address->sin_port = htons((u16)port);
	if (inet_pton(AF_INET, host, &address->sin_addr) != 1)
		return ks_diag_set(diag, -EINVAL, "'%s' is no IPv4 address", host);
	return 0;
}

static int listen_on(struct ks_relay *relay, const struct sockaddr_in *address,
		     struct ks_diag *diag)
{
	const struct ks_relay_opts *opts = &relay->opts;
	unsigned int flags = MHD_USE_EPOLL_INTERNAL_THREAD | (opts->cert ? MHD_USE_TLS : 0);
	struct MHD_OptionItem tls[] = {
		{ opts->cert ? MHD_OPTION_HTTPS_MEM_CERT : MHD_OPTION_END, 0,
		  (void *)(uintptr_t)opts->cert },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)opts->key },
		{ opts->clients ? MHD_OPTION_HTTPS_MEM_TRUST : MHD_OPTION_END, 0,
		  (void *)(uintptr_t)opts->clients },
		{ MHD_OPTION_END, 0, NULL },
	};
	int err = ks_late_microhttpd(diag);

	if (err)
		return err;
	relay->daemon = MHD_start_daemon(flags, 0, NULL, NULL, handle, relay, MHD_OPTION_SOCK_ADDR,
					 address, MHD_OPTION_NOTIFY_COMPLETED, forget, relay,
					 MHD_OPTION_THREAD_POOL_SIZE, (unsigned int)THREADS,
					 MHD_OPTION_CONNECTION_LIMIT, (unsigned int)CONNECTIONS_MAX,
					 MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)IDLE_SECS,
					 MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
	if (relay->daemon)
		return 0;
	return ks_diag_set(diag, errno ? -errno : -EINVAL, "cannot listen on %s: %s", opts->bind,
			   errno ? strerror(errno) : "certificate and key do not fit");
}

static void free_relay(struct ks_relay *relay)
{
	size_t i;

	for (i = 0; i < relay->clients.len; i++)
		free(relay->clients.items[i]);
	ks_vec_free(&relay->clients);
	ks_map64_deinit(&relay->client_hosts);
	pthread_cond_destroy(&relay->written);
	pthread_mutex_destroy(&relay->lock);
	free(relay);
}

/* === Public =============================================================================== */

int ks_relay_start(const struct ks_relay_opts *opts, struct ks_queue *queue,
		   struct ks_relay **ret_relay, struct ks_diag *diag)
{
	struct ks_relay *relay = calloc(1, sizeof(*relay));
	struct sockaddr_in address;
	int err;

	if (!relay)
		return ks_diag_nomem(diag, "starting a relay");
	relay->opts = *opts;
	relay->queue = queue;
	pthread_mutex_init(&relay->lock, NULL);
	pthread_cond_init(&relay->written, NULL);
	relay->has_tokens = opts->tokens;
	relay->has_clients = opts->clients;
	err = parse_address(opts->bind, &address, diag);
	if (!err && ks_map64_init(&relay->client_hosts))
		err = ks_diag_nomem(diag, "starting a relay");
	if (!err && relay->has_tokens)
		err = ks_tokens_parse(&relay->tokens, "tokens", opts->tokens, diag);
	if (!err) {
		errno = 0;
		err = listen_on(relay, &address, diag);
		if (err && relay->has_tokens)
			ks_tokens_deinit(&relay->tokens);
	}
	if (err) {
		free_relay(relay);
		return err;
	}
	*ret_relay = relay;
	return 0;
}

void ks_relay_stop(struct ks_relay *relay)
{
	if (!relay)
		return;
	MHD_stop_daemon(relay->daemon);
	if (relay->has_tokens)
		ks_tokens_deinit(&relay->tokens);
	free_relay(relay);
}

unsigned int ks_relay_port(const struct ks_relay *relay)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(relay->daemon, MHD_DAEMON_INFO_BIND_PORT);

	return info ? info->port : 0;
}

bool ks_relay_has_news(struct ks_relay *relay)
{
	bool news;

	pthread_mutex_lock(&relay->lock);
	news = relay->news;
	relay->news = false;
	pthread_mutex_unlock(&relay->lock);
	return news;
}

void ks_relay_count(struct ks_relay *relay, struct ks_relay_counters *ret_counters)
{
	pthread_mutex_lock(&relay->lock);
	*ret_counters = relay->counters;
	pthread_mutex_unlock(&relay->lock);
}

#else

int ks_relay_start(const struct ks_relay_opts *opts, struct ks_queue *queue,
		   struct ks_relay **ret_relay, struct ks_diag *diag)
{
	return ks_diag_set(diag, -ENOSYS, "this kmemscope was built without libmicrohttpd");
}

void ks_relay_stop(struct ks_relay *relay)
{
}

unsigned int ks_relay_port(const struct ks_relay *relay)
{
	return 0;
}

bool ks_relay_has_news(struct ks_relay *relay)
{
	return false;
}

void ks_relay_count(struct ks_relay *relay, struct ks_relay_counters *ret_counters)
{
	*ret_counters = (struct ks_relay_counters){ 0 };
}

#endif
