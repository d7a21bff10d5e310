import { versionText } from '@gateway/telemetry';
import { runAllInOne } from './run.ts';

if (process.argv[2] === '--version') process.stdout.write(versionText('all-in-one'));
else await runAllInOne(process.env);
