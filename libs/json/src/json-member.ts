/**
 * One member of the top-level object as byte offsets: `[keyStart, keyEnd)` and
 * `[valueStart, valueEnd)`. For an array it is an element, whose key offsets have no meaning.
 */
export interface JsonMember {
  /** Includes the quotes of the key. */
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}
