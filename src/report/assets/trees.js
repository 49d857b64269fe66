// SPDX-License-Identifier: LGPL-2.1-only
// Flame graph and rings: sites by call stack, by directory, file and function, or by process and cache, and their sizes.

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

// Processes have their peaks at different times, so these don't add up to anything.
const canBe = (metric, sums, kind) => METRICS[metric] && (metric !== "at_peak" || sums.whole) && (kind !== "process" || !["at_peak", "peak"].includes(metric));

// What was live at the peak of the capture is known only for the whole capture, not for a range.
function metricOf(sums, kind) {
	const held = everybody.total.liveAfter;
	return [state.metric, "at_peak", ...(state.metric === "at_peak" ? ["peak"] : []), held[held.length - 1] > 0 ? "live" : "bytes"]
		.find(metric => canBe(metric, sums, kind));
}

function metricChoice(sums, kind) {
	const options = Object.entries(METRICS).filter(([key]) => canBe(key, sums, kind)).map(([key, [text]]) => [key, text]);
	return choice("Size is", options, metricOf(sums, kind), metric => go({ metric }));
}

const noPlaces = !everybody.by.site.some(track => track.path);
const PLACE_HINT = " No source file is known: make the report with -k KERNEL_TREE" + (hasStacks ? "." : ", or record with --stack.");

// What a tree can be of. The first that there is says most, and is shown unless another one is asked for.
const TREES = {
	stack: ["call stack", "Callers above, call sites below."],
	process: ["process", "By process, cache and call site."],
	place: ["place in the source", "By directory, file, function and call site." + (noPlaces ? PLACE_HINT : "")],
};

function treesOf(stacks) {
	const kinds = [...(stacks && hasStacks ? ["stack"] : []), "place"];
	if (processes.length)
		kinds.splice(noPlaces ? kinds.length - 1 : kinds.length, 0, "process");
	return kinds;
}

const treeOf = stacks => treesOf(stacks).includes(state.tree) ? state.tree : treesOf(stacks)[0];

const treeChoice = stacks => treesOf(stacks).length > 1 ?
	choice("By", treesOf(stacks).map(kind => [kind, TREES[kind][0]]), treeOf(stacks), tree => go({ tree, zoom: "" })) : null;

// "fs", "ext4", "inode.c", "ext4_alloc_inode", "ext4_alloc_inode+0x1d"
function placeOf(track) {
	const func = track.func || track.label;
	const names = track.folded ? [track.label] : track.path ? [...track.path.split("/"), func] :
		[...(track.module ? ["[" + track.module + "]"] : noPlaces ? [] : ["source not known"]), func];
	if (!track.folded && func !== track.label)
		names.push(track.label);
	return names;
}

// Outermost first. The site replaces the innermost frame, since it says more than its function.
function stackOf(track) {
	if (track.folded)
		return [track.label];
	const names = track.frames.map(number => data.frame_names[number]);
	const site = track.label.split("+")[0];
	const inner = names.findIndex(name => name.split("+")[0] === site);
	return [track.label, ...names.slice(inner + 1).map(name => name.split("+")[0])].reverse();
}

const siteNumber = track => track.by === "stack" ? track.site : track.number;

// "bash", "dentry", "__d_alloc+0x1d". A site that allocates from several caches has one place for all of them.
function ownerOf(process, caches, track) {
	const own = track.folded ? [] : track.links?.cache || [];
	return [process, ...(own.length ? [own.length > 1 ? "several caches" : caches[own[0][0]].label] : []), track.label];
}

/*
 * A node of a tree. All trees of one shape share their nodes, which are made once; what differs between ranges
 * and metrics is their values. list is the children that have any, once somebody asks.
 */
class Branch {
	constructor(name, parent) {
		Object.assign(this, { name, parent, value: 0, children: new Map(), track: null, listed: null });
		this.path = parent ? [...parent.path, name] : [];
	}
	child(name) {
		if (!this.children.has(name))
			this.children.set(name, new Branch(name, this));
		return this.children.get(name);
	}
	clear() {
		this.value = 0;
		this.listed = null;
		this.track = null;
		for (const child of this.children.values())
			child.clear();
	}
	get list() {
		if (!this.listed) {
			this.listed = [];
			for (const child of this.children.values())
				if (child.value)
					this.listed.push(child);
			// A function with a single site is one frame.
			const only = this.listed.length === 1 ? this.listed[0] : null;
			if (this.parent && only && only.track && !only.list.length && only.name.startsWith(this.name)) {
				this.track = only.track;
				this.listed = [];
			}
		}
		return this.listed;
	}
	// The children that are large enough to draw, the largest first. Thousands may be too small; they are not sorted.
	largest(least) {
		return this.list.filter(child => child.value >= least).sort((a, b) => b.value - a.value || (a.name < b.name ? -1 : 1));
	}
}

const shapes = new Map(); // for each kind of tree: its root, and the leaf of every track
whenPicked.push(() => shapes.clear());

const leafOf = (root, names, invert) => (invert ? names.reverse() : names).reduce((node, name) => node.child(name), root);

function shapeOf(invert, kind) {
	const key = `${invert} ${kind}`;
	if (!shapes.has(key)) {
		const root = new Branch("all", null), namesOf = kind === "stack" ? stackOf : placeOf;
		shapes.set(key, { root, leaves: data.by[kind === "stack" ? "stack" : "site"].map(track => leafOf(root, namesOf(track), invert)) });
	}
	return shapes.get(key);
}

function grow(leaf, weight, track) {
	if (!(weight > 0))
		return;
	leaf.track = track;
	for (let node = leaf; node; node = node.parent)
		node.value += weight;
}

/*
 * The page has a few processes of their own. What sites have beyond these belongs to the others. Where a list of sites was
 * cut off, it is not known which ones these are.
 */
function buildOwners(sums, metric, invert) {
	const value = METRICS[metric][1], root = new Branch("all", null);
	const add = (names, weight, track) => weight > 0 && grow(leafOf(root, names, invert), weight, track);
	if (state.process !== null) {
		for (const row of sums.site)
			add(ownerOf(processes[state.process].label, data.by.cache, row.track), value(row), row.track);
		return root;
	}
	const left = new Map(sums.site.map(row => [row.track.label, { row, weight: value(row) }]));
	let cut = sums.site.some(row => row.track.folded), rest = 0;
	processes.forEach(({ label, by }, number) => {
		for (const row of sitesOfProcess(number, sums.from, sums.to)) {
			const weight = value(row), site = left.get(row.track.label);
			cut ||= row.track.folded > 0;
			rest -= weight;
			if (site)
				site.weight -= weight;
			add(ownerOf(label, by.cache, row.track), weight, row.track.folded ? null : site?.row.track);
		}
	});
	if (cut)
		add(["other processes"], sums.site.reduce((sum, row) => sum + value(row), rest), null);
	else
		for (const { row, weight } of left.values())
			add(ownerOf("other processes", data.by.cache, row.track), weight, row.track);
	return root;
}

function buildTree(sums, metric, invert, kind) {
	if (kind === "process")
		return buildOwners(sums, metric, invert);
	const { root, leaves } = shapeOf(invert, kind);
	const value = METRICS[metric][1];
	root.clear();
	for (const row of kind === "stack" ? sums.stack : sums.site)
		grow(leaves[row.track.number], value(row), row.track);
	return root;
}

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

/*
 * Gives the shapes their colours, as the program does: all below a top directory, module or process have its hue. By stack, nearly
 * all have the same root, so the colour is that of the function. Shapes of a row come from left to right.
 */
function colorShapes(list, root, byStack) {
	const rows = [], hues = new Hues(), tops = new Map();
	const row = depth => rows[depth] ??= { hues: new Hues(), odd: false };
	for (const node of byStack ? [] : root.largest(0))
		tops.set(node.name, hues.next(node.name));
	for (const shape of list.filter(one => one.node)) {
		const { path, name } = shape.node, depth = path.length, at = row(depth);
		at.odd = !at.odd;
		shape.tint = !depth ? { fill: "#d8d8d8", ink: "#10151b" } :
			byStack ? tint(at.hues.next(name), 2 + depth % 2, false) : tint(tops.get(path[0]), depth - 1, at.odd);
	}
	return list;
}

const matches = node => state.q && node.name.toLowerCase().includes(state.q.toLowerCase());
const holdsMatch = node => matches(node) || (node.track && node.track.text.includes(state.q.toLowerCase())) || node.list.some(holdsMatch);

function nodeTip(node, root, format) {
	return node.path.join(" › ") + "\n" + format(node.value) + ", " + percent(share(node.value, root.value)) + " of all";
}

function openNode(node) {
	if (node.track && !node.list.length)
		go({ site: siteNumber(node.track) });
	else
		go({ zoom: node.path.join("\n") });
}

function crumbs(node) {
	const path = node.path;
	const parts = [h("button", { type: "button", class: "link", onclick: () => go({ zoom: "" }) }, "all")];
	path.forEach((name, i) => parts.push(" › ", h("button", { type: "button", class: "link",
		onclick: () => go({ zoom: path.slice(0, i + 1).join("\n") }) }, name)));
	return h("div", { class: "crumbs" }, parts);
}

function nodeTable(node, root, metric) {
	const format = METRICS[metric][2];
	return {
		columns: [
			{ key: "name", label: "below " + node.name, kind: "text", class: "label mono", value: child => child.name },
			{ key: "value", label: METRICS[metric][0], value: child => child.value, show: child => format(child.value) },
			{ key: "share", label: "of all", value: child => share(child.value, root.value), show: child => percent(share(child.value, root.value)) },
		],
		rows: node.list, sort: { key: "value", descending: true }, limit: 25, onrow: openNode,
	};
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

// The children as parts of the node's extent. Those too small to be seen are combined into one part at the end.
function partsOf(node, from, to, smallest) {
	const parts = [], drawn = node.largest(smallest / (to - from) * node.value);
	let at = from;
	for (const child of drawn) {
		const extent = (to - from) * child.value / node.value;
		parts.push({ child, from: at, to: at + extent });
		at += extent;
	}
	const folded = node.list.length - drawn.length;
	const whole = from + (to - from) * node.list.reduce((sum, child) => sum + child.value, 0) / node.value;
	if (folded && whole - at > smallest)
		parts.push({ child: null, folded, from: at, to: whole });
	return parts;
}

/*
 * A picture of shapes, each of a node or of many that are too small. The shapes of the range before are used again,
 * since most differ little from frame to frame. draw(element, shape) brings one up to date.
 */
class Shapes {
	constructor(parent, tag, draw, tip) {
		const shapeOf = event => event.target.closest(".shape")?.shape;
		const open = event => shapeOf(event)?.node && openNode(shapeOf(event).node);
		Object.assign(this, { parent, tag, draw, all: [] });
		parent.addEventListener("click", open);
		parent.addEventListener("keydown", event => event.key === "Enter" && open(event));
		parent.addEventListener("pointermove", event => {
			const shape = shapeOf(event);
			showTip(event, !shape ? "" : shape.node ? tip(shape.node) : `${count(shape.folded)} more, too small to show`);
		});
		parent.addEventListener("pointerleave", event => showTip(event, ""));
	}
	show(list) {
		const focused = this.all.find(element => element === document.activeElement)?.shape.node;
		while (this.all.length > list.length)
			this.all.pop().remove();
		while (this.all.length < list.length) {
			this.all.push(this.tag());
			this.parent.append(this.all[this.all.length - 1]);
		}
		list.forEach((shape, i) => {
			const element = this.all[i];
			element.shape = shape;
			setAttribute(element, "tabindex", shape.node ? "0" : null);
			setAttribute(element, "role", shape.node ? "button" : null);
			this.draw(element, shape);
		});
		if (focused)
			this.all.find(element => element.shape.node === focused)?.focus();
	}
}

const emptyTree = () => h("div", { class: "empty" }, "There is nothing to show.");

// --- Flame -----------------------------------------------------------------------------------

const ROW = 25, NARROWEST = 0.0012;

function flameShapes(zoomed) {
	const shapes = [];
	const place = (node, left, width, depth) => {
		shapes.push({ node, left, width, depth });
		for (const { child, folded, from, to } of partsOf(node, left, left + width, NARROWEST))
			if (child)
				place(child, from, to - from, depth + 1);
			else
				shapes.push({ folded, left: from, width: to - from, depth: depth + 1 });
	};
	for (let node = zoomed.parent; node; node = node.parent)
		shapes.unshift({ node, left: 0, width: 1, outer: true });
	shapes.forEach((shape, depth) => { shape.depth = depth; });
	place(zoomed, 0, 1, shapes.length);
	return shapes;
}

function drawFrame(element, { node, left, width, depth, outer, tint: own }, format) {
	const dim = outer || node && state.q && !holdsMatch(node);
	setAttribute(element, "class", "shape frame" + (node ? "" : " folded") + (width < 0.02 ? " narrow" : "") + (dim ? " dim" : "") + (node && matches(node) ? " hit" : ""));
	setText(element, node && width > 0.02 ? node.name + (width > 0.12 && !outer ? "  " + format(node.value) : "") : "");
	setAttribute(element, "aria-label", node ? node.name + ", " + format(node.value) : null);
	Object.assign(element.style, { left: (left * 100).toFixed(3) + "%", width: (width * 100).toFixed(3) + "%", top: depth * ROW + "px",
		background: own ? own.fill : "", color: own ? own.ink : "" });
}

function flameTools(sums, root, kind, format) {
	return [treeChoice(true), metricChoice(sums, kind),
		h("button", { type: "button", "data-key": "invert", "aria-pressed": String(state.invert), onclick: () => go({ invert: !state.invert, zoom: "" }),
			title: "Sites first, then their callers, caches and processes, or files and directories (i)" }, "Invert"),
		h("button", { type: "button", "data-key": "out", onclick: () => go({ zoom: "" }), title: "Esc" }, "Zoom out"), searchSaid(root, format),
		h("span", { class: "soft" }, TREES[kind][1] + " Click a frame to zoom, or a site to see its details.")];
}

function flameView(view) {
	const tools = h("div", { class: "tools" }), trail = h("div"), picture = h("div", { class: "flame" }), none = emptyTree();
	let root, zoomed, metric, format, shownMetric;
	const shapes = new Shapes(picture, () => h("div"), (element, shape) => drawFrame(element, shape, format), node => nodeTip(node, root, format));
	const table = new Table(false);
	const details = h("details", { ontoggle: () => details.open && atOnce(showTable) }, h("summary", {}, "As a table"), table.element);
	const showTable = () => table.show(nodeTable(zoomed, root, metric));
	view.append(card(tools, trail, picture, none, details));
	return [sums => {
		const kind = treeOf(true);
		metric = metricOf(sums, kind);
		format = METRICS[metric][2];
		root = buildTree(sums, metric, state.invert, kind);
		zoomed = findNode(root, zoomPath());
		if (pace === "now" || metric !== shownMetric) {
			replace(tools, flameTools(sums, root, kind, format));
			replace(trail, crumbs(zoomed));
		}
		shownMetric = metric;
		const list = root.value ? colorShapes(flameShapes(zoomed), root, kind === "stack") : [];
		shapes.show(list);
		picture.style.height = (list.reduce((most, shape) => Math.max(most, shape.depth), 0) + 1) * ROW + "px";
		picture.hidden = details.hidden = !root.value;
		none.hidden = Boolean(root.value);
		if (details.open)
			soon(showTable);
	}];
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

// A site is named by its offset, since the ring before it has the function.
const arcName = ({ name, parent }) => name.startsWith(parent.name + "+") ? name.slice(parent.name.length) : name;

// The text of a label and its position; null if there is no room for it.
function arcLabel(name, { from, to, inner, outer, tint: { ink } }) {
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
	return { text, ink, transform: `rotate(${degrees.toFixed(2)}) translate(${radius} 0) rotate(${turn})` };
}

// From the inside to the outside. The width of a ring depends on the number of rings.
function ringShapes(zoomed) {
	const shapes = [];
	const place = (node, start, stop, ring) => {
		for (const { child, folded, from, to } of partsOf(node, start, stop, SMALLEST)) {
			shapes.push({ node: child, folded, from, to, ring });
			if (child && ring + 1 < RINGS)
				place(child, from, to, ring + 1);
		}
	};
	place(zoomed, 0, 2 * Math.PI, 0);
	const width = (RADIUS - HOLE) / shapes.reduce((most, shape) => Math.max(most, shape.ring + 1), 2);
	for (const shape of shapes)
		Object.assign(shape, { inner: HOLE + shape.ring * width, outer: HOLE + (shape.ring + 1) * width - 1 });
	return shapes;
}

function drawArc(element, shape, format) {
	const { node, from, to, inner, outer } = shape;
	setAttribute(element, "class", "shape" + (node ? state.q && !holdsMatch(node) ? " dim" : "" : " folded"));
	setAttribute(element, "d", arcPath(from, to, inner, outer));
	setAttribute(element, "fill", node ? shape.tint.fill : null);
	setAttribute(element, "aria-label", node ? node.name + ", " + format(node.value) : null);
}

function drawArcLabel(element, { text, transform, ink }) {
	setText(element, text);
	element.style.fill = ink;
	setAttribute(element, "transform", transform);
}

function ringsView(view) {
	const tools = h("div", { class: "tools" }), trail = h("div"), none = emptyTree(), table = new Table(false);
	const arcs = svg("g"), texts = svg("g"), name = svg("text", { class: "center", y: -4 }), value = svg("text", { class: "below", y: 18 });
	let root, zoomed, metric, format, shownMetric;
	const up = () => go({ zoom: zoomed.parent ? zoomed.parent.path.join("\n") : "" });
	const picture = h("div", { class: "rings" }, svg("svg", { viewBox: "-320 -320 640 640", role: "group", "aria-label": "Ring chart" },
		arcs, texts, svg("circle", { r: HOLE - 3, onclick: up }), name, value), table.element);
	const shapes = new Shapes(arcs, () => svg("path"), (element, shape) => drawArc(element, shape, format), node => nodeTip(node, root, format));
	const labels = new Shapes(texts, () => svg("text", { "text-anchor": "middle", dy: "0.35em" }), drawArcLabel, () => "");
	const showTable = () => table.show(nodeTable(zoomed, root, metric));
	view.append(card(tools, trail, picture, none));
	return [sums => {
		const kind = treeOf(false);
		metric = metricOf(sums, kind);
		format = METRICS[metric][2];
		root = buildTree(sums, metric, false, kind);
		zoomed = findNode(root, zoomPath());
		if (pace === "now" || metric !== shownMetric) {
			replace(tools, treeChoice(false), metricChoice(sums, kind), searchSaid(root, format),
				h("span", { class: "soft" }, TREES[kind][1] + " Click a ring to zoom in, or the middle to zoom out."));
			replace(trail, crumbs(zoomed));
		}
		shownMetric = metric;
		const list = root.value ? colorShapes(ringShapes(zoomed), root, false) : [];
		shapes.show(list);
		labels.show(list.map(shape => shape.node && arcLabel(arcName(shape.node), shape)).filter(Boolean));
		setText(name, zoomed.name.length > 15 ? zoomed.name.slice(0, 14) + "…" : zoomed.name);
		setText(value, format(zoomed.value));
		picture.hidden = !root.value;
		none.hidden = Boolean(root.value);
		soon(showTable); // after this step, never before: the table shows the same tree
	}];
}
