import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { licenceList } from './licence-list.ts';
import { type Lockfile, partsIn } from './parts.ts';
import { billOfMaterials } from './sbom.ts';

const left = { version: '1.0.0', license: 'MIT', integrity: 'sha512-/wA=', dependencies: { '@scope/right': '1' } };
const right = { version: '2.0.0', license: '(MIT OR ISC)' };
const packages: Lockfile['packages'] = {
  '': { license: 'Apache-2.0' },
  'libs/a': { dependencies: { left: '1', '@own/b': '1', tool: '1' } },
  'node_modules/@own/b': { link: true },
  'node_modules/left': left,
  'node_modules/@scope/right': { ...right, version: '1.9.0' },
  'node_modules/left/node_modules/@scope/right': right,
  'services/b/node_modules/@scope/right': right,
  'node_modules/tool': { version: '3.0.0', license: 'MIT' },
};
const lockfile = { name: 'gateway', version: '1.2.3', packages };
const bundled = new Set(['node_modules/left/node_modules/@scope/right', 'node_modules/left']);

describe('the parts of the programs', () => {
  it('are the packages with code in them, each once, with what they use', () => {
    expect(partsIn(lockfile, bundled, new Set(['left@1.0.0']))).toEqual([
      expect.objectContaining({
        ...{ id: '@scope/right@2.0.0', name: '@scope/right', licence: '(MIT OR ISC)', dependsOn: [] },
        paths: ['node_modules/left/node_modules/@scope/right', 'services/b/node_modules/@scope/right'],
      }),
      expect.objectContaining({ id: 'left@1.0.0', paths: ['node_modules/left'], dependsOn: ['@scope/right@2.0.0'] }),
    ]);
  });

  it.each([
    ['that names no licence', { ...left, license: undefined }, 'left@1.0.0 names no licence'],
    ['that package-lock.json lacks', undefined, 'not in package-lock.json: node_modules/left'],
  ])('can not have one %s', (_, changed, problem) => {
    const { 'node_modules/left': _left, ...others } = packages;
    const found = {
      ...lockfile,
      packages: changed === undefined ? others : { ...others, 'node_modules/left': changed },
    };
    expect(() => partsIn(found, bundled, new Set())).toThrow(problem);
  });

  it('can not have one of the console in another version than package-lock.json', () => {
    expect(() => partsIn(lockfile, bundled, new Set(['left@1.0.1']))).toThrow('not in package-lock.json: left@1.0.1');
  });
});

describe('the list of licences', () => {
  it('has every part, those of workspaces too, and their texts', async () => {
    await using root = await mkdtempDisposable(join(tmpdir(), 'licences-'));
    for (const path of Object.keys(packages)) {
      mkdirSync(join(root.path, path), { recursive: true });
      writeFileSync(join(root.path, path, 'LICENSE'), `Text of ${path}`);
      writeFileSync(join(root.path, path, 'NOTICE.md'), `Notice of ${path}`);
    }
    const list = licenceList(partsIn(lockfile, bundled, new Set()), root.path);
    expect(list).toContain('@scope/right@2.0.0  (MIT OR ISC)\nleft@1.0.0          MIT\n');
    expect(list).toContain('left@1.0.0\n\nText of node_modules/left\n\nNotice of node_modules/left');
  });
});

describe('the bill of materials', () => {
  const parts = partsIn(lockfile, bundled, new Set());

  it('describes each part, and what depends on it', () => {
    expect(billOfMaterials(lockfile, parts, new Date(1_000))).toMatchObject({
      ...{ bomFormat: 'CycloneDX', specVersion: '1.6', version: 1 },
      metadata: {
        timestamp: '1970-01-01T00:00:01.000Z',
        component: { 'bom-ref': 'gateway@1.2.3', type: 'application' },
      },
      components: [
        {
          ...{ 'bom-ref': '@scope/right@2.0.0', group: '@scope', name: 'right', hashes: [] },
          ...{ licenses: [{ expression: '(MIT OR ISC)' }], purl: 'pkg:npm/%40scope/right@2.0.0' },
        },
        {
          ...{ 'bom-ref': 'left@1.0.0', name: 'left', hashes: [{ alg: 'SHA-512', content: 'ff00' }] },
          ...{ licenses: [{ license: { id: 'MIT' } }], purl: 'pkg:npm/left@1.0.0' },
        },
      ],
      dependencies: [
        { ref: 'gateway@1.2.3', dependsOn: ['left@1.0.0'] },
        { ref: '@scope/right@2.0.0', dependsOn: [] },
        { ref: 'left@1.0.0', dependsOn: ['@scope/right@2.0.0'] },
      ],
    });
  });

  it('has a serial number of its own for other contents, and the same for the same', () => {
    const number = (of: typeof parts, time?: Date) => billOfMaterials(lockfile, of, time).serialNumber;
    expect(number(parts)).toMatch(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(number(parts)).toBe(number(parts));
    expect(number(parts.slice(1))).not.toBe(number(parts));
    expect(number(parts, new Date(0))).not.toBe(number(parts));
  });
});
