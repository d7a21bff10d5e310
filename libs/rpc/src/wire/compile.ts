/**
 * Makes what a piece of JavaScript returns, which may use the values of `scope` by their names. What contracts describe is
 * compiled so once, at the start: code that names the members of one kind of message runs several times as fast as code that looks
 * them up by names that it is told, as all kinds of messages then share what the engine learns. A source holds nothing but what
 * is made from our own contracts; names in it are quoted.
 */
export function compile(source: string, scope: Readonly<Record<string, unknown>>): unknown {
  const make = new Function(...Object.keys(scope), `'use strict';\n${source}`);
  return make(...Object.values(scope));
}

/** A name or text as a literal. */
export function quoted(text: string): string {
  return JSON.stringify(text);
}
