import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CommandLine } from '../__fixtures__/command-line.ts';

const config = `model_list:
  - { model_name: fast, litellm_params: { model: openai/gpt-5-mini, api_key: sk-secret-of-the-file, rpm: 5 } }
`;

describe('gatewayctl import litellm', () => {
  let folder: string;
  const at = (name: string) => join(folder, name);
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatewayctl-import-'));
    await writeFile(at('config.yaml'), config);
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const run = (...args: readonly string[]) =>
    new CommandLine(() => {}).run('import', 'litellm', at('config.yaml'), '--commands', at('tokens.sh'), ...args);

  it('writes the file and prints the list', async () => {
    const { exitCode, printed, notes } = await run('--out', at('gateway.yaml'));
    expect({ exitCode, notes }).toEqual({ exitCode: 0, notes: `wrote ${at('gateway.yaml')}` });
    expect(printed).toMatch(/^1 of 1 model taken: 1 pool, 1 account\.\n/);
    expect(printed).toMatch(/^OPENAI_KEY_1 +that of model_list\[0\]\.litellm_params\.api_key$/m);
    expect(printed).toMatch(/^fast +gateway\/fast$/m);
    expect(printed).toContain('\n  model_list[0].litellm_params.rpm\n');
    expect(await readFile(at('gateway.yaml'), 'utf8')).toContain(`bearer: \${OPENAI_KEY_1}`);
  });

  it('replaces a file only with --force, and writes nothing with --dry-run', async () => {
    await writeFile(at('gateway.yaml'), 'mine');
    const refused = await run('--out', at('gateway.yaml'));
    expect(refused).toMatchObject({ exitCode: 2, notes: expect.stringContaining('exists') });
    const dry = await run('--out', at('gateway.yaml'), '--force', '--dry-run');
    expect(dry).toMatchObject({ exitCode: 0, notes: 'no file was written' });
    expect(await readFile(at('gateway.yaml'), 'utf8')).toBe('mine');
    expect((await run('--out', at('gateway.yaml'), '--force')).exitCode).toBe(0);
    expect(await readFile(at('gateway.yaml'), 'utf8')).toContain('pools:');
  });

  it('prints the file with --out -, and the list as notes', async () => {
    const { printed, notes } = await run('--out', '-');
    expect(printed).toMatch(/^# gatewayctl import litellm made this file from config\.yaml\.\n/);
    expect(notes).toContain('1 of 1 model taken');
  });

  it('prints the list for programs', async () => {
    const { json } = await run('--dry-run', '-o', 'json');
    expect(json()).toMatchObject({
      counts: { models: 1, taken: 1 },
      variables: [{ name: 'OPENAI_KEY_1', valueAt: 'model_list[0].litellm_params.api_key' }],
      left: [{ place: 'model_list[0].litellm_params.rpm' }],
    });
  });

  it('writes commands for keys and teams', async () => {
    await writeFile(at('keys.json'), JSON.stringify({ keys: [{ key_alias: 'ci', models: ['fast'] }] }));
    const { printed, notes } = await run('--out', at('gateway.yaml'), '--keys', at('keys.json'));
    expect(notes).toBe(`wrote ${at('gateway.yaml')} and ${at('tokens.sh')}`);
    expect(printed).toContain('1 of 1 key and 0 of 0 teams taken. Keys get new tokens.\n');
    const script = await readFile(at('tokens.sh'), 'utf8');
    expect(script).toMatch(
      /^#!\/bin\/sh\n[\s\S]*\nset -eu\ngatewayctl token issue --label ci --models gateway\/fast\n$/,
    );
  });

  it('fails with a list if no model can be taken, and with a place if the file is no YAML', async () => {
    await writeFile(at('config.yaml'), 'model_list:\n  - { model_name: g, litellm_params: { model: gemini/g } }\n');
    const none = await run('--out', at('gateway.yaml'));
    expect(none).toMatchObject({ exitCode: 1, printed: expect.stringContaining('model_list[0]') });
    await writeFile(at('config.yaml'), 'model_list:\n  - a: [sk-secret\n');
    const broken = await run('--out', at('gateway.yaml'));
    expect(broken).toMatchObject({ exitCode: 1, notes: expect.stringMatching(/config\.yaml:\d+:\d+: /) });
    expect(broken.notes).not.toContain('sk-secret');
    await expect(readFile(at('gateway.yaml'))).rejects.toThrow('ENOENT');
  });
});
