import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');

interface Compose {
  readonly services: Readonly<Record<string, { readonly environment?: Readonly<Record<string, string>> }>>;
}

describe('docker-compose.yml', () => {
  const { services }: Compose = parse(read('docker-compose.yml'), { merge: true });
  const withAdminPort = Object.entries(services).filter(([, { environment }]) => environment?.ADMIN_PORT !== undefined);
  const allowedAt = (name: string) => services[name]?.environment?.ADMIN_ALLOWED_HOSTS?.split(',') ?? [];

  it('lets every admin port be called by the name that its service has there', () => {
    expect(withAdminPort.length).toBeGreaterThan(7);
    expect(withAdminPort.map(([name]) => name).filter((name) => !allowedAt(name).includes(name))).toEqual([]);
  });

  it.each(['docker-compose.yml', 'docs/operations.md', 'README.md', 'docs/limiter.md'])(
    'allows the names of admin ports that %s uses',
    (path) => {
      const names = [...read(path).matchAll(/http:\/\/([a-z-]+):9090/g)].map(([, name = '']) => name);
      expect(names.filter((name) => name !== 'localhost' && !allowedAt(name).includes(name))).toEqual([]);
    },
  );
});
