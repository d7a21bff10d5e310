import { accessSync, constants } from 'node:fs';
import type { EnvReader } from '@gateway/config';

/** How to reach the NATS servers. */
export interface NatsServers {
  /** One server, or several of a cluster; any that answers is used. */
  readonly urls: readonly string[];
  /** Files are read for each connection, so that they may be replaced. */
  readonly credsFile?: string | undefined;
  readonly nkeyFile?: string | undefined;
  readonly caFile?: string | undefined;
}

/** Reads NATS_URL and the files that belong to it. */
export const natsServers = {
  required: (reader: EnvReader, why: string): NatsServers =>
    read(reader, reader.requiredUrls(name, why, example, schemes)),
  optional(reader: EnvReader): NatsServers | undefined {
    const urls = reader.optionalUrls(name, example, schemes);
    return urls && read(reader, urls);
  },
};

const name = 'NATS_URL';
const example = 'nats://127.0.0.1:4222';
const schemes = ['nats', 'tls'];

function read(reader: EnvReader, urls: readonly string[]): NatsServers {
  const servers = {
    urls,
    // NATS_CREDS_FILE: a file of `nsc` with the user's JWT and key.
    credsFile: readableFile(reader, 'NATS_CREDS_FILE'),
    // NATS_NKEY_FILE: a file with the seed of a user's nkey.
    nkeyFile: readableFile(reader, 'NATS_NKEY_FILE'),
    // NATS_CA_FILE (the system's): PEM file with the authorities for the servers of tls:// URLs.
    caFile: readableFile(reader, 'NATS_CA_FILE'),
  };
  const parsed = urls.filter((url) => URL.canParse(url)).map((url) => new URL(url));
  // The client library has one set of credentials and one TLS setting for all servers.
  const protocols = new Set(parsed.map(({ protocol }) => protocol));
  if (protocols.size > 1) {
    reader.problem(`${name} mixes nats:// and tls://. Use the same scheme for all servers.`);
  } else if (servers.caFile !== undefined && protocols.has('nats:')) {
    reader.problem(`NATS_CA_FILE is set, but ${name} does not use TLS. Its URLs must begin with tls://`);
  }
  const logins = new Set(parsed.filter(({ username }) => username).map((url) => `${url.username}:${url.password}`));
  if (logins.size > 1) {
    reader.problem(`${name} has different credentials for its servers. Give the same ones, or give them once.`);
  }
  const ways = [logins.size > 0 && name, servers.credsFile && 'NATS_CREDS_FILE', servers.nkeyFile && 'NATS_NKEY_FILE'];
  const given = ways.filter((way) => typeof way === 'string');
  if (given.length > 1) reader.problem(`${given.join(' and ')} both have credentials. Set only one of them.`);
  return servers;
}

function readableFile(reader: EnvReader, setting: string): string | undefined {
  const path = reader.optional(setting);
  try {
    if (path !== undefined) accessSync(path, constants.R_OK);
  } catch (thrown) {
    reader.problem(`${setting} cannot be read: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  }
  return path;
}
