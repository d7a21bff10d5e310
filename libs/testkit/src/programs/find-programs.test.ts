import { describe, expect, it } from 'vitest';
import { searchPrograms } from './find-programs.ts';

const none = async () => undefined;
const refuse = async () => {
  throw new Error('apt-get update: not installed');
};

describe('the search for programs', () => {
  it('prefers what the machine has', async () => {
    const installed = { folder: '/usr/bin', libraryFolders: [] };
    expect(await searchPrograms('redis', [], { installed: async () => installed, packaged: refuse })).toBe(installed);
  });

  it('falls back to packages', async () => {
    const packaged = { folder: '/cache/usr/bin', libraryFolders: ['/cache/usr/lib'] };
    expect(await searchPrograms('redis', [], { installed: none, packaged: async () => packaged })).toBe(packaged);
  });

  it('says everything that was tried, and what to do, when there is nothing', async () => {
    const search = searchPrograms('postgres', ['a container of postgres:17: no Docker engine answers'], {
      installed: none,
      packaged: refuse,
    });
    await expect(search).rejects.toThrow(
      [
        'No postgres server can be had. Tried, in this order:',
        '  - a container of postgres:17: no Docker engine answers',
        '  - postgres and initdb on PATH: not there',
        "  - Debian's packages: apt-get update: not installed",
        'Set DATABASE_URL to a server that runs, start a Docker engine, or install postgres and initdb.',
      ].join('\n'),
    );
  });
});
