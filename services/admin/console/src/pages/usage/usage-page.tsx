import { Page } from '../../frame/page.tsx';
import { Link, useNavigate, useSearchParams } from '../../frame/routing.tsx';
import { localDayOf } from '../../ui/time.tsx';
import { UsageControls } from './usage-controls.tsx';
import { periodProblem } from './usage-period.ts';
import { questionOf, usageLink } from './usage-question.ts';
import { UsageReport } from './usage-report.tsx';
import './usage.css';

/** Who used how much, and what that costs. What is asked is in the address. */
export function UsagePage() {
  const [params] = useSearchParams();
  const navigate = useNavigate();
  const question = questionOf(params, localDayOf(Date.now()));
  const problem = periodProblem(question);
  const { token, model, account } = question;
  const only = Object.entries({ token, model, account }).filter(([, value]) => value !== '');
  return (
    <Page
      title="Usage"
      about="Days are local days in Europe/Amsterdam, from midnight to midnight, as day budgets count them."
    >
      <UsageControls question={question} problem={problem} onQuestion={(next) => navigate(usageLink(next))} />
      {only.length > 0 && (
        <p className="row">
          Only
          {only.map(([name, value]) => (
            <span key={name}>
              {name} <code>{value}</code>
            </span>
          ))}
          <Link to={usageLink({ ...question, token: '', model: '', account: '' })}>Show all</Link>
        </p>
      )}
      {problem === undefined && <UsageReport question={question} />}
    </Page>
  );
}
