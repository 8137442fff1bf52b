/**
 * H408 second loop: a loop runs while a flag is set, and waits in every round. Stopping it clears the flag
 * and does not wait; starting it sets the flag. When it is started again during a wait, the old loop finds
 * the flag set and goes on beside the new one.
 */
import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { CallSite, FunctionUnit } from '../ir/program.ts'
import { targetsOf } from '../summaries/order.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { generation, waitForLoop } from './fixes.ts'
import type { Host, Located } from './host.ts'
import { overlapOf } from './model.ts'
import type { Model } from './model.ts'
import { isComponentState } from './shared.ts'
import { isIdentityCheck, isLook, isWithin, overSuspension } from './walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function secondLoop(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hosts.suspending) {
    for (const { location, accesses } of host.checked) {
      if (!isComponentState(location)) continue
      const draft = from(model, host, location, accesses)
      if (draft !== undefined) drafts.push(draft)
    }
  }
  return drafts
}

function from(
  model: Model,
  host: Host,
  flag: Location,
  accesses: readonly Located[],
): Draft | undefined {
  for (const round of accesses) {
    if (!isLoopCheck(round.access)) continue
    // From one round to the next: over a wait, and nothing but the flag is asked.
    const way = overSuspension(
      host.graph,
      round,
      (event) => event === round.access,
      (event, isAfter) =>
        event !== round.access && isAfter && (isIdentityCheck(event) || isOwnLook(event, flag)),
    )
    if (way === undefined) continue
    const stop = stopOf(model, host, flag)
    const start = stop && startOf(model, host, flag, stop)
    if (stop === undefined || start === undefined) continue
    return describe(host, flag, round.access, way.suspensions, stop, start)
  }
  return undefined
}

function isLoopCheck({ op, checks }: Access): boolean {
  return (
    op === 'read' &&
    checks.some(({ branch, whenPresent }) => branch.isLoop && whenPresent === branch.whenTrue)
  )
}

/** Other state of the program is looked at, which may be what tells the old loop from the new one. */
function isOwnLook(event: Parameters<typeof isLook>[0], flag: Location): boolean {
  return (
    event.op === 'read' &&
    event.location.canonical !== flag &&
    isComponentState(event.location.canonical) &&
    isLook(event)
  )
}

/** Another function clears the flag and does not wait for the loop. */
function stopOf(model: Model, host: Host, flag: Location): Access | undefined {
  return model
    .writesOf(flag)
    .find(
      ({ access, host: by }) =>
        access.kind === 'null' &&
        access.value?.literal === 'false' &&
        !access.isInitial &&
        by !== host.unit &&
        !isWithin(by, host.unit) &&
        overlapOf(by) !== undefined &&
        model.summaries(by).suspends === 'never',
    )?.access
}

interface Start {
  readonly set: Access
  readonly call: CallSite
}

/** A function that sets the flag and starts the loop; nothing but the flag keeps it from doing so. */
function startOf(model: Model, host: Host, flag: Location, stop: Access): Start | undefined {
  for (const { access, host: by } of model.writesOf(flag)) {
    if (access.value?.literal !== 'true' || access.isInitial || by === stop.owner.host) continue
    if (overlapOf(by) === undefined || isLookingElsewhere(model, by, flag)) continue
    if (model.summaries(by).suspends !== 'never' && by !== host.unit) continue
    const call = model.hostOf(by).linked.find(({ event }) => targetsOf(event).includes(host.unit))
    if (call !== undefined) return { set: access, call: call.event }
  }
  return undefined
}

function isLookingElsewhere(model: Model, unit: FunctionUnit, flag: Location): boolean {
  return model
    .hostOf(unit)
    .checked.some(({ location }) => location !== flag && isComponentState(location))
}

function describe(
  host: Host,
  flag: Location,
  round: Access,
  suspensions: Draft['suspensions'],
  stop: Access,
  { set, call }: Start,
): Draft {
  const { name } = flag
  const starter = set.owner.namedAs
  const stopper = stop.owner.namedAs
  return {
    rule: 'H408',
    class: 'missing-guard',
    level: 'warning',
    message: `${host.unit.namedAs} runs while ${name} is set: when ${stopper} and ${starter} are called during its wait, the old loop goes on beside the new one`,
    locations: [flag],
    check: round,
    act: set,
    suspensions,
    conflict: stop,
    steps: [
      { task: 'A', text: `begins a round: \`${textOf(round)}\``, at: round },
      {
        task: 'A',
        text: `waits: \`${textOf(suspensions[0]!)}\``,
        at: suspensions[0]!,
        isCheckpoint: true,
      },
      { task: 'B', text: `${stopper} stops it: \`${textOf(stop)}\``, at: stop },
      { task: 'B', text: `${starter} starts another one: \`${textOf(call)}\``, at: call },
      { task: 'A', text: `finds ${name} set and goes on`, at: round },
    ],
    window: [1, 4],
    evidence: [
      `${stopper} clears ${name} and does not wait for the loop`,
      overlapOf(set.owner.host)?.text ?? `${starter} can be called`,
    ],
    fixes: [generation(name, [4, 5]), waitForLoop(host.unit.namedAs, [3, 4])],
  }
}

export const secondLoopPage: RulePage = {
  id: 'H408',
  name: 'second-loop',
  class: 'missing-guard',
  level: 'warning',
  summary: 'A loop is stopped and started again during its wait, and then runs twice.',
  what: `A loop runs while a flag is set and waits in every round. One function clears the flag without
waiting for the loop, another one sets it and starts the loop. Nothing tells an old loop from a new one.`,
  why: `When both are called during one wait, as a restart does, the old loop never sees the flag cleared.
Two loops run from then on: everything is polled or sent twice, and the next stop ends both or none.`,
  race: source`
    export class Poller {
      #isRunning = false

      start(): void {
        if (this.#isRunning) return
        this.#isRunning = true
        void this.#run()
      }

      stop(): void {
        this.#isRunning = false
      }

      async #run(): Promise<void> {
        while (this.#isRunning) {
          await poll()
        }
      }
    }
  `,
  steps: [
    ['A', '#run(): poll() is on its way, suspended'],
    ['B', 'stop(), start(): #isRunning is true again, a second loop begins'],
    ['A', '#isRunning is true: the first loop goes on as well'],
  ],
  window: [1, 3],
  fixed: source`
    export class Poller {
      #isRunning = false
      #round = 0

      start(): void {
        if (this.#isRunning) return
        this.#isRunning = true
        void this.#run(++this.#round)
      }

      stop(): void {
        this.#isRunning = false
      }

      async #run(round: number): Promise<void> {
        while (this.#isRunning) {
          await poll()
          if (round !== this.#round) return
        }
      }
    }
  `,
  fixes: [
    'Give every loop a number and let it end when a newer one has begun.',
    'Keep the promise of the loop, and wait for it in stop() or before a new start.',
    'Use an AbortController for every start: an old signal stays aborted.',
  ],
}
