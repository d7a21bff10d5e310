import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand, say } from './run-command.ts';

/** The configuration of an image. */
export interface ImageConfig {
  readonly User: string;
  readonly WorkingDir: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly Labels: Readonly<Record<string, string>>;
  readonly Healthcheck: { readonly Test: readonly string[] };
}

/** buildah with a store of its own in a temporary folder, which is removed on disposal. */
export class ImageBuilder implements AsyncDisposable {
  readonly folder: string;
  readonly signal: AbortSignal;

  static async open(signal: AbortSignal): Promise<ImageBuilder> {
    return new ImageBuilder(await mkdtemp(join(tmpdir(), 'image-smoke-')), signal);
  }

  private constructor(folder: string, signal: AbortSignal) {
    this.folder = folder;
    this.signal = signal;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  /** The image of the repository's Dockerfile on this base. */
  async build(repository: string, base: string): Promise<string> {
    say('building the image');
    const image = 'localhost/model-gateway:smoke';
    const { version } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8'));
    const git = { signal: this.signal, timeoutMs: 10_000 };
    const revision = await runCommand('git', ['-C', repository, 'rev-parse', 'HEAD'], git);
    const { NODE_EXTRA_CA_CERTS: ca } = process.env;
    await this.buildah([
      // `docker`: OCI images have no HEALTHCHECK.
      ...['bud', '--isolation', 'chroot', '--format', 'docker', '--pull-never', '--tag', image],
      ...['--build-arg', `NODE_IMAGE=${base}`],
      ...['--build-arg', `VERSION=${version}`, '--build-arg', `REVISION=${revision.trim()}`],
      ...(ca === undefined ? [] : ['--secret', `id=ca,src=${ca}`]),
      ...['--file', join(repository, 'deploy/docker/Dockerfile'), repository],
    ]);
    return image;
  }

  async sizeOf(image: string): Promise<string> {
    return (await this.buildah(['images', '--format', '{{.Size}}', image])).trim();
  }

  async configOf(image: string): Promise<ImageConfig> {
    return JSON.parse(await this.buildah(['inspect', '--type', 'image', image])).Docker.config;
  }

  /** The folder with an image's files. It is removed with the store: vfs mounts nothing. */
  async filesOf(image: string): Promise<string> {
    const container = (await this.buildah(['from', '--pull-never', image])).trim();
    return (await this.buildah(['mount', container])).trim();
  }

  buildah(parameters: readonly string[]): Promise<string> {
    const store = ['--root', join(this.folder, 'images'), '--runroot', join(this.folder, 'run')];
    return runCommand('buildah', [...store, '--storage-driver', 'vfs', ...parameters], {
      signal: this.signal,
      timeoutMs: 10 * 60_000,
      // Build caches are in TMPDIR.
      env: { ...process.env, TMPDIR: this.folder },
    });
  }

  /** Runs another command and shows its output. */
  async run(command: string, parameters: readonly string[]): Promise<void> {
    await runCommand(command, parameters, { signal: this.signal, timeoutMs: 5 * 60_000, show: true });
  }
}
