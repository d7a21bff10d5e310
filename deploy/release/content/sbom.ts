import { createHash } from 'node:crypto';
import { directDependencies, type Lockfile, type Part } from './parts.ts';

/**
 * What is inside the programs and the console, as CycloneDX 1.6. Packages of which no code was
 * bundled are not listed.
 *
 * @param time without it no time is named. The same sources give the same bytes.
 */
export function billOfMaterials(lockfile: Lockfile, parts: readonly Part[], time?: Date) {
  const ownId = `${lockfile.name}@${lockfile.version}`;
  const direct = directDependencies(lockfile);
  const ofOthers = new Set(parts.flatMap(({ dependsOn }) => dependsOn));
  const ownParts = parts.filter(({ id }) => direct.has(id) || !ofOthers.has(id)).map(({ id }) => id);
  const content = {
    metadata: {
      ...(time === undefined ? {} : { timestamp: time.toISOString() }),
      lifecycles: [{ phase: 'build' }],
      component: {
        ...{ type: 'application', 'bom-ref': ownId, name: lockfile.name, version: lockfile.version },
        licenses: [{ license: { id: lockfile.packages['']?.license ?? '' } }],
        purl: `pkg:npm/${lockfile.name}@${lockfile.version}`,
      },
    },
    components: parts.map(componentOf),
    dependencies: [{ ref: ownId, dependsOn: ownParts }, ...parts.map(({ id, dependsOn }) => ({ ref: id, dependsOn }))],
  };
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    ...{ bomFormat: 'CycloneDX', specVersion: '1.6' },
    ...{ serialNumber: `urn:uuid:${uuidOf(JSON.stringify(content))}`, version: 1 },
    ...content,
  };
}

function componentOf({ id, name, version, licence, integrity }: Part) {
  const [, scope, own = name] = /^(@[^/]+)\/(.*)$/.exec(name) ?? [];
  const purl = scope === undefined ? own : `${scope.replace('@', '%40')}/${own}`;
  const isOneLicence = /^[\w.-]+$/.test(licence);
  return {
    ...{ type: 'library', 'bom-ref': id },
    ...(scope === undefined ? {} : { group: scope }),
    ...{ name: own, version, scope: 'required' },
    hashes: hashesOf(integrity),
    licenses: [isOneLicence ? { license: { id: licence } } : { expression: licence }],
    purl: `pkg:npm/${purl}@${version}`,
  };
}

/** An entry's `integrity` may have several digests. */
function hashesOf(integrity: string) {
  return integrity.split(' ').flatMap((each) => {
    const [, bits, digest = ''] = /^sha(\d+)-(.*)$/.exec(each) ?? [];
    if (bits === undefined) return [];
    return [{ alg: bits === '1' ? 'SHA-1' : `SHA-${bits}`, content: Buffer.from(digest, 'base64').toString('hex') }];
  });
}

/** An UUID of version 8, whose bits are a digest. */
function uuidOf(text: string): string {
  const digest = createHash('sha256').update(text).digest('hex');
  const variant = ((Number.parseInt(digest.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return [
    digest.slice(0, 8),
    digest.slice(8, 12),
    `8${digest.slice(13, 16)}`,
    `${variant}${digest.slice(17, 20)}`,
    digest.slice(20, 32),
  ].join('-');
}
