import { gatewayTransport } from './api/transport.ts';
import { startConsole } from './frame/app.tsx';

startConsole(gatewayTransport());
