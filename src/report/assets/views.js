// SPDX-License-Identifier: LGPL-2.1-only
// The other views: each is built once into its place, and returns what brings it up to date.

const openSite = row => go({ site: row.track.number, object: null, code: null });
const isChosen = row => row.track.number === state.site && row.track.by === "site";
const found = rows => state.q ? rows.filter(row => row.track.text.includes(state.q.toLowerCase())) : rows;

// --- Columns ---------------------------------------------------------------------------------

const byteColumn = (key, label, title, value) => ({ key, label, title, value: value || (row => row[key]), exact: "bytes",
	show: row => bytes((value || (r => r[key]))(row)) });
const countColumn = (key, label, title) => ({ key, label, title, value: row => row[key] });
const partColumn = (key, label, title, value) => ({ key, label, title, value, show: row => percent(value(row)) });

const labelColumn = label => ({ key: "label", label, kind: "text", class: "label", value: row => row.track.label, show: row => labelCell(row.track) });
const seenColumn = partColumn("seen", "seen", "Share of the ended objects whose free raised an event", row => row.seen);
const lifeColumn = { key: "life", label: "lifetime", title: "Mean time from allocation to free", value: row => row.meanLife, show: row => duration(row.meanLife) };

const GROUP_COLUMNS = [
	byteColumn("live", "live", "Bytes that live at the end of the range"),
	byteColumn("grown", "change", "Live bytes at the end of the range less those at its start"),
	byteColumn("peak", "peak", "The most that lived at once"),
	byteColumn("bytes", "total", "Bytes allocated"),
	byteColumn("liveWaste", "waste", "Live bytes that nobody asked for"),
	countColumn("objects", "objects", "Objects that live at the end of the range"),
	countColumn("allocs", "allocs", "Allocations"),
	countColumn("frees", "frees", "Frees that an event showed"),
	countColumn("implied", "implied", "Ends seen only because the address was allocated again"),
	seenColumn, lifeColumn,
];

// A table that remembers its order in the state.
function sortedTable(id, first, options) {
	return makeTable({ ...options, sort: state.sort[id] || { key: first, descending: true },
		onsort: sort => go({ sort: { ...state.sort, [id]: sort } }) });
}

const sparks = new Map(); // by track: it does not depend on the range
const sparkColumn = { key: "spark", label: "live over time", kind: "text", show: row => {
	if (!sparks.has(row.track))
		sparks.set(row.track, sparkline(liveSeries(row.track)));
	return sparks.get(row.track).cloneNode(true);
} };

// --- Sites -----------------------------------------------------------------------------------

function sitesView(view) {
	const tools = h("div", { class: "tools" }), body = h("div");
	view.append(h("div", { class: "card" }, tools, body));
	return sums => {
		const by = GROUPINGS.includes(state.by) ? state.by : "site";
		const rows = found(sums[by]);
		replace(tools, choice("Group by", GROUPINGS.map(key => [key, GROUPING_NAMES[key]]), by, value => go({ by: value })),
			h("span", { class: "soft" }, state.q ? `${count(rows.length)} of ${count(sums[by].length)}` : count(rows.length) + " rows",
				by === "site" ? ". Click a row for its detail." : "."));
		replace(body, sortedTable("sites", "live", { columns: [labelColumn(GROUPING_NAMES[by]), sparkColumn, ...GROUP_COLUMNS], rows,
			onrow: by === "site" ? openSite : null, chosen: isChosen }));
	};
}

// --- Timeline --------------------------------------------------------------------------------

const LAYERS = 7;

// The tracks with the highest peaks and, of all others, the sum.
function topLayers(by, valuesOf, weight) {
	const tracks = data.by[by].filter(track => !track.folded).map(track => [weight(track), track])
		.sort((a, b) => b[0] - a[0] || a[1].number - b[1].number).slice(0, LAYERS);
	const layers = tracks.map(([, track], i) => ({ label: track.label, color: seriesColor(i), values: valuesOf(track) }));
	const rest = valuesOf(data.total);
	for (const layer of layers)
		layer.values.forEach((value, i) => rest[i] -= value);
	return [{ label: "all others", color: "var(--c7)", values: rest.map(value => Math.max(0, value)) }, ...layers.reverse()];
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
	const tools = h("div", { class: "tools" }), plots = h("div"), below = h("div", { class: "card" });
	let drawn = null, charts = [];
	view.append(h("div", { class: "card" }, tools, plots), below);
	const draw = by => {
		const live = topLayers(by, liveSeries, track => highest(track.liveAfter));
		const perSecond = track => series(track, "bytes").map(value => value / data.width * rateUnit);
		const rate = topLayers(by, perSecond, track => sumOf(track.series("bytes")));
		const livePlot = stackedPlot(live, { height: 300, binary: true, format: bytes, label: "Live bytes over time" });
		const ratePlot = stackedPlot(rate, { height: 150, binary: true, format: value => bytes(value) + rateName, label: "Bytes allocated over time" });
		const legend = layers => h("div", { class: "legend" }, [...layers].reverse().map(layer =>
			h("span", {}, h("i", { style: { background: layer.color } }), h("span", { class: "mono" }, layer.label))));
		charts = [livePlot.chart, ratePlot.chart];
		replace(plots, h("h2", {}, "Live bytes"), livePlot, timeAxis(), legend(live), h("h2", {}, "Allocation rate"), ratePlot, timeAxis(), legend(rate),
			behind("As a table", () => bucketTable(liveSeries(data.total), series(data.total, "bytes"), series(data.total, "ended"))));
	};
	return sums => {
		const by = GROUPINGS.includes(state.by) ? state.by : "site";
		if (drawn !== by) {
			draw(by);
			drawn = by;
			replace(tools, choice("Group by", GROUPINGS.map(key => [key, GROUPING_NAMES[key]]), by, value => go({ by: value })),
				h("span", { class: "soft" }, `Drag to choose a range, click to drop it. ${count(data.buckets)} buckets of ${duration(data.width)}.`));
		}
		charts.forEach(shade);
		replace(below, h("h2", {}, "In this range ", h("small", {}, rangeText())),
			sortedTable("range", "bytes", { columns: [labelColumn(GROUPING_NAMES[by]), ...GROUP_COLUMNS], rows: found(sums[by]), limit: 15,
				onrow: by === "site" ? openSite : null, chosen: isChosen }));
	};
}

// --- Leaks -----------------------------------------------------------------------------------

function bornSpark(track) {
	return sparkline(series(track, "keptBytes"), true);
}

function leaksView(view) {
	return sums => {
		const rows = found(sums.site.filter(row => row.kept));
		const columns = [labelColumn("call site"),
			{ key: "born", label: "born when", kind: "text", title: "When the objects that still live were allocated", show: row => bornSpark(row.track) },
			byteColumn("keptBytes", "bytes", "Bytes that were allocated in the range and live at the end of the capture"),
			countColumn("kept", "objects", "Objects that were allocated in the range and live at the end of the capture"),
			{ key: "tenths", label: "grew in", title: "Tenths of the range in which such objects were allocated",
				value: row => tenthsKept(row.track, sums.from, sums.to), show: row => tenthsKept(row.track, sums.from, sums.to) + " of 10" },
			countColumn("allocs", "allocs", "Allocations"), countColumn("frees", "frees", "Frees that an event showed"), seenColumn];
		if (sums.whole)
			columns.splice(4, 0,
				{ key: "oldest", label: "oldest", value: row => row.track.oldest, show: row => duration(row.track.oldest ?? null) },
				{ key: "mean", label: "mean age", value: row => row.track.age_sum / row.kept, show: row => duration(row.track.age_sum / row.kept) });
		const judged = rows.filter(row => !row.unseen), unseen = rows.filter(row => row.unseen);
		replace(view,
			h("div", { class: "card" }, h("h2", {}, "Allocated in the range, still live at the end of the capture"),
				h("p", { class: "note" }, "To live at the end is no proof of a leak: caches live too. What leaks is born all through the capture, and hardly ever freed. " +
					"Drag a range that leaves out the end, to leave out what is young."),
				sortedTable("leaks", "keptBytes", { columns, rows: judged, onrow: openSite, chosen: isChosen })),
			unseen.length ? h("div", { class: "card" }, h("h2", {}, "Not to be judged"),
				h("p", { class: "note" }, "Most objects of these sites end without an event, so nobody can say what lives."),
				sortedTable("unseen", "keptBytes", { columns, rows: unseen, onrow: openSite, chosen: isChosen })) : null);
	};
}

// --- Fragmentation ---------------------------------------------------------------------------

const PAGE = 4096;

function wasteBars(rows) {
	const top = Math.max(1, ...rows.map(row => row.waste));
	return { key: "bar", label: "", kind: "bar", show: row =>
		h("span", { class: "meter", style: { width: Math.max(0, row.waste) / top * 100 + "%", background: "var(--c5)" } }) };
}

const wasteColumns = [
	byteColumn("bytes", "allocated", "Bytes allocated"),
	byteColumn("asked", "asked for", "Bytes that the callers asked for", row => row.bytes - row.waste),
	byteColumn("waste", "wasted", "The difference: bytes lost inside the objects"),
	partColumn("part", "of it", "Wasted, of the bytes allocated", row => share(row.waste, row.bytes)),
	byteColumn("liveWaste", "wasted, live", "Of the objects that live at the end of the range"),
];

function fragmentationView(view) {
	return sums => {
		const sizes = sums.size, slots = sums.whole && !data.hashed && data.level === "slab" ? [
			byteColumn("live", "live", "Bytes that live at the end"),
			{ key: "frames", label: "pages", title: "Pages of 4 KiB that hold these objects", value: row => row.track.pages_held || 0 },
			partColumn("slots", "of the pages", "How full these pages are of objects that this capture saw allocated: a lower limit",
				row => row.track.pages_held ? Math.min(1, row.live / (row.track.pages_held * PAGE)) : null)] : [];
		const sites = found(sums.site).filter(row => row.waste > 0);
		replace(view,
			h("div", { class: "card" }, h("h2", {}, "By size of the object"),
				sortedTable("sizes", "waste", { columns: [{ ...labelColumn("size"), class: "", value: row => Number(row.track.label) || 0,
					kind: "num", show: row => row.track.label }, wasteBars(sizes), countColumn("allocs", "allocs"), ...wasteColumns, ...slots], rows: sizes, limit: 40 }),
				slots.length ? h("p", { class: "note" }, "Pages are counted where objects that the capture saw allocated live at its end. A slab with few of them cannot be given back.") : null),
			h("div", { class: "card" }, h("h2", {}, "By call site"),
				sortedTable("wasters", "waste", { columns: [labelColumn("call site"), wasteBars(sites), countColumn("allocs", "allocs"), ...wasteColumns], rows: sites,
					onrow: openSite, chosen: isChosen, limit: 50 })));
	};
}

// --- Lifetimes -------------------------------------------------------------------------------

const sizeName = size => size < data.size_edges.length ? round(bytes(data.size_edges[size])) : "more";
const lifeName = life => life < data.life_edges.length ? round(duration(data.life_edges[life])) : "longer";

function lifeMap(sums, unit) {
	const cells = sumLives(sums.from, sums.to);
	if (!cells.length)
		return h("div", { class: "empty" }, "No object was seen freed in this range.");
	const span = key => {
		const values = cells.map(cell => cell[key]);
		const low = Math.min(...values);
		return Array.from({ length: Math.max(...values) - low + 1 }, (_, i) => low + i);
	};
	const sizes = span("size").reverse(), lives = span("life");
	const grid = new Map(cells.map(cell => [cell.size + "," + cell.life, cell[unit]]));
	return heatTable("Objects by size and lifetime", "size ≤, lifetime <", sizes.map(sizeName), lives.map(lifeName),
		(r, c) => grid.get(sizes[r] + "," + lives[c]) || 0,
		(r, c, n) => `size up to ${sizeName(sizes[r])}, lifetime below ${lifeName(lives[c])}\n${unit === "bytes" ? bytes(n) : count(n) + " objects"}`);
}

function lifetimesView(view) {
	const tools = h("div", { class: "tools" }), body = h("div");
	view.append(h("div", { class: "card" }, h("h2", {}, "Size and lifetime of the objects freed in the range"), tools, body));
	const sites = h("div", { class: "card" });
	view.append(sites);
	return sums => {
		const unit = state.unit === "bytes" ? "bytes" : "objects";
		replace(tools, choice("Count", [["objects", "objects"], ["bytes", "bytes"]], unit, value => go({ unit: value })));
		replace(body, lifeMap(sums, unit));
		replace(sites, h("h2", {}, "Temporary objects by call site ", h("small", {}, `freed within ${duration(data.temporary_below)}`)),
			sortedTable("temporary", "temporary", { rows: found(sums.site).filter(row => row.frees), onrow: openSite, chosen: isChosen, limit: 50, columns: [
				labelColumn("call site"), countColumn("temporary", "temporary", "Objects freed soon after their allocation"),
				byteColumn("temporaryBytes", "bytes", "Bytes of these"), partColumn("part", "of frees", "Temporary, of the frees seen", row => share(row.temporary, row.frees)),
				countColumn("frees", "frees", "Frees that an event showed"), lifeColumn] }));
	};
}

// --- CPU -------------------------------------------------------------------------------------

function cpuMap(sums) {
	const cells = sumCpus(sums.from, sums.to);
	if (!cells.length)
		return h("div", { class: "empty" }, "No object was seen freed in this range, or the capture does not tell the CPU.");
	const numbers = [...new Set(cells.flatMap(cell => [cell.from, cell.to]))].sort((a, b) => a - b);
	const grid = new Map(cells.map(cell => [cell.from + "," + cell.to, cell.frees]));
	return heatTable("Frees by CPU of allocation and of free", "allocated \\ freed", numbers.map(n => "CPU " + n), numbers.map(n => "CPU " + n),
		(r, c) => grid.get(numbers[r] + "," + numbers[c]) || 0,
		(r, c, n) => `allocated on CPU ${numbers[r]}, freed on CPU ${numbers[c]}\n${count(n)} objects`);
}

const crossColumns = [countColumn("frees", "frees", "Frees that an event showed"), countColumn("cross", "on another CPU", "Frees on another CPU than the allocation"),
	partColumn("part", "of frees", "On another CPU, of the frees seen", row => share(row.cross, row.frees))];

function cpuView(view) {
	return sums => replace(view,
		h("div", { class: "two" },
			h("div", { class: "card" }, h("h2", {}, "Where objects are allocated and freed"), cpuMap(sums)),
			h("div", { class: "card" }, h("h2", {}, "By CPU of the allocation"), sortedTable("cpus", "bytes", { rows: sums.cpu, columns: [
				{ ...labelColumn("CPU"), class: "" }, byteColumn("bytes", "total", "Bytes allocated"), byteColumn("live", "live", "Bytes that live at the end of the range"),
				countColumn("allocs", "allocs"), ...crossColumns] }))),
		h("div", { class: "card" }, h("h2", {}, "Call sites whose objects are freed elsewhere"),
			sortedTable("cross", "cross", { rows: found(sums.site).filter(row => row.cross), onrow: openSite, chosen: isChosen, limit: 50,
				columns: [labelColumn("call site"), ...crossColumns, countColumn("allocs", "allocs"), lifeColumn] })));
}

// --- Capture quality -------------------------------------------------------------------------

function qualityView(view) {
	const [level, text] = verdict();
	replace(view,
		h("div", { class: "card" }, h("h2", { class: level }, level === "bad" ? "In this capture, " : "The capture is ", text), captureFacts(), findingList(qualityFindings())),
		h("div", { class: "card" }, h("h2", {}, "Counters"),
			h("p", { class: "note" }, "Of the whole capture, whatever the range. kmemscope-quality(7) explains each of them."),
			makeTable({ rows: data.quality, columns: [
				{ key: "value", label: "count", value: q => q.value },
				{ key: "text", label: "of", kind: "text", value: q => q.text },
				{ key: "name", label: "name", kind: "text", value: q => q.name, show: q => h("code", {}, q.name) },
				{ key: "loss", label: "", kind: "text", value: q => q.loss ? "loss" : "", show: q => q.loss && q.value ? h("b", { class: "bad" }, "loss") : "" },
			] })),
		data.findings.length ? h("div", { class: "card" }, h("h2", {}, "Uses of the allocator to look at"), makeTable({ rows: data.findings, columns: [
			{ key: "count", label: "cases", value: f => f.count },
			{ key: "what", label: "what", kind: "text", value: f => data.quality.find(q => q.name === f.what)?.text || f.what },
			{ key: "alloc", label: "allocated in", kind: "text", class: "label mono", value: f => f.alloc_site || "unknown" },
			{ key: "free", label: "freed in", kind: "text", class: "label mono", value: f => f.free_site || "unknown" },
			{ key: "first", label: "first at", value: f => f.first, show: f => moment(f.first) },
			{ key: "ptr", label: "address", kind: "text", value: f => f.ptr, show: f => h("code", {}, f.ptr) },
		] })) : null,
		data.unparsed.length ? h("div", { class: "card" }, h("h2", {}, "The first lines not understood"),
			data.unparsed.map(line => h("div", { class: "mono" }, line))) : null);
	return () => {};
}
