/** `npm run test:chaos [-- --kills 200 --nodes 500 --seed N --streams 2]` */
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { anySeed, wholeNumbers } from '../call.ts'
import { scenarios } from '../scenarios/scenarios.ts'
import type { CrashReport } from './campaign.ts'
import { crashRuns } from './crash-runs.ts'

/** Resolves with the exit code. */
export async function playCrashes(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      kills: { type: 'string', default: '200' },
      nodes: { type: 'string', default: '500' },
      seed: { type: 'string', default: anySeed() },
      streams: { type: 'string', default: String(Math.min(4, os.availableParallelism())) },
    },
  })
  const { kills, nodes, seed, streams } = wholeNumbers(values, [
    'kills',
    'nodes',
    'seed',
    'streams',
  ])
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-chaos-'))
  console.log(`seed ${seed}: ${kills} kills, graphs of ${nodes} nodes`)
  let killed = 0
  const started = performance.now()
  const report = await crashRuns({
    folder,
    seed,
    kills,
    nodes,
    streams: Math.max(1, streams),
    onLife: ({ end }) => {
      if (end === 'killed' && ++killed % 20 === 0) console.log(`  ${killed} killed`)
    },
  })
  const isRight = printed(report, kills)
  const seconds = (performance.now() - started) / 1000
  console.log(`${'seconds'.padEnd(34)}${seconds.toFixed(1).padStart(8)}`)
  for (const problem of report.problems.slice(0, 20)) console.log(`✖ ${problem}`)
  const isOk = (await playScenarios(folder)) && isRight && report.problems.length === 0
  if (isOk) rmSync(folder, { recursive: true, force: true })
  else console.log(`What was left behind is in ${folder}. Play it again with --seed ${seed}.`)
  return isOk ? 0 : 1
}

/** Prints the counts. Returns whether each has the expected value. */
function printed(report: CrashReport, kills: number): boolean {
  const rows: readonly (readonly [string, number, expected?: number])[] = [
    ['kills', report.kills, Math.max(kills, report.kills)],
    ['resumes', report.resumes],
    ['runs', report.runs],
    ['nodes', report.nodes],
    ['recorded successes', report.successes, report.nodes],
    ['started again although finished', report.startedAgain, 0],
    ['acknowledged but lost', report.lost, 0],
    ['starts', report.starts],
    ['side effects', report.effects, report.nodes + report.repeated],
    ['… repeated: running at a kill', report.repeated],
    ['lives that set nodes aside', report.setAside],
  ]
  let ok = true
  for (const [name, value, expected = value] of rows) {
    const isRight = value === expected
    ok &&= isRight
    const wanted = isRight ? '' : `  expected ${expected}`
    console.log(`${name.padEnd(34)}${String(value).padStart(8)}${wanted}`)
  }
  return ok
}

async function playScenarios(folder: string): Promise<boolean> {
  let ok = true
  for (const { name, play } of scenarios) {
    try {
      const skipped = await play(folder)
      console.log(skipped === undefined ? `✔ ${name}` : `﹣ ${name}: skipped, ${skipped}`)
    } catch (error) {
      ok = false
      console.log(`✖ ${name}`, error)
    }
  }
  return ok
}
