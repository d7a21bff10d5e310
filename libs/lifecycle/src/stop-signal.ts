/** Resolves at the first SIGTERM or SIGINT. A second one ends the process at once. */
export function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const names: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT'];
    for (const name of names) {
      process.once(name, () => {
        process.once(name, () => process.exit(1));
        resolve(name);
      });
    }
  });
}
