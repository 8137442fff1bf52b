// oxlint-disable-next-line import/no-unassigned-import -- it throws on a Node that is too old
import './kernel/node-version.ts'
export { cancelled, describe, errorBounds, readField } from './errors.ts'
export {
  checkCount,
  checkDuration,
  checkTimeout,
  checkFlag,
  checkFunction,
  checkMethods,
  checkOptions,
  checkText,
  checkWord,
  type OptionNames,
} from './kernel/check.ts'
export { CleanupStack } from './kernel/cleanup.ts'
export { soon, type Clock, type Timer } from './kernel/clock.ts'
export { seededRandom, type Random } from './kernel/random.ts'
export { kernelOf, systemKernel, type Kernel } from './kernel/kernel.ts'
export { LinkedList, type ListItem } from './kernel/linked-list.ts'
export { Patience } from './kernel/patience.ts'
export { Life, type ServiceState, type StopOptions } from './kernel/service.ts'
export { mostInterruptions } from './kernel/most-interruptions.ts'
export { endsBefore, pauseFor, waitFor } from './kernel/wait-for.ts'
export { suggest } from './kernel/suggest.ts'
export type { WaitOptions } from './kernel/waiters.ts'

// artifacts/: files that jobs leave.
export type {
  ArtifactQuota,
  ArtifactRange,
  ArtifactStore,
  ArtifactUpload,
  OpenArtifact,
  PutArtifactOptions,
} from './artifacts/artifact-store.ts'
export { openArtifacts, type OpenArtifactsOptions } from './artifacts/open-artifacts.ts'

// sync/: what callers wait on.
export { Event } from './sync/event.ts'
export { Gate } from './sync/gate.ts'
export { KeyedMutex, KeyedRwLock } from './sync/keyed.ts'
export { Mutex } from './sync/mutex.ts'
export { Queue } from './sync/queue.ts'
export { RwLock } from './sync/rwlock.ts'
export { Semaphore } from './sync/semaphore.ts'
export { Shared, type Lease } from './sync/shared.ts'

// registry/: which caller waits for which result, which callers share a computation, whose request is the newest.
export { Flights } from './registry/flights.ts'
export { outcomes, type Outcome, type OutcomeCounts } from './registry/outcomes.ts'
export {
  Registry,
  type Found,
  type RegistryRequest,
  type RegistryStats,
} from './registry/registry.ts'
export { Slots, type SlotTicket } from './registry/slots.ts'

// admission/: work is admitted here to run later, or refused at once.
export {
  Dispatcher,
  type AdmittedTask,
  type DispatcherStats,
  type SubmitOptions,
  type Work,
} from './admission/dispatcher.ts'
export {
  LoadLevels,
  highestLoad,
  sixLevels,
  threeLevels,
  type Load,
} from './admission/load-levels.ts'
export { AdmissionQueue, type Seat } from './admission/queue.ts'
export { SeatRate } from './admission/seat-rate.ts'
export { IndexedHeap, type HeapItem } from './kernel/heap.ts'
export { Histogram, type HistogramSnapshot } from './kernel/histogram.ts'

// capacity/: the permits of a process.
export { Capacity } from './capacity/capacity.ts'
export {
  ClusterLimits,
  type LimitRecord,
  type LimitRecords,
  type ShareStats,
} from './capacity/cluster-limits.ts'
export type { PermitOptions } from './kernel/permits.ts'

// watch/: which code blocks the event loop.
export { isWatching, runBlamed } from './watch/blame.ts'
export { describeCollection, type LoopGap } from './watch/gap-log.ts'
export { LoopWatch } from './watch/loop-watch.ts'

// threads/: jobs off the loop.
export { parkedInThread } from './threads/inside-thread.ts'
export { ThreadPool } from './threads/pool.ts'

// processes/: commands that end on request.
export { runCommand, type CommandOptions, type CommandResult } from './processes/command.ts'

// control/: pausing and steering from outside.
export { listenKeys, type KeyInput, type KeyListener } from './control/keys.ts'
export { controlBySignals } from './control/signals.ts'
// cache/: two tiers as one, memory over disk or anything else that keeps bytes.
export { Cache, openCache } from './cache/cache.ts'
export type { CacheEntry, CacheStats } from './cache/cache-options.ts'
export type { CacheTransaction } from './cache/transaction.ts'
export type {
  CacheTier,
  ParentVersion,
  TierEntry,
  TierMeta,
  TierStats,
  TierWrite,
} from './cache/tier.ts'
export { memoryTier } from './cache/tiers/memory-tier.ts'
export { diskTier } from './cache/tiers/disk-tier.ts'

// files/: what survives a crash.
export { writeAtomic } from './files/atomic-write.ts'
export { holdLock, type HeldLock, type LockHolder } from './files/exclusive-lock.ts'
export { beforeExit } from './files/exit-guard.ts'
export { recover, RestoreRegistry, type ChangedFile, type Recovery } from './files/restore.ts'

// journal/: the durable record of runs.
export type {
  Durability,
  ErrorRecord,
  InputRecord,
  HistoryEntry,
  Journal,
  JournaledState,
  JournalRetry,
  JournalTrouble,
  LogLine,
  NodeHeader,
  NodeSnapshot,
  PruneOptions,
  PruneReport,
  RunOverview,
  RunSnapshot,
  RunSummary,
  CommitGuard,
  RunWriter,
  Transition,
} from './journal/journal.ts'
export { copyRuns, type CopyReport } from './journal/copy-runs.ts'
export { openJournal } from './journal/open-journal.ts'
export { isHeld } from './journal/states.ts'
export { hasWorkLeft, outcomeOf, type RunOutcome } from './journal/run-outcome.ts'
export { newRunId } from './journal/run-id.ts'

// store/: what everything durable is written through. "How a role is added" in docs/design/store.md.
export {
  AcknowledgedJobs,
  type Declined,
  type JobAttempt,
  type JobRequest,
  type JobRunner,
  type QueuedJob,
  type SetAsideJob,
} from './store/acknowledged-jobs.ts'
export type { Grant } from './store/database.ts'
export { openStore, type OpenStore } from './journal/open-store.ts'
export type { StoreDatabase, StoreRow } from './store/roles.ts'
export { shardCount, shardOf } from './store/shard-of.ts'
export { Shards, type ShardRole } from './store/shards.ts'
export {
  cursorOf,
  erase,
  put,
  remove,
  write,
  type AnyTable,
  type ChangeRefusal,
  type Cursor,
  type Stored,
  type StoredRecord,
  type Table,
  type TableChange,
  type TableQuery,
  type TableRow,
  type Tables,
} from './store/tables.ts'
export { isPostgresAddress, withoutPasswords } from './store/postgres/address.ts'
export { commandLine, quoteWord } from './journal/command-line.ts'
export { examinePostgres, type PostgresReport } from './store/postgres/examine.ts'

// run/: how two graphs differ, which runs can be resumed.
export { PresentItems } from './codec/present.ts'
export type { RunModule } from './run/run-journal.ts'
export { describeDifference, type GraphDifference } from './run/compare-graphs.ts'
export { fromErrorRecord, toErrorRecord } from './run/error-record.ts'
export { runJob } from './run/job-input.ts'
export { neededFor } from './run/node-limits.ts'
export { redactValue } from './graph/redact.ts'
export { validateInput } from './graph/input-schema.ts'

// attempts/: one try of a job, wherever it runs.
export type { RunnerContext } from './attempts/attempt.ts'
export { isRetryable, requestedDelay } from './attempts/retry.ts'
export { attemptDefaults, type AttemptReport } from './attempts/runner.ts'

// places/: where jobs run.
export { findPlace, type Places } from './places/find-place.ts'
export {
  fleetPlace,
  type FleetAttempt,
  type FleetDispatch,
  type FleetNeeds,
} from './places/fleet.ts'
export { fleetPieces, isSmallJson, readFleetValue } from './places/fleet-value.ts'
export { loopPlace } from './places/loop.ts'
export { sharedThreadPlace, threadPlace } from './places/thread.ts'

// graph/: the JSON Schema of a schema.
export { jsonSchemaOf } from './graph/input-schema.ts'

// scheduler/: insight into a recorded run.
export { criticalPathOf, forecastOf } from './scheduler/recorded-times.ts'

// recorded/: the journal's data about runs, arranged for people and views.
export {
  compareRuns,
  durationOf,
  isRegression,
  noise,
  type Change,
  type Comparison,
  type NodeChange,
  type Side,
} from './recorded/comparison.ts'
export { toJsonText } from './recorded/json-value.ts'
export { momentOf, type Moment, type Point } from './recorded/moment.ts'
export { nodeWord, type NodeWord } from './recorded/node-word.ts'
export {
  queueTime,
  readRecord,
  runTime,
  timedNodes,
  type AttemptOutcome,
  type AttemptRecord,
  type NodeRecord,
  type RunRecord,
} from './recorded/run-record.ts'
export { readInput } from './recorded/recorded-input.ts'
export { testOf } from './recorded/test-export.ts'
export {
  idleStretches,
  timelineOf,
  type Stretch,
  type Timeline,
  type TimelineRow,
  type TimeSpan,
} from './recorded/timeline.ts'
export { slicesOf } from './kernel/slices.ts'
