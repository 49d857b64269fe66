// SPDX-License-Identifier: LGPL-2.1-only
// Making elements, numbers and tables. Text from the trace becomes text nodes and nothing else.

function make(space, tag, attributes, children) {
	const element = space ? document.createElementNS(space, tag) : document.createElement(tag);
	for (const [name, value] of Object.entries(attributes || {})) {
		if (value === null || value === undefined || value === false)
			continue;
		if (name.startsWith("on"))
			element.addEventListener(name.slice(2), value);
		else if (name === "style")
			Object.assign(element.style, value);
		else
			element.setAttribute(name, value === true ? "" : value);
	}
	element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
	return element;
}

const h = (tag, attributes, ...children) => make(null, tag, attributes, children);
const svg = (tag, attributes, ...children) => make("http://www.w3.org/2000/svg", tag, attributes, children);
const byId = id => document.getElementById(id);

// --- Numbers ---------------------------------------------------------------------------------

const grouped = new Intl.NumberFormat("en-US");
const count = n => grouped.format(Math.round(n));

function scaled(n, units, step) {
	let i = 0, value = Math.abs(n);
	while (value >= step && i < units.length - 1) {
		value /= step;
		i++;
	}
	const digits = i === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
	return (n < 0 ? "−" : "") + value.toFixed(digits) + units[i];
}

const bytes = n => scaled(n, [" B", " KiB", " MiB", " GiB", " TiB"], 1024);
const short = n => scaled(n, ["", " k", " M", " G", " T"], 1000);
const percent = part => part === null || !isFinite(part) ? "–" :
	(part * 100 >= 10 || part === 0 ? (part * 100).toFixed(0) : part * 100 >= 0.1 ? (part * 100).toFixed(1) : "<0.1") + " %";
const share = (part, whole) => whole ? part / whole : 0;

// A length of time in the clock of the capture.
function duration(t) {
	if (t === null)
		return "–";
	if (data.clock !== "seconds")
		return count(t) + (data.clock === "ticks" ? " ticks" : "");
	if (t < 1e3)
		return t.toFixed(0) + " ns";
	if (t < 1e6)
		return (t / 1e3).toPrecision(3) + " µs";
	if (t < 1e9)
		return (t / 1e6).toPrecision(3) + " ms";
	return t < 120e9 ? (t / 1e9).toPrecision(t < 1e10 ? 3 : 4) + " s" : (t / 60e9).toFixed(1) + " min";
}

const bucketTime = bucket => Math.min(bucket * data.width, data.span);
const moment = t => t ? "+" + duration(t) : "the start";

// Of round numbers, "4 KiB" for "4.00 KiB".
const round = text => text.replace(/\.0+ /, " ").replace(/(\.\d*[1-9])0+ /, "$1 ");

// Of rates, what the time is measured in: per second, or per thousand ticks.
const rateUnit = data.clock === "seconds" ? 1e9 : 1000;
const rateName = data.clock === "seconds" ? "/s" : "/kilotick";
const rangeTime = sums => Math.max(1, bucketTime(sums.to) - bucketTime(sums.from));

// --- Tables ----------------------------------------------------------------------------------

const FIRST_ROWS = 100;
const ROWS_WHILE_DRAGGING = 24; // what fits the window: each frame counts then

// A label with the place that it is from.
function labelCell(track) {
	const where = [track.path, track.module && "[" + track.module + "]"].filter(Boolean).join(" ");
	return [h("span", { class: "mono" }, track.label), where && !track.label.endsWith(where) ?
		h("span", { class: "where" }, where) : null];
}

function compareBy(column, descending) {
	return (a, b) => {
		const x = column.value(a), y = column.value(b);
		const order = typeof x === "string" ? (x < y ? -1 : x > y ? 1 : 0) : (x ?? -1) - (y ?? -1);
		return (descending ? -order : order) || (a.track && b.track ? a.track.number - b.track.number : 0);
	};
}

// While dragging only the first rows are shown, so only they are put in order.
function inOrder(rows, column, descending, limit) {
	if (!dragging || column.kind === "text" || rows.length <= limit)
		return [...rows].sort(compareBy(column, descending));
	const sign = descending ? 1 : -1;
	return greatest(rows, row => sign * (column.value(row) ?? -1), limit);
}

function headCell(table, column, sort) {
	const sorted = sort.key === column.key;
	const mark = sorted ? (sort.descending ? " ▾" : " ▴") : "";
	const click = () => {
		const descending = sorted ? !sort.descending : column.kind !== "text";
		table.onsort({ key: column.key, descending });
	};
	return h("th", { class: column.kind === "text" ? "" : "num", title: column.title, scope: "col",
		"aria-sort": sorted ? (sort.descending ? "descending" : "ascending") : null },
	column.value && table.onsort ? h("button", { type: "button", onclick: click }, column.label + mark) : column.label);
}

function bodyCell(column, row) {
	const value = column.value ? column.value(row) : null;
	const kind = column.kind === "text" ? column.class || "" : column.kind === "bar" ? "bar" : "num";
	const content = column.show ? column.show(row) : typeof value === "number" ? count(value) : value ?? "–";
	if (dragging) // nobody can point at a cell then
		return h("td", { class: kind }, content);
	return h("td", { class: kind, "data-column": column.key, "data-value": typeof value === "number" ? value : null,
		title: typeof value === "number" && column.exact ? count(value) + " " + column.exact : null }, content);
}

/*
 * table: { columns, rows, sort, onsort, onrow, chosen, limit }. A column has key, label, value(row), and
 * may have show(row), kind ("num", "text", "bar"), title and exact (the unit in the title of its cells).
 */
function makeTable(table) {
	const sort = table.sort || { key: null };
	const column = table.columns.find(c => c.key === sort.key);
	const limit = Math.min(table.limit || FIRST_ROWS, dragging ? ROWS_WHILE_DRAGGING : Infinity);
	const rows = column ? inOrder(table.rows, column, sort.descending, limit) : table.rows;
	const body = h("tbody");
	const fill = (from, to) => body.append(...rows.slice(from, to).map(row => h("tr", {
		class: (table.onrow ? "click" : "") + (table.chosen && table.chosen(row) ? " chosen" : ""),
		tabindex: table.onrow ? 0 : null, "data-label": row.track ? row.track.label : null,
		onclick: table.onrow && (() => table.onrow(row)),
		onkeydown: table.onrow && (event => { if (event.key === "Enter") table.onrow(row); }),
	}, table.columns.map(c => bodyCell(c, row)))));
	fill(0, limit);
	const element = h("div", { class: "scroll" }, h("table", {},
		h("thead", {}, h("tr", {}, table.columns.map(c => headCell(table, c, sort)))), body));
	if (rows.length > limit && !dragging) {
		const more = h("button", { type: "button", class: "more", onclick: () => {
			fill(limit, rows.length);
			more.remove();
		} }, "Show all " + count(rows.length));
		element.append(more);
	}
	if (!rows.length)
		element.append(h("div", { class: "empty" }, "Nothing here in this range."));
	return element;
}

// The numbers behind a picture, made when somebody asks for them.
function behind(title, makeContent) {
	const details = h("details", { ontoggle: () => {
		if (details.open && details.childElementCount === 1)
			details.append(makeContent());
	} }, h("summary", {}, title));
	return details;
}

// --- Small things ----------------------------------------------------------------------------

function choice(label, options, chosen, onchange) {
	const select = h("select", { onchange: () => onchange(select.value) },
		options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)));
	return h("label", {}, label, select);
}

function showTip(event, text) {
	const tip = byId("tip");
	tip.textContent = text;
	tip.hidden = !text;
	if (!text)
		return;
	const width = tip.offsetWidth, height = tip.offsetHeight;
	tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8)) + "px";
	tip.style.top = (event.clientY + 18 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 18) + "px";
}

const tipOn = text => ({
	onpointermove: event => showTip(event, text()),
	onpointerleave: event => showTip(event, ""),
});

function replace(element, ...children) {
	element.replaceChildren(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
}
