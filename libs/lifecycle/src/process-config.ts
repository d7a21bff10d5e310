import {
  checkListeners,
  type Environment,
  type EnvReader,
  readDrainTimeoutSeconds,
  readSettings,
} from '@gateway/config';
import { type LogLevel, logLevels } from '@gateway/telemetry';

/** The settings that every process has. */
export function readOwnConfig(reader: EnvReader, logLevel: LogLevel) {
  const host = reader.string('HOST', '127.0.0.1');
  return {
    // HOST (127.0.0.1): address of every listener. Containers set 0.0.0.0.
    host,
    // ADMIN_HOST (HOST): address of ADMIN_PORT.
    adminHost: reader.string('ADMIN_HOST', host),
    // ADMIN_PORT (9090): liveness, readiness and metrics. The admin service and the all-in-one
    // serve everything for operators there too.
    adminPort: reader.port('ADMIN_PORT', 9090),
    // LOG_LEVEL (info; the all-in-one: warn)
    logLevel: reader.oneOf('LOG_LEVEL', logLevels, logLevel),
    // DRAIN_TIMEOUT_SECONDS (MAX_STREAM_SECONDS, 3600): how long running work may take to finish
    // after SIGTERM.
    drainTimeoutMs: readDrainTimeoutSeconds(reader) * 1_000,
  };
}

/** The settings that every stand-alone service has. */
export function readProcessConfig(env: Environment) {
  return readSettings(env, (reader) => ({
    ...readOwnConfig(reader, 'info'),
    // GRPC_PORT (50051)
    grpcPort: reader.port('GRPC_PORT', 50_051),
    // CREDENTIAL_PORT (50052): the pool-broker serves secrets of accounts there.
    credentialPort: reader.port('CREDENTIAL_PORT', 50_052),
    // DRAIN_DELAY_SECONDS (0): time between "not ready" and refusing new work, for load balancers
    // to notice.
    drainDelayMs: reader.integer('DRAIN_DELAY_SECONDS', 0, { max: 3_600 }) * 1_000,
  }));
}

/**
 * Checks that listeners for services and operators are not exposed to others. The public port of an
 * edge is not among them.
 * @param hasGrpc whether the process serves RPCs to other processes.
 * @throws ConfigError
 */
export function checkExposure(env: Environment, hasGrpc: boolean): void {
  readSettings(env, (reader) => {
    const { host, adminHost } = readOwnConfig(reader, 'info');
    checkListeners(
      reader,
      hasGrpc ? { HOST: host, ...(adminHost !== host && { ADMIN_HOST: adminHost }) } : { ADMIN_HOST: adminHost },
    );
  });
}
