import { runService } from '@gateway/lifecycle/run-service';
import { createEdgeRouterFromEnvironment } from './stand-alone.ts';

await runService('edge-router', createEdgeRouterFromEnvironment);
