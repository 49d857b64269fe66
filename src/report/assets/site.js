// SPDX-License-Identifier: LGPL-2.1-only
// One call site in detail, in a panel at the side.

const GROUPING_NAMES = { site: "call site", cache: "cache", size: "size", comm: "process", pid: "pid", cpu: "CPU" };

function definitions(pairs) {
	return h("dl", {}, pairs.flatMap(([term, text, exact]) => [h("dt", {}, term), h("dd", { title: exact }, text)]));
}

// Pids have no tracks, because there may be too many of them.
const pidLabel = number => {
	const [pid, comm] = data.pids[number];
	return (pid === null ? "unknown" : String(pid)) + (comm ? " " + comm : "");
};
const linkLabel = (by, number) => by === "pid" ? pidLabel(number) : data.by[by][number].label;

function linkTable(track, by) {
	const links = (track.links?.[by] || []).map(([number, allocs, size, objects, live]) => ({ label: linkLabel(by, number), allocs, bytes: size, objects, live }));
	const top = links.reduce((most, link) => Math.max(most, link.live), 1);
	return [h("h3", {}, "By " + GROUPING_NAMES[by]), makeTable({
		columns: [
			{ key: "label", label: GROUPING_NAMES[by], kind: "text", value: link => link.label },
			{ key: "live", label: "holds", title: "Bytes that are live at the end of the capture", value: link => link.live, show: link => bytes(link.live), exact: "bytes" },
			{ key: "bar", label: "", kind: "bar", part: link => link.live / top },
			{ key: "objects", label: "live objects", value: link => link.objects },
			{ key: "allocs", label: "allocations", value: link => link.allocs },
			{ key: "bytes", label: "allocated", value: link => link.bytes, show: link => bytes(link.bytes), exact: "bytes" },
		],
		rows: links, onrow: by === "comm" ? link => openProcess(link.label) : undefined,
	})];
}

// The call stacks that lead here, and what they allocated in the range.
function callerTable(track, sums) {
	const rows = sums.stack.filter(row => row.track.site === track.number && row.allocs && !row.track.folded);
	if (!rows.length)
		return null;
	return [h("h3", {}, "By call stack"), makeTable({
		columns: [
			{ key: "stack", label: "callers, innermost first", kind: "text", class: "label", value: row => stackOf(row.track).reverse().slice(1).join(" ← ") },
			{ key: "allocs", label: "allocations", value: row => row.allocs },
			{ key: "bytes", label: "bytes", value: row => row.bytes, show: row => bytes(row.bytes), exact: "bytes" },
			{ key: "live", label: "live", value: row => row.live, show: row => bytes(row.live), exact: "bytes" },
		],
		rows, sort: { key: "bytes", descending: true }, limit: 6,
	})];
}

function sitePlots(track) {
	const live = liveSeries(track), rate = series(track, "bytes");
	const liveTop = Math.max(1, ...live), rateTop = Math.max(1, ...rate);
	const make = (values, top, label, tip) => plot({ height: 90, top, ticks: [0, top], format: bytes, label,
		content: scale => [svg("path", { class: "fill", d: stepPath(values, scale, new Float64Array(values.length)) }),
			svg("path", { class: "stroke", d: stepPath(values, scale) })],
		tip: bucket => moment(bucketTime(bucket)) + "\n" + bytes(values[bucket]) + " " + tip });
	return [h("h3", {}, "Live bytes"), make(live, liveTop, "Live bytes over time", "live"),
		h("h3", {}, "Bytes allocated, by time"), make(rate, rateTop, "Bytes allocated over time", "allocated"), timeAxis()];
}

function siteNumbers(track, row, sums) {
	return [definitions([
		["allocated", bytes(row.bytes), count(row.bytes)], ["allocations", count(row.allocs)],
		["live at the end", bytes(row.live), count(row.live)], ["objects", count(row.objects)],
		["peak", bytes(row.peak), count(row.peak)], ["frees seen", count(row.frees)],
		["wasted, live", bytes(row.liveWaste), count(row.liveWaste)], ["frees implied, by page, by census", `${count(row.implied)}, ${count(row.paged)}, ${count(row.censused)}`],
		["mean lifetime", duration(row.meanLife)], ["temporary", percent(share(row.temporary, row.frees))],
		["frees on another CPU", percent(share(row.cross, row.frees))], ["oldest live", sums.whole && row.objects ? duration(track.oldest) : "–"],
	]),
	row.unseen ? h("p", { class: "note" }, "Most objects of this site end without an event, so its live bytes are an upper limit.") : null];
}

// Parts that cover the whole capture are not redrawn while a range is dragged.
function buildSite(panel, track) {
	const where = [track.path, track.module && "module " + track.module].filter(Boolean).join(", ");
	panel.numbers = h("div");
	panel.callers = h("div");
	replace(panel,
		h("button", { type: "button", class: "close", onclick: () => go({ site: null }), title: "Esc" }, "Close"),
		h("h2", { class: "mono" }, track.label),
		h("p", { class: "soft" }, where || "source file not known: give a kernel tree with -k"),
		panel.numbers, sitePlots(track), panel.callers, objectSection(track),
		track.links ? ["size", "cache", "comm", "pid", "cpu"].map(by => linkTable(track, by)) : null,
		h("p", { class: "note" }, "Sizes, caches, processes, pids and CPUs cover the whole capture: the eight of each that hold most. Everything else covers the range."));
}

function showSite(panel, sums) {
	const track = data.by.site[state.site];
	panel.hidden = !track;
	if (panel.track !== track && track)
		buildSite(panel, track);
	panel.track = track;
	if (!track)
		return;
	replace(panel.numbers, siteNumbers(track, rowsOf("site", sums.from, sums.to)[track.number], sums));
	replace(panel.callers, callerTable(track, sums));
}
