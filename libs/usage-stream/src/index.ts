export { connectNats, type NatsWatchers, orAborted } from './connect-nats.ts';
export { LedgerProgress } from './ledger-progress.ts';
export type { NatsServers } from './nats-servers.ts';
export { StreamTelemetry } from './stream-telemetry.ts';
export * from './usage-message.ts';
export { UsagePublisher, type UsagePublisherOptions } from './usage-publisher.ts';
export * from './usage-stream.ts';
