import { useQuery } from '@connectrpc/connect-query';
import { ConfigurationService } from '@gateway/proto/admin/v1/configuration_service_pb.js';
import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { useState } from 'react';
import { useSigned } from '../../api/session.tsx';

const key = 'gateway-public-address';

/**
 * The gateway's address for clients, without a slash at its end, and a function that sets it. The
 * gateway does not know the proxies before it. Until someone sets the address in this browser,
 * it is this machine's name with the gateway's own port.
 */
export function usePublicAddress(): readonly [string, (address: string) => void] {
  const { may } = useSigned();
  const [said, setSaid] = useState(() => localStorage.getItem(key) ?? '');
  const { data } = useQuery(
    ConfigurationService.method.getConfiguration,
    {},
    { enabled: said === '' && may(Role.VIEWER), staleTime: 60_000 },
  );
  const port = data?.settings.find(({ name }) => name === 'PORT')?.value ?? '8080';
  const { protocol, hostname } = window.location;
  const say = (address: string) => {
    const trimmed = address.trim().replace(/(?<!\/)\/+$/, '');
    if (trimmed === '') localStorage.removeItem(key);
    else localStorage.setItem(key, trimmed);
    setSaid(trimmed);
  };
  return [said || `${protocol}//${hostname}:${port}`, say];
}
