/*
 * Texts of clients, providers and operators as people see them. Characters that a terminal obeys, that turn the direction of a line
 * or that can't be seen at all make one name look like another, or a line like one of ours.
 */

/** A text in one line: controls become spaces, and all else in it that is not seen the sign "�". */
export function visibleText(text: string): string {
  return text.replaceAll(unseen, seenInstead);
}

/** The same, with its lines and tabs. */
export function visibleLines(text: string): string {
  return text.replaceAll(unseen, (character) => (/[\n\t]/.test(character) ? character : seenInstead(character)));
}

/** A message, or any other data, with every text in it as people see it. Only notes and whole texts keep their lines. */
export function withVisibleTexts<T>(data: T): T {
  // The copy has the shape of the data: only its texts are others.
  return copied(data, '') as T;
}

/** JSON with escapes in place of what is not seen. It says the same. */
export function visibleJson(json: string): string {
  return json.replaceAll(unseenInJson, (character) =>
    character
      .split('')
      .map((unit) => `\\u${hexadecimal(unit.charCodeAt(0), 4)}`)
      .join(''),
  );
}

/** The same of YAML, in which such characters stand between double quotes. */
export function visibleYaml(yaml: string): string {
  return yaml.replaceAll(unseenInJson, (character) => `\\U${hexadecimal(character.codePointAt(0) ?? 0, 8)}`);
}

/** Whether JSON and YAML need an escape for something in a text. */
export function hasUnseen(text: string): boolean {
  return text.search(unseenInJson) >= 0;
}

/** A joiner between two pictures makes one of them, 👩‍🚀: it is seen, and left. */
const unseen =
  /(?!(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\u200d\p{Extended_Pictographic})[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** JSON escapes the other controls itself. */
const unseenInJson = /[\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}]/gu;

function seenInstead(character: string): string {
  return /\p{Cc}/u.test(character) ? ' ' : '�';
}

function hexadecimal(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}

const namesOfLines = new Set(['text', 'note']);

function copied(data: unknown, name: string): unknown {
  if (typeof data === 'string') return namesOfLines.has(name) ? visibleLines(data) : visibleText(data);
  if (Array.isArray(data)) return data.map((part) => copied(part, name));
  if (typeof data !== 'object' || data === null || ArrayBuffer.isView(data)) return data;
  const copy: object = Object.create(Object.getPrototypeOf(data));
  const members = Object.entries(data).map(([key, part]) => [visibleText(key), copied(part, key)] as const);
  return Object.assign(copy, Object.fromEntries(members));
}
