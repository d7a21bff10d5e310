import { runService } from '@gateway/lifecycle/run-service';
import { createEdgeRouterFromEnvironment } from './service.ts';

await runService('edge-router', createEdgeRouterFromEnvironment);
