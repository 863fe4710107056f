// SPDX-License-Identifier: Apache-2.0

// A table that sorts when a column's header is clicked, or pressed by key.
//
// columns: [{label, value(row), show(row), number}]; value is a number or string to
// sort by, show gives text or an element (without it, the value is the text).
// Rows are put on the page by the hundred.

const ROWS_SHOWN = 100;

class Table {
  constructor(container, columns, { sort = 0, descending = true, label }) {
    Object.assign(this, { container, columns, sort, descending, label, rows: [], shown: ROWS_SHOWN });
    this.body = make('tbody');
    this.more = make('button', { type: 'button', class: 'more', onclick: () => this.showMore() });
    this.headers = columns.map((column, i) =>
      make('th', { scope: 'col', class: column.number ? 'number' : 'words' },
        make('button', { type: 'button', onclick: () => this.sortBy(i) }, column.label)));
    container.replaceChildren(
      make('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label },
        make('table', { 'aria-label': label },
          make('thead', {}, make('tr', {}, ...this.headers)), this.body)),
      this.more);
  }

  setRows(rows) {
    this.rows = rows;
    this.shown = ROWS_SHOWN;
    this.update();
  }

  sortBy(i) {
    this.descending = i === this.sort ? !this.descending : Boolean(this.columns[i].number);
    this.sort = i;
    this.shown = ROWS_SHOWN;
    this.update();
  }

  showMore() {
    this.shown += 5 * ROWS_SHOWN;
    this.render();
  }

  // Rows without a value come last in both orders.
  update() {
    const { value, number } = this.columns[this.sort];
    const sign = this.descending ? -1 : 1;
    const keys = this.rows.map(value);
    const lacks = key => key == null || Number.isNaN(key);
    const compare = (a, b) => (number ? a - b : a < b ? -1 : a > b ? 1 : 0);
    this.sorted = this.rows
      .map((row, i) => i)
      .sort((a, b) => {
        if (lacks(keys[a]) || lacks(keys[b])) return lacks(keys[a]) - lacks(keys[b]) || a - b;
        return sign * compare(keys[a], keys[b]) || a - b;
      })
      .map(i => this.rows[i]);
    this.headers.forEach((header, i) => {
      if (i === this.sort) header.setAttribute('aria-sort', this.descending ? 'descending' : 'ascending');
      else header.removeAttribute('aria-sort');
    });
    this.render();
  }

  render() {
    const left = this.sorted.length - this.shown;
    this.body.replaceChildren(...this.sorted.slice(0, this.shown).map(row =>
      make('tr', {}, ...this.columns.map(column =>
        make('td', { class: column.number ? 'number' : 'words' },
          (column.show ?? column.value)(row) ?? '')))));
    this.more.hidden = left <= 0;
    this.more.textContent = `Show more (${countText(left)} are left)`;
  }
}
