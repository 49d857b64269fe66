// SPDX-License-Identifier: LGPL-2.1-only
/* Addresses to listen at, and names that a browser may call this machine by. */
#include "serve/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

/* === Internals ============================================================================ */

/* The address and the port, apart. False: it is neither ADDRESS:PORT nor [ADDRESS]:PORT. */
static bool split(const char *text, char *host, size_t size, u16 *ret_port)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;
	u64 port;

	if (!len || ks_parse_u64(colon + 1, &port) || port > UINT16_MAX)
		return false;
	if (text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	} else if (memchr(text, ':', len)) {
		return false;
	}
	if (!len || len >= size)
		return false;
	memcpy(host, text, len);
	host[len] = '\0';
	*ret_port = (u16)port;
	return true;
}

/* === Public =============================================================================== */

int ks_address_parse(const char *text, struct ks_address *ret, struct ks_diag *diag)
{
	struct ks_address address = { .len = 0 };
	struct sockaddr_in *four = (struct sockaddr_in *)&address.socket;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&address.socket;
	char host[64];
	u16 port;

	if (!split(text, host, sizeof(host), &port))
		return ks_diag_set(diag, -EINVAL, "'%s' is no address and port, as 127.0.0.1:9155",
				   text);
	if (!strcmp(host, "localhost"))
		snprintf(host, sizeof(host), "127.0.0.1");
	if (inet_pton(AF_INET, host, &four->sin_addr) == 1) {
		four->sin_family = AF_INET;
		four->sin_port = htons(port);
		address.len = sizeof(*four);
		address.loopback = ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	} else if (inet_pton(AF_INET6, host, &six->sin6_addr) == 1) {
		six->sin6_family = AF_INET6;
		six->sin6_port = htons(port);
		address.len = sizeof(*six);
		address.loopback = IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
	} else {
		return ks_diag_set(diag, -EINVAL, "'%s' is no address of IPv4 or IPv6", host);
	}
	*ret = address;
	return 0;
}

bool ks_host_is_local(const char *host)
{
	static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		size_t len = strlen(names[i]);

		if (!strncasecmp(host, names[i], len) && (!host[len] || host[len] == ':'))
			return true;
	}
	return false;
}

bool ks_same_secret(const char *a, const char *b)
{
	size_t len = strlen(a), i;
	unsigned int differ = 0;

	if (strlen(b) != len)
		return false;
	for (i = 0; i < len; i++)
		differ |= (unsigned int)(u8)a[i] ^ (u8)b[i];
	return !differ;
}
