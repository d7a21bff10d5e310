import { stripVTControlCharacters } from 'node:util';

/** A gateway's text without terminal control characters. */
export function plain(text: string): string {
  return stripVTControlCharacters(text).replaceAll(/[\p{Cc}\p{Cf}]/gu, ' ');
}
