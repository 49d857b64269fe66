// SPDX-License-Identifier: LGPL-2.1-only
// The comparison with an earlier capture, if there is one. It always covers both whole captures.

const diff = data.diff || null;

const DIFF_GROUPINGS = { site: "call site", function: "function", cache: "cache", module: "module" };
const MEASURES = { live: "bytes live at the end", waste: "bytes wasted, live", objects: "objects live at the end",
	peak: "peak bytes", total: "bytes allocated", allocs: "allocations" };
const NORMALS = { none: "as they are", time: "by time", events: "by allocations and frees" };
const CHANGES = ["new", "grown", "shrunk", "gone", "same"];

// The possible ways to scale the first capture to the second.
function normalsOf() {
	return Object.keys(NORMALS).filter(key => diff.sizes[key].every(size => size !== "0") && (key !== "time" || diff.same_clock));
}

// Rounds like "kmemscope diff": in integers, since the product may be large.
function scaler(normal) {
	const [before, after] = diff.sizes[normal].map(BigInt);
	return value => before === after ? value : Number((BigInt(value) * after + before / 2n) / before);
}

// As change_of() of analysis/diff.c has it: 0 grows to anything, so what had nothing is new.
function changeOf(row) {
	if (!row.inBefore || (!row.before && row.after))
		return "new";
	if (!row.inAfter || (row.before && !row.after))
		return "gone";
	return row.before === row.after ? "same" : row.before < row.after ? "grown" : "shrunk";
}

function compareRow([label, before, after], measure, scale) {
	const row = { label, inBefore: before !== 0, inAfter: after !== 0,
		before: before ? scale(before[measure]) : 0, after: after ? after[measure] : 0 };
	row.delta = row.after - row.before;
	row.change = changeOf(row);
	return row;
}

// The rows of a grouping, the largest change first.
function compareRows(by, measureName, normal) {
	const measure = diff.measures.indexOf(measureName), total = diff.measures.indexOf("total");
	const scale = scaler(normal);
	const rows = diff.by[by].rows.map(raw => {
		const row = compareRow(raw, measure, scale);
		row.tie = [Math.abs(row.delta), row.after, raw[2] ? raw[2][total] : 0, raw[1] ? raw[1][total] : 0];
		return row;
	});
	rows.sort((a, b) => b.tie[0] - a.tie[0] || b.tie[1] - a.tie[1] || b.tie[2] - a.tie[2] || b.tie[3] - a.tie[3] || (a.label < b.label ? -1 : 1));
	return { rows, total: compareRow(diff.by[by].total, measure, scale) };
}

const signed = (n, format) => n ? (n > 0 ? "+" : "−") + format(Math.abs(n)) : "0";

function diffColumns(by, rows, format, unit) {
	const top = rows.reduce((most, row) => Math.max(most, Math.abs(row.delta)), 1);
	const number = (key, label, show) => ({ key, label, value: row => row[key], show, exact: unit });
	return [
		{ key: "label", label: DIFF_GROUPINGS[by], kind: "text", class: "label mono", value: row => row.label },
		{ key: "change", label: "change", kind: "text", value: row => row.change, show: row => h("span", { class: "change " + row.change }, row.change) },
		number("delta", "difference", row => signed(row.delta, format)),
		{ key: "bar", label: "", kind: "bar", part: row => Math.abs(row.delta) / top, color: row => row.delta > 0 ? "var(--more)" : "var(--less)" },
		number("before", "before", row => row.inBefore ? format(row.before) : "–"),
		number("after", "after", row => row.inAfter ? format(row.after) : "–"),
		{ key: "part", label: "by", value: row => row.before ? row.delta / row.before : null, show: row => row.before ? signed(row.delta / row.before, percent) : "–" },
	];
}

const openLabel = label => {
	const track = data.by.site.find(site => site.label === label);
	if (track)
		go({ site: track.number, object: null, code: null });
};

function diffView(view) {
	const tools = h("div", { class: "tools" }), kinds = h("div", { class: "tools" }), said = h("p", { class: "note" }), table = new Table();
	view.append(card(h("h2", {}, "Compared with ", h("span", { class: "mono" }, diff.name)), said, tools, kinds, table.element));
	return [() => {
		if (pace !== "now") // the comparison does not depend on the range
			return;
		const by = DIFF_GROUPINGS[state.by] ? state.by : "site";
		const measure = MEASURES[state.measure] ? state.measure : "live";
		const normal = normalsOf().includes(state.normal) ? state.normal : "none";
		const isCount = measure === "objects" || measure === "allocs", format = isCount ? count : bytes;
		const { rows, total } = compareRows(by, measure, normal);
		const shown = rows.filter(row => (!state.change || row.change === state.change) && (!state.q || row.label.toLowerCase().includes(state.q.toLowerCase())));
		const measured = MEASURES[measure][0].toUpperCase() + MEASURES[measure].slice(1);
		replace(said, `${measured}: ${format(total.before)} before, ${format(total.after)} in ${data.name}, ${signed(total.delta, format)}` +
			(total.before ? ` (${signed(total.delta / total.before, percent)})` : "") + (normal === "none" ? "." : `; the first capture is scaled ${NORMALS[normal]}.`) +
			(diff.lossy ? " The first capture lost events." : "") + " These numbers cover both whole captures, not the range.");
		replace(tools, choice("Group by", Object.entries(DIFF_GROUPINGS), by, value => go({ by: value })),
			choice("Compare", Object.entries(MEASURES), measure, value => go({ measure: value })),
			choice("Scale", normalsOf().map(key => [key, NORMALS[key]]), normal, value => go({ normal: value })));
		replace(kinds, ["", ...CHANGES].map(kind => h("button", { type: "button", "data-key": "kind " + kind, "aria-pressed": String(state.change === kind), onclick: () => go({ change: kind }) },
			(kind || "all") + " " + count(kind ? rows.filter(row => row.change === kind).length : rows.length))));
		table.show(sorted("diff", null, { columns: diffColumns(by, shown, format, isCount ? "" : "bytes"), rows: shown,
			onrow: by === "site" ? row => openLabel(row.label) : null }));
	}];
}

// For the summary: the sites that hold more than before.
function diffFindings() {
	if (!diff)
		return [];
	const more = compareRows("site", "live", "none").rows.filter(row => row.delta > 0);
	const sum = more.reduce((all, row) => all + row.delta, 0);
	const grown = more.filter((row, i) => i === 0 || (i < 3 && row.delta >= sum * 0.1));
	return grown.map(row => ["!", ["Compared with ", h("span", { class: "mono" }, diff.name), ", ",
		h("button", { type: "button", class: "link mono", onclick: () => openLabel(row.label) }, row.label),
		row.inBefore ? ` holds ${bytes(row.delta)} more: ${bytes(row.after)}, before ${bytes(row.before)}. ` : ` is new and holds ${bytes(row.after)}. `,
		h("a", { href: "#diff" }, "All changes")]]);
}
