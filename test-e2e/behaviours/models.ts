import { describe, expect, it } from 'vitest';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';

interface ModelList {
  readonly object: string;
  readonly data: readonly {
    readonly id: string;
    readonly object: string;
    readonly created: number;
    readonly owned_by: string;
    readonly name: string;
  }[];
}

/** `GET /v1/models`. @see spec "GET /v1/models" */
export function modelsBehaviour(gateway: () => Topology): void {
  describe('the model list', () => {
    it('has the classes, then the Responses models, then the Messages models', async () => {
      const { text } = await issueToken(gateway(), { kind: 'personal' });
      const list = async () => {
        const response = await fetch(`${gateway().baseUrl}/v1/models`, {
          headers: { authorization: `Bearer ${text}` },
        });
        expect(response.status).toBe(200);
        return (await response.json()) as ModelList;
      };
      // Adapters report their pools' models soon after they start.
      await expect.poll(async () => (await list()).data.map(({ owned_by }) => owned_by)).toContain('provider_b');
      const { object, data } = await list();
      expect(object).toBe('list');
      const owners = data.map(({ owned_by }) => owned_by);
      expect(owners).toEqual([...owners].sort((a, b) => order.indexOf(a) - order.indexOf(b)));
      expect(data.map(({ id }) => id).slice(0, 3)).toEqual(['gateway/sterk', 'gateway/snel', 'gateway/claude']);
      expect(new Set(data.map(({ id }) => id)).size).toBe(data.length);
      for (const model of data) {
        expect(model).toEqual({
          id: expect.any(String),
          object: 'model',
          created: 0,
          owned_by: expect.any(String),
          name: expect.stringMatching(/\S/),
        });
      }
    });
  });
}

const order = ['gateway', 'provider_a', 'provider_b'];
