import { JsonScanner } from './json-scanner.ts';

/** The elements of an array, each as a view of the array's bytes; of any other value none. Throws `invalid_json`. */
export function jsonElements(array: Buffer): readonly Buffer[] {
  const unbounded = Number.POSITIVE_INFINITY;
  const bounds = { maxDepth: unbounded, maxTokens: unbounded, maxMembers: unbounded };
  const scanner = new JsonScanner({ ...bounds, ofArray: true });
  scanner.push(array);
  scanner.end();
  return scanner.members.map(({ valueStart, valueEnd }) => array.subarray(valueStart, valueEnd));
}
