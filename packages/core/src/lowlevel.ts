export { cancelled, describe, readField } from './errors.ts'
export { CleanupStack } from './kernel/cleanup.ts'
export { systemClock, type Clock, type Timer } from './kernel/clock.ts'
export { systemRandom, seededRandom, type Random } from './kernel/random.ts'
export { systemKernel, type Kernel } from './kernel/kernel.ts'
export { suggest } from './kernel/suggest.ts'
export type { WaitOptions } from './kernel/waiters.ts'

// sync/: what callers wait on.
export { Event, type EventStats } from './sync/event.ts'
export { Gate, type GateOptions, type GateStats } from './sync/gate.ts'
export { KeyedMutex, KeyedRwLock, type KeyedStats } from './sync/keyed.ts'
export { Mutex, type LockOptions, type MutexStats } from './sync/mutex.ts'
export type { SyncOptions } from './sync/options.ts'
export type { Permit } from './sync/permit.ts'
export type { AgingOptions, PriorityOptions } from './kernel/rank.ts'
export {
  Queue,
  type PutOptions,
  type QueueOptions,
  type QueueStats,
  type Ticket,
} from './sync/queue.ts'
export { RwLock, type RwLockStats } from './sync/rwlock.ts'
export {
  Semaphore,
  type AcquireOptions,
  type SemaphoreOptions,
  type SemaphoreStats,
  type TryAcquireOptions,
} from './sync/semaphore.ts'
export { Shared, type Lease, type SharedOptions, type SharedStats } from './sync/shared.ts'

// registry/: who waits for which result, who shares a computation, whose request is the newest.
export {
  Flights,
  type AbandonPolicy,
  type FlightsOptions,
  type FlightsStats,
  type JoinOptions,
} from './registry/flights.ts'
export { outcomes, type Outcome, type OutcomeCounts } from './registry/outcomes.ts'
export {
  Registry,
  type CancelAnswer,
  type Found,
  type RegistryOptions,
  type RegistryRequest,
  type RegistryStats,
  type RegistryWaitOptions,
} from './registry/registry.ts'
export { Slots, type SlotsOptions, type SlotsStats, type SlotTicket } from './registry/slots.ts'

// admission/: what may run later is admitted here or refused at once.
export {
  Dispatcher,
  type AdmittedTask,
  type DispatcherOptions,
  type DispatcherStats,
  type DrainResult,
  type SubmitOptions,
  type Work,
} from './admission/dispatcher.ts'
export type { RetryAfterOptions } from './admission/drain-rate.ts'
export {
  LoadLevels,
  highestLoad,
  sixLevels,
  threeLevels,
  type Load,
  type LoadLevel,
  type LoadLevelsOptions,
} from './admission/load-levels.ts'
export type { PoolOptions, PoolStats } from './admission/pools.ts'
export {
  AdmissionQueue,
  type AdmissionOptions,
  type AdmissionStats,
  type Admitted,
  type FillOptions,
  type Refusal,
  type Reservation,
  type ReserveOptions,
  type Seat,
  type TenantOptions,
} from './admission/queue.ts'
export { Histogram, type HistogramSnapshot } from './kernel/histogram.ts'

// watch/: who blocks the event loop.
export { currentBlame, isWatching, runBlamed } from './watch/blame.ts'
export type { LoopGap } from './watch/gap-log.ts'
export {
  LoopWatch,
  type LoopWatchOptions,
  type LoopWatchState,
  type LoopWatchStats,
} from './watch/loop-watch.ts'

// threads/: jobs off the loop.
export { parkedInThread } from './threads/inside.ts'
export {
  ThreadPool,
  type ThreadJobStats,
  type ThreadPoolOptions,
  type ThreadPoolStats,
  type ThreadRunOptions,
  type ThreadStats,
  type ThreadTask,
} from './threads/pool.ts'

// processes/: commands that end when they are told to.
export { runCommand, type CommandOptions, type CommandResult } from './processes/command.ts'

// control/: pausing and steering from outside.
export { listenKeys, type KeyInput, type KeyListener, type KeyOptions } from './control/keys.ts'
export { controlBySignals, type Pausable, type SignalControl } from './control/signals.ts'
// cache/: two tiers as one, memory over disk or anything else that keeps bytes.
export { Cache, openCache } from './cache/cache.ts'
export type {
  CacheEntry,
  CacheOptions,
  CacheStats,
  ComputeContext,
  KeepOptions,
  SetOptions,
} from './cache/options.ts'
export type { CacheTransaction } from './cache/transaction.ts'
export type {
  CacheTier,
  ParentVersion,
  TierEntry,
  TierMeta,
  TierStats,
  TierWrite,
} from './cache/tier.ts'
export { memoryTier, type MemoryTierOptions } from './cache/tiers/memory.ts'
export { diskTier, type DiskTierOptions } from './cache/tiers/disk.ts'

// files/: what survives a crash.
export { writeAtomic, type WriteAtomicOptions } from './files/atomic-write.ts'
export {
  holdLock,
  type HeldLock,
  type HoldLockOptions,
  type LockHolder,
} from './files/exclusive-lock.ts'
export { beforeExit } from './files/exit-guard.ts'
export {
  recover,
  RestoreRegistry,
  type ChangedFile,
  type Recovery,
  type RestoreOptions,
  type RestoreStats,
} from './files/restore.ts'

// journal/: the durable record of runs.
export type {
  Durability,
  ErrorRecord,
  HistoryEntry,
  Journal,
  JournaledState,
  JournalStats,
  LogLine,
  NodeHeader,
  NodeSnapshot,
  RunHeader,
  RunHolder,
  RunSnapshot,
  RunSummary,
  RunWriter,
  Transition,
} from './journal/journal.ts'
export { openJournal, type OpenJournalOptions } from './journal/open.ts'
export { newRunId } from './journal/run-id.ts'

// run/: how two graphs differ, which runs can be gone on with.
export { compareGraphs, describeDifference, type GraphDifference } from './run/compare.ts'
export { toErrorRecord } from './run/error-record.ts'
export { hasWorkLeft } from './run/resume.ts'

// attempts/: one try of a job, wherever it runs.
export type { RunnerContext } from './attempts/attempt.ts'
export type { AttemptReport } from './attempts/runner.ts'

// places/: where jobs run.
export { findPlace, type Places } from './places/find-place.ts'
export { loopPlace } from './places/loop.ts'
export { threadPlace } from './places/thread.ts'

// scheduler/: what a recorded run says about itself.
export { criticalPathOf, forecastOf, type TimedNode } from './scheduler/recorded.ts'
