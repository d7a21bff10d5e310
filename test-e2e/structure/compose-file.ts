import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseEnv } from 'node:util';
import { parse } from 'yaml';
import { z } from 'zod';

const root = fileURLToPath(new URL('../..', import.meta.url));

const serviceSchema = z
  .looseObject({
    image: z.string(),
    build: z.looseObject({ dockerfile: z.string() }).optional(),
    // Here an empty variable counts as unset.
    environment: z
      .record(
        z.string(),
        z.preprocess((value) => value ?? '', z.string()),
      )
      .default({}),
    profiles: z.array(z.string()).default([]),
    networks: z.array(z.string()).default(['default']),
    depends_on: z.record(z.string(), z.unknown()).default({}),
    volumes: z.array(z.string()).default([]),
    ports: z.array(z.string()).default([]),
    stop_grace_period: z.string().optional(),
    healthcheck: z.looseObject({ test: z.array(z.string()).optional(), disable: z.boolean().optional() }).optional(),
  })
  .readonly();

const composeSchema = z.object({
  services: z.record(z.string(), serviceSchema),
  networks: z.record(z.string(), z.object({ internal: z.boolean().default(false) }).nullable()),
  volumes: z.record(z.string(), z.unknown()),
});

export type ComposeService = z.infer<typeof serviceSchema>;
export type Compose = z.infer<typeof composeSchema>;

/**
 * docker-compose.yml as `docker compose` sees it with deploy/docker/.env.example as its .env.
 * @param more further variables of the .env.
 * @throws if a variable is missing.
 */
export function readCompose(more: Readonly<Record<string, string>> = {}): Compose {
  const example = parseEnv(readFileSync(join(root, 'deploy/docker/.env.example'), 'utf8'));
  const variables: Readonly<Record<string, string | undefined>> = { ...example, ...more };
  const text = readFileSync(join(root, 'docker-compose.yml'), 'utf8').replaceAll(/^\s*#.*$/gm, '');
  const resolved = text.replaceAll(/\$\{(\w+)(?:(:[-?])([^}]*))?\}/g, (_, name: string, kind?: string, rest = '') => {
    const value = variables[name] || undefined;
    if (value === undefined && kind !== ':-') throw new Error(`${name} is not in deploy/docker/.env.example`);
    return value ?? rest;
  });
  return composeSchema.parse(parse(resolved, { merge: true }));
}

/**
 * The environment of a process in a container; paths of mounted files are those on this machine.
 */
export function environmentOf({ environment, volumes }: ComposeService): Readonly<Record<string, string>> {
  const mounted = new Map(
    volumes.map((text) => {
      const [source = '', target = ''] = text.split(':');
      return [target, join(root, source)] as const;
    }),
  );
  return Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [name, (value !== '/data' && mounted.get(value)) || value]),
  );
}
