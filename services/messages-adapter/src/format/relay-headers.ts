/**
 * The headers of a client that go along: version and betas, under both of their spellings, since pools differ in the one
 * they read. @see spec "Versioning"
 */
export function forwardedHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const version = headers['partner-version'] || headers['anthropic-version'] || defaultVersion;
  const beta = headers['partner-beta'] || headers['anthropic-beta'];
  return {
    'anthropic-version': version,
    'partner-version': version,
    ...(beta ? { 'anthropic-beta': beta, 'partner-beta': beta } : {}),
  };
}

const defaultVersion = '2023-06-01';
