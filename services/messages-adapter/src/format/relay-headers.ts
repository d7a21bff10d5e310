type Headers = Readonly<Record<string, string>>;

/**
 * The headers of a relayed request: the client's version and betas, under both of their spellings, since pools differ in
 * the one they read, and what answer is expected. The same object, frozen, for the same headers.
 * @see spec "Versioning"
 */
export function relayHeaders(client: Headers, accept: 'text/event-stream' | 'application/json'): Headers {
  const version = client['partner-version'] || client['anthropic-version'] || defaultVersion;
  const beta = client['partner-beta'] || client['anthropic-beta'] || '';
  // No header holds a line end.
  const key = `${version}\n${beta}\n${accept}`;
  const known = remembered.get(key);
  if (known !== undefined) return known;
  // Clients of one kind send the same; whoever sends something new each time is not remembered for long.
  if (remembered.size === maxRemembered) remembered.clear();
  const headers = withBothSpellings(version, beta, accept);
  remembered.set(key, headers);
  return headers;
}

function withBothSpellings(version: string, beta: string, accept: string): Headers {
  return Object.freeze({
    'anthropic-version': version,
    'partner-version': version,
    ...(beta === '' ? {} : { 'anthropic-beta': beta, 'partner-beta': beta }),
    accept,
  });
}

const defaultVersion = '2023-06-01';
const remembered = new Map<string, Headers>();
const maxRemembered = 100;
