import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';

/** How often the file is looked at when no event says that it changed. */
const defaultPollMs = 5_000;

/**
 * Calls back when a file may have changed: at once when its folder says so, and every few seconds in any case, since not
 * every file system reports changes and a link may lead out of the folder. Disposing it ends that.
 */
export function watchFile(path: string, onSuspicion: () => void, pollMs = defaultPollMs): Disposable {
  const watcher = watchFolder(path, onSuspicion);
  const timer = setInterval(onSuspicion, pollMs);
  timer.unref();
  return {
    [Symbol.dispose]() {
      clearInterval(timer);
      watcher?.close();
    },
  };
}

/** The folder, not the file: editors and deployments put a new file, or a new link, in the place of the old one. */
function watchFolder(path: string, onSuspicion: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(dirname(path), { persistent: false }, (_event, name) => {
      if (name === null || concerns(name, basename(path))) onSuspicion();
    });
    // What can't be watched any more is still looked at every few seconds.
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}

/** Kubernetes changes a mounted ConfigMap by turning the link `..data` beside the file to another folder. */
function concerns(changed: string, file: string): boolean {
  return changed === file || changed.startsWith('..');
}
