// SPDX-License-Identifier: LGPL-2.1-only
/* The HTTP server, by libmicrohttpd. */
#include "serve/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "serve/address.h"
#include "serve/answers.h"
#include "serve/late-microhttpd.h"

/* === Data ================================================================================= */

enum {
	CONNECTIONS_MAX = 32,
	REQUEST_MAX = 16384, /* bytes of a request's head, and of what is buffered of an answer */
	IDLE_SECONDS = 10,
	LAST_SECONDS = 30, /* the longest that a connection may last */
};

struct connection {
	int fd; /* -1 = none */
	time_t since;
};

struct ks_server {
	struct ks_server_opts opts;
	char *token;
	struct ks_tls tls;
	bool local; /* only this machine reaches it */
	struct ks_live_worker *worker;
	struct MHD_Daemon *daemon;
	int listener;
	u64 scrapes; /* of the daemon's thread */

	pthread_mutex_t lock; /* guards the connections: an entry is there while its file is open */
	struct connection connections[CONNECTIONS_MAX];
};

/* === Internals: one request =============================================================== */

static const char *header(struct MHD_Connection *c, const char *name)
{
	const char *value = MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);

	return value ? value : "";
}

static enum MHD_Result reply(struct MHD_Connection *c, unsigned int status,
			     struct MHD_Response *response, const char *type, const char *download)
{
	enum MHD_Result result;
	char text[64];

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Content-Type", type);
	/* One request each: then how long one may last is how long a client may take. */
	MHD_add_response_header(response, "Connection", "close");
	MHD_add_response_header(response, "Cache-Control", "no-store");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(response, "Content-Security-Policy",
				"default-src 'self'; img-src data:; frame-ancestors 'none'");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, "Allow", "GET, HEAD");
	if (status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(response, "WWW-Authenticate",
					"Basic realm=\"kmemscope: the token is the password\"");
	if (download) {
		snprintf(text, sizeof(text), "attachment; filename=\"%s\"", download);
		MHD_add_response_header(response, "Content-Disposition", text);
	}
	result = MHD_queue_response(c, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result refuse(struct MHD_Connection *c, unsigned int status, const char *why)
{
	return reply(
		c, status,
		MHD_create_response_from_buffer(strlen(why), (void *)why, MHD_RESPMEM_PERSISTENT),
		"text/plain; charset=utf-8", NULL);
}

/* "Authorization: Bearer TOKEN", or the token as the password of any user. */
static bool is_authorized(const struct ks_server *server, struct MHD_Connection *c)
{
	static const char bearer[] = "Bearer ";
	const char *said = header(c, "Authorization");
	char *user, *password = NULL;
	bool same;

	if (!server->token)
		return true;
	if (!strncasecmp(said, bearer, strlen(bearer)))
		return ks_same_secret(server->token, said + strlen(bearer));
	user = MHD_basic_auth_get_username_password(c, &password);
	same = password && ks_same_secret(server->token, password);
	MHD_free(user);
	MHD_free(password);
	return same;
}

static bool is_known(const struct ks_server *server, struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info;

	if (!server->tls.clients)
		return true;
	info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	return info && ks_tls_knows_client(info->tls_session);
}

static enum MHD_Result answer(struct ks_server *server, struct MHD_Connection *c, const char *path)
{
	struct ks_live_snapshot *snapshot = ks_live_worker_snapshot(server->worker);
	struct ks_diag diag;
	const struct ks_question question = {
		.path = path,
		.accept = header(c, "Accept"),
		.by = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "by"),
		.otlp = server->opts.otlp,
		.metrics = { .snapshot = snapshot,
			     .top = server->opts.top,
			     .looks = ks_live_worker_looks(server->worker),
			     .failing = ks_live_worker_state(server->worker, &diag) != 0,
			     .scrapes = ++server->scrapes },
	};
	struct MHD_Response *response;
	struct ks_answer said;

	ks_answer(&question, &said);
	ks_live_snapshot_put(snapshot);
	response = MHD_create_response_from_buffer(
		said.body.len, said.body.s ? said.body.s : (void *)"",
		said.body.s ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
	if (!response)
		ks_strbuf_deinit(&said.body);
	return reply(c, said.status, response, said.type, said.download);
}

static enum MHD_Result take_request(void *ctx, struct MHD_Connection *c, const char *url,
				    const char *method, const char *version,
				    const char *upload_data, size_t *upload_data_size, void **state)
{
	struct ks_server *server = ctx;

	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
	if (server->local && !server->token && !server->tls.clients &&
	    !ks_host_is_local(header(c, "Host")))
		return refuse(c, MHD_HTTP_FORBIDDEN, "this is served to localhost alone\n");
	if (!is_known(server, c))
		return refuse(c, MHD_HTTP_FORBIDDEN, "a certificate of a client is needed\n");
	if (!is_authorized(server, c))
		return refuse(c, MHD_HTTP_UNAUTHORIZED, "a token is needed\n");
	return answer(server, c, url);
}

/* === Internals: connections =============================================================== */

static time_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static void see_connection(void *ctx, struct MHD_Connection *c, void **state,
			   enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	int fd = info ? info->connect_fd : -1,
	    before = code == MHD_CONNECTION_NOTIFY_STARTED ? -1 : fd;
	struct ks_server *server = ctx;
	size_t i;

	pthread_mutex_lock(&server->lock);
	for (i = 0; fd >= 0 && i < CONNECTIONS_MAX; i++) {
		if (server->connections[i].fd != before)
			continue;
		server->connections[i].fd = code == MHD_CONNECTION_NOTIFY_STARTED ? fd : -1;
		server->connections[i].since = now();
		break;
	}
	pthread_mutex_unlock(&server->lock);
}

static int listen_at(struct ks_server *server, const struct ks_address *address,
		     struct ks_diag *diag)
{
	int fd = socket(address->socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
	    one = 1, err;

	server->listener = fd;
	if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) &&
	    !bind(fd, (const struct sockaddr *)&address->socket, address->len) &&
	    !listen(fd, CONNECTIONS_MAX))
		return 0;
	err = -errno;
	return ks_diag_set(diag, err, "cannot listen at %s: %s", server->opts.address,
			   strerror(-err));
}

static int start_daemon(struct ks_server *server, struct ks_diag *diag)
{
	struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, server->tls.certificate },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, server->tls.key },
		{ server->tls.clients ? MHD_OPTION_HTTPS_MEM_TRUST : MHD_OPTION_END, 0,
		  server->tls.clients },
		{ MHD_OPTION_END, 0, NULL },
	};
	const struct MHD_OptionItem none = { MHD_OPTION_END, 0, NULL };
	bool encrypt = server->tls.certificate != NULL;
	int err = ks_late_microhttpd(diag);

	if (err)
		return err;
	server->daemon = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | (encrypt ? MHD_USE_TLS : 0), 0, NULL,
		NULL, take_request, server, MHD_OPTION_ARRAY, encrypt ? tls : &none,
		MHD_OPTION_LISTEN_SOCKET, server->listener, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned int)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned int)IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_MAX,
		MHD_OPTION_NOTIFY_CONNECTION, see_connection, server, MHD_OPTION_END);
	if (server->daemon)
		return 0;
	if (encrypt)
		return ks_diag_set(diag, KS_EBADINPUT,
				   "cannot start the server: certificate and key do not fit");
	return ks_diag_set(diag, -EIO, "cannot start the server: %s", strerror(errno));
}

/* === Public =============================================================================== */

bool ks_server_exists(void)
{
	return true;
}

int ks_server_start(const struct ks_server_opts *opts, struct ks_live_worker *worker,
		    struct ks_server **ret_server, struct ks_diag *diag)
{
	struct ks_address address;
	struct ks_server *server;
	size_t i;
	int err = ks_address_parse(opts->address, &address, diag);

	if (err)
		return err;
	if (!address.loopback && (!opts->remote || (!opts->token && !opts->tls.clients)))
		return ks_diag_set(diag, -EPERM,
				   "%s can be reached from elsewhere: that needs --remote and a "
				   "token, or certificates of clients",
				   opts->address);
	server = calloc(1, sizeof(*server));
	if (!server)
		return ks_diag_nomem(diag, "starting the server");
	pthread_mutex_init(&server->lock, NULL);
	server->opts = *opts;
	server->local = address.loopback;
	server->worker = worker;
	server->listener = -1;
	for (i = 0; i < CONNECTIONS_MAX; i++)
		server->connections[i].fd = -1;
	server->token = opts->token ? strdup(opts->token) : NULL;
	if (opts->token && !server->token)
		err = ks_diag_nomem(diag, "starting the server");
	if (!err)
		err = ks_tls_read(&opts->tls, &server->tls, diag);
	if (!err)
		err = listen_at(server, &address, diag);
	if (!err)
		err = start_daemon(server, diag);
	if (err) {
		ks_server_stop(server);
		return err;
	}
	*ret_server = server;
	return 0;
}

void ks_server_stop(struct ks_server *server)
{
	if (!server)
		return;
	if (server->daemon)
		MHD_stop_daemon(server->daemon); /* closes the listener, too */
	else if (server->listener >= 0)
		close(server->listener);
	pthread_mutex_destroy(&server->lock);
	free(server->token);
	ks_tls_deinit(&server->tls);
	free(server);
}

u16 ks_server_port(const struct ks_server *server)
{
	struct sockaddr_storage at;
	socklen_t len = sizeof(at);
	/* The port is at the same place for both kinds. */
	const struct sockaddr_in *in = (const struct sockaddr_in *)&at;

	if (getsockname(server->listener, (struct sockaddr *)&at, &len))
		return 0;
	return ntohs(in->sin_port);
}

void ks_server_tend(struct ks_server *server)
{
	time_t limit = now() - LAST_SECONDS;
	size_t i;

	pthread_mutex_lock(&server->lock);
	for (i = 0; i < CONNECTIONS_MAX; i++)
		if (server->connections[i].fd >= 0 && server->connections[i].since < limit)
			shutdown(server->connections[i].fd, SHUT_RDWR);
	pthread_mutex_unlock(&server->lock);
}
