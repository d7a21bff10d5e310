import { AdapterService } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { LimiterService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { type Client, serviceRoute } from '../src/service-types.ts';

export interface Services {
  readonly limiter: Client<typeof LimiterService>;
  readonly adapter: Client<typeof AdapterService>;
}

const localDay = 'd'.repeat(250);

export const limiterRoute = serviceRoute(LimiterService, {
  admit: () => ({ status: { localDay } }),
  settle: () => ({}),
  peek: () => ({}),
  heartbeat: () => ({}),
  admitStream: async function* () {},
});

/** What a body asks for: 200 events at once or one per turn, a stream that stays open, or an echo. */
export const adapterRoute = serviceRoute(AdapterService, {
  execute: async function* (requests, { signal }) {
    for await (const { body } of requests) {
      const mode = body.length < 10 ? Buffer.from(body).toString() : 'echo';
      if (mode === 'echo') {
        yield { body };
        continue;
      }
      if (mode === 'hold') {
        yield { body };
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        return;
      }
      for (let n = 0; n < 200; n++) {
        yield { body: event };
        if (mode === 'turns') await new Promise((resolve) => setImmediate(resolve));
      }
    }
  },
  countTokens: async () => ({}),
  listModels: async () => ({}),
});

const event = Buffer.alloc(120, 'e');
