/**
 * How good the analyzer is, on real defects and on well-reviewed code.
 *
 *     npm run -s eval:analyze -- [--json] [--only races|clean] [--list]
 *
 * Packages are fetched from the registry and kept in the temporary folder. `--list` prints every
 * finding in the well-reviewed packages, to be judged by hand (see judgements.md).
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { analyze } from '../src/index.ts'
import type { Analysis } from '../src/index.ts'
import { fetchPackage } from './fetch.ts'
import { score } from './score.ts'
import type { Case, Outcome } from './score.ts'
import { sourcesOf } from './sources.ts'

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    only: { type: 'string' },
    list: { type: 'boolean', default: false },
  },
})

function readData(name: string): unknown {
  return JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8'))
}

const say = (text: string): void => {
  if (!values.json) process.stdout.write(`${text}\n`)
}

async function analyzePackage(spec: string, near?: string): Promise<Analysis> {
  const root = await fetchPackage(spec)
  return analyze({ root, files: sourcesOf(root, near), types: 'none' })
}

interface ClassScore {
  cases: number
  hits: number
  discriminating: number
}

async function races() {
  const { cases } = readData('cases.json') as { cases: Case[] }
  const outcomes: Outcome[] = []
  for (const one of cases) {
    const bad = await analyzePackage(one.npm, one.file)
    const fixed = await analyzePackage(one.fixed, one.file)
    const outcome = score(one, bad.findings, fixed.findings)
    outcomes.push(outcome)
    const verdict = outcome.hit
      ? outcome.discriminating
        ? 'hit'
        : 'hit, also when fixed'
      : 'missed'
    say(`${verdict.padEnd(22)} ${one.id.padEnd(30)} ${outcome.findings.join(', ')}`)
  }
  const byClass: Record<string, ClassScore> = {}
  for (const one of outcomes) {
    const row = (byClass[one.class] ??= { cases: 0, hits: 0, discriminating: 0 })
    row.cases++
    if (one.hit) row.hits++
    if (one.discriminating) row.discriminating++
  }
  const real = outcomes.filter((one) => one.class !== 'blocking')
  return {
    races: real.length,
    hits: real.filter((one) => one.hit).length,
    hitsInFunction: real.filter((one) => one.hitInFunction).length,
    discriminating: real.filter((one) => one.discriminating).length,
    byClass,
    outcomes,
  }
}

async function clean() {
  const { packages } = readData('well-reviewed.json') as { packages: string[] }
  const byRule: Record<string, Record<'note' | 'warning' | 'error', number>> = {}
  let lines = 0
  let files = 0
  let milliseconds = 0
  for (const spec of packages) {
    const { findings, stats } = await analyzePackage(spec)
    lines += stats.lines
    files += stats.files
    milliseconds += stats.ms.total
    for (const finding of findings) {
      const row = (byRule[finding.rule] ??= { note: 0, warning: 0, error: 0 })
      row[finding.level]++
      if (values.list)
        say(
          `${spec} ${finding.level} ${finding.rule} ${finding.file}:${finding.check}-${finding.act} ${finding.message}`,
        )
    }
  }
  const count = (level: 'note' | 'warning' | 'error'): number =>
    Object.values(byRule).reduce((sum, row) => sum + row[level], 0)
  const reported = count('warning') + count('error')
  const perThousand = (number: number): number => Math.round((number / lines) * 1e6) / 1e3
  return {
    packages: packages.length,
    files,
    lines,
    reported,
    perThousandLines: perThousand(reported),
    races: perThousand(
      Object.entries(byRule)
        .filter(([rule]) => rule.startsWith('H'))
        .reduce((sum, [, row]) => sum + row.warning + row.error, 0),
    ),
    notes: count('note'),
    byRule,
    linesPerSecond: Math.round((lines / milliseconds) * 1_000),
  }
}

const result = {
  ...(values.only !== 'clean' && { races: await races() }),
  ...(values.only !== 'races' && { clean: await clean() }),
}
if (values.json) process.stdout.write(`${JSON.stringify(result)}\n`)
else {
  if (result.races !== undefined) {
    const { hits, races: all, discriminating, hitsInFunction, byClass } = result.races
    say(
      `\n${hits} of ${all} races hit (${hitsInFunction} by function), ${discriminating} of them silent on the fixed version`,
    )
    for (const [name, row] of Object.entries(byClass))
      say(`  ${name.padEnd(20)} ${row.hits}/${row.cases}, ${row.discriminating} silent when fixed`)
  }
  if (result.clean !== undefined) {
    const {
      lines,
      packages,
      perThousandLines,
      races: h,
      notes,
      byRule,
      linesPerSecond,
    } = result.clean
    say(
      `\n${perThousandLines} warnings and errors per 1,000 lines (races ${h}) on ${lines} lines of ${packages} packages; ${notes} notes; ${linesPerSecond} lines/s`,
    )
    for (const [rule, row] of Object.entries(byRule).sort(([a], [b]) => (a < b ? -1 : 1)))
      say(`  ${rule} ${row.error} errors, ${row.warning} warnings, ${row.note} notes`)
  }
}
