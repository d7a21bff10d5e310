import { claudeCodeRouter } from './claude-code-router.ts';
import { allInOne, services } from './ours.ts';
import type { LeftOut, Peer } from './peer.ts';
import { portkey } from './portkey.ts';

/** In the order of the table. */
export const peers: readonly Peer[] = [allInOne, services, portkey, claudeCodeRouter];

/** Other candidates, which are left out. */
export const leftOut: readonly LeftOut[] = [
  {
    name: '@musistudio/llms',
    version: '1.0.53',
    why: 'It is a library without a server. `claude-code-router` contains it.',
  },
  {
    name: '9router',
    version: '0.5.69',
    why: 'Providers are configured in a dashboard in a browser. Its start command also ends other processes on the machine: those with `next-server` in their command line.',
  },
  {
    name: 'omniroute',
    version: '3.7.9',
    why: 'npm could not install it: one of its dependencies needs `icu-minify` 4.15.0, which the registry did not have.',
  },
  {
    name: '@maximhq/bifrost',
    version: '1.6.3',
    why: 'The package downloads its program from its own server at the start.',
  },
];
