import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { roomMs } from '@gateway/testkit/room';

const root = join(import.meta.dirname, '../../services/admin/console');

/** Builds a console for production into a folder, in a process of its own without test settings. */
export async function buildConsole(config: 'vite.config.ts' | 'dev/vite.config.ts', folder: string): Promise<void> {
  const vite = dirname(createRequire(join(root, 'package.json')).resolve('vite/package.json'));
  const parameters = ['build', '--config', config, '--outDir', folder, '--emptyOutDir'];
  await promisify(execFile)(process.execPath, [join(vite, 'bin/vite.js'), ...parameters], {
    cwd: root,
    env: { ...process.env, NODE_ENV: 'production' },
    timeout: roomMs(120_000),
  });
}
