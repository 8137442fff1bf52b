/** Findings about suppressions: the fault of a comment, and its repair. */
import type { UnnamedFinding } from '../baseline/fingerprint.ts'
import { rulePage } from '../explain/pages.ts'
import { suggestRule } from '../explain/suggest.ts'
import type { Fix } from '../finding.ts'
import type { PlacedDirective } from './comments.ts'
import { isExpired } from './directive.ts'

/** What can be seen from the comment alone. */
export function problemsOf(directive: PlacedDirective, today: string): UnnamedFinding[] {
  const { rules, reason, until, badUntil } = directive
  const found: UnnamedFinding[] = []
  const named = rules.join(', ')
  const add = (rule: string, message: string, repair: string, sketch: string): void => {
    found.push(problem(rule, directive, message, repair, sketch))
  }
  if (reason === '') {
    const sketch = `// heddle-ignore ${named || 'H101'} -- why it cannot go wrong here`
    add('S104', `\`heddle-ignore ${named}\` has no reason`, 'Write the reason', sketch)
  }
  if (until !== undefined && isExpired(until, today)) {
    const sketch = `// heddle-ignore ${named} -- ${reason} [until=YYYY-MM-DD]`
    add('S102', `\`heddle-ignore ${named}\` held until ${until}`, 'Give it a new date', sketch)
  }
  if (badUntil !== undefined) {
    const sketch = `// heddle-ignore ${named} -- ${reason} [until=2027-01-31]`
    add('S102', `\`until=${badUntil}\` is not a day`, 'Write the day', sketch)
  }
  const unknown = rules.filter((rule) => rulePage(rule) === undefined)
  for (const rule of rules.length === 0 ? [''] : unknown) {
    const meant = suggestRule(rule)
    const hint = meant === undefined ? '' : `; did you mean ${meant}?`
    const message =
      rule === '' ? '`heddle-ignore` names no rule' : `There is no rule \`${rule}\`${hint}`
    const sketch = `// heddle-ignore ${meant ?? 'H101'} -- ${reason || 'why it cannot go wrong here'}`
    add('S103', message, 'Name a rule', sketch)
  }
  return found
}

/** Problems that are known only after everything was analysed. */
export function unused(rule: string, directive: PlacedDirective): UnnamedFinding {
  const message = `\`heddle-ignore ${rule}\` suppresses nothing: ${rule} reports nothing here`
  const sketch = `// heddle-ignore ${rule} -- ${directive.reason}`
  return problem('S101', directive, message, 'Move it to the line of the finding', sketch)
}

function problem(
  rule: string,
  { span, rules, reason }: PlacedDirective,
  message: string,
  title: string,
  sketch: string,
): UnnamedFinding {
  const remove: Fix = {
    title: 'Remove the comment',
    sketch: `- // heddle-ignore ${rules.join(', ')}${reason === '' ? '' : ` -- ${reason}`}`,
    closes: [1, 1],
    tradeoffs: 'What it suppressed, if anything, is reported again.',
    risk: 'low',
    effort: 'simple',
  }
  const repair: Fix = { ...remove, title, sketch, tradeoffs: 'It has to be true.' }
  return {
    rule,
    class: 'suppression',
    level: rulePage(rule)!.level,
    message,
    file: span.file,
    function: '',
    line: span.line,
    check: span.line,
    act: span.line,
    checkSpan: span,
    actSpan: span,
    shared: [],
    checkpoints: [],
    trace: [],
    evidence: [],
    // A suppression without effect is most likely no longer needed.
    fixes: rule === 'S101' ? [remove, repair] : [repair, remove],
    key: rules.join(','),
  }
}
