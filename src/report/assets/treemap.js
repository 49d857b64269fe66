// SPDX-License-Identifier: LGPL-2.1-only
// A treemap of two levels: areas for values, as square as they can be.

const TREEMAP_HEIGHT = 440, TREEMAP_HEAD = 19; // pixels
const TREEMAP_OUTER = 40, TREEMAP_INNER = 30; // areas that are named; the rest of a level is one area

// How far from a square the worst area of a row would be.
function worst(row, sum, side) {
	const length = sum / side; // of the row's other side
	return row.reduce((most, { area }) => Math.max(most, length * length / area, area / (length * length)), 1);
}

// Divides a rectangle among items, the largest first: { item, x, y, w, h } for each.
function squarify(items, box) {
	const all = items.reduce((sum, item) => sum + item.value, 0);
	const rest = items.filter(item => item.value > 0).map(item => ({ item, area: item.value / all * box.w * box.h }));
	const placed = [];
	let { x, y, w, h: height } = box;
	while (rest.length) {
		const side = Math.min(w, height), row = [];
		let sum = 0;
		while (rest.length && (!row.length || worst([...row, rest[0]], sum + rest[0].area, side) <= worst(row, sum, side))) {
			sum += rest[0].area;
			row.push(rest.shift());
		}
		const thick = side ? sum / side : 0;
		let along = 0;
		for (const { item, area } of row) {
			const length = thick ? area / thick : 0;
			placed.push(w >= height ? { item, x, y: y + along, w: thick, h: length } : { item, x: x + along, y, w: length, h: thick });
			along += length;
		}
		if (w >= height) {
			x += thick;
			w -= thick;
		} else {
			y += thick;
			height -= thick;
		}
	}
	return placed;
}

// The largest items by themselves, the others as one that has no children and can't be opened.
function largest(items, limit) {
	const ordered = items.filter(item => item.value > 0).sort((a, b) => b.value - a.value || (a.name < b.name ? -1 : 1));
	if (ordered.length <= limit + 1)
		return ordered;
	const others = ordered.slice(limit);
	return [...ordered.slice(0, limit), { name: `${others.length} others`, value: others.reduce((sum, item) => sum + item.value, 0), folded: true }];
}

const boxStyle = ({ x, y, w, h: height }, whole) => ({ left: x / whole.w * 100 + "%", top: y / whole.h * 100 + "%", width: w / whole.w * 100 + "%", height: height / whole.h * 100 + "%" });

function treemapLeaf(place, whole, color, options) {
	const { item } = place, open = item.folded ? null : () => options.open(item);
	return h("button", { type: "button", class: "leaf" + (item.folded ? " folded" : "") + (options.dim(item) ? " dim" : ""), "data-value": item.value, "data-name": item.name,
		style: { ...boxStyle(place, whole), background: color }, disabled: item.folded, onclick: open, "aria-label": item.name, ...tipOn(() => options.tip(item)) },
		place.w > 30 && place.h > 17 && h("span", {}, item.name));
}

/*
 * @groups: [{ name, value, children: [{ name, value, ... }] }]. Options: open(child), zoom(group), tip(item), dim(child),
 * and the name of the group that fills the whole picture, if there is one.
 */
function treemap(label, groups, options) {
	const zoomed = groups.find(group => group.name === options.zoomed);
	const width = Math.max(320, (byId("view").clientWidth || 1000) - 36), whole = { x: 0, y: 0, w: width, h: TREEMAP_HEIGHT };
	const hues = new Hues();
	const colors = new Map(largest(groups, TREEMAP_OUTER).map(group => [group.name, `color-mix(in srgb, ${tint(hues.next(group.name), 0).fill} 45%, var(--card))`]));
	const shown = zoomed ? [zoomed] : largest(groups, TREEMAP_OUTER);
	const picture = h("div", { class: "treemap", role: "group", "aria-label": label, style: { height: TREEMAP_HEIGHT + "px" } });
	for (const place of squarify(shown, whole)) {
		const group = place.item, color = colors.get(group.name) || "var(--line)";
		if (group.folded) {
			picture.append(treemapLeaf(place, whole, "var(--line)", options));
			continue;
		}
		const headed = place.h > TREEMAP_HEAD * 2.5 && place.w > 50, head = headed ? TREEMAP_HEAD : 0;
		const inner = { x: 0, y: 0, w: Math.max(1, place.w - 2), h: Math.max(1, place.h - head - 2) };
		picture.append(h("div", { class: "group", style: { ...boxStyle(place, whole), "--head": head + "px" } },
			headed && h("button", { type: "button", class: "head", onclick: () => options.zoom(zoomed ? "" : group.name), ...tipOn(() => options.tip(group)) }, group.name),
			h("div", { class: "inside", style: { top: head + "px" } }, squarify(largest(group.children, TREEMAP_INNER), inner).map(child => treemapLeaf(child, inner, color, options)))));
	}
	return picture;
}
