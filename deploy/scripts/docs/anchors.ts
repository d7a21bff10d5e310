/**
 * The anchor of a heading as GitHub makes it, so that a link works both there and on the site. A
 * repeated heading gets `-1`, `-2`.
 */
export function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{Nd}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');
}
