// An index of the words of documents: several hundred store calls in a delivery.

const countKey = word => `count.${word}`;
const postingKey = (word, title) => `posting.${word}.${title}`;

const wordsOf = text => text.toLowerCase().match(/[a-z0-9]+/g) ?? [];

const increment = key => {
  const count = Number(store.get(key) ?? 0) + 1;
  store.set(key, `${count}`);
  return count;
};

export const add = (title, text) => {
  const words = wordsOf(text);
  for (const word of words) {
    increment(postingKey(word, title));
    increment(countKey(word));
  }
  console.log(`${title}: ${words.length} words`);
  return words.length;
};

// Adds the numbers from..to as words, so that one can choose how many calls to make.
export const addNumbers = (title, from, to) => {
  const words = [];
  for (let number = from; number <= to; number += 1) {
    words.push(`n${number}`);
  }
  return add(title, words.join(' '));
};

export const count = word => Number(store.get(countKey(word)) ?? 0);

export const find = word => {
  const prefix = postingKey(word, '');
  const found = {};
  let key = store.nextKey(prefix);
  while (key !== undefined && key.startsWith(prefix)) {
    found[key.slice(prefix.length)] = Number(store.get(key));
    key = store.nextKey(key);
  }
  return found;
};
