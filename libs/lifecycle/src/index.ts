export { listenAdmin } from './admin-server.ts';
export { endFailedStart, startFailureText } from './failed-process.ts';
export { checkExposure, readOwnConfig, readProcessConfig } from './process-config.ts';
export type { Service, ServiceRuntime } from './service.ts';
export { StopSignal } from './stop-signal.ts';
export { warnOfUnreachableBackends } from './unreachable-backends.ts';
