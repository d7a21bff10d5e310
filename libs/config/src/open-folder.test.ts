import { execFileSync } from 'node:child_process';
import { access, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfigError } from './env-reader.ts';
import { answeringInTime, openFolder } from './open-folder.ts';

describe('the folder that a setting names', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'open-folder-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const problemWith = async (path: string) => {
    const thrown = await openFolder('GATEWAY_DATA', path).catch((fault: unknown) => fault);
    expect(thrown).toBeInstanceOf(ConfigError);
    return String((thrown as ConfigError).problems);
  };

  it('is made for its user alone, and nothing stays in it', async () => {
    const path = join(folder, 'a', 'b');
    await openFolder('GATEWAY_DATA', path);
    await openFolder('GATEWAY_DATA', path);
    expect((await stat(path)).mode & 0o777).toBe(0o700);
    expect(await readdir(path)).toEqual([]);
  });

  it('is named with its setting when it is a file, a pipe, or lies below one', async () => {
    const file = join(folder, 'file');
    await writeFile(file, '');
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    for (const path of [file, pipe, join(file, 'below')]) {
      const problem = await problemWith(path);
      expect(problem).toContain(`GATEWAY_DATA: the path is not a folder`);
      expect(problem).toContain(path);
    }
  });

  it.runIf(process.platform === 'linux')('is named with its setting when nothing can be written in it', async () => {
    // A file system of the kernel, in which not even root can create a folder.
    expect(await problemWith('/sys/kernel')).toContain('GATEWAY_DATA: the folder is not writable');
    expect(await problemWith('/sys/kernel/data')).toContain('GATEWAY_DATA: the folder is not writable');
  });

  it('is named with its setting when it does not answer', async () => {
    const never = Promise.withResolvers<void>().promise;
    await expect(answeringInTime('GATEWAY_DATA', '/mnt/away', never, 20)).rejects.toThrow(
      'GATEWAY_DATA: /mnt/away did not respond within 0.02 s.',
    );
  });

  it('is not blamed when this process was too busy to receive its answer', async () => {
    const answer = access('.').then(() => readFile('package.json', 'utf8'));
    const answering = answeringInTime('GATEWAY_DATA', '.', answer, 20);
    for (const busyUntilMs = performance.now() + 50; performance.now() < busyUntilMs; );
    expect(await answering).toContain('"name"');
  });
});
