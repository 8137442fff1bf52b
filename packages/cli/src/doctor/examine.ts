import { Output } from '../output/output.ts'
import { paint, span, type Line } from '../view/line.ts'
import { printable } from '../view/text.ts'
import { chooseView, type Surroundings } from '../terminal/capabilities.ts'
import type { Check } from './check.ts'
import {
  checkJournal,
  checkLoopWatch,
  checkNode,
  checkPostgres,
  checkSqlite,
  checkTerminal,
  checkThreads,
} from './checks.ts'

export interface ExamineOptions {
  readonly json: boolean
  readonly journal: string | undefined
}

/**
 * Looks at everything and prints what was found. True when nothing is missing.
 *
 * *Cancellation*: none; each check takes milliseconds.
 */
export async function examine({ json, journal }: ExamineOptions): Promise<boolean> {
  const { stdout } = process
  const surroundings: Surroundings = {
    env: process.env,
    platform: process.platform,
    isTerminal: stdout.isTTY,
  }
  const size = stdout.isTTY ? ([stdout.columns, stdout.rows] as const) : undefined
  const checks = [
    checkNode(),
    await checkSqlite(),
    await checkThreads(),
    await checkLoopWatch(),
    checkTerminal(surroundings, size),
    ...(journal === undefined ? [] : await checkWhere(journal)),
  ]
  const ok = checks.every((check) => check.ok)
  const out = new Output(stdout)
  if (json) {
    out.line(JSON.stringify({ ok, checks }))
    return ok
  }
  const { color, unicode } = chooseView(surroundings, { json, color: true })
  const marks = unicode ? (['✓', '✗'] as const) : (['ok', 'NO'] as const)
  for (const check of checks)
    for (const line of describe(check, marks)) out.line(paint(line, color))
  return ok
}

/** A database that has no journal yet is fine: `heddle run` makes its tables. */
async function checkWhere(journal: string): Promise<Check[]> {
  if (!/^postgres(ql)?:/.test(journal)) return [await checkJournal(journal)]
  return checkPostgres(journal)
}

function describe(check: Check, [yes, no]: readonly [string, string]): Line[] {
  const mark = check.ok ? span(`${yes} `, 'green') : span(`${no} `, 'red')
  const line: Line = [mark, span(check.name.padEnd(12)), span(printable(check.found))]
  return check.help === undefined
    ? [line]
    : [line, [span(`${' '.repeat(14)}${check.help}`, 'cyan')]]
}
