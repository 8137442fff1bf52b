/** `npm run test:chaos -- growing --kills 400 --journal sqlite|postgres --seed N --streams 4` */
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { anySeed, wholeNumbers, wrongCall } from '../call.ts'
import { emptyGrowingReport, killGrowingRuns, type GrowingReport } from './campaign.ts'

export async function playGrowing(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      kills: { type: 'string', default: '400' },
      journal: { type: 'string', default: 'sqlite' },
      seed: { type: 'string', default: anySeed() },
      streams: { type: 'string', default: '4' },
      json: { type: 'boolean', default: false },
    },
  })
  const { kills, seed, streams: asked } = wholeNumbers(values, ['kills', 'seed', 'streams'])
  const streams = Math.max(1, asked)
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-growing-'))
  if (!values.json) console.log(`seed ${seed}: ${kills} kills on ${values.journal}`)
  await using store = await openStore(values.journal, folder)
  let killed = 0
  const onKill = (): void => {
    if (++killed % 20 === 0 && !values.json) console.log(`  ${killed} killed`)
  }
  const reports = await Promise.all(
    Array.from({ length: streams }, (_, stream) =>
      killGrowingRuns({
        folder: path.join(folder, String(stream)),
        seed: seed + stream,
        kills: Math.ceil(kills / streams),
        journal: (name) => store.address(`${stream}-${name}`),
        onKill,
      }),
    ),
  )
  const report = reports.reduce(addReports, emptyGrowingReport())
  console.log(
    values.json ? JSON.stringify({ ok: report.problems.length === 0, ...report }) : lines(report),
  )
  if (report.problems.length === 0) rmSync(folder, { recursive: true, force: true })
  else console.log(`kept: ${folder}`)
  return report.problems.length === 0 ? 0 : 1
}

interface Store extends AsyncDisposable {
  address(name: string): Promise<string>
}

async function openStore(kind: string, folder: string): Promise<Store> {
  if (kind === 'sqlite') {
    return {
      address: async (name) => `sqlite:${path.join(folder, `${name}.db`)}`,
      [Symbol.asyncDispose]: async () => undefined,
    }
  }
  if (kind !== 'postgres') throw wrongCall(`--journal ${kind}: expected sqlite or postgres`)
  const { openDatabase } = await import('@heddle/test-servers')
  const database = await openDatabase()
  return {
    // A schema for each run.
    address: async (name) => {
      const url = new URL(database.address)
      url.searchParams.set('schema', `g_${name.replaceAll('-', '_')}`)
      return url.href
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
}

function addReports(sum: GrowingReport, each: GrowingReport): GrowingReport {
  for (const key of Object.keys(sum) as (keyof GrowingReport)[]) {
    if (key === 'problems') sum.problems.push(...each.problems)
    else sum[key] += each[key]
  }
  return sum
}

function lines(report: GrowingReport): string {
  const { problems, ...counts } = report
  const rows = Object.entries(counts).map(([name, count]) => `${name.padEnd(14)} ${count}`)
  return [...rows, ...problems].join('\n')
}
