/** The rooms of runs and schedules: both start runs of this server. */
import type { Room } from './http/room.ts'
import type { PlacedContext } from './http/context.ts'
import type { Audit } from './people/audit.ts'
import { ApprovalLinks } from './runs/approval-links.ts'
import { graphTable } from './runs/graph-table.ts'
import { OwnRuns } from './runs/own-runs.ts'
import { openRunsRoom, openRunViewsRoom } from './runs/runs-room.ts'
import { RunTakeOver } from './runs/take-over.ts'
import { exportedSchedules } from './schedules/schedule-definition.ts'
import { DelayedStarts } from './schedules/delayed-starts.ts'
import { openSchedulesRoom } from './schedules/schedules-room.ts'
import { Schedules } from './schedules/schedules.ts'
import { Ticker } from './schedules/ticker.ts'

/** Milliseconds between searches for runs of servers that are gone (C1). */
const takeOverEvery = 1_000

interface RunRooms {
  /** Undefined where runs are only shown. */
  readonly own: OwnRuns | undefined
  /** Names of what the module exports; graphs that only a schedule has are not among them. */
  readonly graphs: readonly string[]
  readonly schedules: readonly string[]
  readonly rooms: readonly Room[]
}

/** Runs, and schedules that start them. Without jobs it is a window into a journal that other processes write. */
export function openRunRooms(
  context: PlacedContext,
  audit: Audit,
  isOwnJournal: boolean,
): RunRooms {
  const { journal, artifacts, kernel, capacity, placesOf, log, exported, store, loop } = context
  const most = 1_000
  const { sending: sendLimit = 60_000 } = context.limits
  if (exported === undefined) {
    const graphs = graphTable([])
    const shared = { journal, artifacts, graphs, capacity, placesOf, kernel, log, most }
    const own = isOwnJournal ? new OwnRuns(shared) : undefined
    const views = openRunViewsRoom({ journal, kernel, loop, sendLimit, own, audit })
    return { own, graphs: [], schedules: [], rooms: [views] }
  }
  const named = graphTable(exported)
  const { definitions, graphs } = exportedSchedules(exported, named)
  const onEnded = (): void => room.poke()
  const own = new OwnRuns({
    journal,
    artifacts,
    graphs,
    capacity,
    placesOf,
    kernel,
    log,
    most,
    mayContinue: (run) => takeOver.mayContinue(run),
    onEnded,
  })
  const shared = { tables: store.tables, runner: own, log }
  const starts = new DelayedStarts({ ...shared, kernel, onChange: () => room.poke() })
  const schedules = new Schedules({ ...shared, exported: definitions })
  const room = openSchedulesRoom({
    ...shared,
    graphs,
    schedules,
    starts,
    clock: kernel.clock,
    isShared: context.cluster !== undefined,
    audit,
  })
  const links = new ApprovalLinks({
    tables: store.tables,
    send: (run, signal, value, by) => own.signal(run, signal, value, by),
  })
  const takeOver = new RunTakeOver({ journal, own, kernel, log })
  const { clock } = kernel
  const looks = { parts: [takeOver], tables: store.tables, clock, log, what: 'Interrupted runs' }
  const ticker = context.cluster && new Ticker({ ...looks, every: takeOverEvery })
  const shown = { journal, kernel, loop, sendLimit, own, audit }
  const runs = { ...shown, graphs, starts, links, takeOver, ticker }
  return {
    own,
    graphs: [...named.keys()],
    schedules: definitions.map(({ name }) => name),
    rooms: [openRunsRoom(runs), room],
  }
}
