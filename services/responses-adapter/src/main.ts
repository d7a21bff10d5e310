import { checkAdapterSettings } from '@gateway/adapter-kit';
import { runService } from '@gateway/lifecycle/run-service';
import { createResponsesAdapterFromEnvironment } from './service.ts';

await runService('responses-adapter', createResponsesAdapterFromEnvironment, { settings: checkAdapterSettings });
