/**
 * The values of a header, one for each time that it was sent. `name` is in lower case. As `headersDistinct` of Node's request has
 * them, which makes lists of all headers for whoever asks for one.
 */
export function valuesOf(rawHeaders: readonly string[], name: string): readonly string[] {
  let values: string[] | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const sent = rawHeaders[at] ?? '';
    if (sent.length !== name.length || (sent !== name && sent.toLowerCase() !== name)) continue;
    values ??= [];
    values.push(rawHeaders[at + 1] ?? '');
  }
  return values ?? none;
}

const none: readonly string[] = [];
