// SPDX-License-Identifier: LGPL-2.1-only
// The state of the page, which is kept in its address; tabs and keys.

const TABS = heapAlone() ? HEAP_TABS : [
	["summary", "Summary", summaryView], ["sites", "Sites", sitesView], ["flame", "Flame", flameView], ["rings", "Rings", ringsView],
	["timeline", "Timeline", timelineView], ["leaks", "Leaks", leaksView], ["fragmentation", "Fragmentation", fragmentationView],
	["lifetimes", "Lifetimes", lifetimesView], ["cpu", "CPU", cpuView], ...(kmap ? [["objects", "Objects", objectsView]] : []), ...(diff ? [["diff", "Diff", diffView]] : []), ...HEAP_TABS, ["quality", "Capture quality", qualityView],
];
const NUMBERED = TABS.filter(([id]) => heapAlone() || !["objects", "diff", "heap", "heapdiff"].includes(id)); // there are only ten digit keys

const DEFAULTS = { tab: TABS[0][0], from: 0, to: data.buckets, q: "", sort: {}, site: null, metric: "at_peak", by: "site", unit: "objects", tree: "stack", zoom: "", invert: false,
	level: "", process: null, heat: "accesses", object: null, code: null, measure: "live", normal: "none", change: "", type: null, struct: null };

const WHOLE = { from: 0, to: data.buckets };

let state = { ...DEFAULTS };
let currentSums = null;
let steps = []; // of the current view: each updates a part of it
let shownTab = null;
let shownProcess = null;
let updateStrip = null;

const isWhole = () => state.from === 0 && state.to === data.buckets;

// --- State and address -----------------------------------------------------------------------

function readHash() {
	const [tab, query] = location.hash.slice(1).split("?");
	const read = new URLSearchParams(query || "");
	const next = { ...DEFAULTS, tab: TABS.some(([id]) => id === tab) ? tab : DEFAULTS.tab };
	for (const key of ["q", "metric", "by", "unit", "tree", "zoom", "level", "heat", "measure", "normal", "change"])
		if (read.has(key))
			next[key] = read.get(key);
	const number = (key, low, high, otherwise) => {
		const value = parseInt(read.get(key), 10);
		return value >= low && value <= high ? value : otherwise;
	};
	next.process = number("process", 0, processes.length - 1, null);
	next.from = number("from", 0, data.buckets - 1, 0);
	next.to = number("to", next.from + 1, data.buckets, data.buckets);
	next.site = number("site", 0, (next.process === null ? everybody : processes[next.process]).by.site.length - 1, null);
	next.object = number("object", 0, kmap ? kmap.sites.length - 1 : -1, null);
	next.code = number("code", 0, kmap ? kmap.codes.length - 1 : -1, null);
	next.struct = number("struct", 0, structs.length - 1, null);
	next.type = number("type", 0, heap ? heap.types.length - 1 : -1, null);
	next.invert = read.get("invert") === "1";
	next.sort = {};
	for (const text of read.getAll("sort")) {
		const [id, key, direction] = text.split(":");
		if (id && key)
			next.sort[id] = { key, descending: direction !== "up" };
	}
	return next;
}

function writeHash(keep) {
	const query = new URLSearchParams();
	for (const key of ["process", "from", "to", "q", "metric", "by", "unit", "tree", "zoom", "site", "level", "heat", "object", "code", "measure", "normal", "change", "type", "struct"])
		if (state[key] !== DEFAULTS[key] && state[key] !== null)
			query.set(key, state[key]);
	if (state.invert)
		query.set("invert", "1");
	for (const [id, sort] of Object.entries(state.sort))
		query.append("sort", `${id}:${sort.key}:${sort.descending ? "down" : "up"}`);
	const text = query.toString();
	const hash = "#" + state.tab + (text ? "?" + text : "");
	if (hash !== location.hash)
		history[keep ? "pushState" : "replaceState"](null, "", hash);
}

// A change is shown at once ("now"), unless it is one of many changes during a drag ("drag"), or the end of a drag ("settle").
function go(changes, how = "now") {
	const tabChanges = changes.tab && changes.tab !== state.tab;
	if (changes.process !== undefined && changes.process !== state.process && state.site !== null && changes.site === undefined)
		changes = { ...changes, site: sameSite(changes.process) };
	Object.assign(state, changes);
	if (how !== "drag") // browsers limit the rate of changes of the address
		writeHash(tabChanges);
	pace = how;
	if (how === "now")
		render();
	else
		askForFrame();
	stale = how !== "now";
}

// The number of the site in the details, which each process counts by itself; null where the process does not use it.
function sameSite(process) {
	const label = data.by.site[state.site].label;
	const number = (process === null ? everybody : processes[process]).by.site.findIndex(site => site.label === label);
	return number < 0 ? null : number;
}

// --- Frames ----------------------------------------------------------------------------------

const FRAME_WORK = 2; // milliseconds; the browser needs the rest of a frame for the layout

let pace = "now";
let stale = false; // the range moved since the last frame
let asked = false;
let begun = false; // a drag has begun: its first frame lays out the tables without the rows that are out of sight
const due = new Set(); // steps that must run for the new range
const whenIdle = new Set(); // work that can wait until the range stops changing: rows that are out of sight

// Work that belongs to a step and may run in a later frame.
function soon(step) {
	if (pace === "now")
		step();
	else
		due.add(step);
}

function later(step) {
	whenIdle.add(step);
	askForFrame();
}

function askForFrame() {
	document.documentElement.dataset.busy = "yes";
	if (!asked)
		requestAnimationFrame(onFrame);
	asked = true;
}

// Steps that waited run first, so that each one runs eventually, however fast the range changes.
function onFrame() {
	const end = performance.now() + FRAME_WORK;
	const work = set => {
		for (const step of set) { // at least one step
			set.delete(step);
			step();
			if (performance.now() > end)
				return;
		}
	};
	asked = false;
	if (stale) {
		stale = false;
		setRange();
		updateStrip();
		steps.forEach(step => due.add(step));
	} else if (!due.size)
		work(whenIdle);
	if (!begun)
		work(due);
	begun = false;
	if (due.size || whenIdle.size)
		return askForFrame();
	delete document.documentElement.dataset.busy;
	if (pace === "settle")
		pace = "now";
}

function beginDrag() {
	begun = true;
	const tables = [...byId("view").querySelectorAll("tbody")].map(body => body.table).filter(Boolean);
	tables.map(table => table.hold()).forEach(leaveOut => leaveOut());
}

// Runs a function that draws, and all work that it defers.
function atOnce(draw) {
	const before = pace;
	pace = "now";
	draw();
	pace = before;
}

// --- Drawing ---------------------------------------------------------------------------------

function setProcess() {
	if (shownProcess === state.process)
		return;
	shownProcess = state.process;
	pickProcess(state.process);
	currentSums = null;
	shownTab = null; // views are built for what they show
	byId("panel").track = null;
	updateStrip = makeStrip();
}

function setRange() {
	if (!currentSums || currentSums.from !== state.from || currentSums.to !== state.to)
		currentSums = sumRange(state.from, state.to);
}

function showTab() {
	const view = byId("view");
	shownTab = state.tab;
	view.replaceChildren();
	steps = TABS.find(([id]) => id === state.tab)[2](view).map(step => () => step(currentSums));
	steps.push(showPanel);
	view.setAttribute("aria-labelledby", "tab-" + state.tab);
	view.dataset.title = TABS.find(([id]) => id === state.tab)[1]; // for printing, where there are no tabs
	scrollTo(0, 0);
	for (const button of byId("tabs").children) {
		const selected = button.id === "tab-" + state.tab;
		button.setAttribute("aria-selected", String(selected));
		button.tabIndex = selected ? 0 : -1;
		if (selected)
			button.scrollIntoView({ block: "nearest", inline: "nearest" });
	}
}

// The panel takes the focus when it opens, and returns it when it closes.
function showPanel() {
	const panel = byId("panel"), wasHidden = panel.hidden;
	showSite(panel, currentSums);
	showObject(panel);
	showType(panel);
	if (wasHidden && !panel.hidden) {
		panel.opener = document.activeElement;
		panel.querySelector(".close").focus({ preventScroll: true });
	} else if (!wasHidden && panel.hidden)
		panel.opener?.focus({ preventScroll: true });
}

function render() {
	pace = "now";
	stale = false;
	due.clear();
	whenIdle.clear();
	setProcess();
	setRange();
	if (shownTab !== state.tab)
		showTab();
	if (byId("search").value !== state.q)
		byId("search").value = state.q;
	updateStrip();
	showWho();
	steps.forEach(step => step());
}

// --- Processes -------------------------------------------------------------------------------

// The process that the text of the search is about, if there is exactly one.
function searchedProcess() {
	const text = state.q.toLowerCase();
	const found = text ? processes.map((process, i) => i).filter(i => processes[i].label.toLowerCase().includes(text)) : [];
	const same = found.filter(i => processes[i].label.toLowerCase() === text);
	return same.length === 1 ? same[0] : found.length === 1 ? found[0] : null;
}

// Who is shown: all, or one process; and what the search offers.
function showWho() {
	const names = processes.map(({ label }, i) => [String(i), label]), found = searchedProcess();
	const pick = process => go({ process, q: "", zoom: "" });
	if (!processes.length)
		return;
	replace(byId("who"), found !== null && found !== state.process ?
		h("button", { type: "button", class: "link", "data-key": "found", title: "Enter", onclick: () => pick(found) }, `only ${processes[found].label} ↵`) : null,
	choice("process", [["", "all"], ...names], state.process === null ? "" : String(state.process), value => pick(value === "" ? null : Number(value))));
	byId("who").classList.toggle("picked", state.process !== null);
}

// --- Theme -----------------------------------------------------------------------------------

const darkWanted = matchMedia("(prefers-color-scheme: dark)");

function setTheme(theme) {
	document.documentElement.dataset.theme = theme;
}

function toggleTheme() {
	setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
}

// --- Keys ------------------------------------------------------------------------------------

const KEYS = [["1 … 9, 0", "the views, in order"], ["/", "search"], ["[  ]", "move the range"], ["{  }", "move its end"], ...(kmap ? [["o", "objects of the access map"]] : []), ...(diff ? [["d", "what changed since the other capture"]] : []), ...(heap ? [["h", "the heap"]] : []), ["Esc", "close, zoom out, show the whole capture, or all processes"],
	["i", "invert the flame graph"], ["t", "light or dark"], ["↑  ↓", "the previous or the next row"], ["Enter", "open the row or frame that has the focus"], ["?", "these keys"]];

function showKeys() {
	const dialog = byId("keys");
	replace(dialog, h("h2", {}, "Keys"), h("table", {}, h("tbody", {}, KEYS.map(([key, text]) => h("tr", {}, h("td", {}, h("kbd", {}, key)), h("td", {}, text))))),
		h("p", { class: "more" }, h("button", { type: "button", onclick: () => dialog.close() }, "Close")));
	dialog.showModal();
}

function escape() {
	if (state.site !== null || state.object !== null || state.code !== null || state.type !== null)
		go({ site: null, object: null, code: null, type: null });
	else if (state.q)
		go({ q: "" });
	else if (state.zoom && ["flame", "rings", "heap"].includes(state.tab))
		go({ zoom: "" });
	else if (!isWhole() || state.process === null)
		go(WHOLE);
	else
		go({ process: null, zoom: "" });
}

function onKey(event) {
	if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open)
		return;
	const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
	if (event.key === "Escape") {
		event.target.blur?.();
		escape();
		return;
	}
	if (typing)
		return;
	const step = Math.max(1, Math.round(data.buckets / 40));
	const actions = {
		"/": () => byId("search").select(), "t": toggleTheme, "?": showKeys, "i": () => go({ invert: !state.invert, zoom: "" }),
		"[": () => moveRange(-step, false), "]": () => moveRange(step, false), "{": () => moveRange(-step, true), "}": () => moveRange(step, true),
	};
	if (/^[0-9]$/.test(event.key))
		go({ tab: NUMBERED[(Number(event.key) + 9) % 10]?.[0] || state.tab });
	else if (event.key === "o" && kmap)
		go({ tab: "objects" });
	else if (event.key === "d" && diff)
		go({ tab: "diff" });
	else if (event.key === "h" && heap)
		go({ tab: "heap" });
	else if (actions[event.key])
		actions[event.key]();
	else
		return;
	event.preventDefault();
}

function onTabKey(event) {
	const step = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
	if (!step)
		return;
	const at = (TABS.findIndex(([id]) => id === state.tab) + step + TABS.length) % TABS.length;
	go({ tab: TABS[at][0] });
	byId("tab-" + state.tab).focus();
}

// --- Start -----------------------------------------------------------------------------------

function start() {
	const [level, text] = heapAlone() ? ["", "of a heap"] : verdict();
	document.title = data.name + " – kmemscope";
	byId("name").textContent = data.name;
	byId("badge").textContent = heapAlone() ? "snapshot " + text : level === "bad" ? text : "capture " + text;
	byId("badge").setAttribute("href", heapAlone() ? "#heap" : "#quality");
	byId("strip").hidden = heapAlone(); // there is no time
	if (heapAlone())
		byId("search").setAttribute("placeholder", "Search types  /");
	byId("badge").className = level;
	setTheme(darkWanted.matches ? "dark" : "light");
	darkWanted.addEventListener("change", () => setTheme(darkWanted.matches ? "dark" : "light"));
	byId("theme").addEventListener("click", toggleTheme);
	byId("help").addEventListener("click", showKeys);
	byId("tabs").append(...TABS.map(([id, name]) => h("button", { type: "button", id: "tab-" + id, role: "tab", "aria-controls": "view", onclick: () => go({ tab: id, zoom: "" }) }, name)));
	byId("tabs").addEventListener("keydown", onTabKey);
	byId("search").addEventListener("input", () => go({ q: byId("search").value }));
	byId("search").addEventListener("keydown", event => {
		if (event.key === "Enter" && searchedProcess() !== null)
			go({ process: searchedProcess(), q: "", zoom: "" });
	});
	document.addEventListener("keydown", onKey);
	addEventListener("hashchange", () => {
		state = readHash();
		render();
	});
	addEventListener("popstate", () => {
		state = readHash();
		render();
	});
	new ResizeObserver(() => document.documentElement.style.setProperty("--head", document.querySelector("header").offsetHeight + "px"))
		.observe(document.querySelector("header"));
	updateStrip = makeStrip();
	state = readHash();
	render();
	document.documentElement.dataset.ready = "yes";
}

start();
