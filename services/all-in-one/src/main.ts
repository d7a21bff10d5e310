import { runAllInOne } from './run.ts';

await runAllInOne(process.env);
