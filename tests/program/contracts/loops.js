// Regular expressions whose loops match nothing, go back, or are lazy.
const expressions = [
  [/^(?:a?(?:\n|$))*/, 'a\n'],
  [/(?:(?:)+)*b/, 'aab'],
  [/(?:a?)*?$/, 'aaa'],
  [/(?:a*?)*b/, 'aac'],
  [/(a*)*/, 'b'],
  [/(?:a*|b)*/, 'ab'],
  [/(z)((a+)?(b+)?(c))*/, 'zaacbbbcac'],
  [/(?:(a)|b)*/, 'ab'],
  [/((a))+?/, 'a'],
  [/[ab](?:)*?(([^a])??){1,3}?/, 'ab'],
  [/(?:a|ab){2,3}c/, 'abac'],
  [/(?:(?:a{0,2}b?){1,2}c?)*$/, 'aabaac'],
  [/(?<=(?:a?(?:b|^))*)c/, 'abc'],
  [/(?:(?=(a?))\1)*b/, 'aab'],
  [/(?:(?<!(?:a?)*b)a?)*c/, 'aac'],
  [/(?:\1(a?))*b/, 'aab'],
];

export const loops = () => expressions.map(([expression, text]) => expression.exec(text));
