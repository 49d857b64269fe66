// SPDX-License-Identifier: LGPL-2.1-only
// The data of the report: columns unpacked, and added up over any range of time buckets.

const data = JSON.parse(document.getElementById("data").textContent);

// The columns of a track's cells, in the order in which they are written.
const COLUMNS = ["bucket", "allocs", "unpaired", "frees", "implied", "temporary", "cross", "kept",
	"bytes", "waste", "ended", "endedWaste", "temporaryBytes", "keptBytes", "life", "peak"];
const SUMMED = ["allocs", "unpaired", "frees", "implied", "temporary", "cross", "kept", "bytes",
	"waste", "temporaryBytes", "keptBytes", "life"];

const GROUPINGS = ["site", "cache", "size", "comm", "cpu"];
const TRACKS = [...GROUPINGS, "stack"]; // stacks are of the flame graph and of a site's detail

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
		this.columns = new Map(); // of the range: a number for each track, once somebody asks
		this.start = new Int32Array(raw.length + 1);
		raw.forEach((one, i) => this.start[i + 1] = this.start[i] + one.cells[0].length);
		this.cells = {};
		COLUMNS.forEach((name, i) => this.cells[name] = this.gather(raw, i));
		this.tracks = raw.map((one, i) => new Track(one, i, by, this));
		this.rows = this.tracks.map(track => new Row(track, this));
		this.sums = Object.fromEntries(SUMMED.map(name => [name, this.sumUp(i => this.cells[name][i])]));
		const { bytes, ended, waste, endedWaste, allocs, unpaired, frees, implied } = this.cells;
		this.liveAfter = this.sumUp(i => bytes[i] - ended[i]);
		this.wasteAfter = this.sumUp(i => waste[i] - endedWaste[i]);
		this.objectsAfter = this.sumUp(i => allocs[i] - unpaired[i] - frees[i] - implied[i]);
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
		this.columns.clear();
	}
	// What a series of sums had where the bucket begins.
	at(series, bucket, into) {
		const n = this.tracks.length;
		for (let track = 0; track < n; track++) {
			const i = this.cellAt[bucket * n + track];
			into[track] = i > this.start[track] ? series[i - 1] : 0;
		}
		return into;
	}
	peaks() {
		const n = this.tracks.length, { peak } = this.cells, before = this.column("liveBefore"), peaks = Float64Array.from(this.column("live"));
		for (let track = 0; track < n; track++) {
			let top = Math.max(peaks[track], before[track]);
			for (let i = this.cellAt[this.from * n + track]; i < this.cellAt[this.to * n + track]; i++)
				top = Math.max(top, peak[i]);
			peaks[track] = top;
		}
		return peaks;
	}
	work(name) {
		const fresh = () => new Float64Array(this.tracks.length);
		switch (name) {
		case "live": return this.at(this.liveAfter, this.to, fresh());
		case "liveBefore": return this.at(this.liveAfter, this.from, fresh());
		case "objects": return this.at(this.objectsAfter, this.to, fresh());
		case "liveWaste": return this.at(this.wasteAfter, this.to, fresh()).map(waste => Math.max(0, waste));
		case "peak": return this.peaks();
		default: {
			const sums = this.at(this.sums[name], this.to, fresh()), before = this.at(this.sums[name], this.from, fresh());
			return sums.map((sum, i) => sum - before[i]);
		}
		}
	}
	column(name) {
		let column = this.columns.get(name);
		if (!column)
			this.columns.set(name, column = this.work(name));
		return column;
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

// One track over the range of its grouping. Live is what lives at the end of the range.
class Row {
	constructor(track, grouping) {
		this.track = track;
		this.grouping = grouping;
	}
	number(name) { return this.grouping.column(name)[this.track.number]; }
	get grown() { return this.live - this.liveBefore; }
	get ended() { return this.frees + this.implied; }
	get seen() { return this.ended ? this.frees / this.ended : null; }
	get meanLife() { return this.frees ? this.life / this.frees : null; }
	get unseen() { return this.implied > this.frees; }
}

for (const name of [...SUMMED, "live", "liveBefore", "objects", "liveWaste", "peak"])
	Object.defineProperty(Row.prototype, name, { get() { return this.number(name); } });

const groupings = {};

function unpack() {
	groupings.all = new Grouping([data.total], "all");
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

// The rows with the greatest values, greatest first. It does not sort what nobody will see.
function greatest(rows, value, limit) {
	const values = Float64Array.from(rows, value);
	const least = rows.length > limit ? values.slice().sort()[rows.length - limit] : -Infinity;
	return rows.map((row, i) => [values[i], row]).filter(([n]) => n >= least)
		.sort((a, b) => b[0] - a[0] || a[1].track.number - b[1].track.number).slice(0, limit).map(([, row]) => row);
}

// Everything that the views show, for the range.
function sumRange(from, to) {
	const sums = { from, to, whole: from === 0 && to === data.buckets, total: rowsOf("all", from, to)[0] };
	for (const by of TRACKS)
		Object.defineProperty(sums, by, {
			configurable: true,
			get() { // when a view first asks for it
				const grouping = groupings[by], all = rowsOf(by, from, to);
				const [allocs, frees, implied, live] = ["allocs", "frees", "implied", "live"].map(name => grouping.column(name));
				const rows = all.filter((_, i) => allocs[i] || frees[i] || implied[i] || live[i]);
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

// In how many tenths of the range objects were born that still live: what leaks does so in all of them.
function tenthsKept(track, from, to) {
	const tenths = new Set(), kept = track.series("kept");
	track.bucket.forEach((bucket, i) => {
		if (kept[i] && bucket >= from && bucket < to)
			tenths.add(Math.floor((bucket - from) * 10 / (to - from)));
	});
	return tenths.size;
}

// Frees in the range: by size and lifetime, and by the CPUs of allocation and free.
function sumLives(from, to) {
	const cells = new Map();
	for (let i = 0; i < data.lives.length; i += 5) {
		if (data.lives[i] < from || data.lives[i] >= to)
			continue;
		const key = data.lives[i + 1] + "," + data.lives[i + 2];
		const cell = cells.get(key) || { size: data.lives[i + 1], life: data.lives[i + 2], objects: 0, bytes: 0 };
		cell.objects += data.lives[i + 3];
		cell.bytes += data.lives[i + 4];
		cells.set(key, cell);
	}
	return [...cells.values()];
}

function sumCpus(from, to) {
	const cells = new Map();
	for (let i = 0; i < data.cpus.length; i += 4) {
		if (data.cpus[i] < from || data.cpus[i] >= to)
			continue;
		const key = data.cpus[i + 1] + "," + data.cpus[i + 2];
		const cell = cells.get(key) || { from: data.cpus[i + 1], to: data.cpus[i + 2], frees: 0 };
		cell.frees += data.cpus[i + 3];
		cells.set(key, cell);
	}
	return [...cells.values()];
}

unpack();
