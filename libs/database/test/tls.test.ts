import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres, type TestServer } from '@gateway/testkit';
import { CertificateAuthority } from '@gateway/testkit/certificates';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openPostgres } from '../src/postgres/open-postgres.ts';

describe('a Postgres that speaks TLS', () => {
  let folder: string;
  let caFile: string;
  let otherCaFile: string;
  let server: TestServer;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'secure-postgres-'));
    const [authority, other] = [await CertificateAuthority.create(), await CertificateAuthority.create()];
    const files = await authority.writeFiles(folder, 'postgres', { names: ['localhost'] });
    caFile = files.caFile;
    otherCaFile = (await other.writeFiles(join(folder, 'other'), 'postgres', { names: ['localhost'] })).caFile;
    server = await startPostgres({ tls: files });
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  async function isEncrypted(host: string, query: string): Promise<boolean | undefined> {
    await using database = openPostgres(`postgres://postgres@${host}:${server.port}/postgres?${query}`);
    const { rows } = await sql<{ ssl: boolean }>`select ssl from pg_stat_ssl where pid = pg_backend_pid()`.execute(
      database,
    );
    return rows[0]?.ssl;
  }

  it('is spoken with as sslmode says', async () => {
    expect(await isEncrypted('localhost', '')).toBe(false);
    expect(await isEncrypted('localhost', 'sslmode=disable')).toBe(false);
    expect(await isEncrypted('127.0.0.1', 'sslmode=require')).toBe(true);
    expect(await isEncrypted('127.0.0.1', `sslmode=verify-ca&sslrootcert=${caFile}`)).toBe(true);
    expect(await isEncrypted('localhost', `sslmode=verify-full&sslrootcert=${caFile}`)).toBe(true);
  });

  it('is refused when its certificate is for another name, or of another CA', async () => {
    await expect(isEncrypted('127.0.0.1', `sslmode=verify-full&sslrootcert=${caFile}`)).rejects.toThrow(/altnames/);
    await expect(isEncrypted('localhost', `sslmode=verify-full&sslrootcert=${otherCaFile}`)).rejects.toThrow(
      /certificate/,
    );
    await expect(isEncrypted('localhost', `sslmode=verify-ca&sslrootcert=${otherCaFile}`)).rejects.toThrow(
      /certificate/,
    );
  });
});
