export { readAllowedHosts } from './admin-access.ts';
export type { AdminServerOptions } from './admin-server.ts';
export { AdminServer } from './admin-server.ts';
export { endFailedStart, startFailureText } from './failed-process.ts';
export type { ProcessConfig } from './process-config.ts';
export { readProcessConfig } from './process-config.ts';
export type { Service, ServiceRuntime } from './service.ts';
export { StopSignal } from './stop-signal.ts';
export { warnOfUnreachableBackends } from './unreachable-backends.ts';
