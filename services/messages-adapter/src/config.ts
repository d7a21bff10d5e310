/** The settings of this adapter: those that every adapter has. */
export { readAdapterConfig as readMessagesAdapterConfig } from '@gateway/adapter-kit';
