import { stripVTControlCharacters } from 'node:util';

/** Text of a gateway without the characters that a terminal would obey. */
export function plain(text: string): string {
  return stripVTControlCharacters(text).replaceAll(/[\p{Cc}\p{Cf}]/gu, ' ');
}
