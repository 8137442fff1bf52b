import { isPostgresAddress, systemKernel } from '@heddle/core/lowlevel'
import { Output } from '../output/output.ts'
import { paint, span, type Line } from '../text/line.ts'
import { printable } from '../text/terminal-text.ts'
import { chooseView, type Surroundings } from '../terminal/capabilities.ts'
import type { Check } from './check.ts'
import { checkPostgres } from './check-postgres.ts'
import {
  checkClock,
  checkFolder,
  checkLimits,
  checkModuleType,
  checkTypescript,
  limitOfOpenFiles,
} from './check-project.ts'
import {
  checkJournal,
  checkLoopWatch,
  checkNode,
  checkSqlite,
  checkTerminal,
  checkThreads,
} from './check-machine.ts'

export interface ExamineOptions {
  readonly json: boolean
  /** Addresses of journals and stores to check beside the project. */
  readonly places: readonly string[]
}

/**
 * Runs all checks and prints the results. True when nothing is missing.
 *
 * *Cancellation*: none; each check takes milliseconds.
 */
export async function examine({ json, places }: ExamineOptions): Promise<boolean> {
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
    await checkModuleType(process.cwd()),
    checkTypescript(process.cwd()),
    await checkFolder(process.cwd()),
    checkClock(systemKernel.clock.wallTime()),
    checkLimits(limitOfOpenFiles(), process.availableMemory()),
    ...(await Promise.all(places.map(checkWhere))).flat(),
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

/** A database that has no tables yet is fine: `heddle run` and `heddle serve` make them. */
async function checkWhere(place: string): Promise<Check[]> {
  if (!isPostgresAddress(place)) return [await checkJournal(place)]
  return checkPostgres(place)
}

function describe(check: Check, [yes, no]: readonly [string, string]): Line[] {
  const mark = check.ok ? span(`${yes} `, 'green') : span(`${no} `, 'red')
  const line: Line = [mark, span(check.name.padEnd(12)), span(printable(check.found))]
  return check.help === undefined
    ? [line]
    : [line, [span(`${' '.repeat(14)}${check.help}`, 'cyan')]]
}
