/**
 * The program of a child: plays the rounds of one entrant of one row and writes one report to file
 * descriptor 3, so that nothing a library prints can damage it.
 *
 *     node --expose-gc --conditions=heddle-source child.ts <suite> <row> <entrant> <full|quick>
 */
import { writeFileSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { CollectorLog } from './collector.ts'
import { GapMeter, type Gaps } from './gap-meter.ts'
import type { ChildReport, Contender, Observation, Row } from './row.ts'
import { childLimitOf, planOf, type Plan } from './plan.ts'
import { findRow, loadSuite } from './suites.ts'

const [suiteName = '', rowName = '', entrantName = '', mode = 'full'] = process.argv.slice(2)
const suite = await loadSuite(suiteName)
const row = findRow(suite, rowName)
// The parent ends a child that takes too long; when the parent is gone, it has to end itself.
setTimeout(() => process.exit(1), childLimitOf(row) + 10_000).unref()
const entrant = row.entrants[entrantName]
if (entrant === undefined) throw new Error(`row ${rowName} has no entrant ${entrantName}`)

const report = await measure(row, await entrant.load(), planOf(row, entrant, mode === 'quick'))
writeFileSync(3, JSON.stringify(report))
// Ends threads and timers too: how a library closes is not the question here.
process.exit(0)

async function measure(
  { measure: kind, isOutside = false }: Row,
  contender: Contender,
  { size, rounds, warmUps, warmUpSize }: Plan,
): Promise<ChildReport> {
  const values: number[] = []
  const also: Record<string, number[]> = {}
  const gaps: Gaps[] = []
  const builds: number[] = []
  let observed: Observation | undefined
  const meter = new GapMeter()
  const collector = new CollectorLog()
  for (let count = 0; count < warmUps; count++) {
    const play = await contender.prepare(warmUpSize)
    await play(() => {})
  }
  for (let count = 0; count < rounds; count++) {
    const play = await contender.prepare(size)
    gc?.({ type: 'minor' })
    await collector.take()
    await turn()

    meter.start()
    const start = performance.now()
    const work = await play(() => builds.push(performance.now() - start))
    const elapsed = performance.now() - start
    meter.stop()
    if (!isOutside) gaps.push(meter.read(await collector.take()))
    if (typeof work === 'function') {
      const figures = work()
      values.push(figures.value)
      observed = figures.observed
      for (const [name, value] of Object.entries(figures.also)) (also[name] ??= []).push(value)
    } else {
      values.push(kind === 'rate' ? (size / elapsed) * 1000 : (elapsed / size) * 1000)
    }
  }
  return {
    values,
    also,
    gaps,
    builds,
    ...(!isOutside && { rssMb: process.resourceUsage().maxRSS / 1024 }),
    ...(observed !== undefined && { observed }),
  }
}
