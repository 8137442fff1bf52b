/**
 * `npm run test:chaos -- many-steps --steps 1000000`: a job makes this many steps, is cut off in the middle, and is
 * resumed.
 *
 * No step may run twice, and memory must not grow with their number (G1, G3).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { Graph, job, startRun, type GraphResult } from '@heddle/core'
import { openJournal } from '@heddle/core/lowlevel'
import { wholeNumbers } from '../call.ts'

/** Steps that are under way at once. */
const together = 500

export interface ManySteps {
  readonly ok: boolean
  readonly steps: number
  readonly calls: number
  /** Megabytes of the heap at most, before and after the cut. */
  readonly firstPeak: number
  readonly resumedPeak: number
  readonly seconds: number
}

/** Plays it on a SQLite journal in this process. */
export async function playManySteps(steps: number): Promise<ManySteps> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-steps-'))
  const startedAt = performance.now()
  let calls = 0
  let stopAt = Math.floor(steps / 2)
  const controller = new AbortController()
  const plus = job({ name: 'plus' }, (n: number) => {
    if (++calls === stopAt) controller.abort()
    return n + 1
  })
  const graph = (): Graph => {
    const made = new Graph()
    const many = job({ name: 'many', timeout: Infinity }, async (_: void, ctx) => {
      let wrong = 0
      for (let from = 0; from < steps; from += together) {
        const size = Math.min(together, steps - from)
        const running = Array.from({ length: size }, (_each, index) => ctx.run(plus, from + index))
        for (const [index, value] of (await Promise.all(running)).entries()) {
          if (value !== from + index + 1) wrong++
        }
      }
      return wrong
    })
    made.add('many', many)
    return made
  }
  let peak = 0
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().heapUsed / 1e6)
  }, 20)
  try {
    const file = `sqlite:${path.join(folder, 'runs.db')}`
    await using journal = await openJournal(file, { durability: 'process' })
    const options = { journal, concurrency: 64 }
    const first = await startRun(graph(), { ...options, signal: controller.signal })
    await first.result
    const done = calls
    const firstPeak = peak
    const recorded = await countSteps(journal.parts(first.id!, 'many', { values: false }))
    peak = 0
    stopAt = Infinity
    const resumed = await startRun(graph(), { ...options, resume: first.id! })
    const result: GraphResult = await resumed.result
    // Calls that were under way at the cut may run twice.
    const isOnce = calls - done === steps - recorded
    const ok = result.ok && result.valueOf('many') === 0 && isOnce
    const seconds = (performance.now() - startedAt) / 1_000
    return { ok, steps, calls, firstPeak, resumedPeak: peak, seconds }
  } finally {
    clearInterval(timer)
    rmSync(folder, { recursive: true, force: true })
  }
}

async function countSteps(parts: AsyncIterable<{ readonly state: string }>): Promise<number> {
  let count = 0
  for await (const { state } of parts) if (state === 'succeeded') count++
  return count
}

export async function manyStepsProgram(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { steps: { type: 'string', default: '1000000' } },
  })
  const report = await playManySteps(wholeNumbers(values, ['steps']).steps)
  console.log(JSON.stringify(report))
  return report.ok ? 0 : 1
}
