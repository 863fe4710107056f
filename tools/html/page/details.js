// SPDX-License-Identifier: Apache-2.0

// The panel of the chosen delivery, which is always in view: what it is, what it said and was
// answered, what caused it and what it caused.

const EFFECTS_SHOWN = 30;

const textBlock = (title, text) =>
  text ? [make('h4', {}, title), make('pre', {}, text)] : [];

// The result promise's resolution, as far as it was kept.
const resultOf = (i, said) => {
  const promise = / -> (\S+)$/.exec(deliveries.text[i])?.[1];
  const { requests } = spansOf(i);
  const at = requests.findIndex(({ type, words }) => type === 'resolve' && promise && words.slice(8).split(/[,!]/).includes(promise));
  const text = said.requests[at]?.said;
  return text ? (/"body":"(.*)","slots"/.exec(text)?.[1] ?? text) : '';
};

const factsOf = i => {
  const ratio = deliveries.instructions[i] / deliveries.compute[i];
  return [
    ['vat', vatName(deliveries.vat[i])],
    ['crank', countText(deliveries.crank[i])],
    ['delivery', countText(deliveries.number[i])],
    ['block', countText(deliveries.block[i])],
    ['began (UTC)', clockText(deliveries.start[i])],
    ['total', timeText(deliveries.total[i])],
    ['worker', timeText(deliveries.worker[i])],
    ['pipe', timeText(deliveries.pipe[i])],
    ['kernel', timeText(deliveries.kernel[i])],
    ['gaspipe waited for a CPU', deliveries.cpuWait[i] > 0 ? timeText(deliveries.cpuWait[i]) : ''],
    ['the worker waited for a CPU', deliveries.workerCpuWait[i] > 0 ? timeText(deliveries.workerCpuWait[i]) : ''],
    ['unattributed', restOf(i) > 0 ? timeText(restOf(i)) : ''],
    ['waited in the queue', timeText(deliveries.queued[i])],
    ['computrons', countText(deliveries.compute[i])],
    ['instructions', countText(deliveries.instructions[i])],
    ['instructions for a computron', Number.isFinite(ratio) ? threeDigits(ratio) : ''],
    ['block cost', countText(deliveries.blockCost[i])],
    ['gas burnt', countText(deliveries.gasBurnt[i])],
    ['gas', countText(deliveries.gas[i])],
    ['line', countText(deliveries.line[i])],
    ['failed', deliveries.problem[i]],
  ].filter(([, value]) => value);
};

const linkTo = (i, go) =>
  make('li', {}, make('button', { type: 'button', onclick: () => go(i) }, `${vatName(deliveries.vat[i])}: ${deliveries.text[i]}`), ` ${timeText(deliveries.total[i])}`);

const linksOf = (i, go) => {
  const cause = causeOf(i);
  const effects = effectsOf(i);
  const blocks = [];
  if (cause >= 0) blocks.push(make('h4', {}, 'Caused by'), make('ul', { class: 'links', id: 'cause' }, linkTo(cause, go)));
  if (effects.length) {
    const more = effects.length - EFFECTS_SHOWN;
    blocks.push(make('h4', {}, `It caused ${countText(effects.length)}`),
      make('ul', { class: 'links', id: 'effects' }, ...effects.slice(0, EFFECTS_SHOWN).map(effect => linkTo(effect, go)),
        ...(more > 0 ? [make('li', {}, `and ${countText(more)} more`)] : [])));
  }
  return blocks;
};

const consoleOf = (i, said) =>
  spansOf(i).requests.map(({ type }, at) => (type === 'console' ? said.requests[at]?.said : '')).filter(Boolean).join('\n');

const wordsOf = (i, go) => {
  const said = saidOf(i);
  return [
    ...textBlock('Arguments', said.args),
    ...textBlock('Result', resultOf(i, said)),
    ...textBlock('Console', consoleOf(i, said)),
    ...linksOf(i, go),
    ...waitsOf(i, go),
    ...callsOf(i),
  ];
};
