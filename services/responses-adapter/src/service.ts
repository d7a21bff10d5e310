import { adapterFactory, createAdapterFromEnvironment } from '@gateway/adapter-kit';
import { responsesFormat } from './format/format-definition.ts';
import { routes } from './routes.ts';

/** The adapter of pools whose provider speaks the Responses format. */
export const createResponsesAdapterService = adapterFactory(responsesFormat, routes);

/** The adapter as a process of its own, which finds the pool broker by POOL_BROKER_URL. */
export const createResponsesAdapterFromEnvironment = createAdapterFromEnvironment(createResponsesAdapterService);
