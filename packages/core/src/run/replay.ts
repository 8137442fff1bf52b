/**
 * Plays a recorded run again, on a virtual clock, with stand-ins for its jobs.
 *
 * A stand-in takes as long as the recorded attempt and ends as it did. The scheduler decides
 * what starts when, and after which node: a test that compares the order with the recorded one says whether a scheduler
 * still decides as it did then. `heddle runs export` writes such tests.
 */
import { checkOptions, type OptionNames } from '../kernel/check.ts'
import { seededRandom, type Random } from '../kernel/random.ts'
import type { VirtualClock } from '../kernel/virtual-clock.ts'
import type { NodeContext } from '../scheduler/node-attempt.ts'
import type { NodeState } from '../scheduler/node.ts'
import { retryAfter } from '../attempts/retry.ts'
import { Scheduler } from '../scheduler/scheduler.ts'

/** One attempt of a node. Times are milliseconds since the replay's start. */
export interface RecordedAttempt {
  /** Absent: it had not ended when the recording did. */
  readonly endsAt?: number
  /** Absent: it succeeded. */
  readonly error?: { readonly name?: string; readonly message: string; readonly code?: string }
  /** Milliseconds until it was ready to be tried again, where it was. */
  readonly retryIn?: number
}

export interface RecordedNode {
  readonly name: string
  readonly after?: readonly string[]
  readonly attempts?: readonly RecordedAttempt[]
  /** What it returned. */
  readonly value?: unknown
  /** An earlier process had finished it. */
  readonly done?: boolean
  /** Added only then. Otherwise it is there from the start. */
  readonly addedAt?: number
}

export interface RecordedRun {
  /** How many attempts run at once. `Infinity` for no limit. */
  readonly concurrency: number
  /** The nodes, each after its dependencies. */
  readonly nodes: readonly RecordedNode[]
  /** Calls made on the run. `abort` is a cancel that does not wait. */
  readonly controls?: readonly {
    readonly at: number
    readonly action: 'pause' | 'resume' | 'cancel' | 'abort'
  }[]
  /** The recording ends here, and the run does not: its process was killed, or still runs. */
  readonly cutAt?: number
}

export interface ReplayOptions {
  readonly clock: VirtualClock
  /** Seed 1 when absent. */
  readonly random?: Random
}

export interface Replay {
  /** Names in the order in which attempts started. */
  readonly starts: readonly string[]
  /** Names in the order in which attempts ended. */
  readonly ends: readonly string[]
  /** How each node stood at the end. */
  readonly states: ReadonlyMap<string, NodeState>
}

/** Longer than any recording: the recording ends attempts here, not the clock. */
const noLimit = 1e12

const optionNames = {
  clock: 1,
  random: 1,
} satisfies OptionNames<ReplayOptions>

/**
 * Plays a recorded run. See {@link RecordedRun}.
 *
 * *Cancellation*: none; it ends with the recording.
 * @example
 * const clock = new VirtualClock()
 * const nodes = [
 *   { name: 'a', attempts: [{ endsAt: 20 }] },
 *   { name: 'b', after: ['a'], attempts: [{ endsAt: 30, error: { message: 'no' } }] },
 * ]
 * const { starts, states } = await replayRun({ concurrency: 2, nodes }, { clock })
 * starts // => ['a', 'b']
 * states.get('b') // => 'failed'
 */
export async function replayRun(run: RecordedRun, options: ReplayOptions): Promise<Replay> {
  checkOptions(options, optionNames)
  const { clock, random = seededRandom(1) } = options
  const nodes = new Map(run.nodes.map((node) => [node.name, node]))
  const later = run.nodes.filter(({ addedAt }) => addedAt !== undefined)
  const scheduler = new Scheduler({
    concurrency: run.concurrency,
    timeout: Infinity,
    cancelGrace: noLimit,
    abortGrace: noLimit,
    // A recording has the real order: a node may be added before its dependency, or without it.
    unknown: 'ignore',
    keepOpen: later.length > 0,
    kernel: { clock, random },
  })
  const starts: string[] = []
  const ends: string[] = []
  const running = new Set<string>()
  scheduler.observe((event) => {
    if (event.type !== 'node') return
    const { name, state } = event
    if (state === 'running') {
      starts.push(name)
      running.add(name)
    } else if (running.delete(name)) {
      ends.push(name)
    }
  })
  for (const node of run.nodes) if (node.addedAt === undefined) add(scheduler, node)
  let missing = later.length
  const timers = later.map((node) =>
    clock.setTimer(node.addedAt!, () => {
      add(scheduler, node)
      if (--missing === 0) scheduler.close()
    }),
  )
  for (const { at, action } of run.controls ?? []) {
    const act = (): void => {
      if (action === 'abort') scheduler.cancel({ abort: true })
      else scheduler[action]()
    }
    timers.push(clock.setTimer(at, act))
  }
  const playing = scheduler.run((name, context) => play(nodes.get(name)!, context, clock))
  if (run.cutAt === undefined) await clock.runUntil(playing)
  else await clock.advance(run.cutAt)
  const states = new Map(
    run.nodes.map(({ name }) => [name, scheduler.stateOf(name) ?? ('waiting' as const)]),
  )
  const replay: Replay = { starts: [...starts], ends: [...ends], states }
  if (run.cutAt !== undefined) {
    // Nothing of it may be left behind.
    scheduler.cancel({ abort: true })
    scheduler.close()
    await clock.runUntil(playing)
  }
  // Calls made after the end of the run change nothing.
  for (const timer of timers) timer.cancel()
  return replay
}

function add(scheduler: Scheduler, node: RecordedNode): void {
  const { name, after = [], attempts = [], done = false, value } = node
  const retries = attempts.filter(({ retryIn }) => retryIn !== undefined).length
  scheduler.add(name, { after, retries, ...(done && { done, value }) })
}

/** One attempt, as it was recorded. */
async function play(
  { attempts = [], value }: RecordedNode,
  context: NodeContext,
  clock: VirtualClock,
): Promise<unknown> {
  const { endsAt, error, retryIn } = attempts[context.attempt] ?? {}
  if (endsAt === undefined && attempts.length > 0) await aborted(context.signal)
  else await passed(clock, endsAt ?? 0)
  if (error === undefined) return value
  const { name = 'Error', message, code } = error
  const thrown = Object.assign(new Error(message), { name }, code === undefined ? {} : { code })
  throw retryIn === undefined ? thrown : retryAfter(retryIn, thrown)
}

function passed(clock: VirtualClock, at: number): Promise<void> {
  return new Promise((done) => clock.setTimer(at - clock.now(), done))
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    signal.addEventListener('abort', () => done(), { once: true })
  })
}
