import { isatty } from 'node:tty';

/**
 * Calls back on SIGHUP, by which operators ask a server to read its configuration again. Not at a terminal: there it means
 * that the terminal is gone, and the process ends with it.
 */
export function onHangUp(callback: () => void): Disposable {
  if (isatty(0)) return { [Symbol.dispose]() {} };
  process.on('SIGHUP', callback);
  return {
    [Symbol.dispose]() {
      process.off('SIGHUP', callback);
    },
  };
}
