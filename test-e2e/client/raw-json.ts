import fc from 'fast-check';

/** A member of a JSON object as it is written: the key with its quotes, and the value. */
export interface RawMember {
  readonly key: string;
  readonly value: string;
}

/** A member with the white space around its parts. */
export interface SpacedMember extends RawMember {
  /** Before the key, before the colon, after the colon and after the value. */
  readonly spaces: readonly [string, string, string, string];
}

/** The inside of a JSON string, with escapes and characters of every length. */
export const rawTextContents: fc.Arbitrary<string> = fc
  .array(
    fc.constantFrom(
      ...['a', 'Z', ' ', '/', "'", 'é', '日', '🚀', '\u007f', '\u2028'],
      ...['\\u0041', '\\u00e9', '\\ud83d\\ude80', '\\n', '\\"', '\\\\', '\\/', '\\b', '\\u0000', '\\ud800'],
    ),
    { maxLength: 12 },
  )
  .map((units) => units.join(''));

/** White space where JSON allows it. */
export const spaces: fc.Arbitrary<string> = fc.constantFrom('', '', '', ' ', '\n', '\t', '\r\n  ');

const rawScalars = fc.oneof(
  fc.constantFrom('true', 'false', 'null', '0', '-0', '1.0', '1E+2', '1e400', '-12345678901234567890', '0.1e-7'),
  fc.bigInt({ min: 10n ** 19n, max: 10n ** 20n - 1n }).map(String),
  rawTextContents.map((text) => `"${text}"`),
);

/**
 * Few keys, so that objects repeat some. Includes keys with a meaning at the top level, the only
 * level where they have one.
 */
const nestedKeys = fc.constantFrom(
  ...['"a"', '"\\u0061"', '"é"', '""', '"model"', '"stream"', '"store"', '"max_output_tokens"', '"client_metadata"'],
);

/** JSON texts in every valid notation, most of which `JSON.stringify` never produces. */
export const rawValues: fc.Arbitrary<string> = fc.letrec<{ value: string; list: string; object: string }>((tie) => ({
  value: fc.oneof({ maxDepth: 3, depthSize: 'small' }, rawScalars, tie('list'), tie('object')),
  list: fc
    .array(fc.tuple(spaces, tie('value'), spaces), { maxLength: 4 })
    .map((items) => `[${items.map((item) => item.join('')).join(',')}]`),
  object: fc
    .array(spaced(nestedKeys, tie('value')), { maxLength: 5 })
    .map((members) => `{${members.map(memberText).join(',')}}`),
})).value;

export function spaced(keys: fc.Arbitrary<string>, values: fc.Arbitrary<string>): fc.Arbitrary<SpacedMember> {
  return fc.record({ key: keys, value: values, spaces: fc.tuple(spaces, spaces, spaces, spaces) });
}

export function memberText({ key, value, spaces: [first, second, third, fourth] }: SpacedMember): string {
  return `${first}${key}${second}:${third}${value}${fourth}`;
}

/** An object as text, with white space around it. */
export function objectText(members: readonly SpacedMember[], around: readonly [string, string]): string {
  return `${around[0]}{${members.map(memberText).join(',')}}${around[1]}`;
}

/**
 * The members at the top of an object, as they are written. It only recognises strings and
 * brackets, so the text must be valid JSON.
 */
export function topLevelMembers(text: string): readonly RawMember[] {
  const inside = text.trim().slice(1, -1);
  return splitOutside(inside, ',')
    .filter((member) => member.trim() !== '')
    .map((member) => {
      const [key = '', ...rest] = splitOutside(member, ':');
      return { key: key.trim(), value: rest.join(':').trim() };
    });
}

/** The meaning of a key or text in any notation. */
export function meaningOf(raw: string): unknown {
  return JSON.parse(raw);
}

/** Splits a text at a separator outside of strings and brackets. */
function splitOutside(text: string, separator: string): readonly string[] {
  const pieces: string[] = [];
  let start = 0;
  let depth = 0;
  let quoted = false;
  for (let index = 0; index < text.length; index++) {
    const character = text.charAt(index);
    if (quoted && character === '\\') index++;
    else if (character === '"') quoted = !quoted;
    else if (!quoted && '{['.includes(character)) depth++;
    else if (!quoted && '}]'.includes(character)) depth--;
    else if (!quoted && depth === 0 && character === separator) {
      pieces.push(text.slice(start, index));
      start = index + 1;
    }
  }
  return [...pieces, text.slice(start)];
}
