import type { ChannelOptions } from '@grpc/grpc-js';

const MiB = 1024 * 1024;

/** Largest message between services. Bodies travel in frames far below it. */
export const maxMessageBytes = 8 * MiB;

const channelOptions: ChannelOptions = {
  'grpc.max_receive_message_length': maxMessageBytes,
  'grpc.max_send_message_length': maxMessageBytes,
  // A paused or vanished peer is noticed within a quarter of a minute instead of never.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.keepalive_permit_without_calls': 1,
};

/** The receiver's window rules: servers receive request bodies of up to 64 MiB, which must not wait for round trips. */
export const serverWindowBytes = 16 * MiB;

/** Clients receive streams whose reader may be slow: what waits for it is bounded by the window. */
export const clientWindowBytes = MiB;

export const serverChannelOptions: ChannelOptions = {
  ...channelOptions,
  'grpc-node.flow_control_window': serverWindowBytes,
};

export const clientChannelOptions: ChannelOptions = {
  ...channelOptions,
  'grpc-node.flow_control_window': clientWindowBytes,
  // A restarted service is found again within a second or two.
  'grpc.initial_reconnect_backoff_ms': 50,
  'grpc.max_reconnect_backoff_ms': 500,
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
};
