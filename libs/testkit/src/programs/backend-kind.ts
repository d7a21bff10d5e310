/** The servers that the gateway's services keep their state in. */
export type BackendKind = 'redis' | 'nats' | 'postgres';

export const backendKinds: readonly BackendKind[] = ['redis', 'nats', 'postgres'];

/** The variable that names a server which is already there. */
export const urlVariable: Record<BackendKind, string> = {
  redis: 'REDIS_URL',
  nats: 'NATS_URL',
  postgres: 'DATABASE_URL',
};

/** Servers that can be had as programs: those, and what operators put in front of them. */
export type ProgramKind = BackendKind | 'pgbouncer';

/** The programs that a kind needs, all from one folder. The first one is the server. */
export const programNames: Record<ProgramKind, readonly string[]> = {
  redis: ['redis-server'],
  nats: ['nats-server'],
  postgres: ['postgres', 'initdb'],
  pgbouncer: ['pgbouncer'],
};
