import { afterAll, beforeAll, describe } from 'vitest';
import { dashboardsAndRulesBehaviour } from '../behaviours/dashboards-and-rules.ts';
import { metricSeriesBehaviour } from '../behaviours/metric-series.ts';
import { requestSpansBehaviour } from '../behaviours/request-spans.ts';
import { type ObservedGateway, observeGateway } from '../observability/observed-gateway.ts';
import { writeObservedGatewayFile } from '../observability/observed-gateway-file.ts';
import { type AllInOneTopology, startAllInOne } from '../topologies/all-in-one.ts';

describe('the gateway in one process, looked at', () => {
  let scene: ObservedGateway<AllInOneTopology> | undefined;
  const observed = () => {
    if (scene === undefined) throw new Error('the gateway has not started');
    return scene;
  };

  beforeAll(async () => {
    scene = await observeGateway({
      start: (env) => startAllInOne('observed', env, writeObservedGatewayFile),
      targetsOf: ({ adminUrl }) => ({ adminUrls: { gateway: adminUrl } }),
    });
  });
  afterAll(() => scene?.[Symbol.asyncDispose]());

  dashboardsAndRulesBehaviour(observed, (expression) => !ofServices.test(expression));
  metricSeriesBehaviour(observed, (metric) => !ofServices.test(metric));
  requestSpansBehaviour(observed, { areServices: false, logs: ({ command }) => command.stderr() });
});

/**
 * One process on its embedded storage has no calls to other processes, backends, certificates or
 * workers. Its database does not fail.
 */
const ofServices =
  /\b(gateway_)?(rpc_client|messaging)_|gateway_(rpc_refusals|backend|certificate|worker|pool_store)|db_client\w+\{[^}]*error_type!=|result="dead_letter"/;
