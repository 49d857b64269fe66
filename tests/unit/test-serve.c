// SPDX-License-Identifier: GPL-2.0-only
/* What is served, from made-up snapshots: metrics with hostile names, addresses, secrets, files of settings. */
#include "ks-test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include "base/config.h"
#include "live/build.h"
#include "serve/address.h"
#include "serve/answers.h"
#include "serve/profile-samples.h"
#include "serve/tls.h"

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

/* === Profiles ============================================================================= */

/* One sample in words: "cache objects bytes: function+place function+place". */
static void check_sample(struct ks_profile *p, size_t nr, const char *expected)
{
	const struct ks_profile_sample *sample = &p->samples.items[nr];
	struct ks_strbuf out;
	u32 i;

	ks_strbuf_init(&out);
	ks_strbuf_printf(&out, "%s %llu %llu:", ks_intern_get(&p->strings, sample->cache).s,
			 (unsigned long long)sample->objects, (unsigned long long)sample->bytes);
	for (i = 0; i < sample->len; i++) {
		u32 place = p->frames.items[sample->first + i];

		ks_strbuf_printf(&out, " %s=%s",
				 ks_intern_get(&p->strings, p->functions.items[place]).s,
				 ks_intern_get(&p->places, place).s);
	}
	assert_string_equal(ks_strbuf_str(&out), expected);
	ks_strbuf_deinit(&out);
}

static void test_profile_of_all(void **state)
{
	struct ks_live_snapshot *s = look();
	struct ks_profile p;

	assert_int_equal(ks_profile_make(&p, s, KS_PROFILE_HEAP), 0);
	assert_int_equal(p.samples.len, 4);
	check_sample(&p, 0, "dentry 30 3000: dentry=dentry");
	check_sample(&p, 3, "smaller 1 10: smaller=smaller");
	assert_int_equal(p.duration_ns, 0);
	ks_profile_deinit(&p);

	/* With types: within their caches; one that is called as its cache, and one that is not known. */
	put_cell(s, KS_LIVE_TYPES, KS_LIVE_BY_TYPE, "cred", 5, 320);
	put_cell(s, KS_LIVE_TYPES, KS_LIVE_BY_TYPE, "kmalloc-64", 6, 384);
	put_cell(s, KS_LIVE_TYPES, KS_LIVE_BY_TYPE, NULL, 7, 448);
	put_cell(s, KS_LIVE_TYPES, KS_LIVE_BY_TYPE, "gone", 0, 0);
	assert_int_equal(ks_profile_make(&p, s, KS_PROFILE_HEAP), 0);
	assert_int_equal(p.samples.len, 3);
	check_sample(&p, 0, "kmalloc-64 5 320: cred=cred kmalloc-64=kmalloc-64");
	check_sample(&p, 1, "kmalloc-64 6 384: kmalloc-64=kmalloc-64");
	check_sample(&p, 2, "kmalloc-64 7 448: kmalloc-64=kmalloc-64");
	ks_profile_deinit(&p);
	ks_live_snapshot_put(s);
}

/* Innermost first; an address alone is a secret; two places of one function are one function. */
static void test_profile_of_stacks(void **state)
{
	struct ks_live_snapshot *s = look();
	struct ks_profile p;

	assert_int_equal(ks_profile_make(&p, s, KS_PROFILE_ALLOCS), 0);
	assert_int_equal(p.samples.len, 0);
	assert_non_null(strstr(p.comment, "empty"));
	ks_profile_deinit(&p);
	put_cell(s, KS_LIVE_TRACED, KS_LIVE_BY_STACK, "seq_open+0x10 <- vfs_open+0x5 <- 0xffff800",
		 2, 128);
	put_cell(s, KS_LIVE_TRACED, KS_LIVE_BY_STACK, "seq_open+0x20", 3, 192);
	put_cell(s, KS_LIVE_TRACED, KS_LIVE_BY_STACK, "gone+0x1", 0, 0);
	put_cell(s, KS_LIVE_TRACED, KS_LIVE_BY_STACK, NULL, 1, 64);
	s->parts[KS_LIVE_TRACED].since_ns = 40000000000;
	assert_int_equal(ks_profile_make(&p, s, KS_PROFILE_ALLOCS), 0);
	assert_int_equal(p.samples.len, 3);
	check_sample(&p, 0,
		     "kmalloc-64 2 128: seq_open=seq_open+0x10 vfs_open=vfs_open+0x5 "
		     "unknown=unknown");
	check_sample(&p, 1, "kmalloc-64 3 192: seq_open=seq_open+0x20");
	check_sample(&p, 2, "kmalloc-64 1 64: unknown=unknown");
	assert_true(p.duration_ns == 60000000000);
	ks_profile_deinit(&p);
	ks_live_snapshot_put(s);
}

/* More stacks than a profile may have: the rest is one sample, and nothing is lost of the sum. */
static void test_profile_of_many(void **state)
{
	struct ks_live_snapshot *s = look();
	u64 objects = 0, bytes = 0;
	struct ks_profile p;
	char name[32];
	size_t i;

	for (i = 0; i < KS_PROFILE_STACKS_MAX + 10; i++) {
		snprintf(name, sizeof(name), "f%zu+0x1", i);
		put_cell(s, KS_LIVE_TRACED, KS_LIVE_BY_STACK, name, 1, 64);
	}
	assert_int_equal(ks_profile_make(&p, s, KS_PROFILE_ALLOCS), 0);
	assert_int_equal(p.samples.len, KS_PROFILE_STACKS_MAX + 1);
	check_sample(&p, KS_PROFILE_STACKS_MAX - 1, "kmalloc-64 1 64: f4999=f4999+0x1");
	check_sample(&p, KS_PROFILE_STACKS_MAX, " 10 640: other=other");
	for (i = 0; i < p.samples.len; i++) {
		objects += p.samples.items[i].objects;
		bytes += p.samples.items[i].bytes;
	}
	assert_int_equal(objects, KS_PROFILE_STACKS_MAX + 10);
	assert_int_equal(bytes, 64 * (KS_PROFILE_STACKS_MAX + 10));
	ks_profile_deinit(&p);
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

/* === Certificates ========================================================================= */

static char *write_file(const char *name, const char *text, mode_t mode)
{
	char *path = scratch_path(name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, mode), 0);
	return path;
}

/* Files are given by a letter: a certificate, its key, clients; an Open key, a Text, Nothing there. */
static const char *path_of(char letter, char *const *paths)
{
	static const char letters[] = "ckiotn";

	return letter == '-' ? NULL : paths[strchr(letters, letter) - letters];
}

static void test_tls(void **state)
{
	static const struct {
		const char *files; /* certificate, key, clients */
		int err;
		const char *says;
	} cases[] = {
		{ "---", 0, "" },
		{ "ck-", 0, "" },
		{ "cki", 0, "" },
		{ "c--", -EINVAL, "--tls-key" },
		{ "-k-", -EINVAL, "--tls-cert" },
		{ "--i", -EINVAL, "--tls-cert" },
		{ "-ki", -EINVAL, "--tls-cert" },
		{ "co-", -EPERM, "chmod 600" },
		{ "tk-", KS_EBADINPUT, "PEM" },
		{ "ct-", KS_EBADINPUT, "PEM" },
		{ "ckt", KS_EBADINPUT, "PEM" },
		{ "nk-", -ENOENT, "No such file" },
		{ "cn-", -ENOENT, "No such file" },
		{ "ckn", -ENOENT, "No such file" },
	};
	const struct ks_tls_files one = { .certificate = "/nonexistent", .key = "/nonexistent" };
	char *paths[] = { write_file("cert", "-----BEGIN CERTIFICATE", 0644),
			  write_file("key", "-----BEGIN KEY", 0600),
			  write_file("clients", "-----BEGIN CLIENTS", 0644),
			  write_file("open", "-----BEGIN KEY", 0640),
			  write_file("text", "-----begin", 0600),
			  scratch_path("nothing") };
	struct ks_diag diag;
	struct ks_tls tls;
	size_t i;

	if (ks_tls_read(&one, &tls, &diag) == -ENOTSUP)
		skip();
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct ks_tls_files files = { path_of(cases[i].files[0], paths),
						    path_of(cases[i].files[1], paths),
						    path_of(cases[i].files[2], paths) };

		tls = (struct ks_tls){ 0 };
		assert_int_equal(ks_tls_read(&files, &tls, &diag), cases[i].err);
		if (cases[i].err) {
			assert_non_null(strstr(diag.text, cases[i].says));
			assert_null(tls.certificate);
			continue;
		}
		assert_int_equal(!tls.certificate, !files.certificate);
		assert_int_equal(!tls.key, !files.key);
		assert_int_equal(!tls.clients, !files.clients);
		if (tls.certificate)
			assert_string_equal(tls.certificate, "-----BEGIN CERTIFICATE");
		if (tls.key)
			assert_string_equal(tls.key, "-----BEGIN KEY");
		if (tls.clients)
			assert_string_equal(tls.clients, "-----BEGIN CLIENTS");
		ks_tls_deinit(&tls);
		assert_null(tls.key);
	}
	assert_false(ks_tls_knows_client(NULL));
	for (i = 0; i < ARRAY_SIZE(paths); i++) {
		unlink(paths[i]);
		free(paths[i]);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_metrics),
	cmocka_unit_test(test_paths),
	cmocka_unit_test(test_addresses),
	cmocka_unit_test(test_hosts),
	cmocka_unit_test(test_settings),
	cmocka_unit_test(test_profile_of_all),
	cmocka_unit_test(test_profile_of_stacks),
	cmocka_unit_test(test_profile_of_many),
	cmocka_unit_test(test_tls),
};

KS_RUN(tests)
