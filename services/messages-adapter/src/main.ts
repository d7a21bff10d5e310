import { checkAdapterSettings } from '@gateway/adapter-kit';
import { runService } from '@gateway/lifecycle/run-service';
import { createMessagesAdapterFromEnvironment } from './service.ts';

await runService('messages-adapter', createMessagesAdapterFromEnvironment, { settings: checkAdapterSettings });
