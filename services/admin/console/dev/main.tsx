import { startConsole } from '../src/frame/app.tsx';
import { madeUpGateway } from './made-up-gateway.ts';

startConsole(madeUpGateway());
