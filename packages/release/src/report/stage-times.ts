import type { RunEvent } from '@heddle/core'
import { partsOf, type StageName } from '../stages/stages.ts'

/** States in which a stage has stopped. */
const stopped = new Set(['succeeded', 'failed', 'cancelled', 'retrying'])

/** How long the stages of each package have run in this process, all attempts together. */
export class StageTimes {
  readonly #startedAt = new Map<string, number>()
  readonly #times = new Map<string, Map<StageName, number>>()

  observe(event: RunEvent): void {
    if (event.type !== 'node') return
    const { name: node, state, at } = event
    if (state === 'running') return void this.#startedAt.set(node, at)
    const startedAt = this.#startedAt.get(node)
    const parts = partsOf(node)
    if (startedAt === undefined || parts === undefined || !stopped.has(state)) return
    this.#startedAt.delete(node)
    const times = this.#times.get(parts.name) ?? new Map<StageName, number>()
    times.set(parts.stage, (times.get(parts.stage) ?? 0) + at - startedAt)
    this.#times.set(parts.name, times)
  }

  /** Milliseconds by stage. */
  of(name: string): Partial<Record<StageName, number>> {
    const times = [...(this.#times.get(name) ?? [])]
    return Object.fromEntries(times.map(([stage, ms]) => [stage, Math.round(ms)]))
  }
}
