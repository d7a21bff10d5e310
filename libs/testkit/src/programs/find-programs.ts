import { programsFromDebian } from './debian-programs.ts';
import { installedPrograms, type ProgramKind, type Programs, programNames, urlVariable } from './installed-programs.ts';

/** Ways to come by programs: the machine's own, and packages. A way that has none gives undefined or throws why. */
interface ProgramSources {
  readonly installed: (kind: ProgramKind) => Promise<Programs | undefined>;
  readonly packaged: (kind: ProgramKind) => Promise<Programs>;
}

const found = new Map<ProgramKind, Promise<Programs>>();

/**
 * The programs of this machine, else those of Debian's packages, unpacked into a cache folder.
 *
 * @throws Error that says what was tried and what a person can do.
 */
export function findPrograms(kind: ProgramKind, alreadyTried: readonly string[] = []): Promise<Programs> {
  const finding = found.get(kind) ?? searchPrograms(kind, alreadyTried);
  found.set(kind, finding);
  finding.catch(() => found.delete(kind));
  return finding;
}

export async function searchPrograms(
  kind: ProgramKind,
  alreadyTried: readonly string[],
  sources: ProgramSources = { installed: installedPrograms, packaged: programsFromDebian },
): Promise<Programs> {
  const installed = await sources.installed(kind);
  if (installed !== undefined) return installed;
  try {
    return await sources.packaged(kind);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    const tried = [
      ...alreadyTried,
      `${programNames[kind].join(' and ')} on PATH: not there`,
      `Debian's packages: ${reason}`,
    ];
    throw new Error(unobtainableText(kind, tried), { cause: thrown });
  }
}

function unobtainableText(kind: ProgramKind, tried: readonly string[]): string {
  return [
    `No ${kind} server can be had. Tried, in this order:`,
    ...tried.map((attempt) => `  - ${attempt}`),
    kind === 'pgbouncer'
      ? `Install ${programNames[kind].join(' and ')}.`
      : `Set ${urlVariable[kind]} to a server that runs, start a Docker engine, or install ${programNames[kind].join(' and ')}.`,
  ].join('\n');
}
