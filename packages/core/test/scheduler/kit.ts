import { Capacity } from '../../src/capacity/capacity.ts'
import { Lanes } from '../../src/capacity/lanes.ts'
import { VirtualClock } from '../../src/kernel/virtual-clock.ts'
import type { Random } from '../../src/kernel/random.ts'
import type { NodeContext } from '../../src/scheduler/node-attempt.ts'
import type { Node } from '../../src/scheduler/node.ts'
import type { RunEvent } from '../../src/scheduler/events.ts'
import { Scheduler, type SchedulerOptions } from '../../src/scheduler/scheduler.ts'

/** A scheduler on virtual time whose callbacks end when the test says so. */
export class Bench {
  readonly clock = new VirtualClock()
  readonly scheduler: Scheduler
  readonly started: string[] = []
  readonly contexts = new Map<string, NodeContext>()
  readonly events: RunEvent[] = []
  readonly #gates = new Map<string, PromiseWithResolvers<unknown>>()
  running = 0
  mostRunning = 0

  constructor(options: SchedulerOptions & { random?: Random } = {}) {
    const { random = { next: () => 1 }, ...rest } = options
    this.scheduler = new Scheduler({
      observer: (event) => this.events.push(event),
      ...rest,
      kernel: { clock: this.clock, random },
    })
  }

  /** `{ b: ['a'] }` adds b after a. */
  add(graph: Readonly<Record<string, readonly string[]>>): this {
    for (const [name, after] of Object.entries(graph)) this.scheduler.add(name, { after })
    return this
  }

  readonly work = (name: string, context: NodeContext): Promise<unknown> => {
    this.started.push(name)
    this.contexts.set(name, context)
    this.mostRunning = Math.max(this.mostRunning, ++this.running)
    const gate = Promise.withResolvers<unknown>()
    this.#gates.set(name, gate)
    return gate.promise.finally(() => this.running--)
  }

  /** Ends a running callback and lets everything follow that follows without time passing. */
  async finish(name: string, value?: unknown): Promise<void> {
    this.#gates.get(name)!.resolve(value)
    await this.clock.settle()
  }

  async fail(name: string, error: unknown = new Error(`${name} broke`)): Promise<void> {
    this.#gates.get(name)!.reject(error)
    await this.clock.settle()
  }

  /** Lets a callback end as a well-behaved one does when its signal aborts. */
  obeySignal(name: string): void {
    const { signal } = this.contexts.get(name)!
    const gate = this.#gates.get(name)!
    signal.addEventListener('abort', () => gate.reject(signal.reason), { once: true })
  }

  /** `name state` of every node event, in order. */
  get stages(): string[] {
    return this.events.flatMap((event) =>
      event.type === 'node' ? [`${event.name} ${event.state}`] : [],
    )
  }
}

/** A callback that records the order of its calls and returns at once. */
export function recorder(): {
  readonly calls: string[]
  readonly work: (name: string) => Promise<void>
} {
  const calls: string[] = []
  return {
    calls,
    work: async (name) => {
      calls.push(name)
    },
  }
}

/** Lanes without a run, for tests that need a node. */
export function lanesOfNodes(): Lanes<Node> {
  return new Lanes<Node>({
    capacity: new Capacity(),
    clock: new VirtualClock(),
    concurrency: 1,
    resources: {},
    aging: 1,
    sinceOf: () => 0,
    onRoom: () => undefined,
  })
}
