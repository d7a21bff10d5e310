import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import type { ComponentType } from 'react';
import { AuditPage } from '../pages/audit/audit-page.tsx';
import { ConfigurationPage } from '../pages/configuration/configuration-page.tsx';
import { GroupPage } from '../pages/groups/group-page.tsx';
import { GroupsPage } from '../pages/groups/groups-page.tsx';
import { MyUsagePage } from '../pages/my-usage/my-usage-page.tsx';
import { OperatorsPage } from '../pages/operators/operators-page.tsx';
import { OverviewPage } from '../pages/overview/overview-page.tsx';
import { PeoplePage } from '../pages/people/people-page.tsx';
import { PlaygroundPage } from '../pages/playground/playground-page.tsx';
import { PoolsPage } from '../pages/pools/pools-page.tsx';
import { RequestPage } from '../pages/requests/request-page.tsx';
import { RequestsPage } from '../pages/requests/requests-page.tsx';
import { SearchPage } from '../pages/search/search-page.tsx';
import { SystemPage } from '../pages/system/system-page.tsx';
import { IssueTokenPage } from '../pages/tokens/issue-token-page.tsx';
import { TokenPage } from '../pages/tokens/token-page.tsx';
import { TokensPage } from '../pages/tokens/tokens-page.tsx';
import { UsagePage } from '../pages/usage/usage-page.tsx';

export interface PageEntry {
  /** "/tokens/:tokenId" */
  readonly path: string;
  readonly component: ComponentType;
  /** The label in the navigation. Pages without one are reached from others. */
  readonly label?: string;
  readonly group?: 'Watch' | 'Manage' | 'Gateway';
  /** The role that may see it. Unspecified: only the holder of a caller's token. */
  readonly role: Role;
}

/** Every page of the console, in the order of the navigation. */
export const pages: readonly PageEntry[] = [
  { path: '/', label: 'Overview', group: 'Watch', role: Role.VIEWER, component: OverviewPage },
  { path: '/requests', label: 'Requests', group: 'Watch', role: Role.VIEWER, component: RequestsPage },
  { path: '/requests/:requestId', role: Role.VIEWER, component: RequestPage },
  { path: '/pools', label: 'Pools', group: 'Watch', role: Role.VIEWER, component: PoolsPage },
  { path: '/pools/:pool', role: Role.VIEWER, component: PoolsPage },
  { path: '/usage', label: 'Usage', group: 'Watch', role: Role.VIEWER, component: UsagePage },
  { path: '/playground', label: 'Playground', group: 'Watch', role: Role.VIEWER, component: PlaygroundPage },
  { path: '/tokens', label: 'Tokens', group: 'Manage', role: Role.VIEWER, component: TokensPage },
  { path: '/tokens/new', role: Role.OPERATOR, component: IssueTokenPage },
  { path: '/tokens/:tokenId', role: Role.VIEWER, component: TokenPage },
  { path: '/groups', label: 'Groups', group: 'Manage', role: Role.VIEWER, component: GroupsPage },
  { path: '/groups/:groupId', role: Role.VIEWER, component: GroupPage },
  { path: '/people', label: 'People', group: 'Manage', role: Role.VIEWER, component: PeoplePage },
  { path: '/my-usage', label: 'My usage', group: 'Watch', role: Role.UNSPECIFIED, component: MyUsagePage },
  { path: '/playground', label: 'Playground', group: 'Watch', role: Role.UNSPECIFIED, component: PlaygroundPage },
  { path: '/system', label: 'System', group: 'Gateway', role: Role.VIEWER, component: SystemPage },
  { path: '/configuration', label: 'Configuration', group: 'Gateway', role: Role.VIEWER, component: ConfigurationPage },
  { path: '/operators', label: 'Operators', group: 'Gateway', role: Role.ADMIN, component: OperatorsPage },
  { path: '/audit', label: 'Audit', group: 'Gateway', role: Role.ADMIN, component: AuditPage },
  { path: '/search', role: Role.VIEWER, component: SearchPage },
];
