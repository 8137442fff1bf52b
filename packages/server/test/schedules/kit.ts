/** Schedules on virtual time: a store in memory that several servers share, and runs that end when the test says so. */
import type { HeddleError } from '@heddle/core'
import { openStore, seededRandom, type Kernel, type Tables } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import type { StartAnswer, StartRequest } from '../../src/runs/own-runs.ts'
import { DelayedStarts } from '../../src/schedules/delayed-starts.ts'
import type { Definition } from '../../src/schedules/schedule-definition.ts'
import type { Runner } from '../../src/schedules/scheduled-runs.ts'
import { Schedules } from '../../src/schedules/schedules.ts'
import { scheduleTables } from '../../src/schedules/schedule-tables.ts'
import { Ticker } from '../../src/schedules/ticker.ts'

export interface FakeRun {
  readonly id: string
  readonly key: string
  readonly request: StartRequest
  readonly startedAt: number
  isActive: boolean
  cancelledBy?: string
}

/** Like the journal: if two starts have one key, the second gets the run of the first. */
export class FakeRunner implements Runner {
  readonly runs: FakeRun[] = []
  /** Called before and after a start: a throw is a server that dies there. */
  fault: (when: 'before' | 'after') => void = () => undefined
  refusal: HeddleError | undefined
  readonly #now: () => number
  readonly #takes: number

  /** Runs end by themselves after `takes` milliseconds; Infinity: when the test ends them. */
  constructor(now: () => number, takes = Infinity) {
    this.#now = now
    this.#takes = takes
  }

  async start(request: StartRequest): Promise<StartAnswer> {
    this.fault('before')
    if (this.refusal !== undefined) throw this.refusal
    const key = request.key ?? `none ${this.runs.length}`
    const known = this.runs.find((run) => run.key === key)
    const id = known?.id ?? `run ${this.runs.length + 1}`
    if (known === undefined) {
      this.runs.push({ id, key, request, startedAt: this.#now(), isActive: true })
    }
    this.fault('after')
    return { run: id, how: known === undefined ? 'started' : 'attached' }
  }

  async isActive(id: string): Promise<boolean> {
    const run = this.runs.find((each) => each.id === id)
    return run?.isActive === true && this.#now() - run.startedAt < this.#takes
  }

  async cancel(id: string, { by }: { readonly by: string }): Promise<void> {
    this.runs.find((each) => each.id === id)!.cancelledBy = by
  }

  /** ISO times that the runs of a schedule were due at, in the order of their starts. */
  dueTimes(): string[] {
    return this.runs.map(({ key }) => key.split('@')[1]!)
  }
}

export function definition(given: Partial<Definition> = {}): Definition {
  const name = given.name ?? 'nightly'
  const rest = { cron: '0 3 * * *', timezone: 'UTC', overlap: 'skip', missed: 'once' } as const
  const made = { graph: 'g', args: undefined, isPaused: false } as const
  return { id: `exported:${name}`, origin: 'exported', name, ...rest, ...made, ...given }
}

export class Kit {
  readonly clock: VirtualClock
  readonly kernel: Kernel
  readonly tables: Tables
  readonly runner: FakeRunner
  readonly lines: string[] = []
  readonly #servers: Ticker[] = []

  private constructor(clock: VirtualClock, kernel: Kernel, tables: Tables, takes: number) {
    this.clock = clock
    this.kernel = kernel
    this.tables = tables
    this.runner = new FakeRunner(() => clock.now(), takes)
  }

  static async open(at: string, takes = Infinity): Promise<Kit> {
    const clock = new VirtualClock({ wallTime: Date.parse(at) })
    const kernel = { clock, random: seededRandom(1) }
    const { tables } = await openStore('memory', { tables: scheduleTables, kernel })
    return new Kit(clock, kernel, tables, takes)
  }

  schedules(exported: readonly Definition[], tables: Tables = this.tables): Schedules {
    const log = (_: string, text: string): number => this.lines.push(text)
    return new Schedules({ tables, runner: this.runner, exported, log })
  }

  starts(most?: number): DelayedStarts {
    const log = (_: string, text: string): number => this.lines.push(text)
    const shared = { tables: this.tables, runner: this.runner, kernel: this.kernel, log }
    const onChange = (): void => {
      for (const server of this.#servers) server.poke()
    }
    return new DelayedStarts({ ...shared, onChange, ...(most !== undefined && { most }) })
  }

  /** A server with these schedules, started. */
  async serve(exported: readonly Definition[], starts?: DelayedStarts): Promise<Ticker> {
    const schedules = this.schedules(exported)
    await schedules.start()
    const parts = [schedules, ...(starts === undefined ? [] : [starts])]
    const log = (_: string, text: string): number => this.lines.push(text)
    const ticker = new Ticker({
      parts,
      tables: this.tables,
      clock: this.clock,
      log,
      every: 600_000,
    })
    await ticker.start()
    this.#servers.push(ticker)
    await this.clock.settle()
    return ticker
  }

  async close(): Promise<void> {
    for (const server of this.#servers) await server.stop()
  }
}
