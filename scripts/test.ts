/**
 * Runs the tests: `npm test [-- file-part… --test-name-pattern=regex --quick --isolate --node22]`.
 *
 * Without a part and without a pattern core's tests run a second time, on the oldest Node that is
 * supported; with `--node22` they run only there (scripts/node22.ts).
 *
 * Files of pure tests share processes; after each file it is checked that nothing is left of it (scripts/test-plan.ts). With
 * `--quick` only these run. With `--isolate` every file has a process of its own: when a file fails only beside others.
 */
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { Duplex } from 'node:stream'
import { run } from 'node:test'
import { spec, type TestEvent } from 'node:test/reporters'
import { parseArgs } from 'node:util'
import { provideTestPostgres } from '@heddle/test-servers'
import { testOnNode22 } from './node22.ts'
import { processorSeconds } from './processor-seconds.ts'
import { groupsOf, longFiles, ownProcessReason, packageOf, writeGroups } from './test-plan.ts'
import { root } from './tool.ts'

const patterns = [
  'packages/*/test/**/*.test.ts',
  'bench/test/**/*.test.ts',
  'servers/test/**/*.test.ts',
  'chaos/test/**/*.test.ts',
  'examples/*/test/**/*.test.ts',
  'site/test/**/*.test.ts',
]

/**
 * Milliseconds. A test that has not ended by then waits for something that never comes. It does not measure speed: beside
 * eight busy processes on two cores the slowest test takes minutes.
 */
const testTimeout = 600_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'test-name-pattern': { type: 'string', multiple: true },
    concurrency: { type: 'string' },
    quick: { type: 'boolean', default: false },
    isolate: { type: 'boolean', default: false },
    node22: { type: 'boolean', default: false },
  },
})

/**
 * These install packages from the registry, which takes many minutes on a busy machine: run when they are asked for. A whole run has the one with npm,
 * which is skipped without a network (docs/decisions/0621).
 */
const isAsked = positionals.some((part) => part.startsWith('scripts/test'))
if (isAsked) patterns.push('scripts/test/**/*.test.ts')
else if (positionals.length === 0) patterns.push('scripts/test/first-ten-minutes.test.ts')

const found = globSync(patterns, { cwd: root })
  .map((file) => file.split(path.sep).join('/'))
  .filter((file) => positionals.length === 0 || positionals.some((part) => file.includes(part)))
  .toSorted()
if (found.length === 0) {
  console.error(`No test file has ${positionals.join(' or ')} in its path.`)
  process.exit(1)
}

/** Files that have a process of their own, with the reason, and files that share one. */
const alone = new Map<string, string>()
const shared: string[] = []
for (const file of found) {
  const reason = values.isolate ? 'asked for' : ownProcessReason(file)
  if (reason === undefined) shared.push(file)
  else alone.set(file, reason)
}
const files = values.quick ? shared : found
if (files.length === 0) {
  console.error('None of these files is part of a quick run: leave out --quick.')
  process.exit(1)
}

// Test processes are short: most of their time is compiling the same files again.
process.env['NODE_COMPILE_CACHE'] ??= path.join(root, 'node_modules/.cache/compile')

if (values.isolate) process.env['HEDDLE_TEST_PROMISES'] = 'followed'

const reportFile = path.join(root, `node_modules/.cache/test-report-${process.pid}.jsonl`)
mkdirSync(path.dirname(reportFile), { recursive: true })
process.env['HEDDLE_TEST_REPORT'] = reportFile

process.chdir(root)
const started = performance.now()
// One more than processors: some of the files wait.
const concurrency = Number(values.concurrency ?? os.availableParallelism() + 1)
const namePatterns = values['test-name-pattern'] ?? []

/** The counts end the output, also after a long list of failures: they are kept back until then. */
const counts = new Map<string, number>()
function count(name: string, value: number): void {
  counts.set(name, (counts.get(name) ?? 0) + value)
}

/** Milliseconds that files took in earlier runs. The longest files start first, so that none is left alone at the end. */
const durationsFile = path.join(root, 'node_modules/.cache/test-durations.json')
const durations = readDurations()
/** Those of this run. */
const measured = new Map<string, number>()

function readDurations(): Map<string, number> {
  try {
    const known = JSON.parse(readFileSync(durationsFile, 'utf8')) as object
    return new Map(Object.entries({ ...longFiles, ...known }))
  } catch {
    return new Map(Object.entries(longFiles))
  }
}

function writeDurations(): void {
  for (const [file, milliseconds] of measured) durations.set(file, Math.round(milliseconds))
  mkdirSync(path.dirname(durationsFile), { recursive: true })
  writeFileSync(durationsFile, JSON.stringify(Object.fromEntries(durations)))
}

/** What the runner starts: files with a process of their own, and a program for each group of the others. The longest first. */
function programs(): string[] {
  const own = (values.quick ? [] : [...alone.keys()]).map((file) => ({
    program: path.join(root, file),
    took: durations.get(file) ?? 0,
  }))
  const groups = groupsOf(shared)
  const written = writeGroups(groups).map((program, n) => ({
    program,
    took: groups[n]!.reduce((sum, file) => sum + (durations.get(file) ?? 0), 0),
  }))
  const all = [...own, ...written].toSorted((a, b) => b.took - a.took)
  return all.map(({ program }) => program)
}

/** Whether all tests passed on this Node. */
async function testHere(): Promise<boolean> {
  const events = run({
    files: programs(),
    concurrency,
    timeout: testTimeout,
    execArgv: ['--import', new URL('test-watch.mjs', import.meta.url).href],
    ...(namePatterns.length > 0 && { testNamePatterns: namePatterns }),
  })
  let passed = false
  events.on('test:summary', ({ file, counts: { tests }, success, duration_ms }) => {
    if (file === undefined) passed = success && tests > 0
    else if (!file.endsWith('.mjs')) measured.set(fromRoot(file), duration_ms)
  })
  // A file that shares a process is a suite there, with its path as name.
  const isShared = new Set(shared)
  events.on('test:complete', ({ name, nesting, details }) => {
    if (nesting === 0 && isShared.has(name)) measured.set(name, details.duration_ms)
  })
  const lines = events.compose<Duplex>(withoutCounts).compose(new spec())
  for await (const text of lines) process.stdout.write(text as string)
  return passed
}

function fromRoot(file: string): string {
  return path.relative(root, file).split(path.sep).join('/')
}

const countLine = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) ([\d.]+)$/
async function* withoutCounts(source: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
  for await (const event of source) {
    const [, name, value] =
      event.type === 'test:diagnostic' ? (countLine.exec(event.data.message) ?? []) : []
    if (name === undefined) yield event
    else count(name, Number(value))
  }
}

async function testThere(): Promise<boolean> {
  console.log('\nCore on the oldest supported Node')
  // Node 22 applies the limit to whole files.
  const timeout = 5 * testTimeout
  const files22 = { alone: [...alone.keys()], shared }
  const result = await testOnNode22({ ...files22, concurrency, timeout, namePatterns })
  if (result.skipped !== undefined) console.log(`ℹ node22 skipped: ${result.skipped}`)
  for (const [name, value] of result.counts) count(name, value)
  return result.ok
}

/** What a test process says about itself when it ends (scripts/test-watch.mjs). */
interface Cost {
  /** A test file, or a program for several. */
  readonly program: string
  readonly node: string
  /** Seconds of a processor, with those of the programs that it started and waited for. */
  readonly seconds: number
}

function readCosts(): readonly Cost[] {
  if (!existsSync(reportFile)) return []
  const lines = readFileSync(reportFile, 'utf8').trim().split('\n')
  // The last run can be looked at file by file.
  renameSync(reportFile, path.join(root, 'node_modules/.cache/test-report.jsonl'))
  return lines.map((line) => JSON.parse(line) as Cost)
}

/** The files that took longest, what each package cost, and what a quick run left out. */
function report(): void {
  const costs = readCosts()
  const ofFile = new Map(costs.map(({ program, node, seconds }) => [program + node, seconds]))
  const slowest = [...measured].toSorted((a, b) => b[1] - a[1]).slice(0, 20)
  if (measured.size > 20) {
    console.log('\nThe files that took longest: seconds, and seconds of a processor')
    for (const [file, milliseconds] of slowest) {
      const cost = ofFile.get(file + process.version)?.toFixed(1) ?? ''
      console.log(`${(milliseconds / 1000).toFixed(1).padStart(8)}${cost.padStart(8)}  ${file}`)
    }
    console.log('\nSeconds of a processor')
    const sums = new Map<string, number>()
    for (const { program, node, seconds } of costs) {
      const [, group] = /(\w+\/[\w-]+)\/\d+\.test\.mjs$/.exec(program) ?? []
      const where = node === process.version ? '' : ` on Node ${node.slice(1)}`
      const what = (group === undefined ? packageOf(program) : `${group}, shared`) + where
      sums.set(what, (sums.get(what) ?? 0) + seconds)
    }
    for (const [what, seconds] of [...sums].toSorted((a, b) => b[1] - a[1])) {
      console.log(`${seconds.toFixed(1).padStart(8)}  ${what}`)
    }
  }
  if (!values.quick) return
  const reasons = Object.entries(Object.groupBy(alone.values(), (reason) => reason))
    .map(([reason, { length } = []]) => `${length} ${reason}`)
    .join(', ')
  console.log(
    `\nLeft out by --quick: ${alone.size} files that need a process of their own (${reasons}), and core on Node 22.18.`,
  )
}

const isWhole = positionals.length === 0 && namePatterns.length === 0 && !values.quick
const postgres = await provideTestPostgres()
let isPassed = values.node22 || (await testHere())
if (values.node22 || isWhole) isPassed = (await testThere()) && isPassed
await postgres[Symbol.asyncDispose]()
writeDurations()
report()
count('files', files.length)
for (const [name, value] of counts) console.log(`ℹ ${name} ${value}`)
const seconds = (performance.now() - started) / 1000
// Far below the number of processors on a quiet machine: tests wait, and more of them could run side by side (--concurrency).
const used = processorSeconds()
if (used !== undefined) console.log(`ℹ processors_used ${(used / seconds).toFixed(2)}`)
console.log(`ℹ seconds ${seconds.toFixed(1)}`)
if (!isPassed) process.exitCode = 1
