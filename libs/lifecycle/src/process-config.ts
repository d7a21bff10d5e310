import { type Environment, EnvReader, readDrainTimeoutSeconds } from '@gateway/config';
import { type LogLevel, logLevels } from '@gateway/telemetry';
import { readAllowedHosts } from './admin-access.ts';

/** The settings that every stand-alone service has. */
export interface ProcessConfig {
  /** HOST (127.0.0.1): address of every listener. Containers set 0.0.0.0. */
  readonly host: string;
  /** GRPC_PORT (50051) */
  readonly grpcPort: number;
  /** ADMIN_PORT (9090): liveness, readiness, metrics, and the service's RPCs as JSON over HTTP for operators. */
  readonly adminPort: number;
  /** ADMIN_ALLOWED_HOSTS: further host names under which the admin port may be called. */
  readonly adminAllowedHosts: readonly string[];
  /** LOG_LEVEL (info) */
  readonly logLevel: LogLevel;
  /** DRAIN_DELAY_SECONDS (0): time between "not ready" and taking nothing new, for load balancers to notice. */
  readonly drainDelayMs: number;
  /** DRAIN_TIMEOUT_SECONDS (MAX_STREAM_SECONDS, 3600): how long running work may take to end after SIGTERM. */
  readonly drainTimeoutMs: number;
}

export function readProcessConfig(env: Environment): ProcessConfig {
  const reader = new EnvReader(env);
  const config: ProcessConfig = {
    host: reader.string('HOST', '127.0.0.1'),
    grpcPort: reader.port('GRPC_PORT', 50_051),
    adminPort: reader.port('ADMIN_PORT', 9090),
    adminAllowedHosts: readAllowedHosts(reader),
    logLevel: reader.oneOf('LOG_LEVEL', logLevels, 'info'),
    drainDelayMs: reader.integer('DRAIN_DELAY_SECONDS', 0, { max: 3_600 }) * 1_000,
    drainTimeoutMs: readDrainTimeoutSeconds(reader) * 1_000,
  };
  reader.done();
  return Object.freeze(config);
}
