import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ImageConfig } from './image-builder.ts';

/** The files of an image, its configuration, and a folder for volumes. */
export interface Image {
  readonly root: string;
  readonly config: ImageConfig;
  readonly folder: string;
}

export interface ContainerOptions {
  /** Replaces the image's own entrypoint and command. */
  readonly command?: readonly string[];
  /** Arguments of the image's entrypoint. */
  readonly parameters?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The folder for /data; a new one by default. */
  readonly data?: string | undefined;
}

/**
 * A process as a platform would start it: with the image's user, environment and command, and with
 * processes and mounts of its own. The root is read-only, except /tmp and the volume at /data. The
 * process has no capability and can't gain rights.
 */
export class Container implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  #printed = '';

  static async start(image: Image, options: ContainerOptions = {}): Promise<Container> {
    const { config } = image;
    const [uid = '', gid = uid] = config.User.split(':');
    const data = options.data ?? (await newVolume(image));
    const command = options.command ?? [...config.Entrypoint, ...(options.parameters ?? config.Cmd)];
    const env = [...config.Env, ...Object.entries(options.env ?? {}).map(([name, value]) => `${name}=${value}`)];
    const child = spawn(
      'unshare',
      [
        ...['--mount', '--pid', '--fork', '--kill-child', 'sh', '-euc', enterContainer, 'sh'],
        ...[image.root, data, uid, gid, config.WorkingDir, ...env, ...command],
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    return new Container(child);
  }

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#closed = once(child, 'close');
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#printed += text;
      });
  }

  /** Its whole output. */
  get printed(): string {
    return this.#printed;
  }

  /** The kernel's status of the process in it. */
  async status(): Promise<Readonly<Record<string, string>>> {
    const lines = (await readFile(`/proc/${await this.#pid()}/status`, 'utf8')).split('\n');
    return Object.fromEntries(lines.map((line) => line.split(/:\s*/, 2)));
  }

  /** Its exit code. @throws if it runs longer than that. */
  async ended(withinMs: number): Promise<number | null> {
    if (this.#child.exitCode === null) {
      const late = AbortSignal.timeout(withinMs);
      await Promise.race([this.#closed, once(late, 'abort')]);
      if (this.#child.exitCode === null && this.#child.signalCode === null)
        throw new Error(`it runs for longer than ${withinMs} ms\n${this.#printed}`);
    }
    await this.#closed;
    return this.#child.exitCode;
  }

  /** Asks the process to end, as a platform does. */
  async terminate(): Promise<void> {
    process.kill(await this.#pid(), 'SIGTERM');
  }

  /** Killing only `unshare` is not enough: a process that changed its user outlives its parent. */
  async [Symbol.asyncDispose](): Promise<void> {
    const pid = await this.#pid().catch(() => 0);
    if (pid > 0) process.kill(pid, 'SIGKILL');
    await this.#closed;
  }

  /** The one child of `unshare`: every step to the service is an `exec`. */
  async #pid(): Promise<number> {
    const { pid } = this.#child;
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return Number(children.trim());
  }
}

/** A folder that belongs to the image's user, as platforms create volumes. */
export async function newVolume({ folder, config }: Image): Promise<string> {
  const path = await mkdtemp(join(folder, 'volume-'));
  const [uid = 0, gid = uid] = config.User.split(':').map(Number);
  await chown(path, uid, gid);
  return path;
}

/**
 * Parameters: root, data, user, group, working folder, then NAME=value and the command, as `env`
 * expects them.
 */
const enterContainer = `
root=$1 data=$2 uid=$3 gid=$4 folder=$5; shift 5
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero full random urandom; do touch "$root/dev/$device"; mount --bind "/dev/$device" "$root/dev/$device"; done
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount --bind "$data" "$root/data"
mount -o remount,bind,ro "$root"
exec chroot "$root" setpriv --reuid "$uid" --regid "$gid" --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all \\
  env --ignore-environment --chdir="$folder" "$@"
`;
