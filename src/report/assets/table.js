// SPDX-License-Identifier: LGPL-2.1-only
// Tables that stay in the page and follow the range.

const FIRST_ROWS = 100; // until the reader asks for all rows
const ROWS_AT_ONCE = 24; // about what fits the window

// A label with its source file or module.
function labelCell(track) {
	const where = [track.path, track.module && "[" + track.module + "]"].filter(Boolean).join(" ");
	const [name, ...offset] = track.label.split(/(?=\+0x)/); // a narrow column breaks before the offset first
	return [h("span", { class: "mono" }, name, offset.map(part => [h("wbr"), part])), where && !track.label.endsWith(where) ?
		h("span", { class: "where" }, where) : null];
}

// Equal rows keep their order.
function inOrder(rows, column, descending, limit) {
	const sign = descending ? -1 : 1;
	if (column.kind !== "text" && rows.length > limit)
		return greatest(rows, row => -sign * (column.value(row) ?? -1), limit);
	const keyed = rows.map(row => [column.value(row), row]);
	keyed.sort(column.kind === "text" ? ([a], [b]) => a < b ? -sign : a > b ? sign : 0 : ([a], [b]) => sign * ((a ?? -1) - (b ?? -1)));
	return keyed.map(([, row]) => row);
}

// If a table is not wider than its container, the container need not scroll, and the table's head can stay in sight.
const fitting = new ResizeObserver(entries => {
	for (const { target } of entries)
		target.parentElement?.classList.toggle("fits", target.offsetWidth <= target.parentElement.clientWidth);
});

/*
 * A table that stays in the page. What it shows is { columns, rows, sort, onsort, onrow, chosen, limit }. A column has
 * key, label, value(row), and may have show(row), kind ("num", "text", "bar"), title, exact (the unit in the title of
 * its cells) and fixed (what it shows is of the row alone, whatever the range). A column of bars has part(row) and color(row).
 *
 * While a range is dragged, only the rows in sight are there; the others come back when there is time. Cells are kept
 * and only get new text, since making and laying out elements is what takes the time.
 */
class Table {
	constructor(sortable = true) {
		this.sortable = sortable;
		this.head = h("tr");
		this.body = h("tbody", { onclick: event => this.open(event), onkeydown: event => this.onKey(event) });
		this.more = h("button", { type: "button", class: "more", onclick: () => this.showAll() });
		this.empty = h("div", { class: "empty" });
		const table = h("table", {}, h("thead", {}, this.head), this.body);
		this.element = h("div", { class: "scroll" }, table, this.more, this.empty);
		fitting.observe(table);
		this.shape = null;
		this.held = null; // while a range is dragged: the first row in sight, and the row after the last one in sight
		this.drawRest = () => this.drawPart();
		this.body.table = this;
	}
	open(event) {
		const row = event.target.closest("tr").row;
		if (this.options.onrow)
			this.options.onrow(row);
	}
	onKey(event) {
		const row = event.target.closest("tr"), next = { ArrowUp: row.previousElementSibling, ArrowDown: row.nextElementSibling }[event.key];
		if (event.key === "Enter")
			this.open(event);
		else if (next && this.options.onrow) {
			next.focus();
			event.preventDefault();
		}
	}
	show(options) {
		const shape = options.columns.map(column => column.key).join();
		if (this.shape !== shape) {
			this.body.replaceChildren();
			this.head.replaceChildren(...options.columns.map(column => this.headCell(column)));
			this.shape = shape;
		}
		if (this.held && pace === "now")
			this.release();
		if (this.range !== currentSums) // all rows of another range would be too much at once
			this.all = false;
		this.range = currentSums;
		this.options = options;
		this.limit = this.all ? Infinity : options.limit || FIRST_ROWS;
		this.length = Math.min(options.rows.length, this.limit);
		this.order = null;
		this.drawHead();
		while (this.body.children.length > this.length)
			this.body.lastChild.remove();
		this.parts = Array.from({ length: Math.ceil(this.length / ROWS_AT_ONCE) }, (_, part) => part);
		if (pace === "drag" && this.held)
			this.drawRows(...this.held);
		else if (pace !== "now")
			this.drawSettled();
		else
			while (this.parts.length)
				this.drawPart();
		this.more.hidden = options.rows.length <= this.limit;
		setText(this.more, "Show all " + count(options.rows.length));
		this.empty.hidden = this.length > 0;
		setText(this.empty, nothingText());
		return this;
	}
	showAll() {
		this.all = true;
		atOnce(() => this.show(this.options));
	}
	// Before a drag: measures which rows are in sight and how wide the columns are. Returns a function that removes the
	// other rows. Measuring and changing are separate, since alternating between them would cost a layout each time.
	hold() {
		const rows = [...this.body.children], boxes = rows.map(row => row.getBoundingClientRect());
		const widths = [...this.head.children].map(cell => cell.getBoundingClientRect().width);
		const first = boxes.findIndex(box => box.bottom > 0), last = boxes.findLastIndex(box => box.top < innerHeight);
		const from = first < 0 ? rows.length : first, to = Math.max(last + 1, Math.min(from + ROWS_AT_ONCE, last < 0 ? 0 : Infinity));
		const height = list => list.reduce((sum, box) => sum + box.height, 0) + "px";
		return () => {
			this.held = [from, to];
			[...this.head.children].forEach((cell, i) => { cell.style.minWidth = widths[i] + "px"; });
			rows.forEach((row, i) => { row.hidden = i < from || i >= to; });
			Object.assign(this.element.style, { paddingTop: height(boxes.slice(0, from)), paddingBottom: height(boxes.slice(Math.max(from, to))) });
		};
	}
	release() {
		this.held = null;
		for (const cell of this.head.children)
			cell.style.minWidth = "";
		for (const row of this.body.children)
			row.hidden = false;
		Object.assign(this.element.style, { paddingTop: "", paddingBottom: "" });
	}
	// After a drag: fills the rows in sight at once, and the others soon.
	drawSettled() {
		const part = this.held ? Math.floor(this.held[0] / ROWS_AT_ONCE) : 0;
		if (this.held)
			this.release();
		this.parts.sort((a, b) => (b === part) - (a === part) || a - b);
		this.drawPart();
	}
	drawHead() {
		const { columns, onsort, sort } = this.options;
		columns.forEach((column, i) => {
			const cell = this.head.children[i], sorted = sort?.key === column.key;
			cell.column = column;
			setAttribute(cell, "aria-sort", sorted ? (sort.descending ? "descending" : "ascending") : null);
			setText(cell.querySelector("button") || cell, column.label + (sorted && onsort ? (sort.descending ? " ▾" : " ▴") : ""));
		});
	}
	headCell(column) {
		const cell = h("th", { class: column.kind === "text" ? "" : "num", title: column.title, scope: "col" });
		if (column.value && this.sortable)
			cell.append(h("button", { type: "button", onclick: () => this.sortBy(cell.column) }, ""));
		return cell;
	}
	sortBy(column) {
		const { sort, onsort } = this.options;
		onsort({ key: column.key, descending: sort?.key === column.key ? !sort.descending : column.kind !== "text" });
	}
	drawPart() {
		const first = (this.parts.shift() ?? 0) * ROWS_AT_ONCE;
		this.drawRows(Math.min(first, this.body.children.length), first + ROWS_AT_ONCE);
		if (this.parts.length && pace !== "now")
			later(this.drawRest);
	}
	drawRows(from, to) {
		const { columns, rows, sort } = this.options;
		const column = sort && columns.find(c => c.key === sort.key);
		if (from >= to || from >= this.length)
			return;
		this.order ||= column ? inOrder(rows, column, sort.descending, this.limit) : rows;
		for (let i = from; i < Math.min(to, this.length); i++)
			this.drawRow(i);
	}
	drawRow(i) {
		const { columns, onrow, chosen } = this.options, row = this.order[i];
		let element = this.body.children[i];
		if (!element)
			this.body.append(element = h("tr", {}, columns.map(bodyCell)));
		const same = element.row === row;
		element.row = row;
		setAttribute(element, "class", (onrow ? "click" : "") + (chosen && chosen(row) ? " chosen" : ""));
		if (!same) {
			setAttribute(element, "tabindex", onrow ? "0" : null);
			setAttribute(element, "data-label", row.track ? row.track.label : null);
		}
		columns.forEach((column, j) => same && column.fixed || fillCell(element.children[j], column, row));
	}
}

// Why a view is empty, as far as the reader can change it.
function nothingText() {
	return (state.q ? `Nothing here matches “${state.q}”` : "Nothing here") + (isWhole() ? "." : " in this range.");
}

function bodyCell(column) {
	if (column.kind === "bar")
		return h("td", { class: "bar" }, h("span", { class: "meter" }));
	return h("td", { class: column.kind === "text" ? column.class || "" : "num", "data-column": column.key });
}

function fillCell(cell, column, row) {
	if (column.kind === "bar") {
		cell.firstChild.hidden = !(column.part(row) > 0);
		Object.assign(cell.firstChild.style, { width: (column.part(row) * 100).toFixed(2) + "%", background: column.color ? column.color(row) : "" });
		return;
	}
	const value = column.value ? column.value(row) : null, isNumber = typeof value === "number";
	const content = column.show ? column.show(row) : isNumber ? count(value) : value ?? "–";
	if (typeof content === "string")
		setText(cell, content);
	else
		replace(cell, content);
	if (pace === "drag" && !column.fixed) // tooltips are not needed during a drag
		return;
	setAttribute(cell, "data-value", isNumber ? String(value) : null);
	setAttribute(cell, "title", isNumber && column.exact ? count(value) + " " + column.exact : null);
}

// A table that is made again together with its surroundings.
function makeTable(options) {
	return new Table(Boolean(options.onsort)).show(options).element;
}
