import { readFileSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { readBuild, versionText } from './build.ts';

const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
};

describe('the build', () => {
  it('has the version of the whole, and the revision that an image was made of', () => {
    expect(readBuild()).toEqual({ version, revision: 'unknown' });
    vi.stubEnv('GATEWAY_REVISION', 'abc123');
    expect(readBuild()).toEqual({ version, revision: 'abc123' });
    expect(versionText('limiter')).toBe(`limiter ${version} (revision abc123)\n`);
    vi.unstubAllEnvs();
  });
});
