/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The struct of mzstock.c, for the host's compiler, too: it makes the type information that names
 * its fields.
 */
#ifndef MZSTOCK_H
#define MZSTOCK_H

struct mz_gadget {
	unsigned long long limit;   /* read often, written once */
	unsigned long long counter; /* written often, on the last processor */
	unsigned int state;	    /* written and read */
	unsigned char mark;	    /* written, never read; a hole follows */
	unsigned long long cold[4];
	unsigned long long
		middle[8]; /* where the allocator has its pointer while the object is free */
	unsigned long long never[4];
	unsigned char name[40]; /* written by one string instruction */
	unsigned int users;	/* read and written by one instruction */
};

enum { GADGETS = 6, GADGETS_FREED = 2 };

#endif
