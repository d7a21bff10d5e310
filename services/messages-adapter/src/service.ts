import { adapterFactory, createAdapterFromEnvironment } from '@gateway/adapter-kit';
import { messagesFormat } from './format/format-definition.ts';
import { routes } from './routes.ts';

/** The adapter of pools whose provider speaks the Messages format. */
export const createMessagesAdapterService = adapterFactory(messagesFormat, routes);

/** The adapter as a process of its own, which finds the pool broker by POOL_BROKER_URL. */
export const createMessagesAdapterFromEnvironment = createAdapterFromEnvironment(createMessagesAdapterService);
