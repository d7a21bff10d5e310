/** True when `part` stands in a text at that place. Compares whole words of memory: startsWith goes character by character. */
export function standsAt(text: string, at: number, part: string): boolean {
  return text.slice(at, at + part.length) === part;
}
