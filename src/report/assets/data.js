// SPDX-License-Identifier: LGPL-2.1-only
// The data of the report: unpacks the columns, and adds them up over any range of time buckets.

const data = JSON.parse(document.getElementById("data").textContent);

// The columns of a track's cells, in the order in which they are written.
const COLUMNS = ["bucket", "allocs", "unpaired", "frees", "implied", "paged", "censused", "temporary", "cross", "kept",
	"bytes", "waste", "ended", "endedWaste", "temporaryBytes", "keptBytes", "life", "peak"];
const SUMMED = ["allocs", "unpaired", "frees", "implied", "paged", "censused", "temporary", "cross", "kept", "bytes",
	"waste", "temporaryBytes", "keptBytes", "life"];

const GROUPINGS = ["site", "cache", "size", "comm", "cpu"];
const TRACKS = [...GROUPINGS, "stack"]; // the flame graph and the details of a site use stacks

const hasStacks = data.by.stack.length > 0;

// --- Tracks ----------------------------------------------------------------------------------

/*
 * The tracks of one grouping. The cells of all of them lie one behind the other in one array for each column:
 * a range is added up for thousands of tracks in every frame while it is dragged, and then memory is what takes
 * the time. What was summed up to and with each cell is worked out once, so that any range is a difference.
 */
class Grouping {
	constructor(raw, by) {
		this.from = this.to = -1;
		this.columns = new Map(); // sums over a range: a number for each track, computed on first use
		this.fresh = new Set(); // the names of the columns that were computed for the current range
		this.start = new Int32Array(raw.length + 1);
		raw.forEach((one, i) => this.start[i + 1] = this.start[i] + one.cells[0].length);
		this.cells = {};
		COLUMNS.forEach((name, i) => this.cells[name] = this.gather(raw, i));
		this.tracks = raw.map((one, i) => new Track(one, i, by, this));
		this.rows = this.tracks.map(track => new Row(track, this));
		this.sums = Object.fromEntries(SUMMED.map(name => [name, this.sumUp(i => this.cells[name][i])]));
		const { bytes, ended, waste, endedWaste, allocs, unpaired, frees, implied, paged, censused } = this.cells;
		this.liveAfter = this.sumUp(i => bytes[i] - ended[i]);
		this.wasteAfter = this.sumUp(i => waste[i] - endedWaste[i]);
		this.objectsAfter = this.sumUp(i => allocs[i] - unpaired[i] - frees[i] - implied[i] - paged[i] - censused[i]);
		this.findCells();
	}
	gather(raw, column) {
		const all = new Float64Array(this.start[raw.length]);
		raw.forEach((one, i) => { if (one.cells[column] !== 0) all.set(one.cells[column], this.start[i]); });
		return all;
	}
	sumUp(value) {
		const sums = new Float64Array(this.start[this.tracks.length]);
		for (let track = 0; track < this.tracks.length; track++)
			for (let i = this.start[track], sum = 0; i < this.start[track + 1]; i++)
				sums[i] = sum += value(i);
		return sums;
	}
	// By bucket and track: the first cell at or after the bucket.
	findCells() {
		const n = this.tracks.length, { bucket } = this.cells;
		this.cellAt = new Int32Array((data.buckets + 1) * n);
		for (let track = 0; track < n; track++)
			for (let b = 0, i = this.start[track]; b <= data.buckets; b++) {
				while (i < this.start[track + 1] && bucket[i] < b)
					i++;
				this.cellAt[b * n + track] = i;
			}
	}
	setRange(from, to) {
		if (this.from === from && this.to === to)
			return;
		Object.assign(this, { from, to });
		this.fresh.clear();
	}
	// The value of a running sum at the start of the bucket.
	at(series, bucket, into) {
		const n = this.tracks.length;
		for (let track = 0; track < n; track++) {
			const i = this.cellAt[bucket * n + track];
			into[track] = i > this.start[track] ? series[i - 1] : 0;
		}
		return into;
	}
	peaks(into) {
		const n = this.tracks.length, { peak } = this.cells, before = this.column("liveBefore"), after = this.column("live");
		for (let track = 0; track < n; track++) {
			let top = Math.max(after[track], before[track]);
			for (let i = this.cellAt[this.from * n + track]; i < this.cellAt[this.to * n + track]; i++)
				top = Math.max(top, peak[i]);
			into[track] = top;
		}
	}
	differences(series, into) {
		const n = this.tracks.length, { start, cellAt } = this, from = this.from * n, to = this.to * n;
		for (let track = 0; track < n; track++) {
			const first = cellAt[from + track], last = cellAt[to + track], begin = start[track];
			into[track] = last > first ? series[last - 1] - (first > begin ? series[first - 1] : 0) : 0;
		}
	}
	work(name, into) {
		switch (name) {
		case "live": return this.at(this.liveAfter, this.to, into);
		case "liveBefore": return this.at(this.liveAfter, this.from, into);
		case "objects": return this.at(this.objectsAfter, this.to, into);
		case "liveWaste": return this.at(this.wasteAfter, this.to, into).forEach((waste, i) => into[i] = Math.max(0, waste));
		case "peak": return this.peaks(into);
		default: return this.differences(this.sums[name], into);
		}
	}
	// The arrays are reused for the next range: new arrays in every frame would be a lot of garbage.
	column(name) {
		if (!this.fresh.has(name)) {
			if (!this.columns.has(name))
				this.columns.set(name, new Float64Array(this.tracks.length));
			this.fresh.add(name);
			this.work(name, this.columns.get(name));
		}
		return this.columns.get(name);
	}
}

class Track {
	constructor(raw, number, by, grouping) {
		Object.assign(this, { func: "", module: "", path: "", folded: 0 }, raw, { number, by, grouping, cells: null });
		this.text = [this.label, this.path, this.module].filter(Boolean).join(" ").toLowerCase();
	}
	part(series) { return series.subarray(this.grouping.start[this.number], this.grouping.start[this.number + 1]); }
	get bucket() { return this.part(this.grouping.cells.bucket); }
	get liveAfter() { return this.part(this.grouping.liveAfter); }
	series(name) { return this.part(this.grouping.cells[name]); }
}

// One track over the range of its grouping. "live" is what is live at the end of the range.
class Row {
	constructor(track, grouping) {
		this.track = track;
		this.grouping = grouping;
	}
	number(name) { return this.grouping.column(name)[this.track.number]; }
	get grown() { return this.live - this.liveBefore; }
	get ended() { return this.frees + this.implied + this.paged + this.censused; }
	get seen() { return this.ended ? this.frees / this.ended : null; }
	get meanLife() { return this.frees ? this.life / this.frees : null; }
	get unseen() { return this.implied + this.paged + this.censused > this.frees; }
}

for (const name of [...SUMMED, "live", "liveBefore", "objects", "liveWaste", "peak"])
	Object.defineProperty(Row.prototype, name, { get() { return this.number(name); } });

let groupings = {};

function unpack() {
	groupings = { all: new Grouping([data.total], "all") };
	data.total = groupings.all.tracks[0];
	for (const by of TRACKS) {
		groupings[by] = new Grouping(data.by[by], by);
		data.by[by] = groupings[by].tracks;
	}
	data.tenths = Math.min(10, data.buckets);
}

function rowsOf(by, from, to) {
	groupings[by].setRange(from, to);
	return groupings[by].rows;
}

// The rows with the greatest values, greatest first; among equal rows, those that come first. One pass: most rows are
// only compared with the last of the rows kept so far.
function greatest(rows, value, limit) {
	const kept = [], values = [];
	for (const row of rows) {
		const n = value(row);
		if (kept.length === limit && !(n > values[limit - 1]))
			continue;
		let at = kept.length;
		while (at > 0 && values[at - 1] < n)
			at--;
		kept.splice(at, 0, row);
		values.splice(at, 0, n);
		kept.length = values.length = Math.min(kept.length, limit);
	}
	return kept;
}

// Everything that the views show, for the range.
function sumRange(from, to) {
	const sums = { from, to, whole: from === 0 && to === data.buckets, total: rowsOf("all", from, to)[0] };
	for (const by of TRACKS)
		Object.defineProperty(sums, by, {
			configurable: true,
			get() { // computed when a view first uses it
				const grouping = groupings[by], all = rowsOf(by, from, to);
				const [allocs, frees, implied, paged, censused, live] = ["allocs", "frees", "implied", "paged", "censused", "live"].map(name => grouping.column(name));
				const rows = all.filter((_, i) => allocs[i] || frees[i] || implied[i] || paged[i] || censused[i] || live[i]);
				Object.defineProperty(sums, by, { value: rows });
				return rows;
			},
		});
	return sums;
}

// Live bytes at the end of every bucket.
function liveSeries(track) {
	const series = new Float64Array(data.buckets), buckets = track.bucket, after = track.liveAfter;
	let cell = 0, live = 0;
	for (let bucket = 0; bucket < data.buckets; bucket++) {
		if (buckets[cell] === bucket)
			live = after[cell++];
		series[bucket] = live;
	}
	return series;
}

// A column, bucket by bucket.
function series(track, name) {
	const values = new Float64Array(data.buckets), column = track.series(name);
	track.bucket.forEach((bucket, i) => values[bucket] = column[i]);
	return values;
}

// The number of tenths of the range in which objects were allocated that are still live. A leak has them in all tenths.
function tenthsKept(track, from, to) {
	const tenths = new Set(), kept = track.series("kept");
	track.bucket.forEach((bucket, i) => {
		if (kept[i] && bucket >= from && bucket < to)
			tenths.add(Math.floor((bucket - from) * 10 / (to - from)));
	});
	return tenths.size;
}

// --- Grids -----------------------------------------------------------------------------------

// Cells over time, by two keys: { bucket, row, column, values }. The axes cover the whole capture, so that they do not change with the range.
class Grid {
	constructor(raw, step, axisOf) {
		Object.assign(this, { raw, step });
		this.rows = axisOf(this.keys(1), this.keys(2));
		this.columns = axisOf(this.keys(2), this.keys(1));
		this.place = [this.rows, this.columns].map(axis => new Map(axis.map((key, i) => [key, i])));
	}
	keys(offset) {
		const keys = new Set();
		for (let i = offset; i < this.raw.length; i += this.step)
			keys.add(this.raw[i]);
		return keys;
	}
	// The sums of the range in every place. offset says which number after the bucket is added up.
	sum(from, to, offset) {
		const sums = new Float64Array(this.rows.length * this.columns.length), { raw } = this, [rowAt, columnAt] = this.place;
		for (let i = 0; i < raw.length; i += this.step)
			if (raw[i] >= from && raw[i] < to)
				sums[rowAt.get(raw[i + 1]) * this.columns.length + columnAt.get(raw[i + 2])] += raw[i + offset];
		return sums;
	}
}

const ascending = keys => [...keys].sort((a, b) => a - b);

// Frees by size and lifetime, on axes without gaps, and frees by the CPUs of allocation and free.
let lives, crossings;

function makeGrids() {
	lives = new Grid(data.lives, 5, keys => {
		const low = Math.min(...keys);
		return keys.size ? Array.from({ length: Math.max(...keys) - low + 1 }, (_, i) => low + i) : [];
	});
	crossings = new Grid(data.cpus, 4, (keys, others) => ascending(new Set([...keys, ...others])));
}

// --- Processes -------------------------------------------------------------------------------

/*
 * A process that is picked takes the place of the whole capture in all views: it has all members of the data that
 * depend on who allocated. What was unpacked once is kept. Buckets are the same, so a range stays where it is.
 */
const OWN = ["total", "by", "frame_names", "pids", "lives", "cpus", "leaks", "least", "peak_bytes", "peak_at"];
const processes = data.processes || [];
const everybody = Object.fromEntries(OWN.map(name => [name, data[name]]));
const unpacked = new Map();
const whenPicked = []; // what else depends on the process

// number is that of a process, or null for all of them.
function pickProcess(number) {
	const own = number === null ? everybody : processes[number];
	for (const name of OWN)
		data[name] = own[name];
	if (unpacked.has(number))
		({ groupings, lives, crossings } = unpacked.get(number));
	else {
		unpack();
		makeGrids();
		unpacked.set(number, { groupings, lives, crossings });
		own.total = data.total;
	}
	whenPicked.forEach(update => update());
}

// The sites of one process over a range, also while it is not the one that is picked.
const ownSites = new Map();

function sitesOfProcess(number, from, to) {
	if (!ownSites.has(number))
		ownSites.set(number, unpacked.has(number) ? unpacked.get(number).groupings.site : new Grouping(processes[number].by.site, "site"));
	ownSites.get(number).setRange(from, to);
	return ownSites.get(number).rows;
}

const processNamed = label => {
	const number = processes.findIndex(process => process.label === label);
	return number < 0 ? null : number;
};

pickProcess(null);
