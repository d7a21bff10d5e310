/** Whether a text is a number, true, false or null. */
export function isScalar(text: string): boolean {
  return words.includes(text) || wholeNumber.test(text);
}

/** Whether it can become one when more characters follow. */
export function mayBecomeScalar(text: string): boolean {
  return startOfNumber.test(text) || words.some((word) => word.startsWith(text));
}

const words = ['true', 'false', 'null'];
const wholeNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const startOfNumber = /^-?(?:(?:0|[1-9]\d*)(?:\.\d*)?(?:(?<=\d)[eE][+-]?\d*)?)?$/;
