/** What a reader of a JSON text expects next, or is within. */
export const State = {
  value: 0,
  firstElementOrEnd: 1,
  firstKeyOrEnd: 2,
  key: 3,
  colon: 4,
  commaOrEnd: 5,
  string: 6,
  escape: 7,
  unicode: 8,
  minus: 9,
  zero: 10,
  integer: 11,
  point: 12,
  fraction: 13,
  exponent: 14,
  exponentSign: 15,
  exponentDigits: 16,
  literal: 17,
  done: 18,
} as const;
export type State = (typeof State)[keyof typeof State];

/** After one of these a number may end. */
export const endsNumber: ReadonlySet<State> = new Set<State>([
  State.zero,
  State.integer,
  State.fraction,
  State.exponentDigits,
]);

/** The state after one more byte of a number; undefined when the byte does not belong to it. */
export function nextNumberState(state: State, byte: number): State | undefined {
  const digit = isDigit(byte);
  const isExponentMark = byte === 0x65 || byte === 0x45;
  switch (state) {
    case State.minus:
      if (byte === 0x30) return State.zero;
      return digit ? State.integer : undefined;
    case State.integer:
      if (digit) return State.integer;
      return afterInteger(byte, isExponentMark);
    case State.zero:
      return afterInteger(byte, isExponentMark);
    case State.point:
      return digit ? State.fraction : undefined;
    case State.fraction:
      if (digit) return State.fraction;
      return isExponentMark ? State.exponent : undefined;
    case State.exponent:
      if (byte === 0x2b || byte === 0x2d) return State.exponentSign;
      return digit ? State.exponentDigits : undefined;
    default:
      return digit ? State.exponentDigits : undefined;
  }
}

function afterInteger(byte: number, isExponentMark: boolean): State | undefined {
  if (byte === 0x2e) return State.point;
  return isExponentMark ? State.exponent : undefined;
}

export function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}
