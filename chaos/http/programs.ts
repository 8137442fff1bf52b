/**
 * Programs that attack a server over HTTP: `npm run test:chaos -- <name> [options]`.
 *
 * The last line on stdout is one JSON object with `--json`. Exit codes: 0 as promised, 1 not as promised, 2 a wrong call.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { playLives, type LivesReport } from './lives.ts'
import { malformedRequests, type MalformedReport } from './malformed.ts'
import { slowSenders } from './slow-senders.ts'

interface Outcome {
  readonly ok: boolean
  readonly report: object
}

type Numbers<K extends string> = Readonly<Record<K, number>>

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
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
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
  const { warm, after } = report.memoryMiB
  // A short run has not seen all code when it is warm.
  const isFlat = requests < enoughForMemory || after <= warm + allowedGrowth
  const ok =
    report.problemCount === 0 &&
    connections + bodies + works === 0 &&
    report.reached >= report.sent / 2 &&
    isFlat
  const tally = values.tally === undefined ? {} : { tally: addUp(values.tally, report) }
  return { ok, report: { ...report, isFlat, ...tally }, json: values.json }
}

/** Requests after which memory says something, and by how many MiB it may grow from a tenth of them to the end. */
const enoughForMemory = 50_000
const allowedGrowth = 64

interface Tally {
  readonly runs: number
  readonly sent: number
  readonly reached: number
  readonly problems: number
}

/** Adds a run to what is in the file. */
function addUp(file: string, { sent, reached, problemCount }: MalformedReport): Tally {
  const none: Tally = { runs: 0, sent: 0, reached: 0, problems: 0 }
  const before = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Tally) : none
  const sum: Tally = {
    runs: before.runs + 1,
    sent: before.sent + sent,
    reached: before.reached + reached,
    problems: before.problems + problemCount,
  }
  writeFileSync(file, `${JSON.stringify(sum)}\n`)
  return sum
}

/** `kill-serve` and `drain-serve`. */
function playEnds(end: 'kill' | 'drain', usual: string) {
  return async (args: string[]): Promise<Outcome & { readonly json: boolean }> => {
    const { values } = parseArgs({
      args,
      options: {
        ...common,
        lives: { type: 'string', default: usual },
        clients: { type: 'string', default: '16' },
        seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
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

const programs = {
  'slow-senders': playSlowSenders,
  malformed: playMalformed,
  'kill-serve': playEnds('kill', '100'),
  'drain-serve': playEnds('drain', '20'),
} as const

export function isHttpProgram(name: string | undefined): name is keyof typeof programs {
  return name !== undefined && Object.hasOwn(programs, name)
}

/** Plays a program and resolves with the exit code. */
export async function playHttpProgram(
  name: keyof typeof programs,
  args: string[],
): Promise<number> {
  try {
    const { ok, report, json } = await programs[name](args)
    if (json) console.log(JSON.stringify({ ok, ...report }))
    else console.log(ok ? '✔' : '✖', name, report)
    return ok ? 0 : 1
  } catch (error) {
    if (!isWrongCall(error)) throw error
    console.error(error.message)
    return 2
  }
}

class WrongCall extends Error {}

function isWrongCall(error: unknown): error is Error {
  const code = (error as { code?: unknown }).code
  return error instanceof WrongCall || String(code).startsWith('ERR_PARSE_ARGS')
}

function wholeNumbers<K extends string>(
  values: Readonly<Record<K, string>>,
  names: readonly K[],
): Numbers<K> {
  const entries = names.map((name) => {
    const value = Number(values[name])
    if (Number.isInteger(value) && value >= 0) return [name, value] as const
    throw new WrongCall(`--${name} ${values[name]}: expected a whole number`)
  })
  return Object.fromEntries(entries) as Numbers<K>
}
