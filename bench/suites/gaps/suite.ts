import type { Suite } from '../../harness/row.ts'
import { rows as describing } from './describing.ts'
import { rows as inputs } from './inputs.ts'
import { row as logs } from './logs.ts'
import { rows as results } from './results.ts'
import { row as shortRuns } from './short-runs.ts'
import { rows as waiters } from './waiters.ts'

export const suite: Suite = {
  name: 'gaps',
  summary: 'the longest gap of the loop beside large logs, inputs, results, aborts and graphs',
  rows: [logs, ...inputs, ...results, ...waiters, shortRuns, ...describing],
}
