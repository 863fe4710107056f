// SPDX-License-Identifier: Apache-2.0

// Functions, where a profile was given: the calls of the chosen delivery as an icicle, and what
// functions took in all deliveries of the list.

// A node of a tree: [caller, function, calls, computrons, instructions, nanoseconds, block cost]. A
// native profile has no computrons, only a trace has nanoseconds, and only the compiled-in meter
// block cost.
const isTimed = tree => tree.nodes[0]?.length === 6;
const isMetered = tree => tree.nodes[0]?.length === 7;
const isNative = tree => tree.nodes[0]?.length === 5 && tree.nodes[0][3] === null;
const isScript = tree => !isNative(tree) && !isTimed(tree) && !isMetered(tree);
const COSTS = {
  computrons: { words: 'computrons', at: 3, has: isScript, text: countText },
  instructions: { words: 'instructions, by JavaScript', at: 4, has: tree => isScript(tree) && tree.nodes[0]?.[4] !== null, text: countText },
  native: { words: 'instructions, by native function', at: 4, has: isNative, text: countText },
  cost: { words: 'block cost, by native function', at: 6, has: isMetered, text: countText },
  time: { words: 'time, by native function', at: 5, has: isTimed, text: timeText },
};

const trees = (() => {
  const found = new Map();
  for (const element of elementsOf('profile')) {
    const tree = JSON.parse(element.textContent);
    element.remove();
    const key = `${tree.vatID} ${tree.deliveryNum}`;
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(tree);
  }
  return found;
})();

const allTrees = [...trees.values()].flat();
const costsThere = Object.entries(COSTS).filter(([, { has }]) => allTrees.some(has));

// A profile may be of another run with other cranks; replays have no profile.
const treeOf = (i, { has }) => {
  if (deliveries.flags[i] & FLAG.replay) return undefined;
  const [id] = overall.vats[deliveries.vat[i]];
  return trees.get(`${id} ${deliveries.number[i]}`)?.find(tree =>
    has(tree) && (tree.crankNum === null || Number.isNaN(deliveries.crank[i]) || tree.crankNum === deliveries.crank[i]));
};

const functionText = ([name, file, line]) =>
  [name, file && `(${file}${line ? `:${line}` : ''})`].filter(Boolean).join(' ');

// Returns the total of each node, including its callees.
const totalsOf = (tree, at) => {
  const totals = tree.nodes.map(entry => entry[at] ?? 0);
  for (let n = totals.length - 1; n >= 0; n--) {
    const caller = tree.nodes[n][0];
    if (caller !== null) totals[caller] += totals[n];
  }
  return totals;
};

// ---- the chosen delivery ----

const growCalls = (tree, { at }, name) => {
  const totals = totalsOf(tree, at);
  const root = node(name, '');
  const entries = tree.nodes.map(([caller, of, calls], n) => {
    const entry = node(functionText(tree.functions[of]), 'worker');
    return Object.assign(entry, { caller, time: totals[n], count: calls ?? 0 });
  });
  entries.forEach((entry, n) => {
    entry.parent = entry.caller === null ? root : entries[entry.caller];
    entry.parent.children.set(n, entry);
    if (entry.caller === null) root.time += entry.time;
  });
  return root;
};

const spansHint = i => {
  const { spans = [], leftOut = 0 } = callSpans(i) ?? {};
  const shorter = leftOut ? `; ${countText(leftOut)} shorter ones were left out there` : '';
  return make('p', { class: 'hint', id: 'calls-hint' }, `The timeline has ${countText(spans.length)} calls of it${shorter}.`);
};

const callsOf = i => {
  const there = costsThere.filter(([, cost]) => treeOf(i, cost));
  if (!there.length) return allTrees.length ? [make('p', { class: 'hint' }, 'No profile that was given has this delivery.')] : [];
  const select = make('select', { id: 'calls-of' }, ...there.map(([value, { words }]) => make('option', { value }, words)));
  const path = make('div', { class: 'controls', id: 'calls-path' });
  const place = make('div');
  const show = () => {
    const cost = COSTS[select.value];
    const container = make('div', { id: 'calls', class: 'icicle', role: 'tree', 'aria-label': `Calls of the delivery, by ${cost.words}` });
    place.replaceChildren(container, ...(cost === COSTS.time ? [spansHint(i)] : []));
    path.replaceChildren();
    new Icicle(container, path, growCalls(treeOf(i, cost), cost, deliveries.text[i]), cost.text);
  };
  select.addEventListener('change', show);
  show();
  return [make('h4', {}, 'Functions'), make('label', {}, 'Width is ', select), path, place];
};

// When its longest calls were: { spans: [{ name, from, to, level }], deepest, leftOut }, in
// nanoseconds after the delivery's start, callers before what they call; null without a trace.
const callSpans = (() => {
  const found = new Map();
  const read = i => {
    const tree = allTrees.length ? treeOf(i, COSTS.time) : undefined;
    if (!tree?.spans?.length) return null;
    // Times count from the worker's receipt of the delivery.
    const arrived = spansOf(i).spans.find(({ kind }) => kind === SPAN.send)?.to ?? 0;
    const levels = [];
    tree.nodes.forEach(([caller], n) => (levels[n] = caller === null ? 0 : levels[caller] + 1));
    const spans = tree.spans.map(([n, from, length]) => ({
      name: tree.functions[tree.nodes[n][1]][0], from: arrived + from, to: arrived + from + length, level: levels[n],
    }));
    return { spans, leftOut: tree.spansLeftOut };
  };
  return i => {
    if (!found.has(i)) found.set(i, read(i));
    return found.get(i);
  };
})();

// ---- the table ----

// Sums by function of a tree: [calls, self, total]; the total counts recursive calls once.
const functionSums = new Map();

const sumFunctions = (tree, at) => {
  const totals = totalsOf(tree, at);
  const sums = new Map();
  const isWithin = (of, n) => {
    for (let above = tree.nodes[n][0]; above !== null; above = tree.nodes[above][0]) {
      if (tree.nodes[above][1] === of) return true;
    }
    return false;
  };
  tree.nodes.forEach((entry, n) => {
    const of = entry[1];
    if (!sums.has(of)) sums.set(of, [0, 0, 0]);
    const sum = sums.get(of);
    sum[0] += entry[2] ?? 0;
    sum[1] += entry[at] ?? 0;
    if (!isWithin(of, n)) sum[2] += totals[n];
  });
  return sums;
};

const sumsOfTree = (tree, at) => {
  if (!functionSums.has(tree)) functionSums.set(tree, []);
  return (functionSums.get(tree)[at] ??= sumFunctions(tree, at));
};

// A row for each function that ran in these deliveries; `selves`: in each of them.
const functionRows = (chosen, cost) => {
  const rows = new Map();
  let all = 0;
  for (const i of chosen) {
    const tree = treeOf(i, cost);
    if (!tree) continue;
    for (const [of, [calls, self, total]] of sumsOfTree(tree, cost.at)) {
      const key = JSON.stringify(tree.functions[of]);
      if (!rows.has(key)) rows.set(key, { text: functionText(tree.functions[of]), calls: 0, self: 0, total: 0, selves: [] });
      const row = rows.get(key);
      row.calls += calls;
      row.self += self;
      row.total += total;
      // Native functions may have one name.
      if (row.last === i) row.selves[row.selves.length - 1] += self;
      else row.selves.push(self);
      row.last = i;
      all += self;
    }
  }
  for (const row of rows.values()) {
    row.selves.sort((a, b) => a - b);
    row.costText = cost.text;
    row.share = row.self / all;
    row.mean = row.self / row.selves.length;
    row.most = row.selves[Math.ceil(0.99 * row.selves.length) - 1];
  }
  return [...rows.values()];
};

const numberColumn = (label, name, text) =>
  ({ label, number: true, value: row => row[name], show: row => (text ?? row.costText)(row[name]) });

const FUNCTION_COLUMNS = [
  { label: 'function', value: row => row.text },
  { label: 'deliveries', number: true, value: row => row.selves.length, show: row => countText(row.selves.length) },
  numberColumn('calls', 'calls', countText),
  numberColumn('self', 'self'),
  numberColumn('share', 'share', shareText),
  numberColumn('total', 'total'),
  numberColumn('mean self', 'mean'),
  numberColumn('99 % self', 'most'),
];

class Functions {
  constructor({ of, search, found, table }) {
    Object.assign(this, { of, search, found, chosen: [] });
    this.table = new Table(table, FUNCTION_COLUMNS, { sort: 3, label: 'Functions' });
    of.replaceChildren(...costsThere.map(([value, { words }]) => make('option', { value }, words)));
    of.addEventListener('change', () => this.sum());
    search.addEventListener('input', () => this.show());
  }

  // Shows the functions of these deliveries.
  choose(chosen) {
    this.chosen = chosen;
    this.sum();
  }

  sum() {
    this.rows = functionRows(this.chosen, COSTS[this.of.value]);
    this.show();
  }

  show() {
    const wanted = this.search.value.trim().toLowerCase();
    const rows = this.rows.filter(({ text }) => text.toLowerCase().includes(wanted));
    this.found.value = `${countText(rows.length)} of ${countText(this.rows.length)}`;
    this.table.setRows(rows);
  }
}
