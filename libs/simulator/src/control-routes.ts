import express, { type NextFunction, type Request, type Response, type Router } from 'express';
import { z } from 'zod';
import { modelsChangeSchema } from './models.ts';
import { ProviderRefusal } from './provider-request.ts';
import { type RecordedRequest, requestFilterSchema } from './record.ts';
import type { SimulatorVerbs } from './simulator-verbs.ts';

/** The control interface: reads the record, scripts faults and changes models. */
export function controlRoutes({ requests, billed, faults, models, reset }: SimulatorVerbs): Router {
  return express
    .Router()
    .use(express.json({ limit: '1mb', type: () => true }))
    .get('/requests', ({ query }, response) => {
      response.json({ requests: requests(requestFilterSchema.parse({ ...newestThousand, ...query })).map(toWire) });
    })
    .get('/billed', (_request, response) => void response.json(billed()))
    .get('/faults', (_request, response) => void response.json({ faults: faults.list() }))
    .post('/faults', ({ body }, response) => void response.json({ id: faults.add(body) }))
    .delete('/faults', ({ query }, response) => {
      faults.clear(faultIdSchema.parse(query.id));
      response.json({});
    })
    .get('/models', (_request, response) => void response.json(models.get()))
    .post('/models', ({ body }, response) => {
      models.set(modelsChangeSchema.parse(body));
      response.json(models.get());
    })
    .post('/reset', (_request, response) => {
      reset();
      response.json({});
    })
    .use(({ method, path }) => {
      throw new ProviderRefusal({ status: 404, message: `No such control: ${method} ${path}` });
    })
    .use(sendProblem);
}

const faultIdSchema = z.coerce.number().int().optional();

/** Without a limit only the newest thousand are sent, so that the answer stays readable. */
const newestThousand = { limit: 1_000 };

/** A recorded request in its HTTP form: the body in base64. */
function toWire({ body, ...request }: RecordedRequest) {
  return { ...request, bodyBase64: Buffer.from(body).toString('base64') };
}

function sendProblem(thrown: unknown, _request: Request, response: Response, _next: NextFunction): void {
  const status = thrown instanceof ProviderRefusal ? thrown.refusal.status : 400;
  const message = thrown instanceof z.ZodError ? z.prettifyError(thrown) : String(thrown);
  response.status(status).json({ error: { message } });
}
