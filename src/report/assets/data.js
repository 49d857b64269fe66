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

function unpackTrack(track, number, by) {
	const length = track.cells[0].length;
	COLUMNS.forEach((name, i) => {
		const column = track.cells[i];
		track[name] = column === 0 ? null : Float64Array.from(column);
	});
	delete track.cells;
	// What lives after each cell: any range then needs two look-ups, and not all that was before.
	track.liveAfter = new Float64Array(length);
	track.objectsAfter = new Float64Array(length);
	track.wasteAfter = new Float64Array(length);
	const at = (column, i) => column ? column[i] : 0;
	let live = 0, objects = 0, waste = 0;
	for (let i = 0; i < length; i++) {
		live += at(track.bytes, i) - at(track.ended, i);
		waste += at(track.waste, i) - at(track.endedWaste, i);
		objects += at(track.allocs, i) - at(track.unpaired, i) - at(track.frees, i) - at(track.implied, i);
		track.liveAfter[i] = live;
		track.objectsAfter[i] = objects;
		track.wasteAfter[i] = waste;
	}
	track.number = number;
	track.by = by;
	track.text = [track.label, track.path, track.module].filter(Boolean).join(" ").toLowerCase();
}

function unpack() {
	unpackTrack(data.total, 0, "all");
	for (const by of TRACKS)
		data.by[by].forEach((track, i) => unpackTrack(track, i, by));
	data.tenths = Math.min(10, data.buckets);
}

// The first cell at or after the bucket.
function cellAt(track, bucket) {
	let low = 0, high = track.bucket.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (track.bucket[middle] < bucket)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

// One track over the buckets from..to - 1. Live is what lives at the end of the range.
function sumTrack(track, from, to) {
	const first = cellAt(track, from), end = cellAt(track, to);
	const row = { track };
	for (const name of SUMMED) {
		const column = track[name];
		let sum = 0;
		if (column)
			for (let i = first; i < end; i++)
				sum += column[i];
		row[name] = sum;
	}
	row.liveBefore = first ? track.liveAfter[first - 1] : 0;
	row.live = end ? track.liveAfter[end - 1] : 0;
	row.objects = end ? track.objectsAfter[end - 1] : 0;
	row.liveWaste = end ? Math.max(0, track.wasteAfter[end - 1]) : 0;
	row.peak = Math.max(row.live, row.liveBefore);
	if (track.peak)
		for (let i = first; i < end; i++)
			row.peak = Math.max(row.peak, track.peak[i]);
	row.grown = row.live - row.liveBefore;
	row.ended = row.frees + row.implied;
	row.seen = row.ended ? row.frees / row.ended : null;
	row.meanLife = row.frees ? row.life / row.frees : null;
	row.unseen = row.implied > row.frees;
	return row;
}

// Everything that the views show, for the range.
function sumRange(from, to) {
	const sums = { from, to, whole: from === 0 && to === data.buckets, total: sumTrack(data.total, from, to) };
	for (const by of TRACKS)
		Object.defineProperty(sums, by, {
			configurable: true,
			get() { // when a view first asks for it
				const rows = data.by[by].map(track => sumTrack(track, from, to))
					.filter(row => row.allocs || row.ended || row.live);
				Object.defineProperty(sums, by, { value: rows });
				return rows;
			},
		});
	return sums;
}

// Live bytes at the end of every bucket.
function liveSeries(track) {
	const series = new Float64Array(data.buckets);
	let cell = 0, live = 0;
	for (let bucket = 0; bucket < data.buckets; bucket++) {
		if (track.bucket[cell] === bucket)
			live = track.liveAfter[cell++];
		series[bucket] = live;
	}
	return series;
}

// A column, bucket by bucket.
function series(track, name) {
	const values = new Float64Array(data.buckets);
	if (track[name])
		track.bucket.forEach((bucket, i) => values[bucket] = track[name][i]);
	return values;
}

// In how many tenths of the range objects were born that still live: what leaks does so in all of them.
function tenthsKept(track, from, to) {
	const tenths = new Set();
	if (track.kept)
		for (let i = cellAt(track, from); i < track.bucket.length && track.bucket[i] < to; i++)
			if (track.kept[i])
				tenths.add(Math.floor((track.bucket[i] - from) * 10 / (to - from)));
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
