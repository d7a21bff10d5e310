const KiB = 1024;
const MiB = 1024 * KiB;

/** JSON values that are made to cost time, by what they consist of. */
export const hostileValues: Readonly<Record<string, (bytes: number) => string>> = {
  'one giant string': (bytes) => `"${'x'.repeat(bytes)}"`,
  'a string of quotes and backslashes': (bytes) => `"${'\\"\\\\'.repeat(bytes / 4)}"`,
  'a string of escapes': (bytes) => `"${'\\u0061'.repeat(bytes / 6)}"`,
  'a string of surrogates': (bytes) => `"${'\\ud83d\\ude00'.repeat(bytes / 12)}"`,
  'a string of lone surrogates': (bytes) => `"${'\\ud83d'.repeat(bytes / 6)}"`,
  'a string of characters of four bytes': (bytes) => `"${'🗼'.repeat(bytes / 4)}"`,
  'a huge number': (bytes) => `[${'7'.repeat(bytes)}]`,
  'many numbers': (bytes) => `[${'1,'.repeat(Math.min(bytes / 2, 240_000))}1]`,
  'many fractions': (bytes) => `[${'-1.5e+3,'.repeat(Math.min(bytes / 8, 240_000))}1]`,
  'many words': (bytes) => `[${'false,'.repeat(Math.min(bytes / 6, 240_000))}true]`,
  'many empty objects': (bytes) => `[${'{},'.repeat(Math.min(bytes / 3, 240_000))}{}]`,
  'many small texts': (bytes) => `[${'"a",'.repeat(Math.min(bytes / 4, 240_000))}"b"]`,
  'many texts of 200 bytes': (bytes) => `[${`"${'b'.repeat(197)}",`.repeat(Math.min(bytes / 200, 240_000))}"b"]`,
  'many keys': (bytes) => `{${'"a":1,'.repeat(Math.min(bytes / 6, 120_000))}"b":1}`,
  'different keys': (bytes) => `{${range(Math.min(bytes / 12, 120_000), (n) => `"key${n}":1`)}}`,
  'deep arrays': () => `${'['.repeat(250)}${']'.repeat(250)}`,
  'many deep arrays': (bytes) => `[${range(Math.min(bytes / 400, 900), () => `${'['.repeat(200)}${']'.repeat(200)}`)}]`,
  'blanks everywhere': (bytes) => {
    const blanks = ' \n\r\t'.repeat(Math.min(bytes / 40, MiB - 8) / 4);
    return `[${blanks}{${blanks}"encrypted_content"${blanks}:${blanks}"a",${blanks}"signature"${blanks}:${blanks}1}${blanks}]`;
  },
  'blanks behind what is tracked': (bytes) => {
    const blanks = ' '.repeat(MiB - 8);
    const item = `{"encrypted_content":${blanks}"a","signature"${blanks}:"b"}`;
    return `[${range(Math.min(bytes / item.length, 30), () => item)}]`;
  },
  'much encrypted reasoning': (bytes) => {
    const item = (n: number) => `{"type":"reasoning","id":"r${n}","encrypted_content":"${'g'.repeat(500)}"}`;
    return `[${range(Math.min(bytes / 600, 20_000), item)}]`;
  },
  'giant encrypted reasoning': (bytes) =>
    `[{"type":"reasoning","encrypted_content":"${'g'.repeat(bytes / 2)}","signature":"${'s'.repeat(bytes / 3)}"}]`,
};

function range(count: number, item: (n: number) => string): string {
  return Array.from({ length: Math.max(1, Math.floor(count)) }, (_, n) => item(n)).join(',');
}
