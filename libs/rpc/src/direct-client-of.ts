import type { DescService } from '@bufbuild/protobuf';
import { directClient } from './direct-client.ts';
import type { Client, ServiceRoute } from './service-types.ts';

/** A direct client of one service among the routes of a process. Throws when nobody serves it. */
export function directClientOf<S extends DescService>(routes: readonly ServiceRoute[], service: S): Client<S> {
  const route = routes.find((each) => each.service.typeName === service.typeName);
  if (route === undefined) throw new Error(`no route serves ${service.typeName}`);
  return directClient({ service, handlers: route.handlers });
}
