import type { ChannelOptions } from '@grpc/grpc-js';

const MiB = 1024 * 1024;

/** Largest message between services. Bodies travel in frames far below it. */
const maxMessageBytes = 8 * MiB;

/** What client and server channels have in common. Windows are large because bodies of 64 MiB cross them. */
export const channelOptions: ChannelOptions = {
  'grpc.max_receive_message_length': maxMessageBytes,
  'grpc.max_send_message_length': maxMessageBytes,
  'grpc-node.flow_control_window': 16 * MiB,
  // A paused or vanished peer is noticed within a quarter of a minute instead of never.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.keepalive_permit_without_calls': 1,
};

/** A restarted service is found again within two seconds. */
export const clientChannelOptions: ChannelOptions = {
  ...channelOptions,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
};
