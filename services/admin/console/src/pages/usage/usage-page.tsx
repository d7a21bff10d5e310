import { navigate } from 'wouter/use-browser-location';
import { useSearchParams } from '../../frame/address.ts';
import { Link } from '../../frame/link.tsx';
import { Page } from '../../frame/page.tsx';
import { useSimulatedPools } from '../../frame/simulation-note.tsx';
import { Choice } from '../../ui/choice.tsx';
import { CheckField, TextField } from '../../ui/field.tsx';
import { localDayOf } from '../../ui/time.tsx';
import { periodProblem, periodsOf } from './usage-period.ts';
import { type GroupName, groups, questionOf, type UsageQuestion, usageLink } from './usage-question.ts';
import { UsageReport } from './usage-report.tsx';
import './usage.css';

/** Usage and its cost. The query is in the address. */
export function UsagePage() {
  const [params] = useSearchParams();
  const question = questionOf(params, localDayOf(Date.now()));
  const problem = periodProblem(question);
  const simulated = useSimulatedPools();
  const { token, model, account, group } = question;
  const only = Object.entries({ token, model, account, group }).filter(([, value]) => value !== '');
  return (
    <Page title="Usage" about="Days run from midnight to midnight in Europe/Amsterdam, as daily limits do.">
      <Controls question={question} problem={problem} />
      {only.length > 0 && (
        <p className="row">
          Filtered by{' '}
          {only.map(([name, value]) => (
            <span key={name}>
              {name} <code>{value}</code>
            </span>
          ))}
          <Link to={usageLink({ ...question, token: '', model: '', account: '', group: '' })}>Clear filters</Link>
        </p>
      )}
      {simulated.length > 0 && (
        <p className="faint">
          Includes what simulated providers answered: {simulated.join(', ')}. Grouped by account, their rows are marked.
        </p>
      )}
      {problem === undefined && <UsageReport question={question} />}
    </Page>
  );
}

interface ControlsProps {
  readonly question: UsageQuestion;
  /** The problem of the days. */
  readonly problem: string | undefined;
}

/** The choice of days and grouping. */
function Controls({ question, problem }: ControlsProps) {
  const today = localDayOf(Date.now());
  const periods = periodsOf(today);
  const ask = (change: Partial<UsageQuestion>) => navigate(usageLink({ ...question, ...change }));
  const choose = (period: string) => ask({ period, ...periods[period] });
  const own = (days: Partial<UsageQuestion>) => ask({ period: '', ...days });
  return (
    <div className="filters">
      <Choice
        label="Period"
        options={Object.entries(periods).map(([value, { label }]) => ({ value, label }))}
        value={question.period}
        onValue={choose}
      />
      <TextField
        label="First day"
        hint={`${question.firstDay} in reports`}
        type="date"
        max={today}
        value={question.firstDay}
        onValue={(firstDay) => own({ firstDay })}
        problem={problem}
      />
      <TextField
        label="Last day"
        hint={`${question.lastDay} in reports`}
        type="date"
        max={today}
        value={question.lastDay}
        onValue={(lastDay) => own({ lastDay })}
      />
      <Choice
        label="Group by"
        options={Object.entries(groups).map(([value, { label }]) => ({
          value: value as GroupName,
          label: `By ${label.toLowerCase()}`,
        }))}
        value={question.by}
        onValue={(by) => ask({ by })}
      />
      <CheckField
        label="Compare with the previous period"
        checked={question.compare}
        onChecked={(compare) => ask({ compare })}
      />
    </div>
  );
}
