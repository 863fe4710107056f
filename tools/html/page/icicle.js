// SPDX-License-Identifier: Apache-2.0

// The icicles. The first has all live deliveries' time by vat and kind, split into worker, pipe,
// and syscalls with their ways and kernel time. The second has their instructions by vat and kind,
// or their computrons if no counter ran. Bars narrower than two pixels are left out; zooming shows
// them. A node's `time` is what its width stands for.

const ICICLE_ROW = 27;

const node = (name, colour) => ({ name, colour, time: 0, count: 0, children: new Map(), parent: null });

const childOf = (parent, name, colour) => {
  let child = parent.children.get(name);
  if (!child) {
    child = node(name, colour);
    child.parent = parent;
    parent.children.set(name, child);
  }
  return child;
};

const addLeaf = (parent, name, colour, time) => {
  if (time <= 0) return;
  childOf(parent, name, colour).time += time;
  for (let above = parent; above; above = above.parent) above.time += time;
};

const growTree = () => {
  const root = node('all live deliveries', '');
  for (const [vat, kind, syscall, count, times] of overall.tree) {
    const branch = childOf(childOf(root, vatName(vat), ''), kindName(kind), '');
    if (syscall === null) {
      for (let above = branch; above; above = above.parent) above.count += count;
      addLeaf(branch, 'worker', 'worker', times[SPAN.worker]);
      addLeaf(branch, 'pipe: delivery and result', 'pipe', times[SPAN.send] + times[SPAN.back]);
      addLeaf(branch, 'unattributed', 'unknown', times[SPAN.unknown] + times[SPAN.wait]);
    } else {
      const request = childOf(branch, syscall, '');
      request.count += count;
      addLeaf(request, 'pipe up', 'pipe', times[SPAN.up]);
      addLeaf(request, 'kernel', 'kernel', times[SPAN.kernel]);
      addLeaf(request, 'pipe down', 'pipe-down', times[SPAN.down]);
      addLeaf(request, 'unattributed', 'unknown', times[SPAN.unknown]);
    }
  }
  return root;
};

// [words, root] of the second icicle; no root without data.
const growWork = () => {
  const [at, words] = overall.tree.some(branch => branch[6] > 0) ? [6, 'instructions'] : [5, 'computrons'];
  const root = node('all live deliveries', '');
  for (const branch of overall.tree) {
    const [vat, kind, syscall, count] = branch;
    if (syscall !== null || !(branch[at] > 0)) continue;
    const of = childOf(root, vatName(vat), '');
    addLeaf(of, kindName(kind), 'worker', branch[at]);
    for (let above = childOf(of, kindName(kind), 'worker'); above; above = above.parent) above.count += count;
  }
  return [words, root.time > 0 ? root : null];
};

class Icicle {
  constructor(container, path, root, text) {
    Object.assign(this, { container, path, root, text });
    this.top = this.root;
    container.addEventListener('keydown', event => this.key(event));
    // Drawing changes the height, which an observer must not do before it returns.
    new ResizeObserver(() => requestAnimationFrame(() => this.draw())).observe(container);
  }

  draw() {
    const width = this.container.clientWidth;
    if (!width || width === this.drawnWidth && this.top === this.drawnTop) return;
    this.drawnWidth = width;
    this.drawnTop = this.top;
    const bars = [];
    let depth = 0;
    const place = (entry, left, level) => {
      const wide = (entry.time / this.top.time) * width;
      if (wide < 2) return;
      depth = Math.max(depth, level + 1);
      bars.push(this.bar(entry, left, wide, level));
      let at = left;
      for (const child of [...entry.children.values()].sort((a, b) => b.time - a.time)) {
        place(child, at, level + 1);
        at += (child.time / this.top.time) * width;
      }
    };
    if (this.top.time > 0) place(this.top, 0, 0);
    this.container.style.height = `${depth * ICICLE_ROW}px`;
    this.container.replaceChildren(...bars);
    bars[0]?.setAttribute('tabindex', '0');
    this.drawPath();
  }

  bar(entry, left, width, level) {
    const count = entry.count ? `, ${countText(entry.count)} times` : '';
    const words = `${entry.name}: ${this.text(entry.time)}, ${shareText(entry.time / this.root.time)} of all${count}`;
    const element = make('div', {
      role: 'treeitem', tabindex: '-1', 'aria-level': level + 1, 'aria-label': words, title: words,
      class: entry.colour ? '' : 'neutral', onclick: () => this.enter(entry),
    }, width > 24 ? `${entry.name}  ${this.text(entry.time)}` : '');
    element.style.left = `${left}px`;
    element.style.width = `${width}px`;
    element.style.top = `${level * ICICLE_ROW}px`;
    if (entry.colour) element.style.setProperty('--colour', `var(--${entry.colour})`);
    element.entry = entry;
    return element;
  }

  // The path from the root to the shown node, for going back.
  drawPath() {
    const way = [];
    for (let entry = this.top; entry; entry = entry.parent) way.unshift(entry);
    this.path.replaceChildren(...(way.length < 2 ? [] : way.map(entry =>
      make('button', { type: 'button', onclick: () => this.enter(entry) }, entry.name))));
  }

  enter(entry) {
    this.top = entry;
    this.draw();
    this.focus(this.container.firstElementChild);
  }

  focus(element) {
    if (!element) return;
    this.container.querySelector('[tabindex="0"]')?.setAttribute('tabindex', '-1');
    element.setAttribute('tabindex', '0');
    element.focus({ preventScroll: true });
  }

  key(event) {
    const here = document.activeElement;
    const { entry } = here;
    if (!entry) return;
    const bars = [...this.container.children];
    const level = bar => bar.getAttribute('aria-level');
    const beside = bars.filter(bar => level(bar) === level(here));
    const step = by => this.focus(beside[beside.indexOf(here) + by]);
    const act = {
      ArrowRight: () => step(1),
      ArrowLeft: () => step(-1),
      ArrowDown: () => this.focus(bars.find(bar => bar.entry.parent === entry)),
      ArrowUp: () => this.focus(bars.find(bar => bar.entry === entry.parent)),
      Enter: () => this.enter(entry),
      Escape: () => this.enter(this.top.parent ?? this.root),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }
}
