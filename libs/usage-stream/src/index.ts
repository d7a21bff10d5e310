export { connectNats } from './connect-nats.ts';
export { fromUsageMessage, maxEventsPerMessage, toUsageMessages, type UsageMessage } from './usage-message.ts';
export { UsagePublisher, type UsagePublisherOptions } from './usage-publisher.ts';
export {
  defaultUsageStreamSettings,
  ensureUsageStream,
  type UsageStreamNames,
  type UsageStreamSettings,
  usageStreamNames,
} from './usage-stream.ts';
