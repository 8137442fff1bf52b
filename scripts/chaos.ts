/**
 * Crash tests of whole runs: `npm run test:chaos [-- --kills 200 --nodes 500 --seed N --streams 2]`.
 *
 * Processes that run a graph are killed with SIGKILL at random moments and resumed until they finish;
 * then the scenarios of chaos/scenarios are played. `npm test` plays a short version of both.
 *
 * `npm run test:chaos -- growing` kills runs with maps, sub-graphs, steps and signals: see chaos/growing/campaign.ts.
 * `npm run test:chaos -- --store postgres` kills and stops servers on one database: see chaos/store/cluster-faults.ts.
 * `npm run test:chaos -- limit-seeds` plays limits of all servers in virtual time: see cluster-limits-model.ts.
 * `npm run test:chaos -- fleet-scale` plays a fleet of any size in virtual time: see chaos/fleet/scale.ts.
 * `npm run test:chaos -- release` kills releases instead: see chaos/release/kill-releases.ts.
 * `npm run test:chaos -- slow-senders` and `-- malformed` attack a server instead: see chaos/http/programs.ts.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { crashRuns } from '../chaos/crash/crash-runs.ts'
import { scenarios } from '../chaos/scenarios/scenarios.ts'
import { isHttpProgram, playHttpProgram } from '../chaos/http/programs.ts'
import { playGrowing } from '../chaos/growing/program.ts'
import { manyStepsProgram } from '../chaos/growing/many-steps.ts'
import { playSeeds } from '../chaos/seeds.ts'
import { simulate as playLimits } from '../packages/core/test/capacity/cluster-limits-model.ts'
import { playSeed as playGrowingSeed } from '../packages/core/test/run/growing-model.ts'
import { playScale } from '../chaos/fleet/program.ts'
import { playRelease } from '../chaos/release/program.ts'
import { playStore } from '../chaos/store/program.ts'
import { root } from './tool.ts'

// Hundreds of short processes: reading compiled code back saves most of their time.
process.env['NODE_COMPILE_CACHE'] ??= path.join(root, 'node_modules/.cache/compile')

const [program, ...rest] = process.argv.slice(2)
if (program === 'growing') process.exit(await playGrowing(rest))
if (program === 'many-steps') process.exit(await manyStepsProgram(rest))
if (program === 'growing-seeds') process.exit(await playSeeds(rest, playGrowingSeed))
if (program === 'limit-seeds') process.exit(await playSeeds(rest, (seed) => playLimits(seed)))
if (program?.startsWith('--store') === true) process.exit(await playStore([program, ...rest]))
if (program === 'fleet-scale') process.exit(await playScale(rest))
if (program === 'release') process.exit(await playRelease(rest))
if (isHttpProgram(program)) process.exit(await playHttpProgram(program, rest))

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '200' },
    nodes: { type: 'string', default: '500' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    streams: { type: 'string', default: String(Math.min(4, os.availableParallelism())) },
  },
})

function count(option: keyof typeof values): number {
  const value = Number(values[option])
  if (Number.isInteger(value) && value >= 0) return value
  console.error(`--${option} ${values[option]}: expected a whole number`)
  process.exit(2)
}

const kills = count('kills')
const seed = count('seed')
const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-chaos-'))
console.log(`seed ${seed}: ${kills} kills, graphs of ${count('nodes')} nodes`)

let killed = 0
const started = performance.now()
const report = await crashRuns({
  folder,
  seed,
  kills,
  nodes: count('nodes'),
  streams: Math.max(1, count('streams')),
  onLife: ({ end }) => {
    if (end === 'killed' && ++killed % 20 === 0) console.log(`  ${killed} killed`)
  },
})
const seconds = (performance.now() - started) / 1000

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
let ok = report.problems.length === 0
for (const [name, value, expected = value] of rows) {
  const isRight = value === expected
  ok &&= isRight
  console.log(
    `${name.padEnd(34)}${String(value).padStart(8)}${isRight ? '' : `  expected ${expected}`}`,
  )
}
console.log(`${'seconds'.padEnd(34)}${seconds.toFixed(1).padStart(8)}`)
for (const problem of report.problems.slice(0, 20)) console.log(`✖ ${problem}`)

for (const { name, play } of scenarios) {
  try {
    const skipped = await play(folder)
    console.log(skipped === undefined ? `✔ ${name}` : `﹣ ${name}: skipped, ${skipped}`)
  } catch (error) {
    ok = false
    console.log(`✖ ${name}`, error)
  }
}

if (ok) rmSync(folder, { recursive: true, force: true })
else console.log(`What was left behind is in ${folder}. Play it again with --seed ${seed}.`)
process.exitCode = ok ? 0 : 1
