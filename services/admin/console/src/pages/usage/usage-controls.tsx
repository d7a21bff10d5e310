import { Choice } from '../../ui/choice.tsx';
import { CheckField, TextField } from '../../ui/field.tsx';
import { localDayOf } from '../../ui/time.tsx';
import { periodsOf } from './usage-period.ts';
import { type GroupName, groups, type UsageQuestion } from './usage-question.ts';

interface UsageControlsProps {
  readonly question: UsageQuestion;
  /** What is wrong with the days. */
  readonly problem: string | undefined;
  readonly onQuestion: (question: UsageQuestion) => void;
}

/** Which days, and what of them. */
export function UsageControls({ question, problem, onQuestion }: UsageControlsProps) {
  const today = localDayOf(Date.now());
  const periods = periodsOf(today);
  const ask = (change: Partial<UsageQuestion>) => onQuestion({ ...question, ...change });
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
        type="date"
        max={today}
        value={question.firstDay}
        onValue={(firstDay) => own({ firstDay })}
        problem={problem}
      />
      <TextField
        label="Last day"
        type="date"
        max={today}
        value={question.lastDay}
        onValue={(lastDay) => own({ lastDay })}
      />
      <Choice
        label="Rows"
        options={Object.entries(groups).map(([value, { label }]) => ({
          value: value as GroupName,
          label: `By ${label.toLowerCase()}`,
        }))}
        value={question.by}
        onValue={(by) => ask({ by })}
      />
      <CheckField
        label="Compare with the period before"
        checked={question.compare}
        onChecked={(compare) => ask({ compare })}
      />
    </div>
  );
}
