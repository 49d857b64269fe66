// SPDX-License-Identifier: LGPL-2.1-only
// The live page: asks for the newest rows each two seconds, and shows them with what has changed since it was opened.
"use strict";

const PERIOD = 2000, HISTORY = 300;
const COLUMNS = [
	{ key: "bytes", head: "bytes", show: bytes },
	{ key: "change", head: "change", show: (v) => signed(v, bytes) },
	{ key: "rate", head: "per s", show: (v) => (v === null ? "-" : signed(v, bytes)) },
	{ key: "objects", head: "objects", show: (v) => v.toLocaleString("en") },
	{ key: "age", head: "age", show: (v) => (v === null ? "-" : duration(v)) },
	{ key: "name", head: "name", show: String, text: true },
];
const SUMS = [["slab", "slab"], ["unreclaimable", "of it unreclaimable"], ["used", "all memory in use"]];

const state = { doc: null, base: new Map(), sums: new Map(), sort: "bytes", down: true, paused: false };
const $ = (id) => document.getElementById(id);

function bytes(value) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
	let unit = 0;
	for (value = Math.abs(value); value >= 1023.5 && unit + 1 < units.length; unit++)
		value /= 1024;
	return `${unit ? value.toFixed(value < 99.95 ? 1 : 0) : Math.round(value)} ${units[unit]}`;
}

function signed(value, show) {
	return Math.abs(value) < 0.5 ? "0" : (value < 0 ? "-" : "+") + show(value);
}

function duration(ns) {
	const s = ns / 1e9;
	if (s < 120)
		return `${s.toFixed(0)} s`;
	return s < 7200 ? `${(s / 60).toFixed(0)} min` : `${(s / 3600).toFixed(1)} h`;
}

// Rows of the document, with what has changed since the page was opened or the base was set.
function rowsOf(doc) {
	return doc.rows.map((row) => {
		const id = `${doc.by} ${row.name}`;
		if (!state.base.has(id))
			state.base.set(id, state.fresh ? row.bytes : 0);
		return {
			name: row.name, bytes: row.bytes, objects: row.objects,
			change: row.bytes - state.base.get(id),
			rate: row.bytes_per_second ?? null, age: row.mean_age_ns ?? null,
		};
	});
}

function compare(a, b) {
	const x = a[state.sort], y = b[state.sort];
	const order = x === null || y === null ? (x !== null) - (y !== null)
		: typeof x === "string" ? (x < y ? -1 : x > y ? 1 : 0) : x - y;
	return (state.down ? -order : order) || (a.name < b.name ? -1 : 1);
}

function cell(tag, text, kind) {
	const made = document.createElement(tag);
	made.textContent = text;
	if (kind)
		made.className = kind;
	return made;
}

function drawHeads() {
	$("heads").replaceChildren(...COLUMNS.map((column) => {
		const head = cell("th", "", column.text ? "text" : "");
		const button = cell("button", column.head + (column.key !== state.sort ? "" : state.down ? " \u25be" : " \u25b4"));
		button.dataset.key = column.key;
		button.onclick = () => {
			state.down = state.sort === column.key ? !state.down : !column.text;
			state.sort = column.key;
			draw();
		};
		head.append(button);
		head.ariaSort = column.key !== state.sort ? "none" : state.down ? "descending" : "ascending";
		return head;
	}));
}

function drawRows() {
	const wanted = $("search").value.toLowerCase();
	const rows = state.rows.filter((row) => row.name.toLowerCase().includes(wanted)).sort(compare);
	$("rows").replaceChildren(...rows.map((row) => {
		const line = document.createElement("tr");
		for (const column of COLUMNS) {
			const value = row[column.key];
			const moves = column.key === "change" || column.key === "rate";
			line.append(cell("td", column.show(value),
				column.text ? "text" : moves && value > 0.5 ? "grown" : moves && value < -0.5 ? "shrunk" : ""));
		}
		return line;
	}));
}

function curve(values) {
	const low = Math.min(...values), span = Math.max(...values) - low || 1;
	const points = values.map((value, i) => `${i * 300 / Math.max(1, values.length - 1)},${38 - (value - low) / span * 36}`);
	const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
	const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
	svg.setAttribute("viewBox", "0 0 300 40");
	svg.setAttribute("preserveAspectRatio", "none");
	line.setAttribute("points", points.join(" "));
	svg.append(line);
	return svg;
}

function drawSums() {
	$("sums").replaceChildren(...SUMS.map(([key, name]) => {
		const box = document.createElement("div"), values = state.sums.get(key);
		const now = values[values.length - 1];
		box.append(cell("span", name, "what"), cell("strong", bytes(now)),
			cell("span", signed(now - values[0], bytes), now > values[0] ? "grown" : "shrunk"), curve(values));
		return box;
	}));
}

function drawQuality(quality) {
	const said = [];
	for (const [key, text] of [["no_room", "objects not followed: tables are full"], ["no_stack", "objects without a stack"],
		["recursion", "events not seen: they came while a probe ran"], ["torn", "slabs that changed while they were counted"]])
		if (quality[key])
			said.push(`${quality[key]} ${text}`);
	$("quality").replaceChildren(...said.concat((quality.unseen || []).map((text) => `not seen: ${text}`))
		.map((text) => cell("li", text)));
}

function draw() {
	drawHeads();
	if (!state.doc)
		return;
	$("absent").hidden = state.doc.present;
	$("absent").textContent = `Level ${state.doc.level} can't tell this, or not yet.`;
	drawSums();
	drawRows();
	drawQuality(state.doc.quality);
}

function take(doc) {
	const memory = { ...doc.memory, used: doc.memory.total - doc.memory.free };
	for (const [key] of SUMS) {
		const values = state.sums.get(key) || [];
		values.push(memory[key]);
		state.sums.set(key, values.slice(-HISTORY));
	}
	state.fresh = !state.doc || state.doc.by !== doc.by || state.rebase;
	if (state.fresh)
		state.base.clear();
	state.rebase = false;
	state.doc = doc;
	state.rows = rowsOf(doc);
	$("status").textContent = `level ${doc.level}, ${doc.exact ? "counted exactly" : "by the kernel's counters"}, ` +
		`${new Date(doc.time_ns / 1e6).toLocaleTimeString()}`;
	$("status").className = "";
	draw();
}

async function ask() {
	try {
		const answer = await fetch(`live.json?by=${$("by").value}`, { cache: "no-store" });
		if (!answer.ok)
			throw new Error(`the server says ${answer.status}`);
		take(await answer.json());
	} catch (error) {
		$("status").textContent = `no answer: ${error.message}`;
		$("status").className = "failed";
	}
}

$("by").onchange = ask;
$("search").oninput = () => state.doc && drawRows();
$("pause").onclick = () => {
	state.paused = !state.paused;
	$("pause").ariaPressed = String(state.paused);
	$("pause").textContent = state.paused ? "go on" : "pause";
};
$("base").onclick = () => {
	state.rebase = true;
	state.sums.clear();
	ask();
};
setInterval(() => {
	if (!state.paused && !document.hidden)
		ask();
}, PERIOD);
draw();
ask();
