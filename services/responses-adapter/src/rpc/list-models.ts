/** The models that the provider of a pool offers for conversations. */
export { listModels } from '@gateway/adapter-kit';
