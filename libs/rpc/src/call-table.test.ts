import { AdapterService } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { LimiterService } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import {
  CredentialService,
  PoolBrokerService,
  PoolOperatorService,
} from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { describe, expect, it } from 'vitest';
import { callTable, mayCall, mayReadMetrics, mayReadSettings, serviceNamesIn } from './call-table.ts';
import { pathOf } from './served-methods.ts';

const credential = pathOf(CredentialService.method.getCredential);
const callersOf = (path: string) => Object.keys(callTable).filter((caller) => mayCall([caller], path));

describe('the call table', () => {
  it('gives secrets of accounts to adapters alone, requests to the edge alone, and probes to admin alone', () => {
    expect(callersOf(credential)).toEqual(['responses-adapter', 'messages-adapter']);
    expect(callersOf(pathOf(AdapterService.method.execute))).toEqual(['edge-router']);
    expect(callersOf(pathOf(AdapterService.method.probeAccount))).toEqual(['admin']);
    expect(callersOf(pathOf(PoolBrokerService.method.explain))).toEqual(['admin']);
    expect(callersOf(pathOf(PoolOperatorService.method.replaceCredential))).toEqual(['admin']);
  });

  it('opens the limiter to every certificate of the authority, and nothing else', () => {
    expect(mayCall(['billing'], pathOf(LimiterService.method.admit))).toBe(true);
    expect(mayCall([], pathOf(LimiterService.method.admitStream))).toBe(true);
    expect(mayCall(['billing'], pathOf(PoolBrokerService.method.acquire))).toBe(false);
    expect(mayCall(['billing', 'constructor'], '/gateway.limiter.v2.LimiterOperatorService/ReconcileDay')).toBe(false);
  });

  it('lets Prometheus and those in the table read metrics, others not', () => {
    expect([['prometheus'], ['admin'], ['billing'], []].map(mayReadMetrics)).toEqual([true, true, false, false]);
    expect([['prometheus'], ['admin'], ['limiter'], []].map(mayReadSettings)).toEqual([false, true, false, false]);
  });
});

describe('the names of a certificate', () => {
  it('take a time that grows with their length alone, whatever quotes are open', () => {
    const names = `DNS:edge-router, ${'"'.repeat(1_000_001)}`;
    expect(serviceNamesIn(names)).toEqual(['edge-router']);
    expect(serviceNamesIn(`DNS:edge-router, ${'\\\\"'.repeat(300_000)}`)).toEqual(['edge-router']);
  });

  it('are the first labels of names of DNS, and the last segments of SPIFFE ids', () => {
    const names =
      'DNS:limiter, DNS:pool-broker.gateway.svc.cluster.local, IP Address:10.0.0.1, URI:spiffe://example.org/ns/gateway/sa/identity';
    expect(serviceNamesIn(names)).toEqual(['limiter', 'pool-broker', 'identity']);
    expect(serviceNamesIn(undefined)).toEqual([]);
  });

  it('are not taken from what only looks like one', () => {
    expect(serviceNamesIn('DNS:*.limiter, URI:https://example.org/limiter, email:limiter@example.org')).toEqual([]);
    expect(serviceNamesIn('DNS:"evil, DNS:edge-router, DNS:x"')).toEqual([]);
    expect(serviceNamesIn('URI:"spiffe://example.org/a, URI:spiffe://example.org/edge-router"')).toEqual([]);
    expect(serviceNamesIn('URI:spiffe://example.org')).toEqual([]);
  });
});
