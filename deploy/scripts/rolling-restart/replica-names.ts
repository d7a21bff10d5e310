import dns, { type LookupAddress } from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import { pathToFileURL } from 'node:url';

// Replaces a cluster's name server on one machine: a name stands for every replica of a service. It
// is loaded into the services by `node --import`, and has the names of REPLICA_ADDRESSES, as JSON.

/** Settings that make these names known to a process. */
export function replicaNamesEnvironment(
  addresses: Readonly<Record<string, readonly string[]>>,
): Readonly<Record<string, string>> {
  return {
    REPLICA_ADDRESSES: JSON.stringify(addresses),
    NODE_OPTIONS: `--import=${pathToFileURL(import.meta.filename).href}`,
  };
}

const { REPLICA_ADDRESSES = '{}' } = process.env;
const known = new Map<string, readonly string[]>(Object.entries(JSON.parse(REPLICA_ADDRESSES)));
if (known.size > 0) {
  const { lookup } = dns.promises;
  const lookupReplicas = (name: string, options: dns.LookupAllOptions): Promise<LookupAddress[]> => {
    const addresses = known.get(name);
    if (addresses === undefined) return lookup(name, options);
    return Promise.resolve(addresses.map((address) => ({ address, family: 4 })));
  };
  Object.assign(dns.promises, { lookup: lookupReplicas });
  syncBuiltinESMExports();
}
