import { type Environment, EnvReader, readDrainTimeoutSeconds } from '@gateway/config';
import { type LogLevel, logLevels } from '@gateway/telemetry';
import { readAllowedHosts } from './admin-access.ts';

/** The settings that every process has. */
export interface OwnConfig {
  /** HOST (127.0.0.1): address of every listener. Containers set 0.0.0.0. */
  readonly host: string;
  /** ADMIN_PORT (9090): liveness, readiness, metrics, and RPCs as JSON over HTTP for operators. */
  readonly adminPort: number;
  /** ADMIN_ALLOWED_HOSTS: further host names under which the admin port may be called. */
  readonly adminAllowedHosts: readonly string[];
  /** LOG_LEVEL (info; the all-in-one: warn) */
  readonly logLevel: LogLevel;
  /** DRAIN_TIMEOUT_SECONDS (MAX_STREAM_SECONDS, 3600): how long running work may take to end after SIGTERM. */
  readonly drainTimeoutMs: number;
}

export function readOwnConfig(reader: EnvReader, logLevel: LogLevel): OwnConfig {
  return {
    host: reader.string('HOST', '127.0.0.1'),
    adminPort: reader.port('ADMIN_PORT', 9090),
    adminAllowedHosts: readAllowedHosts(reader),
    logLevel: reader.oneOf('LOG_LEVEL', logLevels, logLevel),
    drainTimeoutMs: readDrainTimeoutSeconds(reader) * 1_000,
  };
}

/** The settings that every stand-alone service has. */
export interface ProcessConfig extends OwnConfig {
  /** GRPC_PORT (50051) */
  readonly grpcPort: number;
  /** DRAIN_DELAY_SECONDS (0): time between "not ready" and taking nothing new, for load balancers to notice. */
  readonly drainDelayMs: number;
}

export function readProcessConfig(env: Environment): ProcessConfig {
  const reader = new EnvReader(env);
  const config: ProcessConfig = {
    ...readOwnConfig(reader, 'info'),
    grpcPort: reader.port('GRPC_PORT', 50_051),
    drainDelayMs: reader.integer('DRAIN_DELAY_SECONDS', 0, { max: 3_600 }) * 1_000,
  };
  reader.done();
  return Object.freeze(config);
}
