/*
 * Makes texts of clients, providers and operators safe to show. Terminal control characters,
 * characters that change the direction of a line, and invisible characters can make one name look
 * like another, or a line look like one of ours.
 */

/**
 * A text in one line: control characters become spaces, and other invisible characters become "�".
 */
export function visibleText(text: string): string {
  return text.replaceAll(unseen, seenInstead);
}

/** The same, but keeps line feeds and tabs. */
export function visibleLines(text: string): string {
  return text.replaceAll(unseen, (character) => (/[\n\t]/.test(character) ? character : seenInstead(character)));
}

/**
 * Copies a message, or any other data, with every text in it made visible. Only notes and whole
 * texts keep their lines.
 */
export function withVisibleTexts<T>(data: T): T {
  // The copy has the shape of the data; only texts differ.
  return copied(data, '') as T;
}

/** JSON with escapes in place of invisible characters. Its value is the same. */
export function visibleJson(json: string): string {
  return json.replaceAll(unseenInJson, (character) =>
    character
      .split('')
      .map((unit) => `\\u${hexadecimal(unit.charCodeAt(0), 4)}`)
      .join(''),
  );
}

/** The same for YAML, in which such characters appear only in double-quoted strings. */
export function visibleYaml(yaml: string): string {
  return yaml.replaceAll(unseenInJson, (character) => `\\U${hexadecimal(character.codePointAt(0) ?? 0, 8)}`);
}

/** Whether a text contains characters that JSON and YAML must escape. */
export function hasUnseen(text: string): boolean {
  return text.search(unseenInJson) >= 0;
}

/** A joiner between two pictures makes a single one, 👩‍🚀: it is visible, so it stays. */
const unseen =
  /(?!(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\u200d\p{Extended_Pictographic})[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** JSON.stringify escapes the other control characters. */
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
