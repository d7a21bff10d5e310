import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ConfigError, EnvReader } from './env-reader.ts';
import { resolveEnvReferences } from './env-references.ts';

describe('a setting in a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-settings-'));
  const file = join(folder, 'key');
  writeFileSync(file, ' secret\n');
  afterAll(() => rmSync(folder, { recursive: true }));

  it('is read, without the spaces around it', () => {
    const reader = new EnvReader({ KEY_FILE: file });
    expect([reader.optional('KEY'), reader.required('KEY', '', '')]).toEqual(['secret', 'secret']);
    reader.done();
    expect(resolveEnvReferences(`Bearer \${KEY}`, { KEY_FILE: file }).value).toBe('Bearer secret');
  });

  it('that is not there, or set twice, is a problem once', () => {
    const reader = new EnvReader({ KEY_FILE: join(folder, 'none'), OTHER_FILE: file, OTHER: 'x' });
    reader.required('KEY', '', '');
    reader.optional('OTHER');
    expect(() => reader.done()).toThrow(
      new ConfigError([
        `KEY_FILE can't be read: ENOENT: no such file or directory, open '${join(folder, 'none')}'`,
        'OTHER and OTHER_FILE are both set. Set one of them.',
      ]),
    );
    const { problems } = resolveEnvReferences({ a: `\${OTHER}` }, { OTHER_FILE: file, OTHER: 'x' });
    expect(problems.get('a')).toBe('OTHER and OTHER_FILE are both set. Set one of them.');
  });
});
