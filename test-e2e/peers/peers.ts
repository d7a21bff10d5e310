import { claudeCodeRouter } from './claude-code-router.ts';
import { allInOne, services } from './ours.ts';
import type { LeftOut, Peer } from './peer.ts';
import { portkey } from './portkey.ts';

/** In the order of the table. */
export const peers: readonly Peer[] = [allInOne, services, portkey, claudeCodeRouter];

/** What was looked at as well. */
export const leftOut: readonly LeftOut[] = [
  {
    name: '@musistudio/llms',
    version: '1.0.53',
    why: 'It is a library: nothing in it starts a server. `claude-code-router` has it in it.',
  },
  {
    name: '9router',
    version: '0.5.69',
    why: 'Providers are set up in a dashboard, in a browser; and its start command ends other processes of the machine, those with `next-server` in their command line.',
  },
  {
    name: 'omniroute',
    version: '3.7.9',
    why: 'npm could not install it: what it depends on asks for `icu-minify` 4.15.0, which the registry did not have.',
  },
  {
    name: '@maximhq/bifrost',
    version: '1.6.3',
    why: 'The package fetches its program from a server of its own when it is started.',
  },
];
