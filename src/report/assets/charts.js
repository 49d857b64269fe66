// SPDX-License-Identifier: LGPL-2.1-only
// Charts over time: areas, bars, axes, and the brush that chooses a range. The x axis is in buckets.

const HEIGHT = 1000; // in the chart's own coordinates; the page scales the chart

// The outline of a series, as steps: a bucket has the same value over its whole width.
function stepPath(values, scale, base) {
	let path = "";
	values.forEach((value, i) => {
		const y = (HEIGHT - value * scale).toFixed(1);
		path += `${i ? "L" : "M"}${i} ${y}L${i + 1} ${y}`;
	});
	if (!base)
		return path;
	for (let i = values.length - 1; i >= 0; i--) {
		const y = (HEIGHT - base[i] * scale).toFixed(1);
		path += `L${i + 1} ${y}L${i} ${y}`;
	}
	return path + "Z";
}

function canvas(...children) {
	return svg("svg", { viewBox: `0 0 ${data.buckets} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" }, children);
}

function areaChart(values, top) {
	const scale = HEIGHT * 0.94 / (top || 1);
	const nothing = new Float64Array(values.length);
	return canvas(svg("path", { class: "fill", d: stepPath(values, scale, nothing) }),
		svg("path", { class: "stroke", d: stepPath(values, scale) }));
}

const SPARK_POINTS = 60;

// Reduces a series to SPARK_POINTS values, the maximum of several buckets each, since there is no room for all buckets.
function thin(values) {
	const step = Math.ceil(values.length / SPARK_POINTS);
	const few = new Float64Array(Math.ceil(values.length / step));
	values.forEach((value, i) => few[Math.floor(i / step)] = Math.max(few[Math.floor(i / step)], value));
	return few;
}

function sparkline(all, bars) {
	const values = thin(all);
	const element = areaChart(values, Math.max(1, ...values));
	element.setAttribute("viewBox", `0 0 ${values.length} ${HEIGHT}`);
	if (bars)
		element.querySelector(".stroke").remove();
	element.setAttribute("class", bars ? "spark bars" : "spark");
	return element;
}

// Round numbers from 0 to the top, for the labels of an axis. For bytes, the step is a power of two.
function ticks(top, ofBytes) {
	if (!(top > 0))
		return [0];
	let step = ofBytes ? Math.max(1, 2 ** Math.ceil(Math.log2(top / 6))) : 10 ** Math.floor(Math.log10(top));
	for (const factor of ofBytes ? [] : [2, 2.5, 2])
		if (top / step < 3)
			step /= factor;
	while (top / step > 6)
		step *= 2;
	const list = [];
	for (let value = 0; value <= top * 1.0001; value += step)
		list.push(value);
	return list;
}

// --- The brush -------------------------------------------------------------------------------

const bucketUnder = (element, event) => {
	const box = element.getBoundingClientRect();
	return Math.max(0, Math.min(data.buckets - 1, Math.floor((event.clientX - box.left) / box.width * data.buckets)));
};

const brushed = new Set(); // the charts that show the range

function shade(chart) {
	const at = bucket => bucket / data.buckets * 100 + "%";
	const [before, after, range] = chart.shades;
	for (const part of chart.shades)
		part.hidden = isWhole();
	before.style.width = range.style.left = at(state.from);
	after.style.left = at(state.to);
	range.style.width = at(state.to - state.from);
}

// Called in every frame of a drag: other updates may be delayed, but the range follows the pointer at once.
function shadeAll() {
	for (const chart of brushed)
		if (chart.isConnected)
			shade(chart);
		else
			brushed.delete(chart);
}

// Dragging selects a range, and a click clears it.
function brush(element, tipText) {
	const cursor = h("div", { class: "cursor", hidden: true });
	let start = null, moved = false;
	element.shades = [h("div", { class: "outside", style: { left: 0 } }), h("div", { class: "outside", style: { right: 0 } }), h("div", { class: "range" })];
	element.append(...element.shades, cursor);
	brushed.add(element);
	shade(element);
	element.addEventListener("pointerdown", event => {
		start = bucketUnder(element, event);
		moved = false;
		element.setPointerCapture(event.pointerId);
	});
	element.addEventListener("pointermove", event => {
		const bucket = bucketUnder(element, event);
		if (start !== null && (moved || bucket !== start)) {
			if (!moved)
				beginDrag();
			moved = true;
			const from = Math.min(start, bucket), to = Math.max(start, bucket) + 1;
			if (from !== state.from || to !== state.to)
				go({ from, to }, "drag");
		}
		cursor.hidden = false;
		cursor.style.left = (bucket + 0.5) / data.buckets * 100 + "%";
		showTip(event, tipText(bucket));
	});
	const end = changes => {
		if (start !== null)
			go(changes, "settle");
		start = null;
	};
	element.addEventListener("pointerup", () => end(moved ? {} : WHOLE));
	element.addEventListener("pointercancel", () => end({}));
	element.addEventListener("pointerleave", event => {
		showTip(event, "");
		cursor.hidden = true;
	});
}

// --- Plots with axes -------------------------------------------------------------------------

// A chart with a y axis at its left: { height, top, ticks, format, content, tip, label }.
function plot(options) {
	const scale = HEIGHT * 0.94 / (options.top || 1);
	const lines = options.ticks.map(value => svg("line", { class: "grid", x1: 0, x2: data.buckets,
		y1: HEIGHT - value * scale, y2: HEIGHT - value * scale }));
	const chart = h("div", { class: "chart", style: { height: options.height + "px" }, role: "img", "aria-label": options.label },
		canvas(lines, options.content(scale)));
	brush(chart, options.tip);
	const axis = h("div", { class: "axis" }, options.ticks.map(value =>
		h("span", { style: { top: 100 - value / (options.top || 1) * 94 + "%" } }, round(options.format(value)))));
	const element = h("div", { class: "plot" }, axis, chart);
	element.chart = chart;
	return element;
}

function timeAxis() {
	const whole = data.buckets * data.width;
	const unit = data.clock === "seconds" && whole >= 120e9 ? 60e9 : 1; // a minute
	const list = ticks(whole / unit, false).map(value => {
		const part = value * unit / whole;
		return h("span", { class: part > 0.95 ? "end" : "", style: { left: part * 100 + "%" } }, round(moment(value * unit)));
	});
	return h("div", { class: "plot" }, h("div", { class: "times" }, list));
}

// Stacked areas: layers are { label, color, values }.
function stackedPlot(layers, options) {
	const sums = [new Float64Array(data.buckets)];
	for (const layer of layers) {
		const below = sums[sums.length - 1];
		sums.push(layer.values.map((value, i) => value + below[i]));
	}
	const top = Math.max(1, ...sums[sums.length - 1]);
	return plot({
		...options, top, ticks: ticks(top, options.binary),
		content: scale => [...layers.map((layer, i) => svg("path", { d: stepPath(sums[i + 1], scale, sums[i]), fill: layer.color })), options.least ? svg("path", { class: "least", d: stepPath(options.least, scale) }) : null].filter(Boolean),
		tip: bucket => moment(bucketTime(bucket)) + " to " + moment(bucketTime(bucket + 1)) + "\n" +
			[...layers].reverse().filter(layer => layer.values[bucket]).slice(0, 10)
				.map(layer => options.format(layer.values[bucket]) + "  " + layer.label).join("\n") +
			"\n" + options.format(sums[sums.length - 1][bucket]) + "  in total" +
			(options.least && options.least[bucket] < sums[sums.length - 1][bucket] ? ", at least " + options.format(options.least[bucket]) : ""),
	});
}

// --- The overview at the head of every view --------------------------------------------------

function makeStrip() {
	const live = liveSeries(data.total); // of the process that is picked, if there is one
	const chart = h("div", { class: "chart", tabindex: 0, role: "slider", "aria-label": "Range of time",
		"aria-valuemin": 0, "aria-valuemax": data.buckets, "aria-valuenow": 0 }, areaChart(live, Math.max(1, ...live)));
	brush(chart, bucket => moment(bucketTime(bucket)) + "\n" + bytes(live[bucket]) + " live");
	chart.addEventListener("keydown", event => {
		const step = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
		if (!step)
			return;
		event.preventDefault();
		event.stopPropagation();
		moveRange(step * Math.max(1, Math.round(data.buckets / 40)), event.shiftKey);
	});
	const said = h("div"), hint = h("div", { class: "hint" }, "drag over the curve to select a range");
	const all = h("button", { type: "button", class: "link", onclick: () => go(WHOLE) }, "show the whole capture (Esc)");
	replace(byId("strip"), chart, h("div", { class: "said" }, said, hint, all));
	return () => {
		shadeAll();
		setText(said, rangeText());
		setAttribute(chart, "aria-valuenow", String(state.from));
		setAttribute(chart, "aria-valuetext", rangeText());
		hint.hidden = !isWhole();
		all.hidden = isWhole();
	};
}

function rangeText() {
	const end = bucketTime(data.buckets);
	if (isWhole() && end < data.span)
		return "the first " + duration(end) + " of " + duration(data.span);
	if (isWhole())
		return "the whole capture" + spanText(", ");
	return moment(bucketTime(state.from)) + " to " + moment(bucketTime(state.to)) + ", " +
		duration(bucketTime(state.to) - bucketTime(state.from));
}

// With shift, only the end of the range moves. If the whole capture is shown, the first tenth becomes the range.
function moveRange(step, endOnly) {
	let { from, to } = state;
	if (isWhole())
		to = Math.max(1, Math.round(data.buckets / 10));
	else if (endOnly)
		to = Math.max(from + 1, Math.min(data.buckets, to + step));
	else {
		step = Math.max(-from, Math.min(data.buckets - to, step));
		from += step;
		to += step;
	}
	go({ from, to }, "settle");
}

// --- Heat maps -------------------------------------------------------------------------------

// From dark blue to yellow, like cividis: lightness alone shows the order.
const HEAT = [[0, 32, 76], [54, 73, 107], [102, 109, 119], [150, 143, 117], [201, 180, 97], [255, 233, 69]];

function heatColor(part) {
	const at = Math.min(0.9999, Math.max(0, part)) * (HEAT.length - 1);
	const low = HEAT[Math.floor(at)], high = HEAT[Math.floor(at) + 1], rest = at % 1;
	return `rgb(${low.map((value, i) => Math.round(value + (high[i] - value) * rest)).join(" ")})`;
}

// A heat map is a table. rows and columns are labels, and tip(row, column, value) is the tooltip of a cell.
class HeatMap {
	constructor(caption, corner, rows, columns, tip) {
		const point = event => {
			const cell = event.target.closest("td");
			showTip(event, cell && cell.value ? tip(...cell.place, cell.value) : "");
		};
		this.cells = rows.map((_, r) => columns.map((_, c) => Object.assign(h("td"), { place: [r, c], value: null })));
		this.table = h("table", { class: "heat", "aria-label": caption },
			h("thead", {}, h("tr", {}, h("th", {}, corner), columns.map(label => h("th", { scope: "col" }, label)))),
			h("tbody", { onpointermove: point, onpointerleave: event => showTip(event, "") },
				rows.map((label, r) => h("tr", {}, h("th", { scope: "row" }, label), this.cells[r]))));
		this.element = h("div", { class: "scroll" }, this.table);
	}
	// value(row, column) is a number.
	show(value) {
		const values = this.cells.map((row, r) => row.map((_, c) => value(r, c)));
		const top = values.reduce((most, row) => row.reduce((a, b) => Math.max(a, b), most), 1);
		this.cells.forEach((row, r) => row.forEach((cell, c) => fillHeat(cell, values[r][c], top)));
		return this;
	}
}

function fillHeat(cell, n, top) {
	if (cell.value === n && cell.top === top)
		return;
	const part = Math.log(n + 1) / Math.log(top + 1);
	Object.assign(cell, { value: n, top });
	setText(cell, n ? short(n) : "·");
	setAttribute(cell, "class", n ? null : "soft");
	setAttribute(cell, "data-value", n ? String(n) : null);
	Object.assign(cell.style, { background: n ? heatColor(part) : "", color: n ? part > 0.55 ? "#10151b" : "#ffffff" : "" });
}
