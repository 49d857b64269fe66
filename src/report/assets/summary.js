// SPDX-License-Identifier: LGPL-2.1-only
// The summary: how good the capture is, notable facts in words, and the most important sites.

const quality = name => data.quality.find(q => q.name === name)?.value || 0;

const siteLink = track => h("button", { type: "button", class: "link mono", onclick: () => openSite({ track }) }, track.label);

// --- Quality ---------------------------------------------------------------------------------

// "good", "fair" or "bad", and why.
function verdict() {
	if (data.quality.some(q => q.loss && q.value))
		return ["bad", "events were lost"];
	if (quality("unparsed") || quality("impossible") || quality("backwards") || quality("unpairable") || data.hashed || data.some_tasks)
		return ["fair", "complete, with reservations"];
	return ["good", "complete"];
}

function qualityFindings() {
	const list = [];
	const [level] = verdict();
	const lost = quality("lost_events") + quality("overwritten");
	if (level === "bad")
		list.push(["!", [`The capture lost ${lost ? count(lost) + " events" : "events"}: all sums are too low, and live bytes may include objects whose free was lost. `,
			"Record with larger buffers or fewer events."]]);
	else
		list.push(["✓", [`No event was lost: ${many(data.events_total, "event")}${spanText(" in ")}.`]]);
	if (quality("unparsed"))
		list.push(["?", [`${count(quality("unparsed"))} lines or records were not understood and are left out.`]]);
	if (data.hashed)
		list.push(["?", ["The kernel hashed the addresses: a few objects may be confused with others."]]);
	if (data.some_tasks)
		list.push(["?", ["Only some processes were recorded: frees by interrupts and kernel threads on their behalf are not seen, so live bytes are an upper limit."]]);
	if (data.pages_unplaced)
		list.push(["?", ["Page events name no call site, and these have no stack traces: GFP flags stand for sites. record --stack gives sites."]]);
	if (data.kernel_slab_bytes && !data.filtered && state.process === null && data.level === "slab")
		list.push(["·", [`${bytes(Math.min(liveSeries(data.total).at(-1), data.kernel_slab_bytes))} of the ${bytes(data.kernel_slab_bytes)} that the kernel had in slabs at the end were allocated during the capture; the others are from before.`]]);
	if (data.live_least !== undefined && state.process === null)
		list.push(["·", [data.live_above ? `Events were lost, so live bytes may be more or less than shown, and the peak is at least ${bytes(data.peak_least)}.`
			: `Some objects ended unseen: live bytes are at least ${bytes(data.live_least)}, and the peak is at least ${bytes(data.peak_least)}.`]]);
	if (quality("frees_before"))
		list.push(["·", [many(quality("frees_before"), "free") + (quality("frees_before") === 1 ? " was of an object" : " were of objects") + " allocated before the capture. This changes no number here."]]);
	return list;
}

// --- What stands out -------------------------------------------------------------------------

const STRONG = 0.2; // evidence that is worth a word

// What the analysis has most evidence of a leak for; what the kernel keeps because it may is never among them.
function growingSites(sums) {
	return leaksIn(sums, "sites").filter(row => !row.track.folded && row.kept >= 8 && verdictOf(row).evidence >= STRONG)
		.sort((a, b) => verdictOf(a).place - verdictOf(b).place).slice(0, 4);
}

function leakFindings(growing, sums) {
	const total = sums.total.keptBytes;
	return growing.map(row => ["!", [siteLink(row.track),
			` keeps growing: ${bytes(row.keptBytes)} in ${many(row.kept, "object")} that ${row.verdict ? holderName(row.verdict) : "it"} allocated are still live, ` +
			`${percent(share(row.keptBytes, total))} of all bytes that stay live` + (row.verdict ? ". " : `; most evidence is for ${holderName(verdictOf(row))}. `) +
			(row.frees ? `Of ${count(row.allocs)} allocations, ${count(row.frees)} ${row.frees === 1 ? "was" : "were"} freed` : "None was freed") +
			` in ${duration(rangeTime(sums))}, and it grew in ${percent(grewIn(row, sums))} of that time.`]]);
}

function holderFinding(sums, growing) {
	const row = greatest(sums.site.filter(r => !r.track.folded), r => r.live, 1)[0];
	if (!row || share(row.live, sums.total.live) < 0.1 || growing.some(other => other.track === row.track))
		return [];
	return [["·", [siteLink(row.track), ` holds ${percent(share(row.live, sums.total.live))} of the live bytes, ${bytes(row.live)} in ${many(row.objects, "object")}` +
		(row.unseen ? ". Most of its frees raise no event, so this is an upper limit." :
			`. ${timed ? `In ${duration(rangeTime(sums))} it` : "It"} allocated ${count(row.allocs)} objects, and ${row.frees ? count(row.frees) : "none"} ${row.frees > 1 ? "were" : "was"} freed.`)]]];
}

function peakFinding(sums) {
	if (!timed || !sums.whole || !data.peak_bytes)
		return [];
	const makers = greatest(data.by.site.filter(track => !track.folded), track => track.at_peak, 3);
	const parts = [`The peak of ${bytes(data.peak_bytes)} came at ${moment(data.peak_at)}. At that time, `];
	makers.forEach((track, i) => parts.push(i ? i === makers.length - 1 ? " and " : ", " : "", siteLink(track),
		` had ${percent(share(track.at_peak, data.peak_bytes))}`));
	return [["·", [...parts, "."]]];
}

function wasteFinding(sums) {
	const row = greatest(sums.site, r => r.waste, 1)[0];
	if (!row || !(row.waste > 0))
		return [];
	return [["·", [`${percent(share(sums.total.waste, sums.total.bytes))} of all bytes allocated were not requested. The site that wastes most is `, siteLink(row.track),
		`: ${bytes(row.waste)}, ${percent(share(row.waste, row.bytes))} of what it allocated.`]]];
}

function temporaryFinding(sums) {
	const row = greatest(sums.site, r => r.temporary, 1)[0];
	if (!row || !sums.total.temporary || data.clock !== "seconds" || !timed)
		return [];
	return [["·", [`${percent(share(sums.total.temporary, sums.total.frees))} of the frees came within ${round(duration(data.temporary_below))} of the allocation; `,
		siteLink(row.track), ` made ${percent(share(row.temporary, sums.total.temporary))} of these temporary objects.`]]];
}

function crossFinding(sums) {
	const row = greatest(sums.site, r => r.cross, 1)[0];
	if (!row || share(sums.total.cross, sums.total.frees) < 0.01)
		return [];
	return [["·", [`${percent(share(sums.total.cross, sums.total.frees))} of the frees were on a CPU other than that of the allocation, most often for objects of `, siteLink(row.track), "."]]];
}

function unseenFinding(sums) {
	const rows = sums.site.filter(row => row.unseen && row.live);
	if (!rows.length)
		return [];
	const live = rows.reduce((sum, row) => sum + row.live, 0);
	return [["?", [`${count(rows.length)} ${rows.length === 1 ? "site frees" : "sites free"} most objects without an event (in bulk, or by RCU). Their ${bytes(live)} of live bytes are an upper limit, and are left out of the leaks.`]]];
}

// A second free is usually caused by an allocation that raised no event, so it is one line with a question mark.
function misuseFindings() {
	const sure = data.findings.filter(f => f.what === "cache_free_of_kmalloc" || f.what === "short_allocs").slice(0, 5).map(f => ["!", [
		`${count(f.count)} × ${data.quality.find(q => q.name === f.what).text}: allocated in `, h("span", { class: "mono" }, f.alloc_site || "unknown"),
		", freed in ", h("span", { class: "mono" }, f.free_site || "unknown"), ` (first at ${moment(f.first)}).`]]);
	const twice = quality("second_frees");
	return twice ? [...sure, ["?", [`${count(twice)} times an address was freed twice in a row: double frees, or allocations that raised no event. `,
		h("a", { href: "#quality" }, "Capture quality"), " lists both sites."]]] : sure;
}

const findingList = list => h("ul", { class: "findings" }, list.map(([mark, content]) => h("li", { "data-mark": mark }, content)));

// --- The view --------------------------------------------------------------------------------

// A card with the name of a number; show() fills in the number.
function numberCard(name) {
	const big = h("div", { class: "big", "data-number": name }), below = h("div", { class: "soft" });
	const element = h("div", { class: "card" }, h("div", { class: "name" }, name), big, below);
	return { element, show(value, text, said) {
		setText(big, text);
		setText(below, said);
		setAttribute(big, "data-value", String(value));
		setAttribute(big, "title", count(value));
		return element;
	} };
}

function topSites(title, text, value) {
	const table = new Table(false);
	return { element: card(h("h2", {}, title), table.element), show(sums) {
		const rows = greatest(sums.site, value, 8).filter(row => value(row) > 0);
		const top = rows.length ? value(rows[0]) : 1;
		table.show({ rows, onrow: openSite, columns: [labelColumn("site"),
			{ key: "value", label: text, value, show: row => bytes(value(row)), exact: "bytes" },
			{ key: "bar", label: "", kind: "bar", part: row => value(row) / top }] });
	} };
}

function machineFacts() {
	const machine = [data.machine, data.cpu_count && `${data.cpu_count} CPU${data.cpu_count === 1 ? "" : "s"}`].filter(Boolean).join(", ");
	const facts = [["Kernel", data.kernel || "unknown"], ["Machine", machine || "unknown"], ["Capture", `${data.name}, ${data.format}`], ["Time", timed ? duration(data.span) : "unknown"]];
	return h("div", { class: "card facts" }, facts.map(([name, text]) => h("span", {}, h("span", { class: "soft" }, name), " ", h("span", { class: "fact" }, text))));
}

function captureFacts() {
	const events = Object.entries(data.events).filter(([, n]) => n).map(([name, n]) => `${count(n)} ${name}`).join(", ");
	return h("p", { class: "note" }, `${data.name}: ${data.format}${spanText(", ")}, ${many(data.events_total, "event")} (${events}), ` +
		`${many(data.by.site.length, "call site")}, ${many(data.by.cache.length, "cache")}. ` +
		(data.level === "pages" ? "This report covers the page allocator." : "This report covers the slab allocator."));
}

const NUMBERS = [
	["Live at the end", total => [total.live, bytes(total.live), many(total.objects, "object")]],
	["Peak", (total, sums) => [total.peak, bytes(total.peak), !timed ? "no times are known" : sums.whole ? "at " + moment(data.peak_at) : "in this range"]],
	["Allocated", (total, sums) => [total.bytes, bytes(total.bytes), rateText(total.bytes, sums, bytes)]],
	["Allocations", (total, sums) => [total.allocs, short(total.allocs), rateText(total.allocs, sums, short)]],
	["Frees seen", total => [total.frees, short(total.frees), count(total.implied + total.paged + total.censused) + " more ends unseen"]],
	["Wasted, live", total => [total.liveWaste, bytes(total.liveWaste), percent(share(total.liveWaste, total.live)) + " of live bytes"]],
];

function standsOut(sums) {
	const growing = growingSites(sums);
	const list = [...diffFindings(), ...leakFindings(growing, sums), ...holderFinding(sums, growing), ...peakFinding(sums), ...misuseFindings(),
		...unseenFinding(sums), ...wasteFinding(sums), ...temporaryFinding(sums), ...crossFinding(sums), ...objectFindings()];
	return list.length ? findingList(list) : h("div", { class: "empty" }, nothingText());
}

function summaryView(view) {
	const cards = NUMBERS.map(([name]) => numberCard(name)), findings = h("div");
	const live = topSites("Most live bytes", "live", row => row.live), allocated = topSites("Most bytes allocated", "allocated", row => row.bytes);
	view.append(card(h("h2", {}, "Capture quality"), findingList(qualityFindings())), machineFacts(),
		h("div", { class: "cards" }, cards.map(one => one.element)), card(h("h2", {}, "What stands out"), findings),
		h("div", { class: "two" }, live.element, allocated.element), captureFacts());
	return [
		sums => NUMBERS.forEach(([, numbers], i) => cards[i].show(...numbers(sums.total, sums))),
		sums => live.show(sums), sums => allocated.show(sums), sums => replace(findings, standsOut(sums)),
	];
}
