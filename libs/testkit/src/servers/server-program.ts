import type { ProgramKind } from '../programs/backend-kind.ts';
import type { Programs } from '../programs/find-programs.ts';

/** What has to be known of a server to run it, as a process or in a container. */
export interface ServerProgram extends ProcessProgram {
  readonly image: ServerImage;
}

/** What has to be known of a server to run it as a process. */
export interface ProcessProgram {
  readonly kind: ProgramKind;
  /** Ends it in an orderly way without waiting for its clients. */
  readonly stopSignal: NodeJS.Signals;
  /** The user that it runs as; undefined means this process' own. */
  readonly uid: number | undefined;
  /** What the server must find in its data folder before its first start. */
  prepare?(programs: Programs, dataDir: string): Promise<void>;
  /** The server's arguments when it runs as a process. */
  parameters(port: number, dataDir: string): readonly string[];
  url(host: string, port: number): string;
  /** Resolves when the server answers; throws as long as it doesn't. */
  ping(host: string, port: number): Promise<void>;
}

export interface ServerImage {
  readonly name: string;
  readonly port: number;
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** The environment of a server: nothing of the caller's but what programs need to run. */
export function serverEnvironment({ libraryFolders }: Programs): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    LC_ALL: 'C',
    TZ: 'UTC',
    ...(libraryFolders.length === 0 ? {} : { LD_LIBRARY_PATH: libraryFolders.join(':') }),
  };
}
