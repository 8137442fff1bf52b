/**
 * Runs of graphs by the clock.
 *
 *   due times of one schedule, on the clock of the store:
 *
 *        ── decided ──┤ cursor      due … due      now ├── not yet ──▶
 *
 *   a due time that was decided is a firing:
 *
 *      pending ──▶ starting ──▶ started      its run has the key `schedule:<id>@<due time>`
 *         │            └──────▶ failed       the graph cannot be made here or anywhere
 *         └──────▶ skipped                   the run before has not ended; or a newer firing has taken its place
 *
 *  D1  A due time is decided once, whatever the number of servers: the change that makes its firing moves the cursor,
 *      and expects the revision of the cursor and that the firing is absent. If two servers do so, one is refused.
 *  D2  A firing is started once: `starting` is written before the start, and if two starts have one key, one opens the
 *      run. A server that dies in between leaves `starting`, which the next check of any server starts with the same
 *      key.
 *  D3  Time is the store's. When its clock is set back, earlier decisions are not repeated.
 *  D4  Firings of a schedule start in the order of their due times, and never while an earlier one has a run under way:
 *      `skip` leaves out the due time, `queue` waits, `cancel` cancels the run before and leaves out what it has
 *      overtaken.
 *  D5  Due times that passed more than a minute ago are missed: `once` makes up for all of them with one firing, `all`
 *      with one firing each, `skip` with none. A made-up firing waits for its turn, whatever `overlap` says.
 *  D6  No schedule has more than 1,000 open firings: the cursor waits, and nothing is left out.
 *  D7  Time in which a schedule is paused, or before it was made or its fields were changed, has no due times.
 */
import { HeddleError, isError } from '@heddle/core'
import {
  describe,
  erase,
  suggest,
  write,
  type Stored,
  type TableChange,
  type Tables,
} from '@heddle/core/lowlevel'
import { nameIn } from '../http/tenancy.ts'
import { idOf, type Definition } from './schedule-definition.ts'
import { DueTimes } from './due-times.ts'
import type { Runner } from './scheduled-runs.ts'
import type { Missed, Overlap } from './schedule.ts'
import {
  definitions,
  firings,
  states,
  storedArgs,
  type DefinitionRecord,
  type FiringRecord,
  type FiringState,
  type StateRecord,
} from './schedule-tables.ts'

const second = 1_000
const minute = 60 * second
const day = 24 * 60 * minute

/** A due time that passed longer ago was missed. */
const onTime: number = minute
/** Firings that one change makes. */
const mostAtOnce = 100
/** Open firings of one schedule, and of all. */
const mostOpen = 1_000
/** Schedules made over HTTP. */
const mostMade = 1_000
/** Another server may have the graph that this one lacks: it gets this long to start it. */
const graphGrace: number = minute
/** How long firings are kept. */
const keepFor: number = 30 * day
/** Due times shown. */
const mostNext = 5

export interface SchedulesOptions {
  readonly tables: Tables
  readonly runner: Runner
  /** Schedules of the served module. */
  readonly exported: readonly Definition[]
  readonly log: (level: 'info' | 'warning', text: string) => void
}

export interface MakeInput {
  readonly name: string
  readonly cron: string
  readonly timezone: string
  readonly overlap: Overlap
  readonly missed: Missed
  readonly graph: string
  readonly args?: unknown
  readonly isPaused: boolean
  readonly by: string
  readonly tenant?: string | undefined
}

/** Whether the caller may know of things of this tenant: the common one when absent. */
export type IsShown = (tenant: string | undefined) => boolean

/** A schedule as it stands. */
export interface ScheduleView extends Definition {
  /** Null when paused, or when there are no more. */
  readonly next: readonly number[]
  readonly last: FiringRecord | undefined
}

export class Schedules {
  readonly #options: SchedulesOptions
  /** Keyed by fields and zone: parsing costs as much as a search. */
  readonly #times = new Map<string, DueTimes>()
  #sweptAt = -Infinity
  #open = 0

  constructor(options: SchedulesOptions) {
    this.#options = options
  }

  stats(): { readonly open: number } {
    return { open: this.#open }
  }

  /** Registers the exported schedules: new ones begin now (D7). *Cancellation*: none. */
  async start(): Promise<void> {
    const { exported, tables } = this.#options
    const now = await tables.now()
    const found = await tables.byIds(
      states,
      exported.map(({ id }) => id),
    )
    for (const [index, definition] of exported.entries()) {
      await this.#adopt(definition, found[index], now)
    }
  }

  async #adopt(
    definition: Definition,
    state: Stored<StateRecord> | undefined,
    now: number,
  ): Promise<void> {
    const { id, cron, timezone } = definition
    if (state?.cron === cron && state.timezone === timezone) return
    const isPaused = state?.isPaused ?? definition.isPaused
    const record = { id, cron, timezone, cursor: Math.max(now, state?.cursor ?? now), isPaused }
    // Another server that starts at the same moment has the same module, or its change came later: both are fine.
    await this.#options.tables.change([write(states, record, state?.revision ?? 'absent')])
  }

  /**
   * Decides due firings and starts them. Resolves with the instant of the next due time.
   *
   * *Cancellation*: the signal ends it between two steps; decided firings that have not started are left to the next
   * check.
   */
  async look(now: number, signal: AbortSignal): Promise<number | undefined> {
    const all = await this.#definitions()
    const stored = await this.#options.tables.byIds(states, [...all.keys()])
    const open = await this.#openFirings()
    let next: number | undefined
    for (const [index, definition] of [...all.values()].entries()) {
      if (signal.aborted) return undefined
      const state = stored[index]
      if (state === undefined || state.isPaused || !isSame(state, definition)) continue
      const waiting = open.get(definition.id)?.length ?? 0
      const due =
        waiting >= mostOpen ? undefined : await this.#decide(definition, state, now, waiting)
      if (due !== undefined && (next === undefined || due < next)) next = due
    }
    for (const [id, list] of await this.#openFirings()) {
      const definition = all.get(id)
      if (definition !== undefined) await this.#advance(definition, list, now, signal)
    }
    await this.#sweep(now)
    // An open firing waits for a run to end, which may be one of another server, or for a seat.
    return this.#open === 0 ? next : Math.min(next ?? Infinity, now + second)
  }

  /** D1, D5. Gives the next due time. */
  async #decide(
    definition: Definition,
    state: Stored<StateRecord>,
    now: number,
    waiting: number,
  ): Promise<number | undefined> {
    const times = this.#timesOf(definition)
    const first = times.after(state.cursor)
    if (first === undefined || first > now) return first
    const { fire, cursor } = this.#choose(definition, times, state.cursor, now, mostOpen - waiting)
    const { revision, ...record } = state
    const made = fire.map((dueAt): TableChange => {
      const firing: FiringRecord = {
        id: `${definition.id}@${new Date(dueAt).toISOString()}`,
        schedule: definition.id,
        dueAt,
        decidedAt: now,
        state: 'pending',
        isOpen: true,
        isLate: now - dueAt > onTime,
      }
      return write(firings, firing, 'absent')
    })
    const moved = write(states, { ...record, cursor }, revision)
    const refused = await this.#options.tables.change([moved, ...made])
    // D3: it was decided before the clock was set back.
    if (refused !== undefined && refused.index > 0) await this.#options.tables.change([moved])
    return times.after(cursor)
  }

  /** Which due times of (cursor, now] become firings, and up to where everything is decided by that. */
  #choose(
    { missed, name }: Definition,
    times: DueTimes,
    cursor: number,
    now: number,
    room: number,
  ): { readonly fire: readonly number[]; readonly cursor: number } {
    const last = lastDue(times, cursor, now)
    if (missed === 'once') return { fire: [last], cursor: last }
    const from = missed === 'all' ? cursor : Math.max(cursor, now - onTime - 1)
    if (from > cursor) {
      const skipped = `due times of the schedule "${name}" up to ${new Date(from).toISOString()} were missed`
      if (times.after(cursor)! <= from) this.#options.log('info', `${skipped}, and are skipped.`)
    }
    const fire: number[] = []
    for (let due = times.after(from); due !== undefined && due <= now; due = times.after(due)) {
      fire.push(due)
      if (fire.length === Math.min(mostAtOnce, room)) break
    }
    return { fire, cursor: fire.at(-1) ?? last }
  }

  /** D4: open firings of one schedule, the earliest first. */
  async #advance(
    definition: Definition,
    list: readonly Stored<FiringRecord>[],
    now: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { overlap } = definition
    for (const [index, firing] of list.entries()) {
      if (signal.aborted) return
      let current: Stored<FiringRecord> | undefined = firing
      if (firing.state === 'pending') {
        const waits = firing.isLate ? 'queue' : overlap
        if (waits === 'cancel' && index < list.length - 1) {
          await this.#move(firing, 'skipped', { reason: 'a newer due time came' })
          continue
        }
        const busy = await this.#busyRun(definition.id)
        if (busy !== undefined && waits === 'skip') {
          await this.#move(firing, 'skipped', { reason: `run ${busy} had not ended` })
          continue
        }
        if (busy !== undefined) {
          if (waits === 'cancel') await this.#cancel(busy, definition)
          return
        }
        current = await this.#move(firing, 'starting')
      }
      if (current === undefined || !(await this.#start(definition, current, now))) return
    }
  }

  /** D2. Gives whether the next one may start. */
  async #start(
    { id, name, graph, args, tenant }: Definition,
    firing: Stored<FiringRecord>,
    now: number,
  ): Promise<boolean> {
    const dueAt = new Date(firing.dueAt).toISOString()
    try {
      const { run } = await this.#options.runner.start({
        graph,
        args: args ?? { schedule: name, dueAt },
        key: `schedule:${firing.id}`,
        title: name,
        labels: { schedule: id, dueAt },
        tenant,
      })
      await this.#move(firing, 'started', { run })
      return true
    } catch (error) {
      if (mayPass(error)) return false
      if (isError(error, 'HDL_UNKNOWN_GRAPH') && now - firing.decidedAt < graphGrace) return false
      const reason = describe(error)
      this.#options.log('warning', `The schedule "${name}" due at ${dueAt} failed: ${reason}`)
      await this.#move(firing, 'failed', { reason })
      return true
    }
  }

  async #cancel(run: string, { id }: Definition): Promise<void> {
    const reason = `the next due time of the schedule ${id} came`
    try {
      await this.#options.runner.cancel(run, { by: `schedule ${id}`, reason, abort: false })
    } catch (error) {
      // Another process runs it and cannot be reached: the firing waits for the end of that run.
      if (!isError(error, 'HDL_NOT_STEERABLE')) throw error
    }
  }

  /** The run of the last firing that was started, while it has not ended. */
  async #busyRun(schedule: string): Promise<string | undefined> {
    const { tables, runner } = this.#options
    const where = { schedule, state: 'started' as const }
    const [last] = await tables.list(firings, { where, by: 'dueAt', descending: true, limit: 1 })
    if (last?.run === undefined || !(await runner.isActive(last.run))) return undefined
    return last.run
  }

  /** Undefined when another server was faster. */
  async #move(
    firing: Stored<FiringRecord>,
    state: FiringState,
    more: Partial<FiringRecord> = {},
  ): Promise<Stored<FiringRecord> | undefined> {
    const { revision, ...record } = firing
    const isOpen = state === 'pending' || state === 'starting'
    const moved: FiringRecord = { ...record, ...more, state, isOpen }
    const refused = await this.#options.tables.change([write(firings, moved, revision)])
    return refused === undefined ? { ...moved, revision: revision + 1 } : undefined
  }

  async #openFirings(): Promise<Map<string, Stored<FiringRecord>[]>> {
    const where = { isOpen: true }
    const found = await this.#options.tables.list(firings, { where, by: 'dueAt', limit: mostOpen })
    this.#open = found.length
    return Map.groupBy(found, ({ schedule }) => schedule)
  }

  async #sweep(now: number): Promise<void> {
    if (now - this.#sweptAt < day / 24) return
    this.#sweptAt = now
    await this.#options.tables.removeBelow(firings, 'dueAt', now - keepFor)
  }

  // Schedules made over HTTP, and the views of all.

  /** @throws `HDL_BAD_OPTION` for fields, `HDL_BAD_INPUT` when it is never due, `HDL_NAME_TAKEN`. */
  async make(input: MakeInput): Promise<ScheduleView> {
    const { tables } = this.#options
    const { name, cron, timezone, overlap, missed, graph, args, isPaused, by, tenant } = input
    const now = await tables.now()
    const times = new DueTimes({ cron, timezone })
    if (times.after(now) === undefined) throw badInput('cron', 'it is never due.')
    const made = await tables.list(definitions, { limit: mostMade })
    if (made.length >= mostMade) {
      throw badInput('name', `there are ${mostMade} schedules already. Delete one first.`)
    }
    const id = idOf('made', nameIn(tenant, name))
    const record: DefinitionRecord = {
      id,
      name,
      cron,
      timezone,
      overlap,
      missed,
      graph,
      args: storedArgs(args, tenant),
      createdBy: by,
      createdAt: now,
    }
    const state = { id, cron, timezone, cursor: now, isPaused }
    const refused = await tables.change([
      write(definitions, record, 'absent'),
      write(states, state, 'absent'),
    ])
    if (refused !== undefined) throw new HeddleError('HDL_NAME_TAKEN', { name })
    return this.show(id)
  }

  /** @throws `HDL_UNKNOWN_SCHEDULE`, `HDL_SCHEDULE_EXPORTED`. */
  async remove(id: string): Promise<void> {
    const { tables } = this.#options
    const { origin } = await this.#find(id)
    if (origin === 'exported') throw new HeddleError('HDL_SCHEDULE_EXPORTED', { schedule: id })
    await tables.change([erase(definitions, id), erase(states, id)])
    for (const firing of (await this.#openFirings()).get(id) ?? []) {
      await this.#move(firing, 'skipped', { reason: 'the schedule was deleted' })
    }
  }

  /** D7. @throws `HDL_UNKNOWN_SCHEDULE`. */
  async setPaused(id: string, isPaused: boolean): Promise<ScheduleView> {
    const { tables } = this.#options
    await this.#find(id)
    for (;;) {
      const [state] = await tables.byIds(states, [id])
      if (state === undefined || state.isPaused === isPaused) return this.show(id)
      const { revision, ...record } = state
      const cursor = Math.max(record.cursor, await tables.now())
      // A refusal means that another server has decided meanwhile.
      const refused = await tables.change([
        write(states, { ...record, cursor, isPaused }, revision),
      ])
      if (refused === undefined) return this.show(id)
    }
  }

  /** @param isShown All when absent. */
  async list(isShown: IsShown = () => true): Promise<readonly ScheduleView[]> {
    const all = [...(await this.#definitions()).values()].filter(({ tenant }) => isShown(tenant))
    const ids = all.map(({ id }) => id)
    const [now, stored] = [
      await this.#options.tables.now(),
      await this.#options.tables.byIds(states, ids),
    ]
    const views: ScheduleView[] = []
    for (const [index, definition] of all.entries()) {
      views.push(await this.#view(definition, stored[index], now))
    }
    return views
  }

  /** @throws `HDL_UNKNOWN_SCHEDULE`. */
  async show(id: string): Promise<ScheduleView> {
    const { tables } = this.#options
    const definition = await this.#find(id)
    const [state] = await tables.byIds(states, [id])
    return this.#view(definition, state, await tables.now())
  }

  /** N1: nothing when it is one that the caller may know of. *Cancellation*: none. @throws `HDL_UNKNOWN_SCHEDULE`. */
  async check(id: string, isShown: IsShown): Promise<void> {
    await this.#find(id, isShown)
  }

  /** Newest first. @throws `HDL_UNKNOWN_SCHEDULE`. */
  async firingsOf(id: string, limit: number, before?: number): Promise<readonly FiringRecord[]> {
    await this.#find(id)
    const query = { by: 'dueAt', below: before, descending: true, limit } as const
    return this.#options.tables.list(firings, { where: { schedule: id }, ...query })
  }

  async #view(
    definition: Definition,
    state: StateRecord | undefined,
    now: number,
  ): Promise<ScheduleView> {
    const isPaused = state?.isPaused ?? definition.isPaused
    const from = Math.max(now, state?.cursor ?? now)
    const where = { schedule: definition.id }
    const [last] = await this.#options.tables.list(firings, {
      where,
      by: 'dueAt',
      descending: true,
      limit: 1,
    })
    const next = isPaused ? [] : this.#timesOf(definition).next(from, mostNext)
    return { ...definition, isPaused, next, last }
  }

  async #find(id: string, isShown: IsShown = () => true): Promise<Definition> {
    const all = await this.#definitions()
    const found = all.get(id)
    if (found !== undefined && isShown(found.tenant)) return found
    const known = [...all.values()].filter(({ tenant }) => isShown(tenant))
    const suggestion = suggest(
      id,
      known.map((each) => each.id),
    )
    throw new HeddleError('HDL_UNKNOWN_SCHEDULE', { schedule: id, suggestion })
  }

  async #definitions(): Promise<Map<string, Definition>> {
    const { exported, tables } = this.#options
    const made = await tables.list(definitions, { limit: mostMade })
    return new Map([
      ...exported.map((each) => [each.id, each] as const),
      ...made.map((each) => [each.id, definitionOf(each)] as const),
    ])
  }

  #timesOf({ cron, timezone }: Definition): DueTimes {
    const key = `${cron} in ${timezone}`
    const found = this.#times.get(key) ?? new DueTimes({ cron, timezone })
    this.#times.delete(key)
    this.#times.set(key, found)
    if (this.#times.size > 2 * mostMade) this.#times.delete(this.#times.keys().next().value!)
    return found
  }
}

function definitionOf(record: DefinitionRecord): Definition {
  const { id, name, cron, timezone, overlap, missed, graph, args } = record
  const rest = { overlap, missed, graph, args: args.value, tenant: args.tenant, isPaused: false }
  return { id, origin: 'made', name, cron, timezone, ...rest }
}

function isSame(state: StateRecord, { cron, timezone }: Definition): boolean {
  return state.cron === cron && state.timezone === timezone
}

/** The last due time of (cursor, now], which is not empty. Found by halving: there may be millions of them. */
function lastDue(times: DueTimes, cursor: number, now: number): number {
  let [low, high] = [cursor, now]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    const due = times.after(middle)
    if (due !== undefined && due <= now) low = middle
    else high = middle
  }
  return times.after(low)!
}

/** Errors that say something about this server at this moment: the firing stays, and is started later. */
function mayPass(error: unknown): boolean {
  return (
    isError(error, 'HDL_DRAINING') ||
    isError(error, 'HDL_OVERLOADED') ||
    isError(error, 'HDL_STORE_FAILED') ||
    isError(error, 'HDL_JOURNAL_GONE')
  )
}

function badInput(what: string, problem: string): HeddleError {
  return new HeddleError('HDL_BAD_INPUT', { what, problem })
}
