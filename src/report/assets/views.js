// SPDX-License-Identifier: LGPL-2.1-only
// The other views. Each view is built once, and returns the steps that update it.

const openSite = row => row.track.number >= 0 && go({ site: row.track.number, object: null, code: null });
const isChosen = row => row.track.number === state.site && row.track.by === "site";
// A process is picked, and all views show it alone; where the page can't, it leads to the sites that it uses.
const openProcess = label => {
	const process = processNamed(label);
	go(process === null ? { by: "site", q: label } : { by: "site", process, site: null, zoom: "" });
};
const openGroup = { site: openSite, comm: row => openProcess(row.track.label) };
// A site is also found by the processes that use it.
const isUsedBy = (track, text) => (track.links?.comm || []).some(([number]) => data.by.comm[number]?.label.toLowerCase().includes(text)) ||
	track.by === "site" && Boolean(verdicts.get(track.label)?.comm.toLowerCase().includes(text));
function found(rows) {
	const text = state.q.toLowerCase();
	return text ? rows.filter(row => row.text ? row.text.includes(text) : row.track.text.includes(text) || isUsedBy(row.track, text)) : rows;
}

// --- Columns ---------------------------------------------------------------------------------

const byteColumn = (key, label, title, value) => ({ key, label, title, value: value || (row => row[key]), exact: "bytes",
	show: row => bytes((value || (r => r[key]))(row)) });
const countColumn = (key, label, title) => ({ key, label, title, value: row => row[key] });
const partColumn = (key, label, title, value) => ({ key, label, title, value, show: row => percent(value(row)) });

const labelColumn = label => ({ key: "label", label, kind: "text", class: "label", value: row => row.track.label, show: row => labelCell(row.track), fixed: true });
const seenColumn = partColumn("seen", "seen", "Share of the ended objects whose free raised an event", row => row.seen);
const lifeColumn = { key: "life", label: "lifetime", title: "Mean time from allocation to free", value: row => row.meanLife, show: row => duration(row.meanLife) };

const GROUP_COLUMNS = [
	byteColumn("live", "live", "Bytes that are live at the end of the range"),
	byteColumn("grown", "change", "Live bytes at the end of the range minus those at its start"),
	byteColumn("peak", "peak", "The most bytes that were live at once"),
	byteColumn("bytes", "total", "Bytes allocated"),
	byteColumn("liveWaste", "waste", "Live bytes that were not requested"),
	countColumn("objects", "objects", "Objects that are live at the end of the range"),
	countColumn("allocs", "allocs", "Allocations"),
	countColumn("frees", "frees", "Frees that have an event"),
	countColumn("implied", "implied", "Objects that ended because their address was allocated again"),
	countColumn("paged", "by page", "Objects that ended because their page was given back or taken"),
	countColumn("censused", "by census", "Objects that the kernel no longer had at the end: they ended unseen, at some time before"),
	seenColumn, lifeColumn,
];

// Options of a table whose order is kept in the state.
function sorted(id, first, options) {
	return { ...options, sort: state.sort[id] || { key: first, descending: true },
		onsort: sort => go({ sort: { ...state.sort, [id]: sort } }) };
}

const card = (...children) => h("div", { class: "card" }, children);

const sparks = new WeakMap(); // by track, since they do not depend on the range
const sparkColumn = { key: "spark", label: "live over time", kind: "text", fixed: true, show: row => {
	if (!sparks.has(row.track))
		sparks.set(row.track, sparkline(liveSeries(row.track)));
	return sparks.get(row.track).cloneNode(true);
} };

// --- Sites -----------------------------------------------------------------------------------

const groupingOf = () => GROUPINGS.includes(state.by) ? state.by : "site";
const groupChoice = by => choice("Group by", GROUPINGS.map(key => [key, GROUPING_NAMES[key]]), by, value => go({ by: value }));

function sitesView(view) {
	const tools = h("div", { class: "tools" }), said = h("span", { class: "soft" }), table = new Table();
	view.append(card(tools, table.element));
	return [sums => {
		const by = groupingOf(), rows = found(sums[by]);
		setText(said, (state.q ? `${count(rows.length)} of ${count(sums[by].length)}` : many(rows.length, "row")) +
			(rows.length && by === "site" ? ". Click a row to see its details." : rows.length && by === "comm" ? ". Click a process to see it alone, in all views." : "."));
		if (pace === "now")
			replace(tools, groupChoice(by), said);
		table.show(sorted("sites", "live", { columns: [labelColumn(GROUPING_NAMES[by]), sparkColumn, ...GROUP_COLUMNS], rows,
			onrow: openGroup[by], chosen: isChosen }));
	}];
}

// --- Timeline --------------------------------------------------------------------------------

const LAYERS = 7;

// The tracks with the highest peaks, and the sum of all others. colorOf is shared by the plots of a view: a name has one colour there.
function topLayers(by, valuesOf, weight, colorOf) {
	const tracks = data.by[by].filter(track => !track.folded).map(track => [weight(track), track])
		.sort((a, b) => b[0] - a[0] || a[1].number - b[1].number).slice(0, LAYERS);
	const layers = tracks.map(([, track]) => ({ label: track.label, color: colorOf(track.label), values: valuesOf(track) }));
	const rest = valuesOf(data.total);
	for (const layer of layers)
		layer.values.forEach((value, i) => rest[i] -= value);
	return [{ label: "all others", color: "var(--others)", values: rest.map(value => Math.max(0, value)) }, ...layers.reverse()];
}

const highest = column => column ? column.reduce((a, b) => Math.max(a, b), 0) : 0;
const sumOf = column => column ? column.reduce((a, b) => a + b, 0) : 0;

function bucketTable(live, allocated, freed) {
	const rows = Array.from(live, (value, bucket) => ({ bucket, live: value, bytes: allocated[bucket], ended: freed[bucket] }));
	return makeTable({ rows, limit: rows.length, columns: [
		{ key: "time", label: "time", kind: "text", value: row => moment(bucketTime(row.bucket)) },
		{ key: "live", label: "live bytes at its end", value: row => row.live },
		{ key: "bytes", label: "bytes allocated", value: row => row.bytes },
		{ key: "ended", label: "bytes ended", value: row => row.ended },
	] });
}

function timelineView(view) {
	const tools = h("div", { class: "tools" }), plots = h("div"), title = h("small"), table = new Table();
	let drawn = null;
	view.append(card(tools, plots), card(h("h2", {}, "In this range ", title), table.element));
	const draw = by => {
		const colorOf = colorsByLabel();
		const live = topLayers(by, liveSeries, track => highest(track.liveAfter), colorOf);
		const perSecond = track => series(track, "bytes").map(value => value / data.width * rateUnit);
		const rate = topLayers(by, perSecond, track => sumOf(track.series("bytes")), colorOf);
		const livePlot = stackedPlot(live, { height: 300, binary: true, format: bytes, label: "Live bytes over time", least: data.least });
		const ratePlot = stackedPlot(rate, { height: 150, binary: true, format: value => bytes(value) + rateName, label: "Bytes allocated over time" });
		const legend = layers => h("div", { class: "legend" }, [...layers].reverse().map(layer =>
			h("span", {}, h("i", { style: { background: layer.color } }), h("span", { class: "mono" }, layer.label))));
		replace(plots, h("h2", {}, "Live bytes"), livePlot, timeAxis(), legend(live), data.least ? h("p", { class: "note" }, "Some objects ended unseen, at any time until it showed. The dashed line is what certainly was live.") : null, h("h2", {}, "Allocation rate"), ratePlot, timeAxis(), legend(rate),
			behind("As a table", () => bucketTable(liveSeries(data.total), series(data.total, "bytes"), series(data.total, "ended"))));
	};
	return [sums => {
		const by = groupingOf();
		if (drawn !== by) {
			draw(by);
			drawn = by;
			replace(tools, groupChoice(by),
				h("span", { class: "soft" }, `Drag to select a range, click to clear it. ${many(data.buckets, "bucket")} of ${duration(data.width)}.`));
		}
		setText(title, rangeText());
		table.show(sorted("range", "bytes", { columns: [labelColumn(GROUPING_NAMES[by]), ...GROUP_COLUMNS], rows: found(sums[by]), limit: 15,
			onrow: openGroup[by], chosen: isChosen }));
	}];
}

// --- Leaks -----------------------------------------------------------------------------------

/*
 * What the analysis said of a site and a process over the whole capture, in the place of a row of sums. births: how many of
 * the objects are from each part of the time.
 */
class LeakRow {
	constructor(track, table, place, [, evidence, comm, pid, cache, kept, keptBytes, oldest, mean, allocs, frees, unseen, births, least, most]) {
		Object.assign(this, { track, kept, keptBytes, oldest, mean, allocs, frees, births, verdict: { table, place, evidence: evidence / 1000, comm, pid, cache, least, most } });
		this.seen = frees + unseen ? frees / (frees + unseen) : null;
		this.text = track.text + " " + comm.toLowerCase();
	}
	get grewIn() { return this.births.filter(Boolean).length / this.births.length; }
}

// Rows by table, in the order of the command, and the strongest verdict on each site, for ranges: these have sums by site alone.
const leakRows = {}, verdicts = new Map();
function readVerdicts() {
	const tracks = new Map(data.by.site.map(track => [track.label, track]));
	verdicts.clear();
	for (const table of ["sites", "kept", "unseen"]) {
		leakRows[table] = (data.leaks?.[table] || []).map((raw, place) =>
			new LeakRow(tracks.get(raw[0]) || { label: raw[0], text: raw[0].toLowerCase(), number: -1 }, table, place, raw));
		for (const { track, verdict } of leakRows[table])
			if (!verdicts.has(track.label))
				verdicts.set(track.label, verdict);
	}
}
whenPicked.push(readVerdicts);
readVerdicts();
const verdictOf = row => row.verdict || verdicts.get(row.track.label) || { table: row.unseen ? "unseen" : "sites", place: 1e6, evidence: 0, comm: "", pid: null, cache: "" };

// What is live at the end of all that was allocated in the range.
function leaksIn(sums, table) {
	if (sums.whole && data.leaks)
		return leakRows[table];
	return sums.site.filter(row => row.kept && verdictOf(row).table === table);
}

const verdictWord = ({ table, evidence }) => table === "kept" ? "kept" : table === "unseen" ? "unknown" :
	evidence >= 0.5 ? "likely" : evidence >= 0.2 ? "possible" : "unlikely";

const holderName = verdict => (verdict.comm || "unknown") + (verdict.pid === null ? "" : " " + verdict.pid);

const grewIn = (row, sums) => row.grewIn ?? tenthsKept(row.track, sums.from, sums.to) / 10;

const bornSparks = new WeakMap(); // by row, or by track where it has the sums of a range
const bornColumn = { key: "born", label: "allocated when", kind: "text", title: "When the objects that are still live were allocated", fixed: true, show: row => {
	const owner = row.births ? row : row.track;
	if (!bornSparks.has(owner))
		bornSparks.set(owner, sparkline(row.births || series(row.track, "keptBytes"), true));
	return bornSparks.get(owner).cloneNode(true);
} };

// Sorted by the place that the command gives the row, so that both have one order.
const evidenceColumn = { key: "evidence", label: "leak?", title: "How much speaks for a leak: the share of objects that stay, and how steadily they were allocated", fixed: true,
	value: row => -verdictOf(row).place, show: row => `${percent(verdictOf(row).evidence)} ${verdictWord(verdictOf(row))}` };
const holderColumn = { key: "process", label: "process", kind: "text", title: "The process that allocated them; in a range, the one of the site that speaks most for a leak", fixed: true,
	value: row => holderName(verdictOf(row)) };

// An interval is known of the whole capture alone: of a range, it says no more than that fewer may be live.
function liveObjects(row, sums) {
	const { least, most } = verdictOf(row);
	if (least === undefined)
		return count(row.kept);
	return sums.whole ? `${count(least)} – ${most === undefined ? "?" : count(most)}` : "≤ " + count(row.kept);
}

function leakColumns(sums) {
	const ages = [
		{ key: "oldest", label: "oldest", value: row => row.oldest, show: row => duration(row.oldest ?? null) },
		{ key: "mean", label: "mean age", value: row => row.mean, show: row => duration(row.mean ?? null) }];
	return [labelColumn("call site"), evidenceColumn, bornColumn, holderColumn,
		byteColumn("keptBytes", "bytes", "Bytes that were allocated in the range and are live at the end of the capture"),
		{ ...countColumn("kept", "objects", "Objects that were allocated in the range and are live at the end of the capture; an interval where some may have ended unseen"),
			show: row => liveObjects(row, sums) },
		...(sums.whole && data.leaks ? ages : []), // known only for the whole capture
		{ key: "tenths", label: "grew in", title: "The part of the range in which such objects were allocated", value: row => grewIn(row, sums), show: row => percent(grewIn(row, sums)) },
		countColumn("allocs", "allocs", "Allocations"), countColumn("frees", "frees", "Frees that have an event"), seenColumn];
}

const LEAK_TABLES = [
	["sites", "Allocated in the range, still live at the end of the capture", "A live object is not proof of a leak: whatever is in use is live too. A leak is allocated throughout the capture, and hardly ever freed. " +
		"Most evidence of a leak comes first. To leave out young objects, select a range that leaves out the end."],
	["kept", "Kept by the kernel", "Page cache, inodes, directory entries and other memory that the kernel keeps because it may, and gives back when memory is short."],
	["unseen", "Not judged", "Most objects of these sites end without an event, so it is not known which of them are live, or RCU is about to free them."],
];

function leaksView(view) {
	return LEAK_TABLES.map(([name, title, text]) => {
		const table = new Table(), box = card(h("h2", {}, title), h("p", { class: "note" }, text), table.element);
		view.append(box);
		return sums => {
			const rows = found(leaksIn(sums, name));
			box.hidden = !rows.length && name !== "sites";
			table.show(sorted(name === "sites" ? "leaks" : name, "evidence", { columns: leakColumns(sums), rows, onrow: openSite, chosen: isChosen }));
		};
	});
}

// --- Fragmentation ---------------------------------------------------------------------------

const PAGE = 4096;

function wasteBars(rows) {
	const top = rows.reduce((most, row) => Math.max(most, row.waste), 1);
	return { key: "bar", label: "", kind: "bar", part: row => Math.max(0, row.waste) / top, color: () => "var(--more)" };
}

const wasteColumns = [
	byteColumn("bytes", "allocated", "Bytes allocated"),
	byteColumn("asked", "requested", "Bytes that the callers requested", row => row.bytes - row.waste),
	byteColumn("waste", "wasted", "The difference: unused bytes inside the objects"),
	partColumn("part", "of allocated", "Share of the allocated bytes that is wasted", row => share(row.waste, row.bytes)),
	byteColumn("liveWaste", "wasted, live", "Wasted bytes of the objects that are live at the end of the range"),
];

const sizeColumn = { ...labelColumn("size, bytes"), class: "", value: row => Number(row.track.label) || 0, kind: "num", show: row => row.track.label };

const slotColumns = [
	byteColumn("live", "live", "Bytes that are live at the end"),
	{ key: "frames", label: "pages", title: "Pages of 4 KiB that hold these objects", value: row => row.track.pages_held || 0 },
	partColumn("slots", "pages filled", "How full these pages are, counting objects allocated during the capture: a lower limit",
		row => row.track.pages_held ? Math.min(1, row.live / (row.track.pages_held * PAGE)) : null)];

function fragmentationView(view) {
	const sizes = new Table(), sites = new Table();
	const note = h("p", { class: "note" }, "These are the pages with objects that were allocated during the capture and are live at its end. A slab with even a few live objects cannot be freed.");
	view.append(card(h("h2", {}, "By size of the object"), sizes.element, note), card(h("h2", {}, "By call site"), sites.element));
	return [
		sums => {
			const slots = sums.whole && !data.hashed && data.level === "slab" ? slotColumns : [];
			note.hidden = !slots.length;
			sizes.show(sorted("sizes", "waste", { columns: [sizeColumn, wasteBars(sums.size), countColumn("allocs", "allocs"), ...wasteColumns, ...slots],
				rows: sums.size, limit: 40 }));
		},
		sums => {
			const rows = found(sums.site).filter(row => row.waste > 0);
			sites.show(sorted("wasters", "waste", { columns: [labelColumn("call site"), wasteBars(rows), countColumn("allocs", "allocs"), ...wasteColumns], rows,
				onrow: openSite, chosen: isChosen, limit: 50 }));
		},
	];
}

// --- Lifetimes -------------------------------------------------------------------------------

const sizeName = size => size < data.size_edges.length ? round(bytes(data.size_edges[size])) : "more";
const lifeName = life => life < data.life_edges.length ? round(duration(data.life_edges[life])) : "longer";

function lifetimesView(view) {
	const tools = h("div", { class: "tools" }), title = h("small", {}, `freed within ${round(duration(data.temporary_below))}`), table = new Table();
	const sizes = [...lives.rows].reverse(), unit = () => state.unit === "bytes" ? "bytes" : "objects";
	const map = new HeatMap("Objects by size and lifetime", "size ≤, lifetime <", sizes.map(sizeName), lives.columns.map(lifeName),
		(r, c, n) => `size up to ${sizeName(sizes[r])}, lifetime below ${lifeName(lives.columns[c])}\n${unit() === "bytes" ? bytes(n) : many(n, "object")}`);
	view.append(card(h("h2", {}, "Size and lifetime of the objects freed in the range"), tools,
		sizes.length ? map.element : h("div", { class: "empty" }, "This capture has no free of an object that it saw allocated.")),
	card(h("h2", {}, "Temporary objects by call site ", title), table.element));
	const columns = [labelColumn("call site"), countColumn("temporary", "temporary", "Objects freed soon after their allocation"),
		byteColumn("temporaryBytes", "bytes", "Bytes of these objects"), partColumn("part", "of frees", "Share of the frees seen that is temporary", row => share(row.temporary, row.frees)),
		countColumn("frees", "frees", "Frees that have an event"), lifeColumn];
	return [
		sums => {
			if (pace === "now")
				replace(tools, choice("Count", [["objects", "objects"], ["bytes", "bytes"]], unit(), value => go({ unit: value })));
			const values = lives.sum(sums.from, sums.to, unit() === "bytes" ? 4 : 3), width = lives.columns.length;
			map.show((r, c) => values[(sizes.length - 1 - r) * width + c]);
		},
		sums => table.show(sorted("temporary", "temporary", { columns, rows: found(sums.site).filter(row => row.frees), onrow: openSite, chosen: isChosen, limit: 50 })),
	];
}

// --- CPU -------------------------------------------------------------------------------------

const crossColumns = [countColumn("frees", "frees", "Frees that have an event"), countColumn("cross", "on another CPU", "Frees on a CPU other than that of the allocation"),
	partColumn("part", "of frees", "Share of the frees seen that is on another CPU", row => share(row.cross, row.frees))];

function cpuView(view) {
	const names = crossings.rows.map(n => "CPU " + n), width = names.length, cpus = new Table(), sites = new Table();
	const map = new HeatMap("Frees by CPU of allocation and of free", "allocated \\ freed", names, names,
		(r, c, n) => `allocated on ${names[r]}, freed on ${names[c]}\n${many(n, "object")}`);
	view.append(h("div", { class: "two" }, card(h("h2", {}, "Where objects are allocated and freed"),
		width ? map.element : h("div", { class: "empty" }, "There is no free of a known object, or the capture does not have the CPU.")),
	card(h("h2", {}, "By CPU of the allocation"), cpus.element)),
	card(h("h2", {}, "Call sites whose objects are freed on another CPU"), sites.element));
	return [
		sums => {
			const values = crossings.sum(sums.from, sums.to, 3);
			map.show((r, c) => values[r * width + c]);
		},
		sums => cpus.show(sorted("cpus", "bytes", { rows: sums.cpu, columns: [
			{ ...labelColumn("CPU"), class: "" }, byteColumn("bytes", "total", "Bytes allocated"), byteColumn("live", "live", "Bytes that are live at the end of the range"),
			countColumn("allocs", "allocs"), ...crossColumns] })),
		sums => sites.show(sorted("cross", "cross", { rows: found(sums.site).filter(row => row.cross), onrow: openSite, chosen: isChosen, limit: 50,
			columns: [labelColumn("call site"), ...crossColumns, countColumn("allocs", "allocs"), lifeColumn] })),
	];
}

// --- Capture quality -------------------------------------------------------------------------

function qualityView(view) {
	const [level, text] = verdict();
	replace(view,
		h("div", { class: "card" }, h("h2", { class: level }, level === "bad" ? "In this capture, " : "The capture is ", text), captureFacts(), findingList(qualityFindings())),
		h("div", { class: "card" }, h("h2", {}, "Counters"),
			h("p", { class: "note" }, "These counters cover the whole capture, not the range. kmemscope-quality(7) explains each of them."),
			makeTable({ rows: data.quality, columns: [
				{ key: "value", label: "count", value: q => q.value, show: q => q.value ? count(q.value) : h("span", { class: "zero" }, "0") },
				{ key: "text", label: "what", kind: "text", value: q => q.text },
				{ key: "name", label: "name", kind: "text", value: q => q.name, show: q => h("code", {}, q.name) },
				{ key: "loss", label: "", kind: "text", value: q => q.loss ? "loss" : "", show: q => q.loss && q.value ? h("b", { class: "bad" }, "loss") : "" },
			] })),
		data.findings.length ? h("div", { class: "card" }, h("h2", {}, "Suspicious uses of the allocator"), makeTable({ rows: data.findings, columns: [
			{ key: "count", label: "cases", value: f => f.count },
			{ key: "what", label: "what", kind: "text", value: f => data.quality.find(q => q.name === f.what)?.text || f.what },
			{ key: "alloc", label: "allocated in", kind: "text", class: "label mono", value: f => f.alloc_site || "unknown" },
			{ key: "free", label: "freed in", kind: "text", class: "label mono", value: f => f.free_site || "unknown" },
			{ key: "first", label: "first at", value: f => f.first, show: f => moment(f.first) },
			{ key: "ptr", label: "address", kind: "text", value: f => f.ptr, show: f => h("code", {}, f.ptr) },
		] })) : null,
		data.unparsed.length ? h("div", { class: "card" }, h("h2", {}, "The first lines not understood"),
			data.unparsed.map(line => h("div", { class: "mono" }, line))) : null);
	return [];
}
