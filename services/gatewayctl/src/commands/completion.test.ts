import { describe, expect, it } from 'vitest';
import { CommandLine } from '../__fixtures__/command-line.ts';

describe('gatewayctl completion', () => {
  const candidates = async (...words: string[]) =>
    (await new CommandLine(() => {}).run('complete', '--', ...words)).lines;

  it('offers commands, flags, and the values of both', async () => {
    expect(await candidates('')).toEqual(expect.arrayContaining(['token', 'pool', 'doctor']));
    expect(await candidates('')).not.toContain('complete');
    expect(await candidates('token', 're')).toEqual(['revoke']);
    expect(await candidates('token', 'issue', '--r')).toEqual(['--rpm']);
    expect(await candidates('token', 'issue', '--off')).toEqual(['--offline']);
    expect(await candidates('pool', 'status', '-o', '')).toEqual(['table', 'json', 'yaml']);
    expect(await candidates('operator', 'create', 'eva', 'a')).toEqual(['admin']);
    expect(await candidates('completion', 'z')).toEqual(['zsh']);
  });

  it.each(['bash', 'zsh', 'fish'])('prints a script for %s', async (shell) => {
    expect((await new CommandLine(() => {}).run('completion', shell)).printed).toContain('gatewayctl complete --');
  });
});
