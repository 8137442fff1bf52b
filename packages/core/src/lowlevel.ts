export { systemClock, type Clock, type Timer } from './kernel/clock.ts'
export { systemRandom, seededRandom, type Random } from './kernel/random.ts'
export { systemKernel, type Kernel } from './kernel/kernel.ts'
export type { WaitOptions } from './kernel/waiters.ts'

// sync/: what callers wait on.
export { Event, type EventStats } from './sync/event.ts'
export { Gate, type GateOptions, type GateStats } from './sync/gate.ts'
export { KeyedMutex, KeyedRwLock, type KeyedStats } from './sync/keyed.ts'
export { Mutex, type LockOptions, type MutexStats } from './sync/mutex.ts'
export type { SyncOptions } from './sync/options.ts'
export type { Permit } from './sync/permit.ts'
export type { AgingOptions, PriorityOptions } from './sync/priority.ts'
export {
  Queue,
  type PutOptions,
  type QueueOptions,
  type QueueStats,
  type Ticket,
} from './sync/queue.ts'
export { RwLock, type RwLockStats } from './sync/rwlock.ts'
export {
  openScope,
  withScope,
  type CancelOptions,
  type Scope,
  type ScopeContext,
  type ScopeOptions,
  type ScopeStats,
  type ScopeTask,
  type ShieldOptions,
  type TaskOptions,
} from './sync/scope.ts'
export {
  Semaphore,
  type AcquireOptions,
  type SemaphoreOptions,
  type SemaphoreStats,
  type TryAcquireOptions,
} from './sync/semaphore.ts'
export { Shared, type Lease, type SharedOptions, type SharedStats } from './sync/shared.ts'
