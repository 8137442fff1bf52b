/**
 * Programs that attack a server over HTTP: `npm run test:chaos -- <name> [options]`.
 *
 * The last line on stdout is one JSON object with `--json`. Exit codes: 0 as promised, 1 not as promised, 2 a wrong call.
 */
import { parseArgs } from 'node:util'
import { anySeed, wholeNumbers } from '../call.ts'
import { addToTally } from '../tally.ts'
import { largeResults } from './large-results.ts'
import { playLives, type LivesReport } from './lives.ts'
import { malformedRequests } from './malformed.ts'
import { slowSenders } from './slow-senders.ts'

interface Outcome {
  readonly ok: boolean
  readonly report: object
}

const common = {
  json: { type: 'boolean', default: false },
  // Another state of the sources, to compare with.
  checkout: { type: 'string', default: '.' },
} as const

async function playSlowSenders(args: string[]): Promise<Outcome & { readonly json: boolean }> {
  const { values } = parseArgs({
    args,
    options: {
      ...common,
      senders: { type: 'string', default: '500' },
      seconds: { type: 'string', default: '15' },
      rate: { type: 'string', default: '20' },
    },
  })
  const { senders, seconds, rate } = wholeNumbers(values, ['senders', 'seconds', 'rate'])
  const report = await slowSenders({ checkout: values.checkout, senders, seconds, rate })
  return { ok: report.answers['200'] === report.submitted, report, json: values.json }
}

async function playMalformed(args: string[]): Promise<Outcome & { readonly json: boolean }> {
  const { values } = parseArgs({
    args,
    options: {
      ...common,
      requests: { type: 'string', default: '20000' },
      seed: { type: 'string', default: anySeed() },
      streams: { type: 'string', default: '20' },
      // A file in which the counts of several runs are added up.
      tally: { type: 'string' },
    },
  })
  const { requests, seed, streams } = wholeNumbers(values, ['requests', 'seed', 'streams'])
  process.stderr.write(`seed ${seed}: ${requests} malformed requests\n`)
  const report = await malformedRequests({
    checkout: values.checkout,
    requests,
    seed,
    streams,
    onProgress: (sent) => process.stderr.write(`  ${sent} sent\n`),
  })
  const { connections, bodies, works } = report.left
  const { heap, buffers } = report.keptMiB
  const kept = heap.map((each, at) => each + buffers[at]!)
  // A short run has not seen all code when it is warm.
  const isFlat = requests < enoughForMemory || kept.at(-1)! <= (kept[1] ?? Infinity) + allowedGrowth
  const ok =
    report.problemCount === 0 &&
    connections + bodies + works === 0 &&
    report.reached >= report.sent / 2 &&
    isFlat
  const { sent, reached, problemCount: problems } = report
  const tally =
    values.tally === undefined
      ? {}
      : { tally: addToTally(values.tally, { sent, reached, problems, kept: [kept.at(-1) ?? 0] }) }
  return { ok, report: { ...report, isFlat, ...tally }, json: values.json }
}

/**
 * From this number of requests on, memory figures mean something. Below: by how many MiB the
 * retained memory may grow from a tenth of them to the end. The process as a whole has no limit: V8
 * decides how early it collects and what it gives back.
 */
const enoughForMemory = 50_000
const allowedGrowth = 8

/** `kill-serve` and `drain-serve`. */
function playEnds(end: 'kill' | 'drain', usual: string) {
  return async (args: string[]): Promise<Outcome & { readonly json: boolean }> => {
    const { values } = parseArgs({
      args,
      options: {
        ...common,
        lives: { type: 'string', default: usual },
        clients: { type: 'string', default: '16' },
        seed: { type: 'string', default: anySeed() },
      },
    })
    const { lives, clients, seed } = wholeNumbers(values, ['lives', 'clients', 'seed'])
    process.stderr.write(`seed ${seed}: ${lives} lives, each ended by a ${end}\n`)
    const onProgress = (life: number, { acknowledged, resets, lost }: LivesReport): void => {
      if (life % 5 !== 0) return
      const figures = `${acknowledged} acknowledged, ${lost.length} lost, ${resets} reset`
      process.stderr.write(`  life ${life}: ${figures}\n`)
    }
    const { checkout } = values
    const report = await playLives({ checkout, lives, end, clients, seed, onProgress })
    const ok = report.lost.length + report.resets + report.badEnds.length === 0
    return { ok, report, json: values.json }
  }
}

async function playLargeResults(args: string[]): Promise<Outcome & { readonly json: boolean }> {
  const { values } = parseArgs({
    args,
    options: {
      ...common,
      waiters: { type: 'string', default: '1000' },
      megabytes: { type: 'string', default: '30' },
      after: { type: 'string', default: '5000' },
    },
  })
  const { waiters, megabytes, after } = wholeNumbers(values, ['waiters', 'megabytes', 'after'])
  const { checkout, json } = values
  const report = await largeResults({
    checkout,
    waiters,
    bytes: megabytes * 1_000_000,
    after,
    onProgress: (job, each) => process.stderr.write(`  ${job}: ${JSON.stringify(each)}\n`),
  })
  const ok = Object.values(report.jobs).every(
    ({ whole, beside, longestGapMs }) =>
      whole === waiters && Object.keys(beside).join() === '200' && longestGapMs <= allowedGap,
  )
  return { ok, report, json }
}

/** Milliseconds that the loop may be held up by large results. */
const allowedGap = 50

/** A program by name: its options are read, it is played, and its report is printed. Resolves with the exit code. */
function program(
  name: string,
  play: (args: string[]) => Promise<Outcome & { readonly json: boolean }>,
) {
  return async (args: readonly string[]): Promise<number> => {
    const { ok, report, json } = await play([...args])
    if (json) console.log(JSON.stringify({ ok, ...report }))
    else console.log(ok ? '✔' : '✖', name, report)
    return ok ? 0 : 1
  }
}

export const httpPrograms = {
  'slow-senders': program('slow-senders', playSlowSenders),
  malformed: program('malformed', playMalformed),
  'kill-serve': program('kill-serve', playEnds('kill', '100')),
  'drain-serve': program('drain-serve', playEnds('drain', '20')),
  'large-results': program('large-results', playLargeResults),
} as const
