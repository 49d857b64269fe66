// SPDX-License-Identifier: LGPL-2.1-only
// Making elements and numbers. Text from the trace becomes text nodes and nothing else.

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
const many = (n, word) => count(n) + " " + word + (n === 1 ? "" : "s");

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
	(part >= 0.1 && (part < 0.995 || part >= 1) || part === 0 ? (part * 100).toFixed(0) : part < 0.001 ? "<0.1" : // 99.7 % must not be shown as 100 %
		part < 0.1 ? (part * 100).toFixed(1) : (Math.floor(part * 1000) / 10).toFixed(1)) + " %";
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

// Round numbers without zeros: "4 KiB" instead of "4.00 KiB".
const round = text => text.replace(/\.0+ /, " ").replace(/(\.\d*[1-9])0+ /, "$1 ");

// The unit of time in rates: per second, or per thousand ticks.
const rateUnit = data.clock === "seconds" ? 1e9 : 1000;
const rateName = data.clock === "seconds" ? "/s" : "/kilotick";
const rangeTime = sums => Math.max(1, bucketTime(sums.to) - bucketTime(sums.from));
// A map of a stock kernel has no times: all of it is one moment, in which nothing has a rate.
const timed = data.span > 0;
const rateText = (value, sums, show) => timed ? show(value / rangeTime(sums) * rateUnit) + rateName : "no times are known";
const spanText = before => timed ? before + duration(data.span) : "";

// --- Small things ----------------------------------------------------------------------------

// The numbers behind a picture, made when the reader opens them.
function behind(title, makeContent) {
	const details = h("details", { ontoggle: () => {
		if (details.open && details.childElementCount === 1)
			details.append(makeContent());
	} }, h("summary", {}, title));
	return details;
}

function choice(label, options, chosen, onchange) {
	const select = h("select", { "data-key": label, onchange: () => onchange(select.value) },
		options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)));
	return h("label", {}, label, select);
}

// The tooltip is on the side of the pointer that has more room, so that its size need not be known.
function showTip(event, text) {
	const tip = byId("tip"), right = event.clientX > innerWidth / 2, below = event.clientY < innerHeight / 2;
	setText(tip, text);
	tip.hidden = !text;
	Object.assign(tip.style, { left: right ? "" : event.clientX + 14 + "px", right: right ? innerWidth - event.clientX + 10 + "px" : "",
		top: below ? event.clientY + 18 + "px" : "", bottom: below ? "" : innerHeight - event.clientY + 12 + "px" });
}

const tipOn = text => ({
	onpointermove: event => showTip(event, text()),
	onpointerleave: event => showTip(event, ""),
});

// The element with the focus keeps it, if there is a new element with the same key.
function replace(element, ...children) {
	const key = element.contains(document.activeElement) ? document.activeElement.dataset.key : null;
	element.replaceChildren(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
	if (key)
		[...element.querySelectorAll("[data-key]")].find(child => child.dataset.key === key)?.focus();
}

// Text and attributes that do not change are not written again, since that would cost a layout.
function setText(element, text) {
	const node = element.firstChild;
	if (!node || node !== element.lastChild || node.nodeType !== Node.TEXT_NODE)
		element.textContent = text;
	else if (node.data !== text)
		node.data = text;
}

function setAttribute(element, name, value) {
	if (element.getAttribute(name) === value)
		return;
	if (value === null)
		element.removeAttribute(name);
	else
		element.setAttribute(name, value);
}
