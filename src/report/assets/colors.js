// SPDX-License-Identifier: LGPL-2.1-only
// Colours by name, as in the charts that the program draws: a name has its hue everywhere. data.colors has three tones
// of each hue, all hues of a tone behind each other.

const COLORS = data.colors.all.map(text => [1, 3, 5].map(at => parseInt(text.slice(at, at + 2), 16)));
const TONES = 3, RECENT = 12;
const LIGHTER = [0, 0.24, 0.44, 0.6]; // outer rings and inner frames are lighter
const utf8 = new TextEncoder();

const hashes = new Map(); // by name

function nameHash(name) {
	let hash = hashes.get(name);
	if (hash === undefined) {
		hash = 2166136261;
		for (const byte of utf8.encode(name))
			hash = Math.imul(hash ^ byte, 16777619);
		hash = (hash ^ hash >>> 15) >>> 0;
		hashes.set(name, hash);
	}
	return hash;
}

// A call site has the hue of its function.
function functionOf(name) {
	const at = name.indexOf("+0x");
	return at < 0 ? name : name.slice(0, at);
}

// Numbers of colours for names that stand beside each other. If one of the last few had the very colour, another tone is taken.
// No memory is taken for each name: thousands are asked for in every frame while a range is dragged.
class Hues {
	constructor() { Object.assign(this, { colors: new Int8Array(RECENT).fill(-1), hashes: new Uint32Array(RECENT), last: 0 }); }
	isTaken(color, hash, among) {
		for (let i = 0; i < among; i++) {
			const at = (this.last + RECENT - i) % RECENT;
			if (this.colors[at] === color && this.hashes[at] !== hash)
				return true;
		}
		return false;
	}
	free(color, hash, among) {
		for (let tone = 0; tone < TONES; tone++) {
			const tried = (color + tone * COLORS.length / TONES) % COLORS.length;
			if (!this.isTaken(tried, hash, among))
				return tried;
		}
		return -1;
	}
	next(label) {
		const name = functionOf(label), hash = nameHash(label);
		const own = Object.hasOwn(data.colors.known, name) ? data.colors.known[name] : nameHash(name) % COLORS.length;
		let color = this.free(own, hash, RECENT);
		if (color < 0) // at least not that of the one beside it
			color = this.free(own, hash, 1);
		this.last = (this.last + 1) % RECENT;
		this.colors[this.last] = color;
		this.hashes[this.last] = hash;
		return color;
	}
}

const towardsWhite = (rgb, part) => rgb.map(value => Math.floor(value + (255 - value) * part + 0.5));
const linear = value => value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4;

const tints = new Map();

// The number as a colour of a level, and whether text on it is white.
function tint(color, level, odd) {
	const key = (color * LIGHTER.length + Math.min(level, LIGHTER.length - 1)) * 2 + (odd && level ? 1 : 0);
	if (!tints.has(key)) {
		const rgb = towardsWhite(COLORS[color], LIGHTER[Math.min(level, LIGHTER.length - 1)] + (odd && level ? 0.1 : 0));
		const light = 0.2126 * linear(rgb[0]) + 0.7152 * linear(rgb[1]) + 0.0722 * linear(rgb[2]);
		tints.set(key, { fill: `rgb(${rgb.join(" ")})`, ink: light < 0.22 ? "#ffffff" : "#10151b" });
	}
	return tints.get(key);
}

// A function from labels to colours. A label keeps the colour that it gets first.
function colorsByLabel() {
	const hues = new Hues(), known = new Map();
	return label => {
		if (!known.has(label))
			known.set(label, tint(hues.next(label), 0).fill);
		return known.get(label);
	};
}
