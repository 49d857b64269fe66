// SPDX-License-Identifier: LGPL-2.1-only
// Objects: an access map in addition to the capture. It shows which code reads and writes whose objects.

const kmap = data.kmap || null;

const NO_FILE = /^\[/; // "[unknown]", "[ext4]", "[GLOBAL]": names that stand for a file
const parentOf = path => NO_FILE.test(path) ? path : path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : ".";
const topOf = path => NO_FILE.test(path) ? path : path.includes("/") ? path.slice(0, path.indexOf("/")) : ".";

const LEVELS = [["dir", "directory"], ["topdir", "top directory"], ["file", "file"], ["function", "function"], ["module", "module"]];
const LEVEL_OF = {
	function: item => item.func, file: item => item.path, dir: item => parentOf(item.path), topdir: item => topOf(item.path), module: item => item.module,
};

// Turns a table that was written by column into rows.
function unpackTable(table) {
	const names = Object.keys(table).filter(name => name !== "rows");
	return Array.from({ length: table.rows }, (_, i) => Object.fromEntries(names.map(name => [name, table[name] === 0 ? 0 : table[name][i]])));
}

// Sites and functions have the members of tracks, so that tables, search and links can treat them the same.
function asTrack(item, number, by) {
	const path = NO_FILE.test(item.path) ? "" : item.path;
	const module = NO_FILE.test(item.module) && item.module !== "[unknown]" && item.module !== item.label ? item.module.slice(1, -1) : "";
	item.track = { label: item.label, path, module, number, by, text: [item.label, path, module, item.cache].filter(Boolean).join(" ").toLowerCase() };
	item.accesses = item.reads + item.writes;
	item.number = number;
}

const addLink = (to, link) => {
	for (const name of ["reads", "writes", "bytes_read", "bytes_written", "foreign_accesses", "irq_accesses", "frees"])
		to[name] = (to[name] || 0) + link[name];
	to.accesses = to.reads + to.writes;
};

function unpackKmap() {
	kmap.sites = unpackTable(kmap.sites);
	kmap.codes = unpackTable(kmap.codes);
	kmap.links = unpackTable(kmap.links);
	kmap.notesBy = Object.fromEntries(kmap.notes.map(note => [note.name, note.value]));
	kmap.codes.forEach((code, i) => {
		code.func = code.label;
		code.sites = 0;
		addLink(code, { reads: 0, writes: 0, bytes_read: 0, bytes_written: 0, foreign_accesses: 0, irq_accesses: 0, frees: 0 });
		asTrack(code, i, "code");
	});
	for (const link of kmap.links) {
		link.accesses = link.reads + link.writes;
		const code = kmap.codes[link.code];
		addLink(code, link);
		code.sites += link.accesses > 0;
	}
	kmap.sites.forEach((site, i) => {
		asTrack(site, i, "object");
		site.life = site.ended ? site.lifetime_mean : null;
	});
	findCaptured();
	const sum = name => kmap.sites.reduce((all, site) => all + site[name], 0);
	kmap.total = Object.fromEntries(["objects", "bytes", "live_bytes", "mean_bytes", "reads", "writes", "bytes_read", "bytes_written", "own_accesses",
		"foreign_accesses", "irq_accesses", "cold_bytes", "unread_bytes", "write_only_bytes"].map(name => [name, sum(name)]));
	kmap.has = name => kmap.total[name] > 0;
	kmap.accesses = kmap.total.reads + kmap.total.writes;
}

// The site of the same name in the capture, if there is one.
function findCaptured() {
	for (const site of kmap?.sites || [])
		site.captured = kmapAlone() ? null : data.by.site.find(track => track.label === site.label) || null;
}
whenPicked.push(findCaptured);

// If there is a map and no capture, the objects of the map are the capture.
const kmapAlone = () => data.format === "access map";

function lifeText(t) {
	if (t === null)
		return "–";
	return kmap.notesBy.in_ns ? data.clock === "seconds" ? duration(t) : count(t) + " ns" : count(t) + " ticks";
}

if (kmap)
	unpackKmap();

// --- The matrix ------------------------------------------------------------------------------

const MATRIX_SIDE = 24; // rows and columns that are named

const HEATS = [["accesses", "reads and writes"], ["reads", "reads"], ["writes", "writes"], ["bytes_read", "bytes read"], ["bytes_written", "bytes written"]];

// The cells by code and owner, at a level, as a Map of Maps.
function matrixCells(level, measure) {
	const label = LEVEL_OF[level], cells = new Map();
	for (const link of kmap.links) {
		const value = link[measure];
		if (!value)
			continue;
		const code = label(kmap.codes[link.code]) || "others", owner = label(kmap.sites[link.site]) || "others";
		if (!cells.has(code))
			cells.set(code, new Map());
		cells.get(code).set(owner, (cells.get(code).get(owner) || 0) + value);
	}
	return cells;
}

// The labels of a side, largest first. All labels beyond MATRIX_SIDE are combined into one.
function matrixSide(weights) {
	const labels = [...weights.keys()].sort((a, b) => weights.get(b) - weights.get(a) || (a < b ? -1 : 1));
	const shown = labels.slice(0, labels.length > MATRIX_SIDE + 1 ? MATRIX_SIDE : labels.length);
	const rest = labels.length - shown.length;
	return { shown: rest ? [...shown, `${rest} others`] : shown, place: new Map(labels.map((label, i) => [label, Math.min(i, shown.length)])) };
}

function matrixPicture(cells, measure) {
	const rows = new Map(), columns = new Map(), grid = new Map();
	for (const [code, owners] of cells)
		for (const [owner, value] of owners) {
			rows.set(code, (rows.get(code) || 0) + value);
			columns.set(owner, (columns.get(owner) || 0) + value);
		}
	const side = { row: matrixSide(rows), column: matrixSide(columns) };
	for (const [code, owners] of cells)
		for (const [owner, value] of owners) {
			const key = side.row.place.get(code) + "," + side.column.place.get(owner);
			grid.set(key, (grid.get(key) || 0) + value);
		}
	const what = HEATS.find(([key]) => key === measure)[1];
	const picture = new HeatMap("Which code touches whose objects", "code \\ objects of", side.row.shown, side.column.shown,
		(r, c, n) => `${side.row.shown[r]}\n${count(n)} ${what}\nof objects that ${side.column.shown[c]} allocated`);
	picture.table.classList.add("tall");
	return picture.show((r, c) => grid.get(r + "," + c) || 0).element;
}

function matrixTable(cells) {
	const rows = [...cells].flatMap(([code, owners]) => [...owners].map(([owner, value]) => ({ code, owner, value })));
	const all = rows.reduce((sum, row) => sum + row.value, 0);
	return makeTable(sorted("matrix", "value", { rows, limit: 50, columns: [
		{ key: "code", label: "code", kind: "text", class: "label mono", value: row => row.code },
		{ key: "owner", label: "objects of", kind: "text", class: "label mono", value: row => row.owner },
		{ key: "value", label: "count", value: row => row.value },
		{ key: "share", label: "share", value: row => share(row.value, all), show: row => percent(share(row.value, all)) }] }));
}

function matrixCard(card) {
	const level = LEVEL_OF[state.level] ? state.level : kmap.sites.some(site => !NO_FILE.test(site.path)) ? "dir" : "function";
	const measures = HEATS.filter(([key]) => key === "accesses" || kmap.has(key));
	const measure = measures.some(([key]) => key === state.heat) ? state.heat : "accesses";
	const cells = matrixCells(level, measure);
	replace(card, h("h2", {}, "Which code touches whose objects"),
		h("div", { class: "tools" }, choice("By", LEVELS, level, value => go({ level: value })), choice("Count", measures, measure, value => go({ heat: value })),
			h("span", { class: "soft" }, "Rows are the code that touches objects, columns the code that allocated them. The colour scale is logarithmic.")),
		cells.size ? [matrixPicture(cells, measure), h("details", { open: state.sort.matrix ? true : null }, h("summary", {}, "As a table, with all rows"), matrixTable(cells))] :
			h("div", { class: "empty" }, "There is no access in the map."));
}

// --- Objects by site -------------------------------------------------------------------------

const ifAny = (name, column) => kmap.has(name) ? [column] : [];

function siteColumns() {
	const known = kmap.accesses > 0;
	return [
		labelColumn("allocated by"), countColumn("objects", "objects", "Objects, live or not"), byteColumn("bytes", "bytes", "Bytes in these objects"),
		byteColumn("live_bytes", "live", "Bytes of objects without an end"), byteColumn("mean_bytes", "mean", "Bytes that are live at a time, on average"),
		{ key: "life", label: "lifetime", title: "Mean lifetime of the objects with an end", value: row => row.life, show: row => lifeText(row.life) },
		...(known ? [countColumn("reads", "reads", "How often they were read"), countColumn("writes", "writes", "How often they were written"),
			...ifAny("bytes_read", byteColumn("bytes_read", "B read", "Bytes that the reads moved")),
			...ifAny("bytes_written", byteColumn("bytes_written", "B written", "Bytes that the writes moved")),
			...ifAny("own_accesses", countColumn("own_accesses", "own", "Accesses by the function that allocated them")),
			...ifAny("foreign_accesses", countColumn("foreign_accesses", "foreign", "Accesses by a task other than the one that allocated them")),
			...ifAny("irq_accesses", countColumn("irq_accesses", "irq", "Accesses in interrupt context")),
			byteColumn("cold_bytes", "cold", "Bytes that were neither read nor written: a lower limit"),
			byteColumn("unread_bytes", "never read", "Bytes that were never read: a lower limit"),
			byteColumn("write_only_bytes", "write-only", "Bytes of objects that were written and never read")] : []),
		...(kmap.sites.some(site => site.captured) ? [{ key: "waste", label: "waste", title: "In the capture: bytes allocated but not requested",
			value: row => row.captured ? sumOf(row.captured.series("waste")) : null, show: row => row.captured ? bytes(sumOf(row.captured.series("waste"))) : "–", exact: "bytes" }] : []),
		...(kmap.sites.some(site => site.cache) ? [{ key: "cache", label: "cache", kind: "text", value: row => row.cache }] : []),
	];
}

function codeColumns() {
	return [labelColumn("function"), countColumn("reads", "reads"), countColumn("writes", "writes"),
		...ifAny("bytes_read", byteColumn("bytes_read", "B read")), ...ifAny("bytes_written", byteColumn("bytes_written", "B written")),
		...ifAny("irq_accesses", countColumn("irq_accesses", "irq", "Accesses in interrupt context")),
		countColumn("sites", "sites", "Allocation sites whose objects the function touches"), countColumn("frees", "frees", "Objects that the function freed")];
}

const openObject = row => go({ object: row.number, code: null, site: null });
const openCode = row => go({ code: row.number, object: null, site: null });

// --- What stands out -------------------------------------------------------------------------

const objectLink = site => h("button", { type: "button", class: "link mono", onclick: () => openObject(site) }, site.label);
const mostOf = (sites, key) => sites.reduce((best, site) => !best || site[key] > best[key] ? site : best, null);

// For the summary. Nothing if there is no map, or no access in the map.
function objectFindings() {
	if (!kmap || !kmap.accesses)
		return [];
	// Objects without a site are left out: they are globals, and pages, whose accesses by user space are not seen.
	const sites = kmap.sites.filter(site => !NO_FILE.test(site.label)), sum = key => sites.reduce((all, site) => all + site[key], 0);
	const list = [], cold = mostOf(sites, "cold_bytes"), lost = mostOf(sites, "write_only_bytes");
	if (sum("cold_bytes"))
		list.push(["·", [`In the access map, ${percent(share(sum("cold_bytes"), sum("bytes")))} of the bytes that a known site allocated were never touched; `, objectLink(cold),
			` has the most, ${bytes(cold.cold_bytes)} of its ${bytes(cold.bytes)}.`]]);
	if (share(sum("write_only_bytes"), sum("bytes")) >= 0.01)
		list.push(["·", [`${bytes(sum("write_only_bytes"))} are in objects that were written but never read. Most of them are objects of `, objectLink(lost), "."]]);
	return list;
}

// --- The panel: which code touches the objects of a site, or whose objects a function touches -

function linkRows(links, other) {
	return links.map(link => ({ ...link, number: other(link).number, track: other(link).track }));
}

function panelTable(label, rows, open) {
	const any = name => rows.some(row => row[name]), all = rows.reduce((sum, row) => sum + row.accesses, 0);
	return makeTable({ rows, sort: { key: "accesses", descending: true }, limit: 60, onrow: open, columns: [
		labelColumn(label), countColumn("reads", "reads"), countColumn("writes", "writes"), { key: "accesses", label: "share", value: row => row.accesses,
			show: row => percent(share(row.accesses, all)) }, ...(any("frees") ? [countColumn("frees", "frees")] : []),
		...(any("bytes_read") || any("bytes_written") ? [byteColumn("bytes_read", "B read"), byteColumn("bytes_written", "B written")] : []),
		...(any("foreign_accesses") ? [countColumn("foreign_accesses", "foreign")] : []), ...(any("irq_accesses") ? [countColumn("irq_accesses", "irq")] : [])] });
}

const closeButton = () => h("button", { type: "button", class: "close", onclick: () => go({ object: null, code: null }), title: "Esc" }, "Close");
const whereText = track => [track.path, track.module && "module " + track.module].filter(Boolean).join(", ") || "source file not known: give a kernel tree with -k";

function objectPanel(site) {
	const rows = linkRows(kmap.links.filter(link => link.site === site.number), link => kmap.codes[link.code]);
	return [closeButton(), h("h2", { class: "mono" }, site.label), h("p", { class: "soft" }, whereText(site.track)),
		definitions([
			["objects", count(site.objects)], ["bytes", bytes(site.bytes), count(site.bytes)],
			["live at the end", bytes(site.live_bytes), count(site.live_bytes)], ["mean lifetime", lifeText(site.life)],
			["reads", count(site.reads)], ["writes", count(site.writes)],
			...(kmap.accesses ? [["never touched", bytes(site.cold_bytes), count(site.cold_bytes)], ["never read", bytes(site.unread_bytes), count(site.unread_bytes)],
				["never written", bytes(site.unwritten_bytes), count(site.unwritten_bytes)], ["read once", bytes(site.read_once_bytes), count(site.read_once_bytes)]] : []),
		]),
		site.captured ? h("p", {}, h("button", { type: "button", class: "link", onclick: () => go({ object: null, site: site.captured.number }) }, "The same site in the capture")) : null,
		h("h3", {}, "Who touches its objects"), rows.length ? panelTable("function", rows, openCode) : h("div", { class: "empty" }, "No code touches them.")];
}

// For the panel of a site of the capture: the accesses to the site of that name in the map.
function objectSection(track) {
	const site = kmap && kmap.sites.find(other => other.captured === track);
	if (!site)
		return null;
	const rows = linkRows(kmap.links.filter(link => link.site === site.number), link => kmap.codes[link.code]);
	return [h("h3", {}, "Who touches its objects"), definitions([["reads", count(site.reads)], ["writes", count(site.writes)],
		["never touched", bytes(site.cold_bytes), count(site.cold_bytes)], ["never read", bytes(site.unread_bytes), count(site.unread_bytes)]]),
	rows.length ? panelTable("function", rows, openCode) : h("div", { class: "empty" }, "No code touches them.")];
}

function codePanel(code) {
	const rows = linkRows(kmap.links.filter(link => link.code === code.number), link => kmap.sites[link.site]);
	return [closeButton(), h("h2", { class: "mono" }, code.label), h("p", { class: "soft" }, whereText(code.track)),
		definitions([["reads", count(code.reads)], ["writes", count(code.writes)], ["sites", count(code.sites)], ["frees", count(code.frees)]]),
		h("h3", {}, "Whose objects it touches"), panelTable("allocated by", rows, openObject)];
}

function showObject(panel) {
	const site = kmap && kmap.sites[state.object], code = kmap && kmap.codes[state.code];
	if (!site && !code)
		return;
	panel.hidden = false;
	if (pace === "now")
		replace(panel, site ? objectPanel(site) : codePanel(code));
}

// --- The view --------------------------------------------------------------------------------

function mapFacts() {
	const notes = kmap.notes.filter(note => note.value && !["in_ns", "unnamed_code"].includes(note.name));
	return h("p", { class: "note" }, `${kmap.name}: `, notes.map(note => count(note.value) + " " + note.text).join(", "),
		". The numbers of this view cover the whole map, not the range. Pages include the memory of user space, and accesses by user space are not counted.");
}

function mapNumbers() {
	const total = kmap.total, ofAll = part => percent(share(part, total.bytes)) + " of all bytes";
	const numbers = [["Objects", total.objects, short(total.objects), bytes(total.bytes)]];
	if (kmap.accesses)
		numbers.push(["Reads", total.reads, short(total.reads), total.bytes_read ? bytes(total.bytes_read) : "by " + count(kmap.codes.length) + " functions"],
			["Writes", total.writes, short(total.writes), total.bytes_written ? bytes(total.bytes_written) : " "],
			["Never touched", total.cold_bytes, bytes(total.cold_bytes), ofAll(total.cold_bytes)],
			["Never read", total.unread_bytes, bytes(total.unread_bytes), ofAll(total.unread_bytes)]);
	return h("div", { class: "cards" }, numbers.map(([name, ...number]) => numberCard(name).show(...number)));
}

// Nothing here depends on the range, so there is nothing to do while it is dragged.
function objectsView(view) {
	const matrix = card(), sites = new Table(), codes = new Table(), fields = fieldCards();
	const siteHead = siteColumns(), codeHead = codeColumns();
	view.append(mapNumbers(), matrix,
		card(h("h2", {}, "Objects by allocation site ", h("small", {}, "click a row to see which code touches them")), sites.element),
		card(h("h2", {}, "Functions that touch objects ", h("small", {}, "click a row to see which objects it touches")), codes.element), ...(fields ? fields.cards : []), mapFacts());
	return [() => {
		if (pace !== "now")
			return;
		matrixCard(matrix);
		const touching = found(kmap.codes).filter(code => code.accesses || code.frees);
		sites.show(sorted("objects", "bytes", { columns: siteHead, rows: found(kmap.sites), onrow: openObject, chosen: row => row.number === state.object, limit: 50 }));
		codes.show(sorted("codes", "reads", { columns: codeHead, rows: touching, onrow: openCode, chosen: row => row.number === state.code, limit: 30 }));
		fields?.show();
	}];
}
