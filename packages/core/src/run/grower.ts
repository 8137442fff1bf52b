/** The growing parts of a run: loads and starts maps, sub-graphs and durable steps, and holds what all steps share. */
import type { PartEntry } from '../journal/journal.ts'
import { Deadlines } from '../kernel/deadlines.ts'
import type { AttemptSteps } from '../attempts/attempt.ts'
import type { Node } from '../scheduler/node.ts'
import { Part, ownerOf } from '../scheduler/part.ts'
import type { AttemptContext, GrowthHost } from './growth-host.ts'
import { runMap } from './map.ts'
import type { PlacedNode } from './placed.ts'
import type { RunJournal } from './run-journal.ts'
import { Signals } from './signals.ts'
import { JournaledSteps, RememberedSteps } from './step-past.ts'
import type { StepHost, Wake } from './step-host.ts'
import { Steps, type StepSource } from './steps.ts'
import { runSubgraph } from './subgraph.ts'

/** Rows of the steps of an element that an earlier process has begun. */
type PastRows = readonly PartEntry[] | undefined

export class Grower {
  readonly #host: StepHost
  /** Sleeps and deadlines of the whole run (G11). */
  readonly #wakes: Deadlines<Wake>
  readonly #active = new Map<Node, { readonly steps: Steps; readonly source: StepSource }>()
  /** Steps that the journal does not keep, or not in a form that is quick to find. */
  readonly #remembered = new WeakMap<Node, RememberedSteps>()
  /** Maps under way, to be called when the run begins to drain. */
  readonly #maps = new Set<() => void>()
  #hearsDrain = false

  constructor(host: GrowthHost) {
    const { clock, growth, journal } = host
    this.#wakes = new Deadlines(clock, (wake) => wake.onWake())
    this.#host = {
      ...host,
      signals: journal?.signals ?? new Signals(),
      wakeAt: (wake, delay) => this.#wakes.set(wake, clock.now() + delay),
      forgetWake: (wake) => {
        this.#wakes.delete(wake)
        this.#wakes.releaseTimer()
      },
      endIdle: ({ entry }) => this.#active.get(ownerOf(entry))?.steps.endIf(this.#isIdle),
    }
    growth.setSteps((attempt) => this.#stepsOf(attempt))
  }

  /** Runs a map or a sub-graph. */
  run(placed: PlacedNode, context: AttemptContext): Promise<unknown> {
    return placed.node.grows!.kind === 'map'
      ? runMap(placed, context, this.#host, (callback) => this.#onDrain(callback))
      : runSubgraph(placed, context, this.#host)
  }

  /** A signal of this process to a run without a journal: it is kept in memory until a job waits for it. */
  receive(name: string, value: unknown): void {
    this.#host.signals.receive({ kind: 'signal', name, value, by: 'send()' }, undefined)
  }

  close(): void {
    this.#wakes.close()
  }

  /** Whether nothing of a job runs: it and its steps only sleep or wait, or wait to be tried again. Steps may be nested deeply. */
  readonly #isIdle = (job: Steps): boolean => {
    const left = [job]
    for (let steps = left.pop(); steps !== undefined; steps = left.pop()) {
      const { awaited } = steps
      if (awaited === undefined) return false
      for (const step of awaited) {
        if (step.stateName === 'retrying') continue
        const inner = this.#active.get(step)
        if (inner === undefined) return false
        left.push(inner.steps)
      }
    }
    return true
  }

  #hearDrain(): void {
    if (this.#hearsDrain) return
    this.#hearsDrain = true
    this.#host.growth.onDrain(() => {
      for (const [entry, { steps }] of this.#active) {
        if (ownerOf(entry) === entry) steps.endIf(this.#isIdle)
      }
      for (const callback of this.#maps) callback()
    })
  }

  #onDrain(callback: () => void): () => void {
    this.#hearDrain()
    this.#maps.add(callback)
    return () => void this.#maps.delete(callback)
  }

  #stepsOf(context: AttemptContext): AttemptSteps {
    this.#hearDrain()
    const source = this.#sourceOf(context)
    const steps = new Steps(context, this.#host, source, () => {
      this.#active.delete(context.entry)
    })
    if (context.list !== undefined) this.#active.set(context.entry, { steps, source })
    return steps
  }

  #sourceOf(context: AttemptContext): StepSource {
    const { entry, attempt } = context
    const { journal } = this.#host
    const rows = entry instanceof Part ? (entry.options.past as PastRows) : undefined
    const isElement = entry instanceof Part && entry.options.kind === 'element'
    if (journal === undefined || isElement) return this.#rememberedFor(entry, rows)
    const root = entry instanceof Part ? entry.root : entry
    if (attempt > 0) return { past: readSteps(journal, root.name), memory: undefined }
    if (entry instanceof Part) {
      return this.#active.get(entry.starter.entry)?.source ?? { past: undefined, memory: undefined }
    }
    const past = journal.isResumed ? readSteps(journal, root.name) : undefined
    return { past, memory: undefined }
  }

  #rememberedFor(entry: Node, rows: PastRows): StepSource {
    let memory = this.#remembered.get(entry)
    if (memory === undefined && (rows !== undefined || entry.limits.retries > 0)) {
      this.#remembered.set(entry, (memory = new RememberedSteps(rows)))
    }
    return { past: undefined, memory }
  }
}

function readSteps(journal: RunJournal, node: string): JournaledSteps {
  return new JournaledSteps(journal.parts(node))
}
