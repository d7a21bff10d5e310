/** The models that the provider of a pool offers. */
export { listModels } from '@gateway/adapter-kit';
