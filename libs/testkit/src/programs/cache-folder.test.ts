import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { cacheFolder } from './debian-programs.ts';

it('is in the home folder', () => {
  expect(cacheFolder({}, false)).toBe(join(homedir(), '.cache/model-gateway/programs'));
});

it('is where XDG_CACHE_HOME says', () => {
  expect(cacheFolder({ XDG_CACHE_HOME: '/caches' }, true)).toBe('/caches/model-gateway/programs');
});

it("is outside root's home for root: Postgres runs as another user, who can't look in there", () => {
  expect(cacheFolder({}, true)).toBe('/var/cache/model-gateway/programs');
});
