export type { AdminServerOptions } from './admin-server.ts';
export { AdminServer } from './admin-server.ts';
export { endFailedProcess } from './end-failed-process.ts';
export type { ProcessConfig } from './process-config.ts';
export { readProcessConfig } from './process-config.ts';
export type { Service, ServiceRuntime } from './service.ts';
export { startFailureText } from './start-failure.ts';
export { stopSignal } from './stop-signal.ts';
export { warnOfUnreachableBackends } from './unreachable-backends.ts';
