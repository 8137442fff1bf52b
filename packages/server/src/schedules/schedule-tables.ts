/** What the store holds of schedules. All of it is written in the shared way: any server may decide. */
import type { StoredRecord, Table } from '@heddle/core/lowlevel'
import type { Missed, Overlap } from './schedule.ts'

/**
 * The stored arguments of a run: without a value for a graph without arguments, without a tenant for the common one.
 */
export interface StoredArgs {
  readonly value?: unknown
  readonly tenant?: string
}

export function storedArgs(value: unknown, tenant: string | undefined): StoredArgs {
  return { ...(value !== undefined && { value }), ...(tenant !== undefined && { tenant }) }
}

/** A schedule that was made over HTTP. */
export interface DefinitionRecord extends StoredRecord {
  readonly name: string
  readonly cron: string
  readonly timezone: string
  readonly overlap: Overlap
  readonly missed: Missed
  readonly graph: string
  readonly args: StoredArgs
  readonly createdBy: string
  readonly createdAt: number
}

/** How far a schedule has been decided. Its id is that of the schedule. */
export interface StateRecord extends StoredRecord {
  /** The fields by which it was decided: a server that has other fields leaves the schedule to others. */
  readonly cron: string
  readonly timezone: string
  /** Due times up to this one are decided. */
  readonly cursor: number
  readonly isPaused: boolean
}

/** See the state machine in schedules.ts. */
export type FiringState = 'pending' | 'starting' | 'started' | 'skipped' | 'failed'

/** A due time that was decided. Its id is `<schedule>@<due time>`. */
export interface FiringRecord extends StoredRecord {
  readonly schedule: string
  readonly dueAt: number
  readonly decidedAt: number
  readonly state: FiringState
  /** Pending or starting. */
  readonly isOpen: boolean
  /** Whether it makes up for a time at which no server ran. */
  readonly isLate: boolean
  readonly run?: string
  /** Why it was skipped, or could not be started. */
  readonly reason?: string
}

/** A start that waits for its time. */
export interface StartRecord extends StoredRecord {
  readonly graph: string
  readonly args: StoredArgs
  /** The key of the run. */
  readonly key: string
  readonly title?: string
  readonly dueAt: number
  readonly createdAt: number
  readonly createdBy: string
  /** When the first of the starts came that this one stands for (debounce). */
  readonly firstAt?: number
}

export const definitions: Table<DefinitionRecord> = {
  name: 'schedule_definition',
  columns: {
    name: 'text',
    cron: 'text',
    timezone: 'text',
    overlap: 'text',
    missed: 'text',
    graph: 'text',
    args: 'json',
    createdBy: 'text',
    createdAt: 'number',
  },
}

export const states: Table<StateRecord> = {
  name: 'schedule_state',
  columns: { cron: 'text', timezone: 'text', cursor: 'number', isPaused: 'boolean' },
}

export const firings: Table<FiringRecord> = {
  name: 'schedule_firing',
  columns: {
    schedule: 'text',
    dueAt: 'number',
    decidedAt: 'number',
    state: 'text',
    isOpen: 'boolean',
    isLate: 'boolean',
    run: 'text',
    reason: 'text',
  },
  indexes: [['dueAt'], ['isOpen', 'dueAt'], ['schedule', 'dueAt'], ['schedule', 'state', 'dueAt']],
}

export const starts: Table<StartRecord> = {
  name: 'schedule_start',
  columns: {
    graph: 'text',
    args: 'json',
    key: 'text',
    title: 'text',
    dueAt: 'number',
    createdAt: 'number',
    createdBy: 'text',
    firstAt: 'number',
  },
  indexes: [['dueAt']],
}

export const scheduleTables = [definitions, states, firings, starts] as const
