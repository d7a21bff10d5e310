export { connectNats, orAborted } from './connect-nats.ts';
export { LedgerProgress } from './ledger-progress.ts';
export type { NatsServers } from './nats-servers.ts';
export {
  fromUsageMessage,
  maxPerMessage,
  toUsageMessages,
  type UsageBatch,
  type UsageMessage,
} from './usage-message.ts';
export { UsagePublisher, type UsagePublisherOptions } from './usage-publisher.ts';
export {
  ensureUsageStream,
  type UsageStreamNames,
  type UsageStreamSettings,
  usageStreamNames,
} from './usage-stream.ts';
