import type { Source } from '../source.ts';

/** A file, and what identifies its content. */
export interface Subject {
  readonly name: string;
  readonly sha256: string;
}

/**
 * How the files were made, as an in-toto statement with SLSA's provenance. It is not signed, and
 * names no machine and no time, so that each builder writes the same. The workflow of releases
 * signs a statement on its own run.
 *
 * @param lockfile the SHA-256 of package-lock.json, which has the digest of every package.
 */
export function provenanceOf(source: Source, subjects: readonly Subject[], lockfile: string) {
  const { commit, changes, url, version, time } = source;
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: subjects.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'urn:model-gateway:release:v1',
        externalParameters: { command: 'npm run release -- --dry-run', version },
        internalParameters: {
          SOURCE_DATE_EPOCH: time.getTime() / 1_000,
          signed: false,
          uncommittedChanges: changes,
        },
        resolvedDependencies: [
          { name: 'source', ...(url === undefined ? {} : { uri: url }), digest: { gitCommit: commit } },
          { name: 'package-lock.json', digest: { sha256: lockfile } },
          { name: 'node', uri: `pkg:generic/node@${process.versions.node}` },
        ],
      },
      runDetails: { builder: { id: 'urn:model-gateway:unsigned-dry-run' } },
    },
  };
}
