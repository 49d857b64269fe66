// SPDX-License-Identifier: LGPL-2.1-only
// Fields: what was done to each field of the types of an access map, drawn by cache line, and as tables.

const LINE = 64, LINES_DRAWN = 512;
const structs = kmap && kmap.types ? unpackTable(kmap.types) : [];

function unpackFields() {
	const fields = unpackTable(kmap.fields), pairs = unpackTable(kmap.sharing), ends = unpackTable(kmap.type_ends);
	structs.forEach((type, i) => {
		const before = i ? ends[i - 1] : { fields: 0, sharing: 0 };
		type.number = i;
		type.track = { label: type.type };
		type.text = type.type.toLowerCase();
		type.accesses = type.reads + type.writes;
		type.rows = fields.slice(before.fields, ends[i].fields);
		type.pairs = pairs.slice(before.sharing, ends[i].sharing);
		for (const field of type.rows) {
			field.accesses = field.reads + field.writes;
			field.hole = field.verdict === "hole";
			field.track = { label: field.hole ? "(hole)" : field.field };
		}
		for (const pair of type.pairs)
			pair.track = { label: pair.read };
	});
}

if (structs.length)
	unpackFields();

const openStruct = row => go({ struct: row.number });

// --- The picture -----------------------------------------------------------------------------

const fieldTip = field => field.hole ? `a hole of ${many(field.size, "byte")} at ${field.offset}` :
	`${field.field}\n${many(field.size, "byte")} at ${field.offset}\n${count(field.reads)} reads${field.reader_cpus ? " on CPU " + field.reader_cpus : ""}, ` +
	`${count(field.writes)} writes${field.writer_cpus ? " on CPU " + field.writer_cpus : ""}` + (field.verdict ? "\n" + field.verdict : "") + (field.functions ? "\n" + field.functions : "");

// Where two neighbours are as hot, the gap between them is the ground that shows.
function fieldBox(field, line, heat) {
	const from = Math.max(field.offset, line * LINE), to = Math.min(field.offset + field.size, (line + 1) * LINE);
	const half = n => n ? heatColor(heat(n)) : "var(--line)";
	return h("div", { class: field.hole ? "field hole" : "field", ...tipOn(() => fieldTip(field)), "data-field": field.hole ? null : field.field,
		style: { left: (from - line * LINE) / LINE * 100 + "%", width: (to - from) / LINE * 100 + "%",
			background: field.hole ? "" : `linear-gradient(${half(field.reads)} 50%, ${half(field.writes)} 50%)`,
			color: field.reads ? heat(field.reads) > 0.55 ? "#10151b" : "#ffffff" : "" } }, field.hole ? "" : field.field);
}

// Lines without an access are drawn as one, unless there is only one of them.
function structPicture(type) {
	const most = type.rows.reduce((top, field) => Math.max(top, field.reads, field.writes), 1), heat = n => Math.log(n + 1) / Math.log(most + 1);
	const lines = Array.from({ length: Math.min(LINES_DRAWN, Math.ceil(type.size / LINE)) }, (_, line) =>
		type.rows.filter(field => field.size && field.offset < (line + 1) * LINE && field.offset + field.size > line * LINE));
	const cold = line => line < lines.length && !lines[line].some(field => field.accesses);
	const drawn = [];
	for (let line = 0; line < lines.length; line++) {
		let next = line;
		while (cold(next))
			next++;
		if (next - line > 1) {
			drawn.push(h("span", { class: "soft" }, line * LINE), h("div", { class: "line cold soft" }, `${count(next - line)} cache lines that are not accessed`));
			line = next - 1;
		} else
			drawn.push(h("span", { class: "soft" }, line * LINE), h("div", { class: "line" }, lines[line].map(field => fieldBox(field, line, heat))));
	}
	return h("div", { class: "struct", role: "img", "aria-label": `${type.type} by cache line: the numbers are in the table below` }, drawn);
}

// --- Tables ----------------------------------------------------------------------------------

const nameColumn = (key, label, value) => ({ key, label, kind: "text", class: "label mono", value });
const plainColumn = (key, label) => ({ key, label, kind: "text", value: row => row[key] || "" });
const meanColumn = (key, label, title) => ({ key, label, title, value: row => row[key], show: row => row[key].toFixed(1) });

const structColumns = [
	nameColumn("type", "type", row => row.type), byteColumn("size", "size"), countColumn("objects", "objects"), countColumn("reads", "reads"), countColumn("writes", "writes"),
	countColumn("accesses", "accesses", "Reads and writes"), meanColumn("lines_touched", "lines/object", "Cache lines that were accessed in each object"), meanColumn("bytes_touched", "bytes/object", "Bytes that were accessed in each object"),
	byteColumn("holes", "holes"), plainColumn("typed_by", "typed by")];

const fieldColumns = [
	{ key: "offset", label: "offset", value: row => row.offset }, { key: "size", label: "size", value: row => row.size }, nameColumn("field", "field", row => row.field || ""),
	...["reads", "writes"].map(key => ({ key, label: key, value: row => row.hole ? null : row[key] })), plainColumn("reader_cpus", "read on"),
	plainColumn("writer_cpus", "written on"), plainColumn("verdict", ""),
	plainColumn("functions", "functions")];

const pairColumns = [
	countColumn("line", "line"), nameColumn("read", "read", row => row.read), countColumn("reads", "reads"), plainColumn("reader_cpus", "on"), plainColumn("reader", "by"),
	nameColumn("written", "written", row => row.written), countColumn("writes", "writes"), plainColumn("writer_cpus", "on"), plainColumn("writer", "by"),
	{ key: "other_cpus", label: "other CPUs", kind: "text", value: row => row.other_cpus ? "yes" : "no" }];

function structCard(element) {
	const type = structs[state.struct ?? 0], note = [];
	if (type.varying)
		note.push(`${count(type.varying)} accesses were at offsets that vary, and are in no row. `);
	if (type.beyond)
		note.push(`${count(type.beyond)} accesses were behind the struct. `);
	if (type.typed_by === "unknown")
		note.push("The type is not known: rows are offsets. Give debug information with --types. ");
	replace(element, h("h2", {}, h("span", { class: "mono" }, type.type), " by cache line ", h("small", {}, `${bytes(type.size)}, ${many(type.objects, "object")}`)),
		h("p", { class: "soft" }, "A row is a cache line of 64 bytes. In each field, the upper half is the heat of reads, the lower half that of writes; the colour scale is logarithmic."),
		structPicture(type), note.length && h("p", { class: "note" }, note),
		makeTable({ ...sorted("fields", "offset", { columns: fieldColumns, rows: type.rows, limit: 400 }), sort: state.sort.fields || { key: "offset", descending: false } }),
		type.pairs.length ? [h("h3", {}, "Read-mostly beside written, in one cache line"),
			makeTable({ columns: pairColumns, rows: type.pairs, limit: 100 })] : []);
}

// The cards of the view; nothing if the map does not say where in their objects accesses were.
function fieldCards() {
	if (!structs.length)
		return null;
	const list = new Table(), one = card();
	one.id = "struct";
	const left = kmap.types_left_out ? `the ${count(structs.length)} with most accesses; ` : "";
	return { cards: [card(h("h2", {}, "Fields by type ", h("small", {}, left + "click a row to see its fields")), list.element), one], show: () => {
		list.show(sorted("structs", "accesses", { columns: structColumns, rows: found(structs), onrow: openStruct, chosen: row => row.number === (state.struct ?? 0), limit: 20 }));
		structCard(one);
	} };
}
