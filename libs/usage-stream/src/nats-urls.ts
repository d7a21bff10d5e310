import type { EnvReader } from '@gateway/config';

/** NATS_URL: one server, or several of a cluster with commas between them, of which any that answers will do. */
export const natsUrls = { required, optional };

const name = 'NATS_URL';
const example = 'nats://127.0.0.1:4222';
const schemes = ['nats', 'tls'];

function required(reader: EnvReader, why: string): readonly string[] {
  return sameTerms(reader, reader.requiredUrls(name, why, example, schemes));
}

function optional(reader: EnvReader): readonly string[] | undefined {
  const urls = reader.optionalUrls(name, example, schemes);
  return urls === undefined ? undefined : sameTerms(reader, urls);
}

/** The client library has one set of credentials and one TLS setting for all servers. */
function sameTerms(reader: EnvReader, urls: readonly string[]): readonly string[] {
  const parsed = urls.filter((url) => URL.canParse(url)).map((url) => new URL(url));
  if (new Set(parsed.map(({ protocol }) => protocol)).size > 1) {
    reader.problem(`${name} mixes nats:// and tls://. All its servers must be reached in the same way.`);
  }
  const credentials = parsed.filter(({ username }) => username !== '').map((url) => `${url.username}:${url.password}`);
  if (new Set(credentials).size > 1) {
    reader.problem(`${name} has different credentials for its servers. They must be the same; given once is enough.`);
  }
  return urls;
}
