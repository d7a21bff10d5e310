import { statfs } from 'node:fs/promises';
import { type Environment, EnvReader } from '@gateway/config/env-reader';
import type { Replica } from '@gateway/proto/admin/v1/system_service_pb.js';
import { bytesText } from '../../output/words.ts';
import { type Finding, fine, warning, wrong } from './finding.ts';

/** A file system with files of the gateway. */
export interface Disk {
  /** "gateway at 10.0.0.1:9090" */
  readonly whose: string;
  readonly freeBytes: number;
  readonly sizeBytes: number;
}

/** That of the embedded gateway's folder, if the folder is on this machine. */
export async function ownDisk(env: Environment): Promise<Disk | undefined> {
  const folder = new EnvReader(env).string('GATEWAY_DATA', './data');
  const disk = await statfs(folder).catch(() => undefined);
  return disk && { whose: folder, freeBytes: disk.bavail * disk.bsize, sizeBytes: disk.blocks * disk.bsize };
}

/** Those of services that keep files: the outbox of edges. */
export function disksOf(replicas: readonly Replica[]): readonly Disk[] {
  return replicas.flatMap(({ service, address, figures: { disk_free_bytes: free, disk_size_bytes: size } }) =>
    free === undefined || size === undefined
      ? []
      : [{ whose: `${service} at ${address}`, freeBytes: free, sizeBytes: size }],
  );
}

/** A disk of exactly the same size as that of a replica is the same one: the replica runs here. */
export function diskFindings(own: Disk | undefined, ofReplicas: readonly Disk[]): readonly Finding[] {
  const isReported = ofReplicas.some(({ sizeBytes }) => sizeBytes === own?.sizeBytes);
  return [...(own === undefined || isReported ? [] : [own]), ...ofReplicas].map(diskFinding);
}

function diskFinding({ whose, freeBytes, sizeBytes }: Disk): Finding {
  const text = `${bytesText(freeBytes)} free for ${whose}`;
  if (freeBytes > 1_024 ** 3 && freeBytes > sizeBytes / 20) return fine('disk', text);
  if (freeBytes < fullBytes) {
    const remedy = 'Free up disk space now: until then usage is kept in memory, and a restart loses it.';
    return wrong('disk', `the disk is full: ${text}`, remedy);
  }
  return warning('disk', text, 'Free up disk space: queued usage and the embedded database are stored there.');
}

/** Less than a SQLite file needs to be opened. */
const fullBytes = 128 * 1_024;
