import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { readCompose } from './compose-file.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { services } = readCompose();
const allowed = services.admin?.environment.ADMIN_ALLOWED_HOSTS?.split(',') ?? [];

it('the admin service of docker-compose.yml may be called by the name that it has there', () => {
  expect(allowed).toContain('admin');
});

it.each(['docker-compose.yml', 'README.md', ...globSync('docs/**/*.md', { cwd: root })])(
  'and by every name under which %s calls it',
  (path) => {
    const text = readFileSync(join(root, path), 'utf8');
    const names = [...text.matchAll(/GATEWAY_ADMIN_URL[=:] ?http:\/\/([a-z-]+):9090/g)].map(([, name = '']) => name);
    expect(names.filter((name) => name !== 'localhost' && !allowed.includes(name))).toEqual([]);
  },
);
