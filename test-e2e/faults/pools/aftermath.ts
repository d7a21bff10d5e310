import { beforeAll, describe, expect, it } from 'vitest';
import type { Verdict } from '../audit/judge-requests.ts';
import { secretWord } from './gateway-file.ts';
import type { Aftermath, PoolScene } from './pool-scene.ts';

/** Statements that must be true at the end, whatever was broken. */
export function aftermathOf(scene: () => PoolScene): void {
  describe('when all is over', () => {
    let aftermath: Aftermath;
    beforeAll(async () => {
      aftermath = await scene().audit();
    });
    const countOf = (verdict: Verdict) =>
      aftermath.judgement.requests.filter((judged) => judged.verdict === verdict).length;

    it('no usage is in transit, and no part counts a request as in progress', async () => {
      expect(aftermath.quiet.restless).toEqual([]);
      const gauges = async () => [
        await scene().metric('edge-router', 'http_server_active_requests'),
        await scene().metric('responses-adapter', 'gateway_upstream_open_streams'),
        await scene().metric('messages-adapter', 'gateway_upstream_open_streams'),
      ];
      await expect.poll(gauges).toEqual([0, 0, 0]);
    });

    it('every request that was answered is recorded once, exactly or as an estimate', () => {
      const { judgement, descriptions } = aftermath;
      expect(descriptions.join('\n\n')).toBe('');
      expect(judgement.unknownRows).toEqual([]);
      expect([countOf('lost'), countOf('doubled'), countOf('wrong')]).toEqual([0, 0, 0]);
      expect(countOf('exact')).toBeGreaterThan(50);
    });

    it('no process has ended by itself or left an unhandled error', () => {
      expect(scene().gateway.unexpectedEnds).toEqual([]);
      expect(scene().logs.filter((line) => /unhandled|uncaught/i.test(line))).toEqual([]);
    });

    it('no log contains a credential of an account', () => {
      expect(scene().logs.filter((line) => line.includes(secretWord))).toEqual([]);
      expect(scene().logs.length).toBeGreaterThan(0);
    });
  });
}
