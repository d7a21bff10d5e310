import { type Environment, EnvReader } from './env-reader.ts';

/**
 * Makes sure that these settings name a port each; 0, a free one, may be named by several.
 *
 * @param defaults the settings, with the ports that they stand for when they are not set.
 * @throws ConfigError that names those which are the same.
 */
export function checkPorts(env: Environment, defaults: Readonly<Record<string, number>>): void {
  const reader = new EnvReader(env);
  const taken = new Map<number, string>();
  for (const [name, fallback] of Object.entries(defaults)) {
    const port = reader.port(name, fallback);
    const other = taken.get(port);
    if (port !== 0 && other !== undefined) {
      reader.problem(`${other} and ${name} are both ${port}. Each needs a port of its own.`);
    }
    taken.set(port, name);
  }
  reader.done();
}
