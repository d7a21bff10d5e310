import { defaultModels, type FormatName } from '@gateway/simulator';
import { untilReady } from '@gateway/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chat } from '../client/chat.ts';
import { type ListedModel, listModels } from '../client/model-list.ts';
import { messagesBody, relay, responsesBody } from '../client/relay.ts';
import { issueToken } from '../client/tokens.ts';
import { modelsOfClasses, responsesModels } from '../topologies/gateway-file.ts';
import type { Topology } from '../topologies/topology.ts';

const messagesModels = defaultModels.messages;
const none: readonly FormatName[] = [];
const usedByClasses = responsesModels.filter((model) => modelsOfClasses().has(model));

/**
 * The content and the names of the list, whatever pools can be reached. @see spec "GET /v1/models"
 */
export function modelListingBehaviour(gateway: () => Topology): void {
  describe('the list of models', () => {
    let token = '';
    let classes: readonly string[] = [];
    /** Models of pools whose provider is never reachable, as classes use them. */
    let outOfSight: readonly string[] = [];
    beforeAll(async () => {
      token = (await issueToken(gateway(), { kind: 'personal' })).text;
      const all = expect.arrayContaining([...responsesModels, ...messagesModels]);
      await untilReady('the list of models', async () => expect((await list()).map(({ id }) => id)).toEqual(all));
      const usual = await list();
      classes = idsOf(usual, 'gateway');
      outOfSight = idsOf(usual, 'provider_a').filter((id) => !responsesModels.includes(id));
    });
    // Later tests must find everything unchanged.
    afterAll(() => offer({}));

    const list = () => listModels(gateway(), token);
    /**
     * Changes the providers' models and waits until the list shows it: adapters check every few
     * seconds.
     */
    const offer = async ({ responses = responsesModels, messages = messagesModels, unreachable = none }) => {
      gateway().simulator.models.set({ responses, messages, unreachable });
      const shown = [
        ...classes,
        ...(unreachable.includes('responses') ? usedByClasses : responses),
        ...outOfSight,
        ...(unreachable.includes('messages') ? [] : messages),
      ];
      await untilReady('the list of models', async () => expect((await list()).map(({ id }) => id)).toEqual(shown));
    };

    it('has the classes, then the Responses models, then the Messages models, each with its owner', async () => {
      const models = await list();
      const owners = models.map(({ owned_by: owner }) => owner);
      const order = ['gateway', 'provider_a', 'provider_b'];
      expect(owners).toEqual(owners.toSorted((a, b) => order.indexOf(a) - order.indexOf(b)));
      expect(idsOf(models, 'gateway').slice(0, 3)).toEqual(['gateway/sterk', 'gateway/snel', 'gateway/claude']);
      expect(idsOf(models, 'provider_a').slice(0, responsesModels.length)).toEqual(responsesModels);
      expect(idsOf(models, 'provider_b')).toEqual(messagesModels);
      expect(idsOf(models, 'gateway').every((id) => id.startsWith('gateway/'))).toBe(true);
    });

    it('names dated models without their date, unless another has the name', async () => {
      const responses = ['gpt-7-2027-02-03', 'gpt-8', 'gpt-8-2027-01-02', 'gpt-8-20270304', ...responsesModels];
      const messages = ['claude-opus-5-20270101', 'claude-opus-5-20270202', ...messagesModels];
      await offer({ responses, messages });
      expect(Object.fromEntries((await list()).map(({ id, name }) => [id, name]))).toMatchObject({
        'gpt-7-2027-02-03': 'GPT-7',
        'gpt-8': 'GPT-8',
        'gpt-8-2027-01-02': 'GPT-8 (2027-01-02)',
        'gpt-8-20270304': 'GPT-8 (2027-03-04)',
        'claude-opus-5-20270101': 'Claude Opus 5 (2027-01-01)',
        'claude-opus-5-20270202': 'Claude Opus 5 (2027-02-02)',
        'claude-haiku-4-5': 'Claude Haiku 4.5',
        'claude-haiku-4-5-20251001': 'Claude Haiku 4.5 (2025-10-01)',
        'claude-sonnet-5': 'Claude Sonnet 5',
      });
    });

    it('follows what the Messages pool offers at the moment', async () => {
      await offer({ messages: ['claude-sonnet-5', 'claude-sonnet-6'] });
    });

    it('has no Messages models while their pool cannot be reached, and still routes them', async () => {
      await offer({ unreachable: ['messages'] });
      for (const model of ['claude-haiku-4-5', 'gateway/claude']) {
        expect((await chat(gateway(), token, { model })).status).toBe(200);
        const request = { path: '/v1/messages', body: messagesBody(model, 'hello') } as const;
        expect((await relay(gateway(), token, request)).status).toBe(200);
      }
    });

    it("has only the Responses models of classes while the pool's list can't be reached, and routes the rest", async () => {
      await offer({ unreachable: ['responses'] });
      expect(usedByClasses).not.toContain('gpt-6');
      expect((await chat(gateway(), token, { model: 'gpt-6' })).status).toBe(200);
      const request = { path: '/v1/responses', body: responsesBody('gpt-6', 'hello') } as const;
      expect((await relay(gateway(), token, request)).status).toBe(200);
    });

    it('has the classes whatever cannot be reached', async () => {
      await offer({ unreachable: ['responses', 'messages'] });
    });
  });
}

function idsOf(models: readonly ListedModel[], owner: string): readonly string[] {
  return models.filter(({ owned_by }) => owned_by === owner).map(({ id }) => id);
}
