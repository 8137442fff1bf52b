/**
 * Heddle side by side with its peers.
 *
 * Exit codes: 0 all rows played; 1 ours failed in a row; 2 the call was wrong; 130 ended by SIGINT or SIGTERM, with the
 * rows that were played until then.
 * Progress goes to stderr, results to stdout.
 */
import { availableParallelism, cpus } from 'node:os'
import { parseArguments, usage, type Arguments } from './harness/arguments.ts'
import { describeLoad, holdMachine, machineLoad } from './harness/machine-lock.ts'
import type { Entrant, Machine, Row, Suite, Surroundings } from './harness/row.ts'
import { useBuiltPackages } from './harness/own-packages.ts'
import { Results } from './harness/results.ts'
import { runRow } from './harness/runner.ts'
import { loadSuite, suiteNames } from './harness/suites.ts'

process.exitCode = await main(process.argv.slice(2))

async function main(args: readonly string[]): Promise<number> {
  let parsed: Arguments
  try {
    parsed = parseArguments(args)
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error))
  }
  const names = await suiteNames()
  if (parsed.help) {
    console.log(`${usage}\n\nSuites: ${names.join(', ')}`)
    return 0
  }
  if (parsed.suite === undefined) return refuse(`name a suite: ${names.join(', ')}`)
  if (!names.includes(parsed.suite)) {
    return refuse(`there is no suite ${parsed.suite}; there is: ${names.join(', ')}`)
  }
  try {
    if (parsed.built) useBuiltPackages()
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error))
  }
  const suite = await loadSuite(parsed.suite)
  const rows = suite.rows
    .filter((row) => matches(row, parsed.only))
    .map((row) => withEntrants(row, parsed.against))
  if (rows.length === 0) {
    return refuse(
      `no row of ${suite.name} matches --only ${parsed.only.join(' --only ')}; rows: ` +
        suite.rows.map(({ name }) => name).join(', '),
    )
  }
  return play(suite, rows, parsed)
}

async function play(
  suite: Suite,
  rows: readonly Row[],
  { quick, json, install, offline }: Arguments,
): Promise<number> {
  await using _machine = await holdMachine({
    file: process.env['HEDDLE_BENCH_LOCK'],
    command: `bench ${suite.name}`,
    onWait: (holder) => tell(`waiting until another bench has ended: ${holder}`),
  })
  const loadAtStart = machineLoad()
  const begin = performance.now()
  const seconds = () => `${((performance.now() - begin) / 1000).toFixed(0).padStart(4)} s`
  tell(`${suite.name}: ${suite.summary}`)
  tell(`node ${process.version}, ${availableParallelism()} x ${cpus()[0]?.model ?? 'unknown'}`)
  tell(`at the start: ${describeLoad(loadAtStart)}`)
  const onProgress = (line: string) => tell(`${seconds()}  ${line}`)
  const needs = new Set(rows.flatMap(({ entrants }) => Object.values(entrants)).flatMap(needsOf))
  const results = new Results(json, (text) => process.stdout.write(text))
  const stop = new AbortController()
  const onSignal = (signal: string): void => stop.abort(new Error(`ended by ${signal}`))
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
  const { signal } = stop
  {
    await using surroundings =
      (await suite.surround?.(needs, { install, offline, onProgress })) ?? nothingAround()
    for (const row of rows) {
      const measured = await runRow(suite, row, { quick, surroundings, onProgress, signal })
      if (signal.aborted) break
      const machine: Machine = { atStart: loadAtStart, atEnd: machineLoad() }
      for (const result of measured) results.add({ ...result, machine })
    }
  }
  tell(`${seconds()}  ${signal.aborted ? 'ended early' : 'done'}`)
  results.end()
  if (signal.aborted) return 130
  return results.hasFailed ? 1 : 0
}

function needsOf({ needs = [] }: Entrant): readonly string[] {
  return needs
}

function nothingAround(): Surroundings {
  return {
    environment: {},
    missing: new Map(),
    notes: [],
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}

function matches({ name, also = [] }: Row, only: readonly string[]): boolean {
  const names = [name, ...also.map((extra) => `${name}: ${extra.name}`)]
  return only.length === 0 || only.some((part) => names.some((each) => each.includes(part)))
}

/** Heddle is always measured: without it there is nothing to compare. */
function withEntrants(row: Row, against: readonly string[]): Row {
  if (against.length === 0) return row
  const chosen = Object.entries(row.entrants).filter(
    ([name, { role }]) => role === 'ours' || against.includes(name),
  )
  return { ...row, entrants: Object.fromEntries(chosen) }
}

function tell(line: string): void {
  process.stderr.write(`${line}\n`)
}

function refuse(problem: string): number {
  tell(`bench: ${problem}\n\n${usage}`)
  return 2
}
