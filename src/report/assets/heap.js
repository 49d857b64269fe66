// SPDX-License-Identifier: LGPL-2.1-only
// Heap: what was in the kernel's memory when a snapshot was taken, who holds it, and what changed since another one.

const heap = data.heap || null;

// If there is a snapshot and no capture, the page has its views alone.
const heapAlone = () => data.format === "heap snapshot";

function unpackHeap() {
	for (const name of ["types", "memory", "changes", "holders", "ways", "retained", "unreachable"])
		heap[name] = heap[name] ? unpackTable(heap[name]) : null;
	heap.types.forEach((row, i) => {
		row.number = i;
		row.track = { label: `${row.type} (${row.cache})` };
		row.text = (row.type + " " + row.cache).toLowerCase();
	});
	for (const row of heap.retained || [])
		heap.types[row.type].retained = row.bytes;
	for (const row of heap.changes || []) {
		row.delta = row.bytes_after - row.bytes_before;
		row.track = { label: `${row.type} (${row.cache})` };
		row.text = (row.type + " " + row.cache).toLowerCase();
	}
}

if (heap)
	unpackHeap();

const heapFound = rows => state.q ? rows.filter(row => row.text.includes(state.q.toLowerCase())) : rows;
const openType = row => go({ type: row.number, site: null, object: null, code: null });

// --- The picture -----------------------------------------------------------------------------

function heapGroups() {
	const groups = new Map();
	for (const row of heap.types) {
		if (!groups.has(row.cache))
			groups.set(row.cache, { name: row.cache, value: 0, objects: 0, children: [] });
		const group = groups.get(row.cache);
		group.value += row.bytes;
		group.objects += row.objects;
		group.children.push({ name: row.type, value: row.bytes, objects: row.objects, row });
	}
	return [...groups.values()];
}

const heapTip = item => `${item.name}\n${bytes(item.value)}, ${percent(share(item.value, heap.bytes))} of all objects` +
	(item.objects ? `\n${many(item.objects, "object")}` : "") + (item.row ? `\nin ${item.row.cache}, known by ${item.row.known_by}` : "");

function drawTreemap(element) {
	const groups = heapGroups(), zoomed = groups.some(group => group.name === state.zoom) ? state.zoom : "";
	replace(element, h("h2", {}, "Objects by cache and type ", h("small", {}, zoomed ? "the area is the number of bytes" : "the area is the number of bytes; click a cache to zoom in, a type for its holders")),
		zoomed && h("p", { class: "note" }, h("button", { type: "button", class: "link", "data-key": "out", onclick: () => go({ zoom: "" }) }, "all caches"), " › ", h("span", { class: "mono" }, zoomed)),
		treemap("Objects by cache and type", groups, { zoomed, zoom: name => go({ zoom: name }), open: item => openType(item.row), tip: heapTip,
			dim: item => state.q && !(item.row ? item.row.text : item.name.toLowerCase()).includes(state.q.toLowerCase()) }));
}

// --- Tables ----------------------------------------------------------------------------------

const typeCell = { key: "type", label: "type", kind: "text", class: "label mono", value: row => row.type };
const cacheCell = { key: "cache", label: "cache", kind: "text", class: "mono", value: row => row.cache };

function typeColumns() {
	const top = heap.types.reduce((most, row) => Math.max(most, row.bytes), 1);
	return [typeCell, cacheCell, countColumn("objects", "objects"), byteColumn("bytes", "bytes"),
		{ key: "bar", label: "", kind: "bar", part: row => row.bytes / top },
		...(heap.retained ? [{ key: "retained", label: "retained", title: "What would be free if all of these were gone: they, and what nothing else holds", exact: "bytes",
			value: row => row.retained ?? null, show: row => row.retained === undefined ? "–" : bytes(row.retained) }] : []),
		{ key: "known_by", label: "known by", kind: "text", value: row => row.known_by }];
}

const memoryColumns = () => [
	{ key: "kind", label: "memory", kind: "text", value: row => row.kind }, byteColumn("bytes", "bytes"),
	{ key: "bar", label: "", kind: "bar", part: row => row.bytes / heap.memory.reduce((most, one) => Math.max(most, one.bytes), 1) },
	{ key: "what", label: "what", kind: "text", value: row => row.what }];

const holderColumns = [
	{ key: "holder", label: "held by", kind: "text", class: "label mono", value: row => row.holder },
	countColumn("objects", "objects", "Objects that are held so at least once"), countColumn("references", "references"), countColumn("holders", "holders")];

const unreachableColumns = [
	typeCell, cacheCell, countColumn("objects", "objects"), byteColumn("bytes", "bytes"),
	{ key: "example", label: "example", kind: "text", class: "mono", value: row => row.example }];

// --- One type --------------------------------------------------------------------------------

function showType(panel) {
	const row = heap && heap.types[state.type];
	if (!row)
		return;
	panel.hidden = false;
	if (pace !== "now")
		return;
	const holders = (heap.holders || []).filter(one => one.type === row.number), way = (heap.ways || []).filter(one => one.type === row.number);
	replace(panel, h("button", { type: "button", class: "close", onclick: () => go({ type: null }) }, "Close"),
		h("h2", { class: "mono" }, row.type), definitions([["Cache", row.cache], ["Objects", count(row.objects)], ["Bytes", bytes(row.bytes), count(row.bytes) + " bytes"],
			...(row.size ? [["Each", count(row.size) + " bytes"]] : []), ...(row.retained !== undefined ? [["Retained", bytes(row.retained), count(row.retained) + " bytes"]] : []),
			["Known by", row.known_by || "–"], ...(row.example ? [["Example", row.example]] : [])]),
		holders.length ? [h("h3", {}, "Who holds them"), makeTable({ columns: holderColumns, rows: holders })] : null,
		way.length ? [h("h3", {}, "From a root to one of them"), h("ol", { class: "way mono" }, way.map(step => h("li", {}, step.step)))] : null,
		!heap.graph ? h("p", { class: "note" }, "This snapshot has no references.") :
			row.retained === undefined ? h("p", { class: "note" }, `The page has the holders of the ${heap.retained.length} types with the most bytes. “kmemscope heap holders” shows those of any type.`) : null);
}

// --- The views -------------------------------------------------------------------------------

function heapFacts() {
	const facts = [["Snapshot", heap.name], ["Kernel", [heap.kernel || "unknown", heap.machine].filter(Boolean).join(", ")], ["Taken", heap.taken]];
	return h("div", { class: "card facts" }, facts.map(([name, text]) => h("span", {}, h("span", { class: "soft" }, name), " ", h("span", { class: "fact" }, text))));
}

const typeCount = () => heap.types.length + (heap.folded ? heap.folded - 1 : 0); // one row stands for the others

function heapNumbers() {
	const unknown = heap.types.filter(row => row.known_by === "unknown").reduce((sum, row) => sum + row.bytes, 0);
	const numbers = [["Objects", heap.objects, short(heap.objects), bytes(heap.bytes)],
		["Types", typeCount(), count(typeCount()), `${bytes(unknown)} of no known type`]];
	if (heap.graph)
		numbers.push(["References", heap.references, short(heap.references), (heap.references / Math.max(1, heap.objects)).toFixed(1) + " for each object"]);
	if (heap.unreachable)
		numbers.push(["Not reached in one look", heap.unreachable_objects, count(heap.unreachable_objects),
			`${bytes(heap.unreachable_bytes)}; not yet a leak`]);
	if (heap.before)
		numbers.push(["Grown by", heap.bytes - heap.before_bytes, signed(heap.bytes - heap.before_bytes, bytes), `since ${heap.before}`]);
	return h("div", { class: "cards" }, numbers.map(([name, ...number]) => numberCard(name).show(...number)));
}

function heapNotes() {
	const notes = heap.notes.filter(note => note.value);
	return h("p", { class: "note" }, notes.map(note => `${count(note.value)} ${note.text}. `),
		heap.folded ? `${many(heap.folded, "type")} with ${bytes(heap.folded_bytes)} ${heap.folded === 1 ? "is" : "are"} shown as one row, (others). ` : "",
		"The kernel ran on while the snapshot was taken, so it is of a short span of time.", heapAlone() ? "" : " It does not depend on the range.");
}

function unreachableCard() {
	if (!heap.unreachable)
		return null;
	return card(h("h2", {}, "Objects that no root leads to"),
		h("p", { class: "note" }, "They may be leaks. Some are not: an object may be held by a pointer that is stored in another form, or have been in motion while the snapshot was taken. ",
			"“kmemscope heap unreachable --wait” looks twice."),
		heap.unreachable.length ? makeTable({ columns: unreachableColumns, rows: heap.unreachable, limit: 30 }) : h("div", { class: "empty" }, "There are none."));
}

function heapView(view) {
	const picture = card(), types = new Table(), memory = new Table();
	view.append(heapFacts(), heapNumbers(), picture,
		card(h("h2", {}, "Types ", h("small", {}, heap.graph ? "click a row to see who holds them" : "")), types.element), ...[unreachableCard()].filter(Boolean),
		card(h("h2", {}, "All of memory"), memory.element), heapNotes());
	return [() => {
		if (pace !== "now")
			return;
		drawTreemap(picture);
		types.show(sorted("types", "bytes", { columns: typeColumns(), rows: heapFound(heap.types), onrow: openType, chosen: row => row.number === state.type, limit: 50 }));
		memory.show(sorted("memory", "bytes", { columns: memoryColumns(), rows: heap.memory }));
	}];
}

function heapChangeColumns() {
	const top = heap.changes.reduce((most, row) => Math.max(most, Math.abs(row.delta)), 1);
	const columns = [typeCell, cacheCell,
		{ key: "delta", label: "difference", value: row => row.delta, show: row => signed(row.delta, bytes), exact: "bytes" },
		{ key: "bar", label: "", kind: "bar", part: row => Math.abs(row.delta) / top, color: row => row.delta > 0 ? "var(--more)" : "var(--less)" },
		countColumn("before", "before", "Objects before"), countColumn("after", "after", "Objects after")];
	if (heap.same_boot)
		columns.push(countColumn("fresh", "new", "Allocated since, and still there"), countColumn("changed", "changed", "Other contents: changed, or new ones of the same type in the same place"),
			countColumn("gone", "gone", "Not there any more"));
	return columns;
}

function heapDiffView(view) {
	const table = new Table(), said = h("p", { class: "note" });
	view.append(heapFacts(), card(h("h2", {}, "Compared with ", h("span", { class: "mono" }, heap.before)), said, table.element));
	replace(said, `${heap.before} was taken ${heap.before_taken}` + (heap.seconds ? `, ${many(heap.seconds, "second")} before. ` : ". ") +
		(heap.same_boot ? `${many(heap.fresh_objects, "object")} of ${bytes(heap.fresh_bytes)} were allocated since and are still there; ${count(heap.gone_objects)} are gone. ` +
			`${count(heap.changed_objects)} have other contents: most of them changed, some may be new ones of the same type in the place of old ones.` :
			"It is of another boot: objects can’t be known again, only counted.") +
		(heap.changes_folded ? ` ${count(heap.changes_folded)} types that changed the least are left out.` : ""));
	return [() => {
		if (pace === "now")
			table.show(sorted("heapdiff", "delta", { columns: heapChangeColumns(), rows: heapFound(heap.changes) }));
	}];
}

const HEAP_TABS = heap ? [["heap", "Heap", heapView], ...(heap.before ? [["heapdiff", "Heap diff", heapDiffView]] : [])] : [];
