// SPDX-License-Identifier: LGPL-2.1-only
// Flame graph and rings: sites by directory, file and function, and what they weigh.

const METRICS = {
	bytes: ["bytes allocated", row => row.bytes, bytes],
	live: ["bytes live at the end", row => row.live, bytes],
	at_peak: ["bytes live at the peak", row => row.track.at_peak, bytes],
	peak: ["own peak of each site", row => row.peak, bytes],
	waste: ["bytes wasted, live", row => row.liveWaste, bytes],
	temporary: ["bytes of temporary objects", row => row.temporaryBytes, bytes],
	allocs: ["allocations", row => row.allocs, count],
	objects: ["objects live at the end", row => row.objects, count],
	temporaries: ["temporary objects", row => row.temporary, count],
	cross: ["frees on another CPU", row => row.cross, count],
};

// What was live at the peak of the whole is known for the whole only.
const metricOf = sums => state.metric === "at_peak" && !sums.whole ? "peak" : METRICS[state.metric] ? state.metric : "at_peak";

function metricChoice(sums) {
	const options = Object.entries(METRICS).filter(([key]) => key !== "at_peak" || sums.whole).map(([key, [text]]) => [key, text]);
	return choice("Size is", options, metricOf(sums), metric => go({ metric }));
}

const noPlaces = !data.by.site.some(track => track.path);
const PLACE_HINT = " No source file is known: make the report with -k KERNEL_TREE" + (hasStacks ? "." : ", or record with --stack.");

// "fs", "ext4", "inode.c", "ext4_alloc_inode", "ext4_alloc_inode+0x1d"
function placeOf(track) {
	const func = track.func || track.label;
	const names = track.folded ? [track.label] : track.path ? [...track.path.split("/"), func] :
		[track.module ? "[" + track.module + "]" : "source not known", func];
	if (!track.folded && func !== track.label)
		names.push(track.label);
	return names;
}

// Outermost first; the site, which says more than its function, takes the place of the innermost frame.
function stackOf(track) {
	if (track.folded)
		return [track.label];
	const names = track.frames.map(number => data.frame_names[number]);
	const site = track.label.split("+")[0];
	const inner = names.findIndex(name => name.split("+")[0] === site);
	return [track.label, ...names.slice(inner + 1).map(name => name.split("+")[0])].reverse();
}

const siteNumber = track => track.by === "stack" ? track.site : track.number;

/*
 * A node of a tree. All trees of one shape share their nodes, which are made once; what differs between ranges
 * and metrics is their values. list is the children that have any, the largest first, once somebody asks.
 */
class Node {
	constructor(name, parent) {
		Object.assign(this, { name, parent, value: 0, children: new Map(), track: null, sorted: null });
	}
	child(name) {
		if (!this.children.has(name))
			this.children.set(name, new Node(name, this));
		return this.children.get(name);
	}
	clear() {
		this.value = 0;
		this.sorted = null;
		this.track = null;
		this.children.forEach(child => child.clear());
	}
	get list() {
		if (!this.sorted) {
			this.sorted = [...this.children.values()].filter(child => child.value).sort((a, b) => b.value - a.value || (a.name < b.name ? -1 : 1));
			// A function with a single site is one frame.
			const only = this.sorted.length === 1 ? this.sorted[0] : null;
			if (this.parent && only && only.track && !only.list.length && only.name.startsWith(this.name)) {
				this.track = only.track;
				this.sorted = [];
			}
		}
		return this.sorted;
	}
}

const shapes = new Map(); // by kind of tree: its root, and the leaf of every track

function shapeOf(invert, byStack) {
	const key = `${invert} ${byStack}`;
	if (!shapes.has(key)) {
		const root = new Node("all", null);
		const leaves = data.by[byStack ? "stack" : "site"].map(track => {
			const names = byStack ? stackOf(track) : placeOf(track);
			return (invert ? names.reverse() : names).reduce((node, name) => node.child(name), root);
		});
		shapes.set(key, { root, leaves });
	}
	return shapes.get(key);
}

function buildTree(sums, metric, invert, byStack) {
	const { root, leaves } = shapeOf(invert, byStack);
	const value = METRICS[metric][1];
	root.clear();
	for (const row of byStack ? sums.stack : sums.site) {
		const weight = value(row), leaf = leaves[row.track.number];
		if (!(weight > 0))
			continue;
		leaf.track = row.track;
		for (let node = leaf; node; node = node.parent)
			node.value += weight;
	}
	return root;
}

const nodePath = node => node.parent ? [...nodePath(node.parent), node.name] : [];

function findNode(root, path) {
	let node = root;
	for (const name of path) {
		const next = node.list.find(child => child.name === name);
		if (!next)
			break;
		node = next;
	}
	return node;
}

const zoomPath = () => state.zoom ? state.zoom.split("\n") : [];

// By place, the top directories share the palette in the order of their names, so that a range keeps the
// colours. By stack nearly all have one root: there a function's name is its colour.
function colorsOf(root, byStack) {
	if (byStack)
		return path => [...path[path.length - 1].split("+")[0]].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0) & 0xffff, 7) % 7;
	const names = root.list.map(node => node.name).sort();
	const numbers = new Map(names.map((name, i) => [name, i % 7]));
	return path => numbers.get(path[0]) ?? 0;
}

const PALETTE = [[0, 114, 178], [230, 159, 0], [0, 158, 115], [204, 121, 167], [86, 180, 233], [213, 94, 0], [240, 228, 66]];

function nodeColor(node, colors) {
	const path = nodePath(node);
	if (!path.length)
		return "#c3ccd5";
	const base = PALETTE[colors(path)];
	const lighter = 0.38 + 0.07 * Math.min(5, path.length) + (node.name.length % 3) * 0.03;
	return `rgb(${base.map(value => Math.round(value + (255 - value) * lighter)).join(" ")})`;
}

const matches = node => state.q && node.name.toLowerCase().includes(state.q.toLowerCase());
const holdsMatch = node => matches(node) || (node.track && node.track.text.includes(state.q.toLowerCase())) || node.list.some(holdsMatch);

function nodeTip(node, root, format) {
	return nodePath(node).join(" › ") + "\n" + format(node.value) + ", " + percent(share(node.value, root.value)) + " of all";
}

function openNode(node) {
	if (node.track && !node.list.length)
		go({ site: siteNumber(node.track) });
	else
		go({ zoom: nodePath(node).join("\n") });
}

function crumbs(node) {
	const path = nodePath(node);
	const parts = [h("button", { type: "button", class: "link", onclick: () => go({ zoom: "" }) }, "all")];
	path.forEach((name, i) => parts.push(" › ", h("button", { type: "button", class: "link",
		onclick: () => go({ zoom: path.slice(0, i + 1).join("\n") }) }, name)));
	return h("div", { class: "crumbs" }, parts);
}

function nodeTable(node, root, format) {
	return makeTable({
		columns: [
			{ key: "name", label: "below " + node.name, kind: "text", class: "label", value: child => child.name,
				show: child => h("span", { class: "mono" }, child.name) },
			{ key: "value", label: METRICS[metricOf(currentSums)][0], value: child => child.value, show: child => format(child.value) },
			{ key: "share", label: "of all", value: child => share(child.value, root.value), show: child => percent(share(child.value, root.value)) },
		],
		rows: node.list, limit: 25, onrow: openNode,
	});
}

function searchSaid(root, format) {
	if (!state.q)
		return null;
	let hits = 0, weight = 0;
	const look = (node, inside) => {
		const hit = matches(node);
		hits += hit;
		if (hit && !inside)
			weight += node.value;
		node.list.forEach(child => look(child, inside || hit));
	};
	look(root, false);
	return h("span", { class: "soft" }, `“${state.q}”: ${count(hits)} found, ${format(weight)}, ${percent(share(weight, root.value))}`);
}

// The children as parts of the node's extent; what is too small to be seen becomes one part at the end.
function partsOf(node, from, to, smallest) {
	const parts = [];
	let at = from, folded = 0;
	for (const child of node.list) {
		const extent = (to - from) * child.value / node.value;
		if (extent < smallest) {
			folded++;
			continue;
		}
		parts.push({ child, from: at, to: at + extent });
		at += extent;
	}
	const whole = from + (to - from) * node.list.reduce((sum, child) => sum + child.value, 0) / node.value;
	if (folded && whole - at > smallest)
		parts.push({ child: null, folded, from: at, to: whole });
	return parts;
}

// --- Flame -----------------------------------------------------------------------------------

const ROW = 25, NARROWEST = 0.0012;

function flameFrames(root, zoomed, colors, format) {
	const frames = [];
	let deepest = 0;
	const draw = (node, left, width, depth) => {
		deepest = Math.max(deepest, depth);
		const dim = state.q && !holdsMatch(node);
		frames.push(h("div", {
			class: "frame" + (width < 0.02 ? " narrow" : "") + (dim ? " dim" : "") + (matches(node) ? " hit" : ""), tabindex: 0, role: "button",
			style: { left: left * 100 + "%", width: width * 100 + "%", top: depth * ROW + "px", background: nodeColor(node, colors) },
			onclick: () => openNode(node),
			onkeydown: event => { if (event.key === "Enter") openNode(node); },
			...tipOn(() => nodeTip(node, root, format)),
		}, width > 0.02 ? node.name + (width > 0.12 ? "  " + format(node.value) : "") : ""));
		for (const part of partsOf(node, left, left + width, NARROWEST)) {
			if (part.child)
				draw(part.child, part.from, part.to - part.from, depth + 1);
			else
				frames.push(h("div", { class: "frame folded narrow", style: { left: part.from * 100 + "%", width: (part.to - part.from) * 100 + "%",
					top: (depth + 1) * ROW + "px" }, ...tipOn(() => `${count(part.folded)} more, too small to show`) }));
		}
	};
	const line = [];
	for (let node = zoomed.parent; node; node = node.parent)
		line.unshift(node);
	line.forEach((node, depth) => frames.push(h("div", { class: "frame dim", tabindex: 0, role: "button",
		style: { left: 0, width: "100%", top: depth * ROW + "px", background: nodeColor(node, colors) },
		onclick: () => openNode(node), ...tipOn(() => nodeTip(node, root, format)) }, node.name)));
	draw(zoomed, 0, 1, line.length);
	return h("div", { class: "flame", style: { height: (deepest + 2) * ROW + "px" } }, frames);
}

function flameView(view) {
	const tools = h("div", { class: "tools" }), body = h("div");
	view.append(h("div", { class: "card" }, tools, body));
	return sums => {
		const metric = metricOf(sums), format = METRICS[metric][2];
		const byStack = hasStacks && state.tree !== "place";
		const root = buildTree(sums, metric, state.invert, byStack);
		const zoomed = findNode(root, zoomPath());
		replace(tools, hasStacks ? choice("By", [["stack", "call stack"], ["place", "place in the source"]], byStack ? "stack" : "place",
			tree => go({ tree, zoom: "" })) : null, metricChoice(sums),
			h("button", { type: "button", "aria-pressed": String(state.invert), onclick: () => go({ invert: !state.invert, zoom: "" }),
				title: "Sites first, then their callers, or their files and directories (i)" }, "Invert"),
			h("button", { type: "button", onclick: () => go({ zoom: "" }), title: "Esc" }, "Zoom out"), searchSaid(root, format),
			h("span", { class: "soft" }, byStack ? "Callers above, call sites below. Click to zoom, or on a site for its detail." :
				"By directory, file, function and call site. Click to zoom, or on a site for its detail." + (noPlaces ? PLACE_HINT : "")));
		if (!root.value) {
			replace(body, h("div", { class: "empty" }, "Nothing of that in this range."));
			return;
		}
		replace(body, crumbs(zoomed), flameFrames(root, zoomed, colorsOf(root, byStack), format),
			behind("As a table", () => nodeTable(zoomed, root, format)));
	};
}

// --- Rings -----------------------------------------------------------------------------------

const RINGS = 6, RADIUS = 310, HOLE = 72, SMALLEST = 0.008; // radians

function arcPath(from, to, inner, outer) {
	const point = (angle, radius) => `${(Math.sin(angle) * radius).toFixed(2)} ${(-Math.cos(angle) * radius).toFixed(2)}`;
	if (to - from > 2 * Math.PI - 1e-6)
		return `M0 ${-outer}A${outer} ${outer} 0 1 1 0 ${outer}A${outer} ${outer} 0 1 1 0 ${-outer}` +
			`M0 ${-inner}A${inner} ${inner} 0 1 0 0 ${inner}A${inner} ${inner} 0 1 0 0 ${-inner}Z`;
	const large = to - from > Math.PI ? 1 : 0;
	return `M${point(from, outer)}A${outer} ${outer} 0 ${large} 1 ${point(to, outer)}` +
		`L${point(to, inner)}A${inner} ${inner} 0 ${large} 0 ${point(from, inner)}Z`;
}

function arcLabel(name, from, to, inner, outer) {
	const middle = (from + to) / 2, radius = (inner + outer) / 2;
	const letters = length => Math.floor((length - 6) / 6.1);
	// Along the ring if the name fits there without bending, else across it.
	const chord = 2 * inner * Math.sin(Math.min(Math.PI, to - from) / 2);
	const along = letters(chord * 0.9) >= name.length && outer - inner > 14;
	const room = along ? name.length : letters(outer - inner);
	if (!along && ((to - from) * radius < 13 || room < 3))
		return null;
	const text = name.length > room ? name.slice(0, room - 1) + "…" : name;
	const degrees = middle * 180 / Math.PI - 90;
	const turn = along ? (middle > Math.PI / 2 && middle < 1.5 * Math.PI ? -90 : 90) : degrees > 90 ? 180 : 0;
	return svg("text", { transform: `rotate(${degrees.toFixed(2)}) translate(${radius} 0) rotate(${turn})`,
		"text-anchor": "middle", dy: "0.35em" }, text);
}

function ringArcs(zoomed, root, colors, format) {
	const arcs = [], labels = [];
	const depthOf = (node, most) => most && node.list.length ? 1 + Math.max(...node.list.map(child => depthOf(child, most - 1))) : 0;
	const rings = Math.max(2, depthOf(zoomed, RINGS));
	const width = (RADIUS - HOLE) / rings;
	const draw = (node, start, stop, depth) => {
		const inner = HOLE + depth * width, outer = inner + width - 1;
		for (const { child, folded, from, to } of partsOf(node, start, stop, SMALLEST)) {
			if (!child) {
				arcs.push(svg("path", { d: arcPath(from, to, inner, outer), class: "folded", ...tipOn(() => `${count(folded)} more, too small to show`) }));
				continue;
			}
			arcs.push(svg("path", { d: arcPath(from, to, inner, outer), fill: nodeColor(child, colors), tabindex: 0, role: "button",
				class: state.q && !holdsMatch(child) ? "dim" : "", "aria-label": child.name, onclick: () => openNode(child),
				onkeydown: event => { if (event.key === "Enter") openNode(child); },
				...tipOn(() => nodeTip(child, root, format)) }));
			labels.push(arcLabel(child.name, from, to, inner, outer));
			if (depth + 1 < rings)
				draw(child, from, to, depth + 1);
		}
	};
	draw(zoomed, 0, 2 * Math.PI, 0);
	return [...arcs, ...labels];
}

function ringsView(view) {
	const tools = h("div", { class: "tools" }), body = h("div", { class: "rings" }), trail = h("div");
	view.append(h("div", { class: "card" }, tools, trail, body));
	return sums => {
		const metric = metricOf(sums), format = METRICS[metric][2];
		const root = buildTree(sums, metric, false, false);
		const zoomed = findNode(root, zoomPath());
		const up = () => go({ zoom: zoomed.parent ? nodePath(zoomed.parent).join("\n") : "" });
		replace(tools, metricChoice(sums), searchSaid(root, format),
			h("span", { class: "soft" }, "Click a ring to make it the whole, the middle to go up." + (noPlaces ? PLACE_HINT : "")));
		replace(trail, crumbs(zoomed));
		if (!root.value) {
			replace(body, h("div", { class: "empty" }, "Nothing of that in this range."));
			return;
		}
		const name = zoomed.name.length > 15 ? zoomed.name.slice(0, 14) + "…" : zoomed.name;
		replace(body,
			svg("svg", { viewBox: "-320 -320 640 640", role: "group", "aria-label": "Ring chart" },
				ringArcs(zoomed, root, colorsOf(root, false), format),
				svg("circle", { r: HOLE - 3, onclick: up }),
				svg("text", { class: "center", y: -4 }, name), svg("text", { class: "below", y: 18 }, format(zoomed.value))),
			nodeTable(zoomed, root, format));
	};
}
