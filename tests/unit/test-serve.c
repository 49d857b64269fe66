// SPDX-License-Identifier: GPL-2.0-only
/* What is served, from made-up snapshots: metrics with hostile names, addresses, secrets, files of settings. */
#include "ks-test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>

#include "base/config.h"
#include "live/build.h"
#include "serve/address.h"
#include "serve/answers.h"

/* === Helpers ============================================================================== */

static void put_cell(struct ks_live_snapshot *s, enum ks_live_part part, enum ks_live_by by,
		     const char *name, u64 objects, u64 bytes)
{
	const char *names[KS_LIVE_BYS] = { [KS_LIVE_BY_CACHE] = "kmalloc-64" };
	struct ks_live_cell *cell;

	names[by] = name;
	cell = ks_live_cell(s, part, names);
	assert_non_null(cell);
	cell->objects = objects;
	cell->bytes = bytes;
	s->parts[part].present = true;
	s->parts[part].tells |= 1u << by | 1u << KS_LIVE_BY_CACHE;
}

static struct ks_live_snapshot *look(void)
{
	struct ks_live_snapshot *s = ks_live_snapshot_new(1);

	assert_non_null(s);
	s->wall_ns = 1700000000500000000;
	s->at_ns = 100000000000;
	s->memory.total = 1 << 20;
	put_cell(s, KS_LIVE_CACHES, KS_LIVE_BY_CACHE, "dentry", 30, 3000);
	put_cell(s, KS_LIVE_CACHES, KS_LIVE_BY_CACHE, "e\"v\\i\nl\xff", 20, 2000);
	put_cell(s, KS_LIVE_CACHES, KS_LIVE_BY_CACHE, "small", 10, 1000);
	put_cell(s, KS_LIVE_CACHES, KS_LIVE_BY_CACHE, "smaller", 1, 10);
	return s;
}

static void ask(const struct ks_live_snapshot *s, const char *path, const char *accept,
		const char *by, struct ks_answer *answer)
{
	const struct ks_question question = {
		.path = path,
		.accept = accept,
		.by = by,
		.metrics = { .snapshot = s, .top = 2, .looks = 7, .failing = true },
	};

	ks_answer(&question, answer);
}

static void has(const struct ks_answer *answer, const char *line)
{
	if (!strstr(ks_strbuf_str(&answer->body), line))
		fail_msg("no \"%s\" in:\n%s", line, ks_strbuf_str(&answer->body));
}

/* === Metrics ============================================================================== */

static void test_metrics(void **state)
{
	struct ks_live_snapshot *s = look();
	struct ks_answer answer;

	ask(s, "/metrics", "", NULL, &answer);
	assert_int_equal(answer.status, 200);
	has(&answer, "# TYPE kmemscope_slab_live_bytes gauge\n"
		     "kmemscope_slab_live_bytes{cache=\"dentry\"} 3000\n"
		     "kmemscope_slab_live_bytes{cache=\"e\\\"v\\\\i\\\\x0al\\\\xff\"} 2000\n"
		     "kmemscope_slab_live_bytes{cache=\"other\"} 1010\n");
	has(&answer, "kmemscope_slab_live_objects{cache=\"other\"} 11\n");
	has(&answer, "# TYPE kmemscope_looks_total counter\nkmemscope_looks_total 7\n");
	has(&answer, "kmemscope_look_failing 1\n");
	has(&answer, "kmemscope_look_timestamp_seconds 1700000000.500000000\n");
	assert_null(strstr(answer.body.s, "# EOF"));
	assert_null(strstr(answer.body.s, "kmemscope_site_"));
	ks_strbuf_deinit(&answer.body);

	put_cell(s, KS_LIVE_TRACED, KS_LIVE_BY_SITE, "seq_open+0x1", 2, 128);
	ask(s, "/metrics", "application/openmetrics-text;version=1.0.0,text/plain;q=0.5", NULL,
	    &answer);
	has(&answer, "# TYPE kmemscope_looks counter\nkmemscope_looks_total 7\n");
	has(&answer, "kmemscope_site_live_bytes{site=\"seq_open+0x1\"} 128\n");
	assert_string_equal(answer.body.s + answer.body.len - 7, "\n# EOF\n");
	ks_strbuf_deinit(&answer.body);
	ks_live_snapshot_put(s);
}

static void test_paths(void **state)
{
	struct ks_live_snapshot *s = look();
	struct ks_answer answer;

	ask(s, "/nothing", "", NULL, &answer);
	assert_int_equal(answer.status, 404);
	ks_strbuf_deinit(&answer.body);
	ask(s, "/live.json", "", "magic", &answer);
	assert_int_equal(answer.status, 400);
	ks_strbuf_deinit(&answer.body);
	ask(s, "/live.json", "", "cache", &answer);
	assert_int_equal(answer.status, 200);
	has(&answer, "\"by\": \"cache\"");
	ks_strbuf_deinit(&answer.body);
	ask(s, "/v1development/profiles", "", NULL, &answer);
	assert_int_equal(answer.status, 404);
	ks_strbuf_deinit(&answer.body);
	ks_live_snapshot_put(s);
}

/* === Doors ================================================================================ */

static void check_address(const char *text, int family, u16 port, bool loopback)
{
	struct ks_address address;
	const struct sockaddr_in *in = (const struct sockaddr_in *)&address.socket;
	struct ks_diag diag;

	assert_int_equal(ks_address_parse(text, &address, &diag), 0);
	assert_int_equal(address.socket.ss_family, family);
	assert_int_equal(ntohs(in->sin_port), port);
	assert_int_equal(address.loopback, loopback);
}

static void test_addresses(void **state)
{
	static const char *const bad[] = { "",		"80",	   ":80",	 "localhost",
					   "127.0.0.1", "1.2.3:1", "1.2.3.4:",	 "1.2.3.4:65536",
					   "::1:80",	"[::1]",   "[]:80",	 "[::1:80",
					   "[1]:80",	"host:80", "1.2.3.4:-1", "1.2.3.4:80 " };
	struct ks_address address;
	struct ks_diag diag;
	size_t i;

	check_address("127.0.0.1:9155", AF_INET, 9155, true);
	check_address("localhost:80", AF_INET, 80, true);
	check_address("127.9.9.9:0", AF_INET, 0, true);
	check_address("[::1]:65535", AF_INET6, 65535, true);
	check_address("0.0.0.0:80", AF_INET, 80, false);
	check_address("128.0.0.1:80", AF_INET, 80, false);
	check_address("[::]:80", AF_INET6, 80, false);
	/* It is the loopback of IPv4, but whoever writes it so may have something else in mind. */
	check_address("[::ffff:127.0.0.1]:80", AF_INET6, 80, false);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(ks_address_parse(bad[i], &address, &diag), -EINVAL);
	/* Longer than any address, by however much. */
	for (i = 40; i < 200; i++) {
		char text[256];

		memset(text, '1', i);
		strcpy(text + i, ":80");
		assert_int_equal(ks_address_parse(text, &address, &diag), -EINVAL);
		/* What is longer than the room for it is no address and port; else it is no address. */
		assert_int_equal(!!strstr(diag.text, "no address and port"), i >= 64);
	}
}

static void test_hosts(void **state)
{
	assert_true(ks_host_is_local("localhost"));
	assert_true(ks_host_is_local("LOCALHOST:9155"));
	assert_true(ks_host_is_local("127.0.0.1:9155"));
	assert_true(ks_host_is_local("[::1]:9155"));
	assert_false(ks_host_is_local(""));
	assert_false(ks_host_is_local("localhost.evil.example"));
	assert_false(ks_host_is_local("127.0.0.1.evil.example:80"));
	assert_false(ks_host_is_local("evil.example"));
	assert_true(ks_same_secret("abc", "abc"));
	assert_false(ks_same_secret("abc", "abd"));
	assert_false(ks_same_secret("abc", "ab"));
	assert_false(ks_same_secret("abc", ""));
}

/* === Settings ============================================================================= */

static char taken[256];

static int take(void *ctx, const char *name, const char *value, struct ks_diag *diag)
{
	size_t len = strlen(taken);

	if (!strcmp(name, "bad"))
		return ks_diag_set(diag, -EINVAL, "no %s", value);
	snprintf(taken + len, sizeof(taken) - len, "%s=%s;", name, value);
	return 0;
}

static int parse(const char *text, struct ks_diag *diag)
{
	char copy[256] = "";
	size_t len = strlen(text);

	memcpy(copy, text, len);
	taken[0] = '\0';
	return ks_config_parse(copy, len, "file", take, NULL, diag);
}

static void test_settings(void **state)
{
	struct ks_diag diag;

	assert_int_equal(parse("", &diag), 0);
	assert_int_equal(parse("a=1\n\n # b = 2\r\n\tc-d \t= x = y # z\r\ne =", &diag), 0);
	assert_string_equal(taken, "a=1;c-d=x = y;e=;");
	assert_int_equal(parse("a = 1\nwhat\n", &diag), KS_EBADINPUT);
	assert_string_equal(diag.text, "file:2: a line is 'name = value'");
	assert_int_equal(parse("= 1", &diag), KS_EBADINPUT);
	assert_int_equal(parse("A = 1", &diag), KS_EBADINPUT);
	assert_int_equal(parse("a = 1\nbad = luck\nb = 2", &diag), -EINVAL);
	assert_string_equal(diag.text, "file:2: no luck");
	assert_string_equal(taken, "a=1;");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_metrics),	  cmocka_unit_test(test_paths),
	cmocka_unit_test(test_addresses), cmocka_unit_test(test_hosts),
	cmocka_unit_test(test_settings),
};

KS_RUN(tests)
