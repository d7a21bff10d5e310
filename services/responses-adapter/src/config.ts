/** The settings of this adapter: those that every adapter has. */
export { readAdapterConfig as readResponsesAdapterConfig } from '@gateway/adapter-kit';
